package dev.signet.client.android;

import static org.robolectric.Shadows.shadowOf;

import android.app.KeyguardManager;
import android.content.Context;
import android.content.pm.PackageManager;
import android.security.keystore.KeyGenParameterSpec;
import android.security.keystore.KeyPermanentlyInvalidatedException;
import android.security.keystore.UserNotAuthenticatedException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.InvalidAlgorithmParameterException;
import java.security.InvalidKeyException;
import java.util.Base64;
import java.util.Properties;
import java.util.function.Consumer;
import org.robolectric.RuntimeEnvironment;

/**
 * A stand-in for a device with a Keystore, in a folder: a restarted program finds it again, and another folder is another
 * device. Its screen lock and its features are those that Robolectric's Android has. The Keystore has the quirks that
 * Android's documentation and classes show; it was never compared with a device.
 */
final class FakeDevice {
  private final Path folder;
  private final Context app = RuntimeEnvironment.getApplication();
  private final KeyguardManager keyguard = app.getSystemService(KeyguardManager.class);

  FakeDevice(Path folder) {
    try {
      this.folder = Files.createDirectories(folder);
    } catch (IOException fault) {
      throw new UncheckedIOException(fault);
    }
  }

  /** The device's memory, as a file of the folder. */
  private Properties read(String name) {
    var out = new Properties();
    try (var in = Files.newBufferedReader(folder.resolve(name))) {
      out.load(in);
    } catch (IOException isMissing) {
      return out;
    }
    return out;
  }

  private void write(String name, Properties values) {
    try (var out = Files.newBufferedWriter(folder.resolve(name))) {
      values.store(out, null);
    } catch (IOException fault) {
      throw new UncheckedIOException(fault);
    }
  }

  private void change(Consumer<Properties> change) {
    var state = read("device");
    change.accept(state);
    write("device", state);
  }

  private boolean is(String name) {
    return read("device").getProperty(name, "false").equals("true");
  }

  void setStrongBox(boolean exists) {
    shadowOf(app.getPackageManager()).setSystemFeature(PackageManager.FEATURE_STRONGBOX_KEYSTORE, exists);
  }

  void setScreenLock() {
    shadowOf(keyguard).setIsDeviceSecure(true);
  }

  /** Android invalidates the keys that need authentication. */
  void removeScreenLock() {
    shadowOf(keyguard).setIsDeviceSecure(false);
    change(state -> state.setProperty("locks", "" + (count("locks") + 1)));
  }

  void addFingerprint() {
    change(state -> state.setProperty("fingerprints", "" + (count("fingerprints") + 1)));
  }

  void setAuthenticated(boolean isAuthenticated) {
    change(state -> state.setProperty("authenticated", "" + isAuthenticated));
  }

  void setLocked(boolean isLocked) {
    shadowOf(keyguard).setIsDeviceLocked(isLocked);
  }

  /** The next operation finds no Keystore, as after a crash of its daemon. */
  void setBroken(boolean isBroken) {
    change(state -> state.setProperty("broken", "" + isBroken));
  }

  boolean isBroken() {
    return is("broken");
  }

  private int count(String name) {
    return Integer.parseInt(read("device").getProperty(name, "0"));
  }

  private static String fileOf(String alias) {
    return Base64.getUrlEncoder().encodeToString(alias.getBytes(StandardCharsets.UTF_8)) + ".key";
  }

  boolean hasKey(String alias) {
    return Files.exists(folder.resolve(fileOf(alias)));
  }

  /** The number of keys. */
  long keys() {
    try (var files = Files.list(folder)) {
      return files.filter(file -> file.toString().endsWith(".key")).count();
    } catch (IOException fault) {
      throw new UncheckedIOException(fault);
    }
  }

  /** Gives every alias the same key. */
  void makeKeysEqual() throws IOException {
    try (var files = Files.list(folder)) {
      var keys = files.filter(file -> file.toString().endsWith(".key")).toList();
      for (var key : keys) {
        if (!key.equals(keys.get(0))) Files.copy(keys.get(0), key, StandardCopyOption.REPLACE_EXISTING);
      }
    }
  }

  boolean isAnyKeyInStrongBox() {
    try (var files = Files.list(folder)) {
      return files.filter(file -> file.toString().endsWith(".key"))
          .anyMatch(file -> read(file.getFileName().toString()).getProperty("strongBox").equals("true"));
    } catch (IOException fault) {
      throw new UncheckedIOException(fault);
    }
  }

  void deleteKey(String alias) throws IOException {
    Files.deleteIfExists(folder.resolve(fileOf(alias)));
  }

  boolean hasStrongBox() {
    return app.getPackageManager().hasSystemFeature(PackageManager.FEATURE_STRONGBOX_KEYSTORE);
  }

  void check(KeyGenParameterSpec spec) throws InvalidAlgorithmParameterException {
    if (spec.isUserAuthenticationRequired() && !keyguard.isDeviceSecure()) {
      throw new InvalidAlgorithmParameterException(new IllegalStateException(
          "Secure lock screen must be enabled to create keys requiring user authentication"));
    }
  }

  void createKey(KeyGenParameterSpec spec, byte[] raw) {
    var key = new Properties();
    key.setProperty("raw", Base64.getEncoder().encodeToString(raw));
    key.setProperty("strongBox", "" + spec.isStrongBoxBacked());
    key.setProperty("needsUser", "" + spec.isUserAuthenticationRequired());
    key.setProperty("needsUnlocked", "" + spec.isUnlockedDeviceRequired());
    key.setProperty("locks", "" + count("locks"));
    key.setProperty("fingerprints", spec.isInvalidatedByBiometricEnrollment() ? "" + count("fingerprints") : "any");
    write(fileOf(spec.getKeystoreAlias()), key);
  }

  /** True for a key of which Android's getKey() returns null because the device is locked. */
  boolean isHidden(String alias) {
    return is("hidesKeys") && hasKey(alias);
  }

  void setHidesKeys(boolean hides) {
    change(state -> state.setProperty("hidesKeys", "" + hides));
  }

  /** True if getKey() has to refuse an invalidated key, as some versions of Android do. */
  boolean isRefusedEarly(String alias) {
    if (!is("refusesEarly")) return false;
    try {
      use(alias);
      return false;
    } catch (InvalidKeyException refused) {
      return refused instanceof KeyPermanentlyInvalidatedException;
    }
  }

  void setRefusesEarly() {
    change(state -> state.setProperty("refusesEarly", "true"));
  }

  /** The key for an operation. */
  byte[] use(String alias) throws InvalidKeyException {
    var key = read(fileOf(alias));
    if (key.isEmpty()) throw new InvalidKeyException("Keystore operation failed");
    var needsUser = key.getProperty("needsUser").equals("true");
    var knows = key.getProperty("fingerprints");
    var isKnown = knows.equals("any") || knows.equals("" + count("fingerprints"));
    if (needsUser && (!isKnown || !key.getProperty("locks").equals("" + count("locks")))) {
      throw new KeyPermanentlyInvalidatedException();
    }
    if (needsUser && !is("authenticated")) throw new UserNotAuthenticatedException();
    if (key.getProperty("needsUnlocked").equals("true") && keyguard.isDeviceLocked()) throw new UserNotAuthenticatedException();
    return Base64.getDecoder().decode(key.getProperty("raw"));
  }
}
