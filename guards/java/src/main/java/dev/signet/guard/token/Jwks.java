package dev.signet.guard.token;

import dev.signet.guard.KeySet.VerifyKey;
import dev.signet.guard.kernel.Values;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/** A JWK Set (RFC 7517 section 5). */
public final class Jwks {
  private static final int MAX_KEYS = 16;

  /** The shape of every kid that the issuer publishes. */
  static final Pattern KID = Pattern.compile("[A-Za-z0-9_-]{1,128}");

  private static final Pattern COORDINATE = Pattern.compile("[A-Za-z0-9_-]{43}");

  private Jwks() {}

  /**
   * The ES256 keys by kid; other keys are passed over, as section 5 asks.
   *
   * @throws IllegalArgumentException when the text is no JWK Set, has more than 16 keys, two with one kid, or one that
   *     is no point of the curve.
   */
  public static Map<String, VerifyKey> parse(String text) {
    var set = Values.object(Json.parse(text).value());
    if (set == null || !(set.get("keys") instanceof List<?> list)) throw new IllegalArgumentException("not a JWK Set");
    if (list.size() > MAX_KEYS) throw new IllegalArgumentException("more than " + MAX_KEYS + " keys");
    var keys = new LinkedHashMap<String, VerifyKey>();
    for (var one : list) {
      var jwk = Values.object(one);
      if (jwk == null || !isEs256(jwk)) continue;
      if (keys.put((String) jwk.get("kid"), keyOf(jwk)) != null) {
        throw new IllegalArgumentException("two keys have the same kid");
      }
    }
    return keys;
  }

  private static boolean isEs256(Map<String, Object> jwk) {
    var isKind = "EC".equals(jwk.get("kty")) && "P-256".equals(jwk.get("crv")) && "sig".equals(jwk.get("use"));
    if (!isKind || (jwk.containsKey("alg") && !"ES256".equals(jwk.get("alg")))) return false;
    return matches(KID, jwk.get("kid")) && matches(COORDINATE, jwk.get("x")) && matches(COORDINATE, jwk.get("y"));
  }

  private static boolean matches(Pattern pattern, Object value) {
    return value instanceof String text && pattern.matcher(text).matches();
  }

  private static VerifyKey keyOf(Map<String, Object> jwk) {
    var x = Encoded.bytes((String) jwk.get("x"));
    var y = Encoded.bytes((String) jwk.get("y"));
    if (x == null || y == null) throw new IllegalArgumentException("a coordinate is not base64url");
    return EcKey.of(x, y);
  }
}
