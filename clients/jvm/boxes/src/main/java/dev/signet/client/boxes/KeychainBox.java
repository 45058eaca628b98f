package dev.signet.client.boxes;

import dev.signet.client.SecretBoxException;
import dev.signet.host.v1.BoxFailure;
import org.jspecify.annotations.Nullable;

/**
 * Wraps the keys of a client by AES-256-GCM keys in the data protection Keychain of macOS: one for each scope, on this device
 * only, not synchronized.
 *
 * <p>The program needs the entitlement of a team's profile, as a signed app has it. The java of a JDK has none, and gets
 * SECURE_STORE_UNAVAILABLE. A wrapping key that does not exist is KEY_INVALIDATED. The box never replaces it.
 */
public final class KeychainBox extends StoredKeyBox {
  private static final int INTERACTION_NOT_ALLOWED = -25308;
  private static final int MISSING_ENTITLEMENT = -34018;

  private final String name;
  private final String accessible;
  private final SecItems items;

  KeychainBox(String name, SecItems items, String accessible) {
    super(new Description("jvm-keychain", 1, false, true, true));
    this.name = name;
    this.items = items;
    this.accessible = accessible;
  }

  /**
   * Returns a box whose wrapping keys can be read while the device is unlocked. It is LOCKED at other times.
   *
   * @param name names the data folder, of {@code [a-z0-9-]}: two folders of an app have different names
   * @return a box
   * @throws SecretBoxException SECURE_STORE_UNAVAILABLE on another system than macOS
   */
  public static KeychainBox named(String name) throws SecretBoxException {
    if (!name.matches("[a-z0-9-]{1,64}")) throw new IllegalArgumentException("name must match [a-z0-9-]{1,64}");
    try {
      var items = new SecItems("CoreFoundation", "Security");
      return new KeychainBox(name, items, "kSecAttrAccessibleWhenUnlockedThisDeviceOnly");
    } catch (UnsatisfiedLinkError missing) {
      throw new SecretBoxException(BoxFailure.SECURE_STORE_UNAVAILABLE, "only macOS has a Keychain", missing);
    }
  }

  /**
   * Returns a box whose wrapping keys can also be read while the device is locked, once it was unlocked after its start. The
   * stored keys become such keys when they are read.
   *
   * @return another box
   */
  public KeychainBox afterFirstUnlock() {
    return new KeychainBox(name, items, "kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly");
  }

  @Override
  byte @Nullable [] read(String scope) throws SecretBoxException {
    try {
      return items.read(itemOf(scope));
    } catch (SecItems.Refusal refusal) {
      throw refusalOf(refusal);
    }
  }

  @Override
  void write(String scope, byte[] key) throws SecretBoxException {
    try {
      items.write(itemOf(scope), key);
    } catch (SecItems.Refusal refusal) {
      throw refusalOf(refusal);
    }
  }

  @Override
  public void forget(String scope) throws SecretBoxException {
    try {
      items.remove(itemOf(scope));
    } catch (SecItems.Refusal refusal) {
      throw refusalOf(refusal);
    }
  }

  private SecItems.Item itemOf(String scope) {
    return new SecItems.Item("dev.signet.jvm." + name, scope, accessible);
  }

  private static SecretBoxException refusalOf(SecItems.Refusal refusal) {
    return switch (refusal.status) {
      case INTERACTION_NOT_ALLOWED -> new SecretBoxException(BoxFailure.LOCKED,
          "the Keychain is locked: unlock the device and try again", refusal);
      case MISSING_ENTITLEMENT -> new SecretBoxException(BoxFailure.SECURE_STORE_UNAVAILABLE,
          "the program has no entitlement for the Keychain: sign it with a team's profile", refusal);
      default -> new SecretBoxException(BoxFailure.SECURE_STORE_UNAVAILABLE, "the Keychain refuses", refusal);
    };
  }
}
