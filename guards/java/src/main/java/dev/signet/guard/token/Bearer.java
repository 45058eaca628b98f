package dev.signet.guard.token;

import dev.signet.guard.Reason;
import dev.signet.guard.Result;
import java.util.regex.Pattern;

/** The bearer token in an Authorization header. */
public final class Bearer {
  // b64token of RFC 6750 section 2.1. Two headers arrive joined by a comma, which is none of its characters.
  // Possessive: no header makes the matcher go back, or deep.
  private static final Pattern BEARER =
      Pattern.compile("[Bb][Ee][Aa][Rr][Ee][Rr] ++([A-Za-z0-9\\-._~+/]++=*+)");

  private Bearer() {}

  /** @param header the header as sent; null when there is none */
  public static Result<String> parse(String header) {
    if (header == null) return Result.refused(Reason.NO_CREDENTIAL);
    var match = BEARER.matcher(header);
    if (!match.matches()) return Result.refused(Reason.MALFORMED_CREDENTIAL);
    var token = match.group(1);
    if (token.startsWith("sgpat_")) return Result.refused(Reason.PAT_NOT_BEARER);
    if (token.startsWith("sgrt_")) return Result.refused(Reason.REFRESH_TOKEN_NOT_BEARER);
    return Result.of(token);
  }
}
