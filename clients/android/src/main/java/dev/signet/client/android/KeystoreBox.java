package dev.signet.client.android;

import android.security.KeyStoreException;
import android.security.keystore.KeyGenParameterSpec;
import android.security.keystore.KeyPermanentlyInvalidatedException;
import android.security.keystore.KeyProperties;
import android.security.keystore.StrongBoxUnavailableException;
import android.security.keystore.UserNotAuthenticatedException;
import dev.signet.client.SecretBox;
import dev.signet.client.SecretBoxException;
import dev.signet.host.v1.BoxFailure;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.Key;
import java.security.KeyStore;
import java.security.MessageDigest;
import java.security.ProviderException;
import java.security.UnrecoverableKeyException;
import java.time.Duration;
import java.util.Base64;
import javax.crypto.AEADBadTagException;
import javax.crypto.Cipher;
import javax.crypto.KeyGenerator;
import javax.crypto.spec.GCMParameterSpec;
import org.jspecify.annotations.Nullable;

/**
 * Wraps the keys of a client by AES-256-GCM keys of the Android Keystore: one for each scope, never extractable, in StrongBox
 * where the device has one, in no backup.
 *
 * <p>A wrapping key that is gone or that Android has invalidated is KEY_INVALIDATED. The box never replaces it: the app
 * decides what happens to the stored data. Nothing is deleted because of an error.
 */
public final class KeystoreBox implements SecretBox {
  private static final String STORE = "AndroidKeyStore";
  private static final String CIPHER = "AES/GCM/NoPadding";
  private static final byte[] LABEL = "signet android keystore v1\0".getBytes(StandardCharsets.US_ASCII);
  private static final Description PROMISES = new Description("android-keystore", 1, false, true, true);
  private static final byte FORMAT = 1;
  private static final int TAG_BITS = 128;
  private static final int NONCE_BYTES = 12;

  private final String name;
  private final boolean needsUnlockedDevice;
  private final @Nullable Duration authentication;

  private KeystoreBox(String name, boolean needsUnlockedDevice, @Nullable Duration authentication) {
    this.name = name;
    this.needsUnlockedDevice = needsUnlockedDevice;
    this.authentication = authentication;
  }

  /**
   * Returns a box whose keys need no user.
   *
   * @param name names the data folder, of {@code [a-z0-9-]}: two folders of an app have different names
   * @return a box
   */
  public static KeystoreBox named(String name) {
    if (!name.matches("[a-z0-9-]{1,64}")) throw new IllegalArgumentException("name must match [a-z0-9-]{1,64}");
    return new KeystoreBox(name, false, null);
  }

  /**
   * Returns a box whose new keys work only while the device is unlocked. It is LOCKED at other times, so that pushes are not
   * read then.
   *
   * @return another box
   */
  public KeystoreBox requireUnlockedDevice() {
    return new KeystoreBox(name, true, authentication);
  }

  /**
   * Returns a box whose new keys work only for some time after the user has authenticated with a strong biometric or the
   * screen lock. It is LOCKED at other times. A new fingerprint, or the removal of the screen lock, invalidates the keys.
   *
   * @param validity at least a second
   * @return another box
   */
  public KeystoreBox requireAuthentication(Duration validity) {
    if (validity.getSeconds() < 1) throw new IllegalArgumentException("validity must be at least a second");
    return new KeystoreBox(name, needsUnlockedDevice, validity);
  }

  String name() {
    return name;
  }

  @Override
  public Description describe() {
    return PROMISES;
  }

  @Override
  public byte[] wrap(String scope, byte[] keys, boolean isFirst) throws SecretBoxException {
    try {
      var key = isFirst ? create(aliasOf(scope)) : find(aliasOf(scope));
      var cipher = Cipher.getInstance(CIPHER);
      // The Keystore makes the nonce, and refuses one of the app.
      cipher.init(Cipher.ENCRYPT_MODE, key);
      cipher.updateAAD(additionalData(scope));
      var sealed = cipher.doFinal(keys);
      return ByteBuffer.allocate(1 + NONCE_BYTES + sealed.length).put(FORMAT).put(cipher.getIV()).put(sealed).array();
    } catch (GeneralSecurityException | IOException | ProviderException fault) {
      throw refusalOf(fault);
    }
  }

  @Override
  public byte[] unwrap(String scope, byte[] wrapped) throws SecretBoxException {
    if (wrapped.length < 1 + NONCE_BYTES + TAG_BITS / 8 || wrapped[0] > FORMAT) {
      var isNewer = wrapped.length > 0 && wrapped[0] > FORMAT;
      var reason = isNewer ? BoxFailure.STATE_NEWER_VERSION : BoxFailure.STATE_TAMPERED;
      throw new SecretBoxException(reason, "the wrapped keys have another format", null);
    }
    try {
      var cipher = Cipher.getInstance(CIPHER);
      cipher.init(Cipher.DECRYPT_MODE, find(aliasOf(scope)), new GCMParameterSpec(TAG_BITS, wrapped, 1, NONCE_BYTES));
      cipher.updateAAD(additionalData(scope));
      return cipher.doFinal(wrapped, 1 + NONCE_BYTES, wrapped.length - 1 - NONCE_BYTES);
    } catch (GeneralSecurityException | IOException | ProviderException fault) {
      throw refusalOf(fault);
    }
  }

