package dev.signet.client.boxes;

import dev.signet.client.SecretBox;
import dev.signet.client.SecretBoxException;
import dev.signet.host.v1.BoxFailure;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.SecureRandom;
import java.util.Arrays;
import javax.crypto.AEADBadTagException;
import javax.crypto.Cipher;
import javax.crypto.SecretKey;
import javax.crypto.spec.GCMParameterSpec;
import org.jspecify.annotations.Nullable;

/**
 * Wraps keys with AES-256-GCM, under a random key for each scope, which a store of the system has. The bytes are a format, a
 * nonce of 12 bytes, and the sealed keys; the scope is authenticated.
 */
abstract class StoredKeyBox implements SecretBox {
  private static final byte FORMAT = 1;
  private static final int KEY_BYTES = 32;
  private static final int NONCE_BYTES = 12;
  private static final int TAG_BITS = 128;

  private final SecureRandom random = new SecureRandom();
  private final Description promises;
  private final byte[] label;

  StoredKeyBox(Description promises) {
    this.promises = promises;
    label = ("signet " + promises.backend() + " v" + promises.version() + "\0").getBytes(StandardCharsets.US_ASCII);
  }

  /** Returns the stored key of the scope, in an array that the caller wipes; null if there is none. */
  abstract byte @Nullable [] read(String scope) throws SecretBoxException;

  /** Stores a key of the scope, in the place of another one. */
  abstract void write(String scope, byte[] key) throws SecretBoxException;

  @Override
  public final Description describe() {
    return promises;
  }

  @Override
  public final byte[] wrap(String scope, byte[] keys, boolean isFirst) throws SecretBoxException {
    if (isFirst) create(scope);
    // A new key, too, is the one that the store returns: a store that loses it fails before anything is sealed.
    try (var key = find(scope)) {
      var nonce = random(NONCE_BYTES);
      var sealed = cipher(Cipher.ENCRYPT_MODE, key, scope, ByteBuffer.wrap(nonce)).doFinal(keys);
      return ByteBuffer.allocate(1 + NONCE_BYTES + sealed.length).put(FORMAT).put(nonce).put(sealed).array();
    } catch (GeneralSecurityException defect) {
      throw new SecretBoxException(BoxFailure.SECURE_STORE_UNAVAILABLE, "this Java has no AES-256-GCM", defect);
    }
  }

  @Override
  public final byte[] unwrap(String scope, byte[] wrapped) throws SecretBoxException {
    if (wrapped.length < 1 + NONCE_BYTES + TAG_BITS / 8 || wrapped[0] != FORMAT) {
      var isNewer = wrapped.length > 0 && wrapped[0] > FORMAT;
      var reason = isNewer ? BoxFailure.STATE_NEWER_VERSION : BoxFailure.STATE_TAMPERED;
      throw new SecretBoxException(reason, "the wrapped keys have another format", null);
    }
    try (var key = find(scope)) {
      var cipher = cipher(Cipher.DECRYPT_MODE, key, scope, ByteBuffer.wrap(wrapped, 1, NONCE_BYTES));
      return cipher.doFinal(wrapped, 1 + NONCE_BYTES, wrapped.length - 1 - NONCE_BYTES);
    } catch (AEADBadTagException changed) {
      var message = "the wrapped keys were changed, or belong to another scope";
      throw new SecretBoxException(BoxFailure.STATE_TAMPERED, message, changed);
    } catch (GeneralSecurityException defect) {
      throw new SecretBoxException(BoxFailure.SECURE_STORE_UNAVAILABLE, "this Java has no AES-256-GCM", defect);
    }
  }

  private void create(String scope) throws SecretBoxException {
    var key = random(KEY_BYTES);
    try {
      write(scope, key);
    } finally {
      Arrays.fill(key, (byte) 0);
    }
  }

  private WrappingKey find(String scope) throws SecretBoxException {
    var key = read(scope);
    if (key == null) {
      var message = "the wrapping key does not exist: it was deleted, or another device wrote the data";
      throw new SecretBoxException(BoxFailure.KEY_INVALIDATED, message, null);
    }
    if (key.length == KEY_BYTES) return new WrappingKey(key);
    Arrays.fill(key, (byte) 0);
    throw new SecretBoxException(BoxFailure.STATE_TAMPERED, "the stored wrapping key has another length", null);
  }

  private byte[] random(int length) {
    var bytes = new byte[length];
    random.nextBytes(bytes);
    return bytes;
  }

  private Cipher cipher(int mode, SecretKey key, String scope, ByteBuffer nonce) throws GeneralSecurityException {
    var cipher = Cipher.getInstance("AES/GCM/NoPadding");
    cipher.init(mode, key, new GCMParameterSpec(TAG_BITS, nonce.array(), nonce.position(), nonce.remaining()));
    cipher.updateAAD(label);
    cipher.updateAAD(scope.getBytes(StandardCharsets.UTF_8));
    return cipher;
  }

  /** A key that can be wiped, which those of javax.crypto.spec cannot. The cipher wipes its copies of the bytes. */
  private static final class WrappingKey implements SecretKey, AutoCloseable {
    private static final long serialVersionUID = 1;
    private final transient byte[] raw;

    WrappingKey(byte[] raw) {
      this.raw = raw;
    }

    @Override
    public String getAlgorithm() {
      return "AES";
    }

    @Override
    public String getFormat() {
      return "RAW";
    }

    @Override
    public byte[] getEncoded() {
      return raw.clone();
    }

    @Override
    public void close() {
      Arrays.fill(raw, (byte) 0);
    }
  }
}
