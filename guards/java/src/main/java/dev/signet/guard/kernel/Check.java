package dev.signet.guard.kernel;

import dev.signet.guard.AuthContext;
import dev.signet.guard.Reason;
import dev.signet.guard.RequestFacts;
import dev.signet.guard.Requirement;
import dev.signet.guard.Requirement.Freshness;
import dev.signet.guard.Requirement.OnStale;
import dev.signet.guard.Requirement.Source;
import java.util.Map;

/** One check of a requirement against one call: steps 3 to 8, in order. */
final class Check {
  private static final long SKEW_MS = Claims.SKEW_SECONDS * 1_000;

  private Check() {}

  /** The first step that the call fails for this check, or null when it passes them all. */
  static Failure failureOf(Requirement check, Question call, Inherited options) {
    if (check instanceof Requirement.Public || check instanceof Requirement.BodyCredential) {
      throw new IllegalArgumentException("it stands inside a composite");
    }
    var failure = staleness(call, options.freshness());
    if (failure == null) failure = noDevice(check, context(call));
    if (failure == null) failure = wrongPlace(check, call);
    if (failure == null) failure = wrongKind(check, context(call));
    if (failure == null) failure = missing(check, call);
    if (failure == null) failure = tooLongAgo(call, options.maxAuthAgeSeconds());
    if (failure == null) failure = notGranted(check, call);
    return failure == null ? wrongActor(check, call) : failure;
  }

  private static AuthContext context(Question call) {
    return call.caller().context();
  }

  private static Failure staleness(Question call, Freshness freshness) {
    // Principal, session and credential were active when the token was issued: that is what is known at least.
    var asOfMs = call.liveness() == null ? context(call).issuedAtMs() : call.liveness().asOfMs();
    if (freshness.onStale() == OnStale.ALLOW || call.nowMs() - asOfMs <= freshness.maxStalenessMs()) return null;
    var reason = Reason.REVOCATION_STATE_STALE;
    return new Failure(3, reason, Map.of(), reason, freshness.onStale() == OnStale.INTROSPECT);
  }

  private static Failure noDevice(Requirement check, AuthContext context) {
    var isMissing = check instanceof Requirement.Device && context.deviceId() == null;
    return isMissing ? new Failure(3, Reason.DEVICE_REQUIRED) : null;
  }

  private static Failure wrongPlace(Requirement check, Question call) {
    var context = context(call);
    var appId = call.appId();
    if (appId != null && !appId.equals(context.appId())) return new Failure(4, Reason.APP_MISMATCH);
    if (call.liveness() != null) {
      var displaced = Activity.displacement(context, call.liveness().facts());
      if (displaced != null) return new Failure(4, displaced);
    }
    if (check instanceof Requirement.Tenant tenant) return wrongTenant(tenant, call);
    if (check instanceof Requirement.ResourceAction action) return wrongResource(action, call);
    return null;
  }

  private static Failure wrongTenant(Requirement.Tenant check, Question call) {
    var tenantId = context(call).tenantId();
    if (tenantId == null) return new Failure(4, Reason.TENANT_REQUIRED);
    if (check.from() == Source.TOKEN) return null;
    var named = call.request().tenants().get(RequestFacts.tenantKey(check));
    return tenantId.equals(named) ? null : new Failure(4, Reason.TENANT_MISMATCH);
  }

  private static Failure wrongResource(Requirement.ResourceAction check, Question call) {
    var resource = call.request().resources().get(RequestFacts.resourceKey(check));
    var isFound = resource != null && check.type().equals(resource.type());
    var problem = isFound ? Grants.misplacement(context(call), resource) : Reason.RESOURCE_UNRESOLVED;
    if (problem == null) return null;
    // The same answer for somebody else's resource and for none, or the difference would tell which ids exist.
    return new Failure(4, Reason.RESOURCE_UNRESOLVED, Map.of(), problem, false);
  }

  private static Failure wrongKind(Requirement check, AuthContext context) {
    var isWrong = check instanceof Requirement.Kinds kinds && !kinds.of().contains(context.principal().kind());
    return isWrong ? new Failure(5, Reason.PRINCIPAL_KIND_NOT_ALLOWED) : null;
  }

  private static Failure missing(Requirement check, Question call) {
    var context = context(call);
    if (check instanceof Requirement.Scope scope) {
      if (context.scopes().contains(scope.scope())) return null;
      return new Failure(6, Reason.MISSING_SCOPE, "scope", scope.scope());
    }
    var snapshot = call.snapshot();
    if (check instanceof Requirement.Role role) {
      if (snapshot != null && Grants.hasRoleAt(snapshot, context, role.role(), call.nowMs())) return null;
      return new Failure(6, Reason.MISSING_ROLE, "role", role.role());
    }
    var action = actionOf(check);
    if (action == null) return null;
    if (snapshot != null && Grants.isHeldAt(snapshot, context, action, call.nowMs())) return null;
    return new Failure(6, Reason.MISSING_PERMISSION, "permission", action);
  }

  private static String actionOf(Requirement check) {
    if (check instanceof Requirement.Action action) return action.action();
    return check instanceof Requirement.ResourceAction action ? action.action() : null;
  }

  private static Failure tooLongAgo(Question call, long maxAuthAgeSeconds) {
    if (maxAuthAgeSeconds == 0) return null;
    var authTimeMs = context(call).authTimeMs();
    if (authTimeMs != null && call.nowMs() - authTimeMs <= maxAuthAgeSeconds * 1_000) return null;
    return new Failure(6, Reason.STEP_UP_REQUIRED, "max_age", String.valueOf(maxAuthAgeSeconds));
  }

  private static Failure notGranted(Requirement check, Question call) {
    if (!(check instanceof Requirement.ResourceAction action)) return null;
    var resource = call.request().resources().get(RequestFacts.resourceKey(action));
    var snapshot = call.snapshot();
    var isGranted =
        resource != null
            && snapshot != null
            && Grants.isHeldOn(snapshot, context(call), action.action(), resource, call.nowMs());
    return isGranted ? null : new Failure(7, Reason.RESOURCE_NOT_GRANTED);
  }

  private static Failure wrongActor(Requirement check, Question call) {
    var delegation = context(call).delegation();
    var delegated = check instanceof Requirement.Delegated one ? one : null;
    if (delegation == null) return delegated == null ? null : new Failure(8, Reason.ACTOR_REQUIRED);
    if (delegated != null) {
      var actors = delegated.actors();
      var isNamed = actors.contains(delegation.actor().id()) || actors.contains(delegation.actorClientId());
      if (!isNamed) return new Failure(8, Reason.ACTOR_NOT_ALLOWED);
    }
    if (delegation.expiresAtMs() + SKEW_MS <= call.nowMs()) return new Failure(8, Reason.DELEGATION_EXPIRED);
    if (delegation.depth() > Claims.MAX_ACT_DEPTH) return new Failure(8, Reason.DELEGATION_CHAIN_TOO_DEEP);
    var jobId = call.request().jobId();
    if (jobId != null && !jobId.equals(delegation.jobId())) return new Failure(8, Reason.JOB_MISMATCH);
    return null;
  }
}
