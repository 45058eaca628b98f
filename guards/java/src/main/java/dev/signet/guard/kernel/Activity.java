package dev.signet.guard.kernel;

import dev.signet.guard.AuthContext;
import dev.signet.guard.AuthContext.PrincipalKind;
import dev.signet.guard.Liveness.Facts;
import dev.signet.guard.Liveness.Revoked;
import dev.signet.guard.Liveness.Standing;
import dev.signet.guard.Reason;

/** Whether those that a token names are active. What is missing is not active. */
final class Activity {
  private Activity() {}

  /** Step 3: why principal, identity, session, credential or token is not active; null when they are. */
  static Reason inactivity(AuthContext context, Facts facts, long nowMs) {
    var revoked = facts.revoked();
    if (facts.principal() != Standing.ACTIVE || revoked.contains(Revoked.PRINCIPAL)) return Reason.PRINCIPAL_INACTIVE;
    // A service that acts for a user must be active too.
    if (context.actor() != null && facts.actor() != Standing.ACTIVE) return Reason.PRINCIPAL_INACTIVE;
    if (context.identityId() != null && facts.identity() != Standing.ACTIVE) return Reason.IDENTITY_INACTIVE;
    if (context.endingSessionId() != null) {
      var session = facts.session();
      var isActive = session != null && session.standing() == Standing.ACTIVE;
      if (!isActive || revoked.contains(Revoked.SESSION)) return Reason.SESSION_REVOKED;
      if (session.idleExpiresAtMs() <= nowMs || session.absoluteExpiresAtMs() <= nowMs) return Reason.SESSION_EXPIRED;
    }
    if (revoked.contains(Revoked.CREDENTIAL)) return Reason.CREDENTIAL_REVOKED;
    if (revoked.contains(Revoked.TOKEN)) return Reason.TOKEN_REVOKED;
    // Authority was taken away since the token was issued.
    var held = context.versions();
    var isOutdated =
        held.principal() < facts.minimum().principal() || held.policy() < facts.minimum().policy();
    return isOutdated ? Reason.PERMISSIONS_STALE : null;
  }

  /** Step 4: why the principal has no place in the app now; null when it has. Services need no membership. */
  static Reason displacement(AuthContext context, Facts facts) {
    var isOpen = facts.app() == Standing.ACTIVE && isOpen(facts.tenant()) && isOpen(facts.context());
    if (!isOpen) return Reason.TENANT_SUSPENDED;
    var needsNone = context.principal().kind() == PrincipalKind.SERVICE && facts.membership() == Standing.ABSENT;
    return needsNone || facts.membership() == Standing.ACTIVE ? null : Reason.MEMBERSHIP_INACTIVE;
  }

  private static boolean isOpen(Standing place) {
    return place == Standing.ACTIVE || place == Standing.NOT_ASKED;
  }
}
