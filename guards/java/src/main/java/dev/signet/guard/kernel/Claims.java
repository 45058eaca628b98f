package dev.signet.guard.kernel;

import static dev.signet.guard.kernel.Values.isCount;
import static dev.signet.guard.kernel.Values.isId;
import static dev.signet.guard.kernel.Values.isText;
import static dev.signet.guard.kernel.Values.text;
import static dev.signet.guard.kernel.Values.texts;

import dev.signet.guard.AuthContext;
import dev.signet.guard.AuthContext.AuthMethod;
import dev.signet.guard.AuthContext.Delegation;
import dev.signet.guard.AuthContext.Principal;
import dev.signet.guard.AuthContext.PrincipalKind;
import dev.signet.guard.AuthContext.Versions;
import dev.signet.guard.Reason;
import dev.signet.guard.Result;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** What the claims of an access token may be, and the AuthContext that they are. */
public final class Claims {
  /** Clocks may differ by this much. */
  public static final long SKEW_SECONDS = 30;

  /** The longest life of an access token. */
  public static final long MAX_LIFE_SECONDS = 900;

  /** No token that was issued before this is accepted later. */
  public static final long LONGEST_TOKEN_MS = (MAX_LIFE_SECONDS + SKEW_SECONDS) * 1_000;

  /** How many services may stand between the user and the caller. */
  public static final int MAX_ACT_DEPTH = 3;

  private static final Map<String, AuthMethod> METHODS =
      Map.of(
          "session", AuthMethod.USER_SESSION,
          "client_credentials", AuthMethod.CLIENT_CREDENTIALS,
          "pat", AuthMethod.PERSONAL_ACCESS_TOKEN,
          "on_behalf_of", AuthMethod.ON_BEHALF_OF);

  private Claims() {}

  /** Whether it is past {@code exp}, or before {@code nbf} or {@code iat}; null when it is not. */
  public static Reason untimely(Map<String, Object> claims, long nowMs) {
    double now = nowMs / 1_000.0;
    if (claims.get("exp") instanceof Number exp && exp.doubleValue() + SKEW_SECONDS <= now) {
      return Reason.TOKEN_EXPIRED;
    }
    for (var name : new String[] {"nbf", "iat"}) {
      if (claims.get(name) instanceof Number at && at.doubleValue() > now + SKEW_SECONDS) {
        return Reason.TOKEN_NOT_YET_VALID;
      }
    }
    return null;
  }

  /**
   * The caller in a verified token's payload, or the first thing that is wrong with it. Claims that are not known are
   * ignored.
   */
  public static Result<AuthContext> contextOf(Map<String, Object> payload) {
    var refusal = refusalOf(payload);
    return refusal == null ? Result.of(build(payload)) : Result.refused(refusal);
  }

  private static Reason refusalOf(Map<String, Object> payload) {
    if (!isText(payload.get("iss"))) return Reason.ISSUER_MISMATCH;
    if (!isText(payload.get("aud"))) return Reason.AUDIENCE_MISMATCH;
    if (!isCount(payload.get("exp"))) return Reason.TOKEN_EXPIRED;
    if (!isCount(payload.get("nbf")) || !isCount(payload.get("iat"))) return Reason.TOKEN_NOT_YET_VALID;
    if ((Long) payload.get("exp") - (Long) payload.get("iat") > MAX_LIFE_SECONDS) return Reason.TOKEN_EXPIRED;
    var who = whoRefusal(payload);
    if (who != null) return who;
    var isWellFormed =
        isText(payload.get("jti"))
            && isText(payload.get("client_id"))
            && isCount(payload.get("perm_ver"))
            && isPolicyVersion(payload)
            && texts(payload.get("scp")) != null
            && texts(payload.get("amr")) != null
            && (!payload.containsKey("auth_time") || isCount(payload.get("auth_time")))
            && isDevice(payload);
    return isWellFormed ? null : Reason.MALFORMED_CREDENTIAL;
  }

  private static boolean isPolicyVersion(Map<String, Object> payload) {
    if (!payload.containsKey("pol_ver")) return true;
    var version = payload.get("pol_ver");
    return isCount(version) && (Long) version <= (Long) payload.get("perm_ver");
  }

  /** Only a session has a device. */
  private static boolean isDevice(Map<String, Object> payload) {
    if (!payload.containsKey("did")) return true;
    return isId("dev", payload.get("did")) && "session".equals(payload.get("gty"));
  }

