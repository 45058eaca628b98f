package dev.signet.client;

import dev.signet.host.v1.BoxFailure;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.SecureRandom;
import java.util.Arrays;
import javax.crypto.Cipher;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/** A box for tests whose wrapping keys are files of a folder, as those of a platform's store would be. */
final class FileBox implements SecretBox {
  private final Path keys;

  FileBox(String folder) throws IOException {
    keys = Files.createDirectories(Path.of(folder));
  }

  @Override
  public Description describe() {
    return new Description("test-files", 1, false, true, true);
  }

  @Override
  public byte[] wrap(String scope, byte[] keys, boolean isFirst) throws SecretBoxException {
    try {
      if (isFirst) Files.write(fileOf(scope), random(32));
      var nonce = random(12);
      var sealed = cipher(Cipher.ENCRYPT_MODE, scope, nonce).doFinal(keys);
      var out = Arrays.copyOf(nonce, nonce.length + sealed.length);
      System.arraycopy(sealed, 0, out, nonce.length, sealed.length);
      return out;
    } catch (IOException | GeneralSecurityException fault) {
      throw new SecretBoxException(BoxFailure.SECURE_STORE_UNAVAILABLE, "no key can be written", fault);
    }
  }

  @Override
  public byte[] unwrap(String scope, byte[] wrapped) throws SecretBoxException {
    try {
      var cipher = cipher(Cipher.DECRYPT_MODE, scope, Arrays.copyOf(wrapped, 12));
      return cipher.doFinal(wrapped, 12, wrapped.length - 12);
    } catch (IOException | GeneralSecurityException fault) {
      throw new SecretBoxException(BoxFailure.STATE_TAMPERED, "the keys do not open", fault);
    }
  }

  @Override
  public void forget(String scope) throws SecretBoxException {
    try {
      Files.deleteIfExists(fileOf(scope));
    } catch (IOException fault) {
      throw new SecretBoxException(BoxFailure.SECURE_STORE_UNAVAILABLE, "no key can be deleted", fault);
    }
  }

  private Path fileOf(String scope) {
    return keys.resolve(Integer.toHexString(scope.hashCode()) + ".key");
  }

  private static byte[] random(int length) {
    var bytes = new byte[length];
    new SecureRandom().nextBytes(bytes);
    return bytes;
  }

  private Cipher cipher(int mode, String scope, byte[] nonce) throws IOException, GeneralSecurityException, SecretBoxException {
    if (!Files.exists(fileOf(scope))) {
      throw new SecretBoxException(BoxFailure.KEY_INVALIDATED, "the wrapping key is gone", null);
    }
    var cipher = Cipher.getInstance("AES/GCM/NoPadding");
    var key = new SecretKeySpec(Files.readAllBytes(fileOf(scope)), "AES");
    cipher.init(mode, key, new GCMParameterSpec(128, nonce));
    cipher.updateAAD(scope.getBytes(StandardCharsets.UTF_8));
    return cipher;
  }
}
