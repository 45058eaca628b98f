package dev.signet.guard;

import java.util.EnumSet;
import java.util.Set;

/** The WWW-Authenticate header of a refusal (RFC 6750 section 3, RFC 9470 section 3). */
public final class Challenge {
  /** A 401 whose credential was in the body, or was none: the challenge names no error (RFC 6750 section 3.1). */
  private static final Set<Reason> WITHOUT_ERROR =
      EnumSet.of(
          Reason.NO_CREDENTIAL,
          Reason.PROVIDER_TOKEN_INVALID,
          Reason.PROVIDER_TOKEN_REPLAYED,
          Reason.NONCE_MISMATCH,
          Reason.REFRESH_TOKEN_INVALID,
          Reason.REFRESH_TOKEN_REUSED);

  private Challenge() {}

  /** The header's value; null where none is due. */
  public static String of(Refused refused) {
    var reason = refused.reason();
    var metadata = refused.metadata();
    if (reason == Reason.MISSING_SCOPE) {
      return bearer("error", "insufficient_scope", "scope", metadata.get("scope"));
    }
    if (reason == Reason.STEP_UP_REQUIRED) {
      return bearer("error", "insufficient_user_authentication", "max_age", metadata.get("max_age"));
    }
    if (reason.status() != 401) return null;
    // RFC 6749 section 5.2: the challenge names the method that was, or may be, used.
    if (reason == Reason.CLIENT_INVALID) return "Basic realm=\"signet\", charset=\"UTF-8\"";
    // A token in the body was refused, not the caller's own.
    if ("invalid_grant".equals(metadata.get("error"))) return null;
    if (WITHOUT_ERROR.contains(reason)) return bearer();
    return bearer("error", "invalid_token", "error_description", reason.message());
  }

  private static String bearer(String... parameters) {
    var challenge = new StringBuilder("Bearer realm=\"signet\"");
    for (int i = 0; i < parameters.length; i += 2) {
      if (parameters[i + 1] == null) continue;
      // Printable ASCII without quote and backslash: nothing that a caller sent can end the quoted string.
      var value = parameters[i + 1].replaceAll("[^\\x20-\\x21\\x23-\\x5b\\x5d-\\x7e]", "");
      challenge.append(", ").append(parameters[i]).append("=\"").append(value).append('"');
    }
    return challenge.toString();
  }
}
