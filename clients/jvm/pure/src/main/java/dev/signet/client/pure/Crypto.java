package dev.signet.client.pure;

import java.math.BigInteger;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.security.Signature;
import java.security.spec.EdECPoint;
import java.security.spec.EdECPrivateKeySpec;
import java.security.spec.EdECPublicKeySpec;
import java.security.spec.NamedParameterSpec;
import java.security.spec.XECPrivateKeySpec;
import java.security.spec.XECPublicKeySpec;
import java.util.Arrays;
import javax.crypto.AEADBadTagException;
import javax.crypto.Cipher;
import javax.crypto.KeyAgreement;
import javax.crypto.Mac;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;
import org.bouncycastle.crypto.generators.Argon2BytesGenerator;
import org.bouncycastle.crypto.params.Argon2Parameters;
import org.bouncycastle.crypto.params.Ed25519PrivateKeyParameters;
import org.jspecify.annotations.Nullable;

/**
 * The cryptography of the core and of the secret box: the JCA, and Bouncy Castle for Argon2id and for the public key of an
 * Ed25519 seed, which the JCA of Java 17 lacks. Null is a refusal.
 */
final class Crypto {
  static final int KEY_BYTES = 32, NONCE_BYTES = 12, TAG_BYTES = 16, HASH_BYTES = 32, SIGNATURE_BYTES = 64;
  private static final int MAX_EXPANDED = 255 * HASH_BYTES;
  private static final SecureRandom RANDOM = new SecureRandom();
  /** The field of Curve25519. */
  private static final BigInteger P = BigInteger.TWO.pow(255).subtract(BigInteger.valueOf(19));
  private static final byte[] BASE_POINT = Arrays.copyOf(new byte[] {9}, KEY_BYTES);

  private Crypto() {}

  /** Of an algorithm that every Java 17 has. */
  private interface Work<T> {
    T run() throws GeneralSecurityException;
  }

  private static <T> T known(Work<T> work) {
    try {
      return work.run();
    } catch (GeneralSecurityException fault) {
      throw new IllegalStateException("the platform's cryptography failed", fault);
    }
  }

  static byte[] random(int length) {
    var bytes = new byte[length];
    RANDOM.nextBytes(bytes);
    return bytes;
  }

  static MessageDigest sha256() {
    return known(() -> MessageDigest.getInstance("SHA-256"));
  }

  static byte[] sha256(byte[]... parts) {
    var digest = sha256();
    for (var part : parts) digest.update(part);
    return digest.digest();
  }

  static byte[] sha512(byte[] data) {
    return known(() -> MessageDigest.getInstance("SHA-512").digest(data));
  }

  private static Mac mac(byte[] key) {
    return known(() -> {
      var mac = Mac.getInstance("HmacSHA256");
      // Java refuses an empty key. HMAC pads a key with zeros (RFC 2104 section 2).
      mac.init(new SecretKeySpec(key.length == 0 ? new byte[1] : key, "HmacSHA256"));
      return mac;
    });
  }

  static byte[] hmacSha256(byte[] key, byte[] data) {
    return mac(key).doFinal(data);
  }

  static byte @Nullable [] hkdfExpand(byte[] key, byte[] info, int length) {
    if (length < 0 || length > MAX_EXPANDED) return null;
    var mac = mac(key);
    var out = new byte[length];
    var block = new byte[0];
    for (int at = 0, i = 1; at < length; at += HASH_BYTES, i++) {
      mac.update(block);
      mac.update(info);
      mac.update((byte) i);
      block = mac.doFinal();
      System.arraycopy(block, 0, out, at, Math.min(HASH_BYTES, length - at));
    }
    return out;
  }

  /** @return the ciphertext with its tag, or the plaintext; null for other lengths, or for a wrong tag. */
  private static byte @Nullable [] gcm(int mode, byte[] key, byte[] nonce, byte[] aad, byte[] data) {
    if ((key.length != 16 && key.length != 32) || nonce.length != NONCE_BYTES) return null;
    return known(() -> {
      var cipher = Cipher.getInstance("AES/GCM/NoPadding");
      cipher.init(mode, new SecretKeySpec(key, "AES"), new GCMParameterSpec(8 * TAG_BYTES, nonce));
      cipher.updateAAD(aad);
      try {
        return cipher.doFinal(data);
      } catch (AEADBadTagException wrong) {
        return null;
      }
    });
  }