  /** Subject, place and actor, in one of the shapes that a grant gives. */
  private static Reason whoRefusal(Map<String, Object> payload) {
    if (!isId("app", payload.get("app_id"))) return Reason.MALFORMED_CREDENTIAL;
    var type = payload.get("principal_type");
    if (!"user".equals(type) && !"service".equals(type)) return Reason.MALFORMED_CREDENTIAL;
    if (payload.containsKey("act")) {
      var refusal = actRefusal(payload.get("act"), 1);
      if (refusal != null) return refusal;
    }
    var areIds =
        isId("prn", payload.get("sub"))
            && isAbsentOrId(payload, "identity_id", "idn")
            && isAbsentOrId(payload, "tenant_id", "ten")
            && isAbsentOrId(payload, "context_id", "ctx")
            && isAbsentOrId(payload, "sid", "ses")
            && isAbsentOrId(payload, "osid", "ses")
            && (!payload.containsKey("cred_id") || isText(payload.get("cred_id")))
            && (!payload.containsKey("job_id") || isText(payload.get("job_id")));
    return areIds && hasShape(payload) ? null : Reason.MALFORMED_CREDENTIAL;
  }

  private static boolean hasShape(Map<String, Object> payload) {
    if (!(payload.get("gty") instanceof String gty) || !METHODS.containsKey(gty)) return false;
    var isUser = "user".equals(payload.get("principal_type"));
    if (isUser != payload.containsKey("identity_id")) return false;
    if (payload.containsKey("sid") != gty.equals("session")) return false;
    if (isUser == gty.equals("client_credentials")) return false;
    var hasActor = payload.containsKey("act");
    var hasJob = payload.containsKey("job_id");
    if (gty.equals("on_behalf_of")) return hasActor && hasJob;
    return !hasActor && !hasJob && !payload.containsKey("osid");
  }

  private static boolean isAbsentOrId(Map<String, Object> payload, String name, String kind) {
    return !payload.containsKey(name) || isId(kind, payload.get(name));
  }

  private static Reason actRefusal(Object value, int depth) {
    if (depth > MAX_ACT_DEPTH) return Reason.DELEGATION_CHAIN_TOO_DEEP;
    var act = Values.object(value);
    var isActor =
        act != null
            && isId("prn", act.get("sub"))
            && "service".equals(act.get("principal_type"))
            && isText(act.get("client_id"));
    if (!isActor) return Reason.MALFORMED_CREDENTIAL;
    return act.containsKey("act") ? actRefusal(act.get("act"), depth + 1) : null;
  }

  private static AuthContext build(Map<String, Object> claims) {
    var isUser = "user".equals(claims.get("principal_type"));
    var delegation = claims.containsKey("act") ? delegationOf(claims) : null;
    return new AuthContext(
        new Principal(text(claims.get("sub")), isUser ? PrincipalKind.USER : PrincipalKind.SERVICE),
        text(claims.get("identity_id")),
        text(claims.get("app_id")),
        text(claims.get("tenant_id")),
        text(claims.get("context_id")),
        text(claims.get("sid")),
        text(claims.get("did")),
        text(claims.get("jti")),
        text(claims.get("cred_id")),
        text(claims.get("iss")),
        text(claims.get("aud")),
        new LinkedHashSet<>(texts(claims.get("scp"))),
        Optional.empty(),
        METHODS.get(text(claims.get("gty"))),
        delegation == null ? null : delegation.actor(),
        delegation,
        claims,
        claims.get("auth_time") instanceof Long seconds ? seconds * 1_000 : null,
        (Long) claims.get("iat") * 1_000,
        (Long) claims.get("exp") * 1_000,
        (Long) claims.get("perm_ver"),
        versionsOf((Long) claims.get("perm_ver"), claims.get("pol_ver")));
  }

  /** Of a sum whose parts are not told nothing is known, so both are the lowest there are. */
  private static Versions versionsOf(long sum, Object policy) {
    return policy instanceof Long part ? new Versions(sum - part, part) : Versions.NONE;
  }

  private static Delegation delegationOf(Map<String, Object> claims) {
    var act = Values.object(claims.get("act"));
    int depth = 1;
    for (var next = Values.object(act.get("act")); next != null; next = Values.object(next.get("act"))) depth++;
    // Only the outermost actor decides (RFC 8693 section 4.1).
    return new Delegation(
        new Principal(text(act.get("sub")), PrincipalKind.SERVICE),
        text(act.get("client_id")),
        text(claims.get("job_id")),
        text(claims.get("osid")),
        (Long) claims.get("exp") * 1_000,
        depth);
  }
}
