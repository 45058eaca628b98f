package dev.signet.reactnative;

import dev.signet.client.SecretBoxException;
import dev.signet.client.android.KeystoreBox;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** The functions of android_platform.cpp, and what it calls. */
final class SignetNative {
  /** Of signet.h. */
  private static final int BOX_WRAP = 25;

  private static final int BOX_UNWRAP = 26;
  private static final int SECURE_STORE_UNAVAILABLE = 1;

  static {
    // React Native's autolinking links the module into the app's library.
    System.loadLibrary("appmodules");
  }

  private SignetNative() {}

  static native void start(String folder, String[] origins);

  /** Returns the number of a BoxFailure, or zero and bytes after it. */
  @SuppressWarnings("unused") // android_platform.cpp calls it.
  private static byte[] box(String account, int primitive, byte[] scope, byte[] bytes, boolean isFirst) {
    // Each account has keys of its own, also for scopes that are equal.
    var box = KeystoreBox.named("rn-" + account);
    byte[] made = null;
    try {
      var name = new String(scope, StandardCharsets.UTF_8);
      if (primitive == BOX_WRAP) made = box.wrap(name, bytes, isFirst);
      else if (primitive == BOX_UNWRAP) made = box.unwrap(name, bytes);
      else {
        box.forget(name);
        made = new byte[0];
      }
      var answer = new byte[made.length + 1];
      System.arraycopy(made, 0, answer, 1, made.length);
      return answer;
    } catch (SecretBoxException refused) {
      return new byte[] {(byte) refused.failure().getNumber()};
    } catch (RuntimeException defect) {
      // Its text may have a secret.
      return new byte[] {SECURE_STORE_UNAVAILABLE};
    } finally {
      if (made != null) Arrays.fill(made, (byte) 0);
      if (bytes != null) Arrays.fill(bytes, (byte) 0);
    }
  }
}