  static byte @Nullable [] gcmSeal(byte[] key, byte[] nonce, byte[] aad, byte[] plaintext) {
    return gcm(Cipher.ENCRYPT_MODE, key, nonce, aad, plaintext);
  }

  static byte @Nullable [] gcmOpen(byte[] key, byte[] nonce, byte[] aad, byte[] sealed) {
    return sealed.length < TAG_BYTES ? null : gcm(Cipher.DECRYPT_MODE, key, nonce, aad, sealed);
  }

  private static BigInteger littleEndian(byte[] bytes, int from) {
    var reversed = new byte[KEY_BYTES];
    for (int i = 0; i < KEY_BYTES; i++) reversed[i] = bytes[from + KEY_BYTES - 1 - i];
    return new BigInteger(1, reversed);
  }

  static byte @Nullable [] x25519Public(byte[] privateKey) {
    return x25519(privateKey, BASE_POINT);
  }

  /** Java refuses a point of small order, which is each that gives zero. */
  static byte @Nullable [] x25519(byte[] privateKey, byte[] publicKey) {
    if (privateKey.length != KEY_BYTES || publicKey.length != KEY_BYTES) return null;
    // The highest bit is ignored (RFC 7748 section 5).
    var u = littleEndian(publicKey, 0).clearBit(255);
    try {
      var factory = KeyFactory.getInstance("X25519");
      var agreement = KeyAgreement.getInstance("X25519");
      agreement.init(factory.generatePrivate(new XECPrivateKeySpec(NamedParameterSpec.X25519, privateKey)));
      agreement.doPhase(factory.generatePublic(new XECPublicKeySpec(NamedParameterSpec.X25519, u)), true);
      return agreement.generateSecret();
    } catch (GeneralSecurityException refused) {
      return null;
    }
  }

  static byte[] ed25519Public(byte[] seed) {
    return new Ed25519PrivateKeyParameters(seed, 0).generatePublicKey().getEncoded();
  }

  static byte[] ed25519Sign(byte[] seed, byte[] message) {
    return known(() -> {
      var key = new EdECPrivateKeySpec(NamedParameterSpec.ED25519, seed);
      var signature = Signature.getInstance("Ed25519");
      signature.initSign(KeyFactory.getInstance("Ed25519").generatePrivate(key));
      signature.update(message);
      return signature.sign();
    });
  }

  /**
   * Verifies without the cofactor (RFC 8032 section 5.1.7). Java compares points, so a second encoding of R is refused here:
   * other clients compare its encoding.
   */
  static boolean ed25519Verify(byte[] publicKey, byte[] message, byte[] signature) {
    if (publicKey.length != KEY_BYTES || signature.length != SIGNATURE_BYTES || !isCanonical(signature)) return false;
    var encoded = littleEndian(publicKey, 0);
    try {
      var point = new EdECPoint(encoded.testBit(255), encoded.clearBit(255));
      var verifier = Signature.getInstance("Ed25519");
      verifier.initVerify(
          KeyFactory.getInstance("Ed25519").generatePublic(new EdECPublicKeySpec(NamedParameterSpec.ED25519, point)));
      verifier.update(message);
      return verifier.verify(signature);
    } catch (GeneralSecurityException refused) {
      return false;
    }
  }

  /** True for the one encoding of the point: y is below P, and an x of zero has no sign. */
  private static boolean isCanonical(byte[] point) {
    var encoded = littleEndian(point, 0);
    var y = encoded.clearBit(255);
    if (y.compareTo(P) >= 0) return false;
    var isXZero = y.equals(BigInteger.ONE) || y.equals(P.subtract(BigInteger.ONE));
    return !(isXZero && encoded.testBit(255));
  }

  static byte @Nullable [] argon2id(byte[] passphrase, byte[] salt, double memoryKib, double passes, double lanes, double length) {
    var fits = memoryKib >= 8 && memoryKib <= 4_194_304 && passes >= 1 && passes <= 1000 && lanes >= 1 && lanes <= 64
        && length >= 4 && length <= 1024;
    if (!fits) return null;
    var generator = new Argon2BytesGenerator();
    generator.init(new Argon2Parameters.Builder(Argon2Parameters.ARGON2_id)
        .withVersion(Argon2Parameters.ARGON2_VERSION_13)
        .withSalt(salt)
        .withMemoryAsKB((int) memoryKib)
        .withIterations((int) passes)
        .withParallelism((int) lanes)
        .build());
    var out = new byte[(int) length];
    generator.generateBytes(passphrase, out);
    return out;
  }
}