  @Override
  public void forget(String scope) throws SecretBoxException {
    try {
      var store = store();
      if (store.containsAlias(aliasOf(scope))) store.deleteEntry(aliasOf(scope));
    } catch (GeneralSecurityException | IOException | ProviderException fault) {
      throw refusalOf(fault);
    }
  }

  private static KeyStore store() throws GeneralSecurityException, IOException {
    var store = KeyStore.getInstance(STORE);
    store.load(null);
    return store;
  }

  private static Key find(String alias) throws GeneralSecurityException, IOException, SecretBoxException {
    var store = store();
    var key = store.getKey(alias, null);
    if (key != null) return key;
    // Android answers null for a key that the device's lock protects at the moment, too.
    if (store.containsAlias(alias)) {
      throw new SecretBoxException(BoxFailure.LOCKED, "the Keystore is locked: unlock the device", null);
    }
    throw new SecretBoxException(BoxFailure.KEY_INVALIDATED,
        "the Keystore does not have the key: it was deleted, or another device wrote the data", null);
  }

  /** Creates a key, in the TEE if the device has no StrongBox. Replaces a key that wraps nothing. */
  private Key create(String alias) throws GeneralSecurityException {
    try {
      return generate(specOf(alias).setIsStrongBoxBacked(true));
    } catch (StrongBoxUnavailableException absent) {
      return generate(specOf(alias));
    }
  }

  private static Key generate(KeyGenParameterSpec.Builder spec) throws GeneralSecurityException {
    var generator = KeyGenerator.getInstance(KeyProperties.KEY_ALGORITHM_AES, STORE);
    generator.init(spec.build());
    return generator.generateKey();
  }

  private KeyGenParameterSpec.Builder specOf(String alias) {
    var spec = new KeyGenParameterSpec.Builder(alias, KeyProperties.PURPOSE_ENCRYPT | KeyProperties.PURPOSE_DECRYPT)
        .setKeySize(256)
        .setBlockModes(KeyProperties.BLOCK_MODE_GCM)
        .setEncryptionPaddings(KeyProperties.ENCRYPTION_PADDING_NONE)
        .setUnlockedDeviceRequired(needsUnlockedDevice);
    if (authentication == null) return spec;
    var accepted = KeyProperties.AUTH_BIOMETRIC_STRONG | KeyProperties.AUTH_DEVICE_CREDENTIAL;
    return spec.setUserAuthenticationRequired(true)
        .setUserAuthenticationParameters((int) authentication.getSeconds(), accepted)
        .setInvalidatedByBiometricEnrollment(true);
  }

  private String aliasOf(String scope) throws GeneralSecurityException {
    var digest = MessageDigest.getInstance("SHA-256").digest((name + "\0" + scope).getBytes(StandardCharsets.UTF_8));
    return "dev.signet." + Base64.getUrlEncoder().withoutPadding().encodeToString(digest);
  }

  private static byte[] additionalData(String scope) {
    var bytes = scope.getBytes(StandardCharsets.UTF_8);
    return ByteBuffer.allocate(LABEL.length + bytes.length).put(LABEL).put(bytes).array();
  }

  /** Android wraps the fault of the Keystore in exceptions of the JCA. */
  private static SecretBoxException refusalOf(Exception fault) {
    for (Throwable at = fault; at != null; at = at.getCause()) {
      var reason = reasonOf(at);
      if (reason != null) return new SecretBoxException(reason, messageOf(reason), fault);
    }
    var reason = fault instanceof UnrecoverableKeyException
        ? BoxFailure.KEY_INVALIDATED
        : BoxFailure.SECURE_STORE_UNAVAILABLE;
    return new SecretBoxException(reason, messageOf(reason), fault);
  }

  private static @Nullable BoxFailure reasonOf(Throwable fault) {
    if (fault instanceof KeyPermanentlyInvalidatedException) return BoxFailure.KEY_INVALIDATED;
    if (fault instanceof UserNotAuthenticatedException) return BoxFailure.LOCKED;
    if (fault instanceof AEADBadTagException) return BoxFailure.STATE_TAMPERED;
    if (!(fault instanceof KeyStoreException keystore)) return null;
    if (keystore.requiresUserAuthentication()) return BoxFailure.LOCKED;
    return switch (keystore.getNumericErrorCode()) {
      case KeyStoreException.ERROR_KEY_DOES_NOT_EXIST, KeyStoreException.ERROR_KEY_CORRUPTED -> BoxFailure.KEY_INVALIDATED;
      default -> BoxFailure.SECURE_STORE_UNAVAILABLE;
    };
  }

  private static String messageOf(BoxFailure reason) {
    return switch (reason) {
      case KEY_INVALIDATED -> "Android invalidated the key: a fingerprint was added, or the screen lock was removed";
      case LOCKED -> "the user must unlock the device or authenticate";
      case STATE_TAMPERED -> "the wrapped keys were changed, or belong to another scope";
      default -> "the Keystore failed: try again; keys that need authentication need a screen lock";
    };
  }
}
