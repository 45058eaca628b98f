package dev.signet.client.boxes;

import com.sun.jna.NativeLibrary;
import java.nio.file.Path;

/** The fakes of system libraries, which the repository's test builds. */
final class Fakes {
  /** Names their folder. */
  static final String PROPERTY = "dev.signet.client.boxes.fakes";

  private static final String CRYPT32 = library("libfake-crypt32.so");
  private static final String SECURITY = library("libfake-security.so");

  private Fakes() {}

  private static String library(String name) {
    return Path.of(System.getProperty(PROPERTY, "."), name).toString();
  }

  /** Sets a variable of this process, which Java's own calls do not see. */
  private static void set(String name, Path value) {
    NativeLibrary.getInstance("c").getFunction("setenv").invokeInt(new Object[] {name, value.toString(), 1});
  }

  /** A box on a Windows whose state is a folder. */
  static DpapiBox dpapi(Path windows, Path keys) {
    set("SIGNET_FAKE_DPAPI", windows);
    return new DpapiBox(keys, new Dpapi(CRYPT32, CRYPT32));
  }

  /** A box on a Mac whose state is a folder. */
  static KeychainBox keychain(Path mac, String name) {
    set("SIGNET_FAKE_KEYCHAIN", mac);
    return new KeychainBox(name, new SecItems(SECURITY, SECURITY), "kSecAttrAccessibleWhenUnlockedThisDeviceOnly");
  }
}
