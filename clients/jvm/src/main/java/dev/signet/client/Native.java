package dev.signet.client;

import dev.signet.host.v1.BoxFailure;
import dev.signet.host.v1.Primitive;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** The functions of libsignet's C interface, which signet.h documents. */
final class Native {
  static final int OK = 0;
  static final int TIMEOUT = 1;
  static final int E_ARGUMENT = -1;
  static final int E_STOPPED = -6;
  static final int E_MEMORY = -7;

  /** Names the folder of the two libraries. Without it they are those of the jar. */
  static final String FOLDER_PROPERTY = "dev.signet.client.natives";

  private static final boolean IS_ANDROID = "The Android Project".equals(System.getProperty("java.vendor"));
  private static final boolean IS_WINDOWS = System.getProperty("os.name").startsWith("Windows");
  /** The second one needs the first one. */
  private static final String[] LIBRARIES =
      IS_WINDOWS ? new String[] {"signet.dll", "signet-jni.dll"} : new String[] {"libsignet.so.1", "libsignet-jni.so"};
  private static final String PREFIX = "signet-natives-";
  private static boolean isLoaded;

  private Native() {}

  /**
   * Sets handle[0] to the client and handle[1] to what releaseBox() takes, or failure[0] to a ClientFailure. Needs a stack of
   * 4 MiB.
   */
  static native int open(byte[] options, @Nullable SecretBox box, long[] handle, byte[][] failure);

  /** The method's name in UTF-8, without a zero. */
  static native int call(long handle, long id, byte[] method, byte[] request);

  /** Sets head to the kind and the id of the output, and out[0] to its bytes. Needs a stack of 4 MiB. */
  static native int next(long handle, int timeoutMs, long[] head, byte[][] out);

  static native int close(long handle);

  /** Releases the secret box of a closed client, on the thread that called next(). Zero for none. */
  static native void releaseBox(long box);

  /**
   * Performs BOX_WRAP, BOX_UNWRAP or BOX_FORGET of libsignet.
   *
   * @return the number of a BoxFailure, or zero and bytes after it
   */
  @SuppressWarnings("unused") // libsignet-jni.so calls it.
  private static byte[] box(SecretBox box, int primitive, byte[] scope, byte @Nullable [] bytes, boolean isFirst) {
    byte[] made = null;
    try {
      var name = new String(scope, StandardCharsets.UTF_8);
      made = switch (primitive) {
        case Primitive.BOX_WRAP_VALUE -> box.wrap(name, bytes, isFirst);
        case Primitive.BOX_UNWRAP_VALUE -> box.unwrap(name, bytes);
        default -> {
          box.forget(name);
          yield new byte[0];
        }
      };
      var answer = new byte[made.length + 1];
      System.arraycopy(made, 0, answer, 1, made.length);
      return answer;
    } catch (SecretBoxException refused) {
      return new byte[] {(byte) refused.failure().getNumber()};
    } catch (RuntimeException defect) {
      // Its text may have a secret.
      return new byte[] {BoxFailure.SECURE_STORE_UNAVAILABLE_VALUE};
    } finally {
      if (made != null) Arrays.fill(made, (byte) 0);
      if (bytes != null) Arrays.fill(bytes, (byte) 0);
    }
  }

  /** Loads the libraries once. */
  static synchronized void load() {
    if (isLoaded) return;
    var named = System.getProperty(FOLDER_PROPERTY);
    try {
      if (named != null) loadFrom(Paths.get(named).toAbsolutePath());
      else if (IS_ANDROID) System.loadLibrary("signet-jni"); // from the app's jni folder
      else loadFromJar();
    } catch (IOException | UnsatisfiedLinkError cause) {
      throw SignetException.of("LIBRARY_UNAVAILABLE", "libsignet cannot be loaded: " + cause.getMessage(), cause);
    }
    isLoaded = true;
  }

  private static void loadFrom(Path folder) {
    for (var name : LIBRARIES) System.load(folder.resolve(name).toString());
  }

  /**
   * Extracts into a folder that only this user can enter, so that no other user replaces a file before it is loaded. On
   * Linux a loaded library needs its file no longer. Windows keeps the file until the process ends.
   */
  private static void loadFromJar() throws IOException {
    var source = "/natives/" + platform() + "/";
    // A temporary folder of Windows belongs to the user.
    if (IS_WINDOWS) removeEarlier(Path.of(System.getProperty("java.io.tmpdir")));
    var folder = IS_WINDOWS
        ? Files.createTempDirectory(PREFIX)
        : Files.createTempDirectory(
            PREFIX, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
    try {
      for (var name : LIBRARIES) {
        try (InputStream in = Native.class.getResourceAsStream(source + name)) {
          if (in == null) throw new IOException("the jar has no " + source + name + "; set -D" + FOLDER_PROPERTY);
          Files.copy(in, folder.resolve(name));
        }
      }
      loadFrom(folder);
    } finally {
      if (!IS_WINDOWS) remove(folder);
    }
  }

  private static void remove(Path folder) throws IOException {
    for (var name : LIBRARIES) Files.deleteIfExists(folder.resolve(name));
    Files.delete(folder);
  }

  /** Removes what processes left that have ended. */
  private static void removeEarlier(Path temporary) throws IOException {
    try (var folders = Files.newDirectoryStream(temporary, PREFIX + "*")) {
      for (var folder : folders) {
        try {
          remove(folder);
        } catch (IOException inUse) {
          // A process has them loaded.
        }
      }
    }
  }

  /** The folder's name, such as `linux-x64`. */
  static String platform() {
    // The name of Windows has its version.
    var system = IS_WINDOWS ? "windows" : System.getProperty("os.name").toLowerCase(Locale.ROOT);
    var machine = System.getProperty("os.arch");
    return system + "-" + (machine.equals("amd64") ? "x64" : machine.equals("aarch64") ? "arm64" : machine);
  }
}
