package dev.signet.client.boxes;

import dev.signet.client.SecretBoxException;
import dev.signet.host.v1.BoxFailure;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import org.jspecify.annotations.Nullable;

/**
 * Wraps the keys of a client by AES-256-GCM keys in files, one for each scope, which Windows protects for the signed-in user
 * (DPAPI). The scope is DPAPI's entropy, so that a file opens for its scope only.
 *
 * <p>Every program of the user can have a file opened, and a domain may keep a copy of the user's keys. A wrapping key that
 * does not exist is KEY_INVALIDATED. The box never replaces it. A file of another user, or of the time before an
 * administrator reset the password, is WRONG_USER.
 */
public final class DpapiBox extends StoredKeyBox {
  private static final String ENTROPY = "signet jvm dpapi v1\0";
  /** ERROR_INVALID_DATA */
  private static final int INVALID_DATA = 13;
  /** NTE_BAD_KEY_STATE: the bytes are under a key that this user lacks. */
  private static final int BAD_KEY_STATE = 0x8009000b;

  private final Path folder;
  private final Dpapi dpapi;

  DpapiBox(Path folder, Dpapi dpapi) {
    super(new Description("jvm-dpapi", 1, false, false, true));
    this.folder = folder;
    this.dpapi = dpapi;
  }

  /**
   * Returns a box whose wrapping keys are files of a folder.
   *
   * @param folder of this user alone, and not of a roaming profile, such as one in the local application data. Another
   *     data folder has another one
   * @return a box
   * @throws SecretBoxException SECURE_STORE_UNAVAILABLE on another system than Windows
   */
  public static DpapiBox in(Path folder) throws SecretBoxException {
    try {
      return new DpapiBox(folder, new Dpapi("crypt32", "kernel32"));
    } catch (UnsatisfiedLinkError missing) {
      throw new SecretBoxException(BoxFailure.SECURE_STORE_UNAVAILABLE, "only Windows has data protection", missing);
    }
  }

  @Override
  byte @Nullable [] read(String scope) throws SecretBoxException {
    try {
      var stored = Files.readAllBytes(fileOf(scope));
      // Windows refuses an empty blob as a wrong argument.
      if (stored.length == 0) throw new Dpapi.Refusal(INVALID_DATA);
      return dpapi.unprotect(stored, entropyOf(scope));
    } catch (NoSuchFileException missing) {
      return null;
    } catch (IOException fault) {
      throw unavailable(fault);
    } catch (Dpapi.Refusal refusal) {
      throw refusalOf(refusal);
    }
  }

  @Override
  void write(String scope, byte[] key) throws SecretBoxException {
    try {
      Files.createDirectories(folder);
      var fresh = Files.createTempFile(folder, "key", ".tmp");
      try {
        try (var file = FileChannel.open(fresh, StandardOpenOption.WRITE)) {
          var bytes = ByteBuffer.wrap(dpapi.protect(key, entropyOf(scope)));
          while (bytes.hasRemaining()) file.write(bytes);
          file.force(true);
        }
        Files.move(fresh, fileOf(scope), StandardCopyOption.ATOMIC_MOVE);
      } finally {
        Files.deleteIfExists(fresh);
      }
    } catch (IOException fault) {
      throw unavailable(fault);
    } catch (Dpapi.Refusal refusal) {
      throw refusalOf(refusal);
    }
  }

  @Override
  public void forget(String scope) throws SecretBoxException {
    try {
      Files.deleteIfExists(fileOf(scope));
    } catch (IOException fault) {
      throw unavailable(fault);
    }
  }

  /** File systems of Windows ignore the case of names. */
  private Path fileOf(String scope) {
    return folder.resolve(HexFormat.of().formatHex(sha256(scope)) + ".key");
  }

  private static byte[] entropyOf(String scope) {
    return sha256(ENTROPY + scope);
  }

  private static byte[] sha256(String text) {
    try {
      return MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
    } catch (NoSuchAlgorithmException everyJavaHasIt) {
      throw new IllegalStateException(everyJavaHasIt);
    }
  }

  private static SecretBoxException unavailable(Exception fault) {
    return new SecretBoxException(BoxFailure.SECURE_STORE_UNAVAILABLE, "a wrapping key cannot be read or written", fault);
  }

  private static SecretBoxException refusalOf(Dpapi.Refusal refusal) {
    return switch (refusal.code) {
      case BAD_KEY_STATE -> new SecretBoxException(BoxFailure.WRONG_USER,
          "another user protected the key, or it is older than a password that an administrator set", refusal);
      case INVALID_DATA -> new SecretBoxException(BoxFailure.STATE_TAMPERED,
          "the protected key was changed, or belongs to another scope", refusal);
      default -> unavailable(refusal);
    };
  }
}
