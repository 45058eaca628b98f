package signet.example.notes;

import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jose.crypto.ECDSAVerifier;
import com.nimbusds.jose.util.Base64URL;
import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

/** Takes access tokens of one issuer for one audience. */
final class Verifier {
  private static final double SKEW_SECONDS = 30;
  private static final int MAX_TOKEN_LENGTH = 8192;
  private static final Pattern BEARER = Pattern.compile("(?i)bearer +((?-i)[A-Za-z0-9\\-._~+/]+=*)");
  // Names in a header that change how a token is read or with which key: our issuer writes none of them.
  private static final List<String> FORBIDDEN = List.of("crit", "b64", "jku", "jwk", "x5u", "x5c", "zip");
  // What providers sign with: such a token of another issuer is told apart, for the developer who sent it.
  private static final Set<Object> PROVIDER_ALGORITHMS =
      Set.of("RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA");

  private final String issuer;
  private final String audience;
  private final KeySet keys;
  private final Clock clock = Clock.systemUTC();

  Verifier(String issuer, String audience, KeySet keys) {
    this.issuer = issuer;
    this.audience = audience;
    this.keys = keys;
  }

  /**
   * The claims of the caller's token.
   *
   * @param headers The Authorization headers as sent.
   */
  Map<String, Object> authenticate(List<String> headers) throws Refused {
    if (headers.isEmpty()) throw new Refused("NO_CREDENTIAL");
    var match = BEARER.matcher(String.join(", ", headers));
    if (!match.matches()) throw new Refused("MALFORMED_CREDENTIAL");
    var token = match.group(1);
    if (token.startsWith("sgpat_")) throw new Refused("PAT_NOT_BEARER");
    if (token.startsWith("sgrt_")) throw new Refused("REFRESH_TOKEN_NOT_BEARER");
    return verify(token);
  }

  private Map<String, Object> verify(String token) throws Refused {
    var parts = token.split("\\.", -1);
    if (token.length() > MAX_TOKEN_LENGTH || parts.length != 3 || parts[0].isEmpty() || parts[1].isEmpty()) {
      throw new Refused("MALFORMED_CREDENTIAL");
    }
    var key = keys.find(kidOf(parts[0], parts[1]));
    var signature = Encoded.bytes(parts[2]);
    var signed = (parts[0] + "." + parts[1]).getBytes(StandardCharsets.US_ASCII);
    try {
      var isGood =
          signature != null
              && signature.length == 64
              && new ECDSAVerifier(key)
                  .verify(new JWSHeader(JWSAlgorithm.ES256), signed, Base64URL.encode(signature));
      if (!isGood) throw new Refused("SIGNATURE_INVALID");
    } catch (JOSEException error) {
      throw new Refused("SIGNATURE_INVALID");
    }
    var claims = Encoded.object(parts[1], false);
    if (claims == null) throw new Refused("MALFORMED_CREDENTIAL");
    check(claims);
    return claims;
  }

  /** The kid of a header that our issuer may have written. */
  private String kidOf(String part, String payload) throws Refused {
    var header = Encoded.object(part, true);
    if (header == null || FORBIDDEN.stream().anyMatch(header::containsKey)) throw new Refused("MALFORMED_CREDENTIAL");
    if (!"ES256".equals(header.get("alg"))) throw new Refused(providerTokenOr("ALG_NOT_ALLOWED", header, payload));
    if (!"at+jwt".equals(header.get("typ"))) throw new Refused(providerTokenOr("TYP_NOT_ALLOWED", header, payload));
    if (header.get("kid") instanceof String kid) return kid;
    throw new Refused("KEY_UNKNOWN");
  }

  private String providerTokenOr(String reason, Map<String, Object> header, String payload) {
    var isJwt = !header.containsKey("typ") || "JWT".equals(header.get("typ"));
    var alg = header.get("alg");
    if (!isJwt || alg == null || !PROVIDER_ALGORITHMS.contains(alg)) return reason;
    var claims = Encoded.object(payload, false);
    var isOthers = claims != null && claims.get("iss") instanceof String iss && !iss.equals(issuer);
    return isOthers ? "PROVIDER_TOKEN_NOT_ACCEPTED" : reason;
  }

  /** Issuer, audience and times, before anything else is believed. */
  private void check(Map<String, Object> claims) throws Refused {
    if (!issuer.equals(claims.get("iss"))) throw new Refused("ISSUER_MISMATCH");
    if (!audience.equals(claims.get("aud"))) throw new Refused("AUDIENCE_MISMATCH");
    var now = clock.millis() / 1_000.0;
    if (claims.get("exp") instanceof Number exp && exp.doubleValue() + SKEW_SECONDS <= now) {
      throw new Refused("TOKEN_EXPIRED");
    }
    for (var name : List.of("nbf", "iat")) {
      if (claims.get(name) instanceof Number at && at.doubleValue() > now + SKEW_SECONDS) {
        throw new Refused("TOKEN_NOT_YET_VALID");
      }
    }
    Claims.check(claims);
  }
}
