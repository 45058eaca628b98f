package dev.signet.guard.kernel;

import dev.signet.guard.AuthContext;
import dev.signet.guard.Decision;
import dev.signet.guard.Decision.Allow;
import dev.signet.guard.Decision.Deny;
import dev.signet.guard.Reason;
import dev.signet.guard.Requirement;
import java.util.EnumSet;
import java.util.Set;

/** The specification's authorization algorithm: nine steps, in order. */
public final class Authorizer {
  private static final Set<Reason> NOT_SENT =
      EnumSet.of(
          Reason.NO_CREDENTIAL,
          Reason.MALFORMED_CREDENTIAL,
          Reason.PAT_NOT_BEARER,
          Reason.PROVIDER_TOKEN_NOT_ACCEPTED,
          Reason.REFRESH_TOKEN_NOT_BEARER);

  private Authorizer() {}

  /** May this call go on? A fault of the authorizer itself is a denial. */
  public static Decision authorize(Question question) {
    try {
      return decide(question);
    } catch (RuntimeException fault) {
      return new Deny(Reason.INTERNAL, 0);
    }
  }

  private static Decision decide(Question question) {
    var screened = screen(question);
    if (screened != null) return screened;
    var context = question.caller().context();
    var outcome = Evaluation.of(question.requirement(), question, Inherited.of(question.defaultFreshness()));
    if (outcome.failure() != null) return outcome.failure().asDenial();
    // A token with an actor is taken only where something says so.
    if (context.actor() != null && !outcome.takesActor()) return new Deny(Reason.ACTOR_NOT_ALLOWED, 8);
    return new Allow(context);
  }

  /** Steps 1 to 3: a decision, where it falls before anything is asked of the caller; else null. */
  private static Decision screen(Question question) {
    var requirement = question.requirement();
    if (requirement instanceof Requirement.Public) return new Allow(null);
    var isBodyCredential = requirement instanceof Requirement.BodyCredential;
    var context = question.caller().context();
    if (context == null) {
      if (isBodyCredential) return new Allow(null);
      return denialOf(question.caller().reason());
    }
    var mismatch = mismatchOf(context, question);
    if (isBodyCredential) {
      // Ending a session again is no error, so the handler learns the caller although the session may have ended.
      var isOfApp = question.appId() == null || question.appId().equals(context.appId());
      var isTaken = context.actor() == null || requirement.options().allowDelegated();
      return new Allow(mismatch == null && isOfApp && isTaken ? context : null);
    }
    if (mismatch != null) return new Deny(mismatch, 2);
    if (question.liveness() == null) return null;
    var inactive = Activity.inactivity(context, question.liveness().facts(), question.nowMs());
    return inactive == null ? null : new Deny(inactive, 3);
  }

  private static Reason mismatchOf(AuthContext context, Question question) {
    if (!context.issuer().equals(question.issuer())) return Reason.ISSUER_MISMATCH;
    return context.audience().equals(question.audience()) ? null : Reason.AUDIENCE_MISMATCH;
  }

  /** What is decided when the caller is not known. */
  public static Deny denialOf(Reason reason) {
    return new Deny(reason, stepOf(reason));
  }

  /** The step that a verifier's reason belongs to. */
  private static int stepOf(Reason reason) {
    if (NOT_SENT.contains(reason)) return 1;
    if (reason == Reason.PERMISSIONS_STALE) return 3;
    if (reason.status() == 401) return 2;
    return reason.status() == 403 ? 8 : 0;
  }
}
