package dev.signet.guard;

import dev.signet.guard.KeySet.VerifyKey;
import dev.signet.guard.token.Jwks;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.Signature;
import java.security.interfaces.ECPublicKey;
import java.security.spec.ECGenParameterSpec;
import java.util.Base64;
import java.util.Map;

/** Signs tokens with a key of its own, also what no issuer should. */
public final class TestSigner {
  private static final Base64.Encoder BASE64 = Base64.getUrlEncoder().withoutPadding();

  private final KeyPair pair;

  public TestSigner() {
    try {
      var generator = KeyPairGenerator.getInstance("EC");
      generator.initialize(new ECGenParameterSpec("secp256r1"));
      pair = generator.generateKeyPair();
    } catch (GeneralSecurityException error) {
      throw new IllegalStateException(error);
    }
  }

  /** Its public key as a JWK Set, under the kid "key-1". */
  public String jwks() {
    var point = ((ECPublicKey) pair.getPublic()).getW();
    return "{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"use\":\"sig\",\"kid\":\"key-1\",\"x\":\""
        + coordinate(point.getAffineX()) + "\",\"y\":\"" + coordinate(point.getAffineY()) + "\"}]}";
  }

  public VerifyKey key() {
    return Jwks.parse(jwks()).get("key-1");
  }

  public String sign(Map<String, Object> header, Map<String, Object> claims) {
    var signed = encoded(header) + "." + encoded(claims);
    try {
      var signature = Signature.getInstance("SHA256withECDSAinP1363Format");
      signature.initSign(pair.getPrivate());
      signature.update(signed.getBytes(StandardCharsets.US_ASCII));
      return signed + "." + BASE64.encodeToString(signature.sign());
    } catch (GeneralSecurityException error) {
      throw new IllegalStateException(error);
    }
  }

  private static String encoded(Map<String, Object> json) {
    return BASE64.encodeToString(Vectors.json(json).getBytes(StandardCharsets.UTF_8));
  }

  private static String coordinate(BigInteger of) {
    var bytes = new byte[32];
    var given = of.toByteArray();
    int length = Math.min(32, given.length);
    System.arraycopy(given, given.length - length, bytes, 32 - length, length);
    return BASE64.encodeToString(bytes);
  }
}
