package dev.signet.guard.token;

import dev.signet.guard.KeySet.VerifyKey;
import java.math.BigInteger;
import java.security.AlgorithmParameters;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PublicKey;
import java.security.Signature;
import java.security.spec.ECFieldFp;
import java.security.spec.ECGenParameterSpec;
import java.security.spec.ECParameterSpec;
import java.security.spec.ECPoint;
import java.security.spec.ECPublicKeySpec;
import java.util.Arrays;

/** A public key on P-256. */
final class EcKey implements VerifyKey {
  private static final ECParameterSpec P256 = p256();

  private final PublicKey key;

  private EcKey(PublicKey key) {
    this.key = key;
  }

  /** @throws IllegalArgumentException when x and y (32 bytes each) are no point of the curve. */
  static EcKey of(byte[] x, byte[] y) {
    var point = new ECPoint(new BigInteger(1, x), new BigInteger(1, y));
    if (!isOnCurve(point)) throw new IllegalArgumentException("not a point of P-256");
    try {
      return new EcKey(KeyFactory.getInstance("EC").generatePublic(new ECPublicKeySpec(point, P256)));
    } catch (GeneralSecurityException error) {
      throw new IllegalArgumentException("not a P-256 key", error);
    }
  }

  @Override
  public boolean verify(byte[] signature, byte[] data) {
    // Java once took zeros for a signature of anything (CVE-2022-21449).
    if (signature.length != 64 || !isScalar(signature, 0) || !isScalar(signature, 32)) return false;
    try {
      var verifier = Signature.getInstance("SHA256withECDSAinP1363Format");
      verifier.initVerify(key);
      verifier.update(data);
      return verifier.verify(signature);
    } catch (GeneralSecurityException error) {
      return false;
    }
  }

  private static boolean isScalar(byte[] signature, int from) {
    var value = new BigInteger(1, Arrays.copyOfRange(signature, from, from + 32));
    return value.signum() > 0 && value.compareTo(P256.getOrder()) < 0;
  }

  /** KeyFactory takes points that are on another curve. */
  private static boolean isOnCurve(ECPoint point) {
    var p = ((ECFieldFp) P256.getCurve().getField()).getP();
    var x = point.getAffineX();
    var y = point.getAffineY();
    if (x.compareTo(p) >= 0 || y.compareTo(p) >= 0) return false;
    var curve = P256.getCurve();
    var right = x.multiply(x).add(curve.getA()).multiply(x).add(curve.getB()).mod(p);
    return y.multiply(y).mod(p).equals(right);
  }

  private static ECParameterSpec p256() {
    try {
      var parameters = AlgorithmParameters.getInstance("EC");
      parameters.init(new ECGenParameterSpec("secp256r1"));
      return parameters.getParameterSpec(ECParameterSpec.class);
    } catch (GeneralSecurityException error) {
      throw new IllegalStateException("this Java has no P-256", error);
    }
  }
}
