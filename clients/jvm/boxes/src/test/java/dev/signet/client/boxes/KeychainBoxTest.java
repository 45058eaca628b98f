package dev.signet.client.boxes;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.signet.client.SecretBox;
import dev.signet.host.v1.BoxFailure;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/** Contract-tested with a fake, never run on macOS. */
@EnabledIfSystemProperty(named = Fakes.PROPERTY, matches = ".+")
class KeychainBoxTest extends BoxContract {
  private Path items() {
    return folder.resolve("items");
  }

  @Override
  SecretBox start() {
    return Fakes.keychain(folder, "signet");
  }

  private List<String> lines() throws IOException {
    return Files.exists(items()) ? Files.readAllLines(items()) : List.of();
  }

  /** By their attributes. */
  @Override
  Map<String, byte[]> stored() throws IOException {
    var stored = new LinkedHashMap<String, byte[]>();
    for (var line : lines()) {
      var end = line.lastIndexOf('\t') + 1;
      stored.put(line.substring(0, end), HexFormat.of().parseHex(line.substring(end)));
    }
    return stored;
  }

  @Override
  void store(Map<String, byte[]> stored) throws IOException {
    var lines = new ArrayList<String>();
    stored.forEach((name, bytes) -> lines.add(name + HexFormat.of().formatHex(bytes)));
    Files.write(items(), lines);
  }

  private void set(String state, boolean is) throws IOException {
    if (is) Files.createFile(folder.resolve(state));
    else Files.delete(folder.resolve(state));
  }

  @Test
  void describesWhatItPromises() {
    assertEquals(new SecretBox.Description("jvm-keychain", 1, false, true, true), box.describe());
    assertThrows(IllegalArgumentException.class, () -> KeychainBox.named("../other"));
  }

  @Test
  void anItemIsInTheProtectedKeychainOfThisDeviceAndNotSynchronized() throws Exception {
    box.wrap(SCOPE, KEYS, true);
    var attributes = stored().keySet().iterator().next().split("\t");
    assertArrayEquals(new String[] {"protected", "TEAM.app", "0", "dev.signet.jvm.signet", SCOPE, "aku"}, attributes);
    assertEquals(32, stored().values().iterator().next().length);
  }

  @Test
  void theScopeIsAuthenticatedUnderOneKeyToo() throws Exception {
    box.wrap(SCOPE, KEYS, true);
    box.wrap("other", KEYS, true);
    var keys = stored();
    var one = keys.values().iterator().next();
    keys.replaceAll((name, bytes) -> one);
    store(keys);
    var wrapped = box.wrap(SCOPE, KEYS, false);
    assertArrayEquals(KEYS, box.unwrap(SCOPE, wrapped));
    assertEquals(BoxFailure.STATE_TAMPERED, refusalOf(() -> box.unwrap("other", wrapped)));
  }

  @Test
  void boxesOfOtherNamesHaveOtherKeys() throws Exception {
    var wrapped = box.wrap(SCOPE, KEYS, true);
    var other = Fakes.keychain(folder, "work");
    assertEquals(BoxFailure.KEY_INVALIDATED, refusalOf(() -> other.unwrap(SCOPE, wrapped)));
    other.wrap(SCOPE, KEYS, true);
    other.forget(SCOPE);
    assertArrayEquals(KEYS, box.unwrap(SCOPE, wrapped));
  }

  @Test
  void aLockedDeviceIsLockedAndNothingIsLost() throws Exception {
    var wrapped = box.wrap(SCOPE, KEYS, true);
    var before = lines();
    set("locked", true);
    assertEquals(BoxFailure.LOCKED, refusalOf(() -> box.unwrap(SCOPE, wrapped)));
    assertEquals(BoxFailure.LOCKED, refusalOf(() -> box.wrap(SCOPE, KEYS, false)));
    assertEquals(BoxFailure.LOCKED, refusalOf(() -> box.wrap(SCOPE, KEYS, true)));
    assertEquals(before, lines());
    set("locked", false);
    assertArrayEquals(KEYS, box.unwrap(SCOPE, wrapped));
  }

  @Test
  void afterTheFirstUnlockALockedDeviceOpens() throws Exception {
    var wrapped = box.wrap(SCOPE, KEYS, true);
    var unlocked = Fakes.keychain(folder, "signet").afterFirstUnlock();
    // An item of an earlier version of the app.
    assertArrayEquals(KEYS, unlocked.unwrap(SCOPE, wrapped));
    assertEquals("cku", stored().keySet().iterator().next().split("\t")[5]);
    set("locked", true);
    assertArrayEquals(KEYS, unlocked.unwrap(SCOPE, wrapped));
    set("before-first-unlock", true);
    assertEquals(BoxFailure.LOCKED, refusalOf(() -> unlocked.unwrap(SCOPE, wrapped)));
  }

  @Test
  void aProgramWithoutAnEntitlementIsRefused() throws Exception {
    var wrapped = box.wrap(SCOPE, KEYS, true);
    var before = lines();
    set("no-entitlement", true);
    assertEquals(BoxFailure.SECURE_STORE_UNAVAILABLE, refusalOf(() -> box.unwrap(SCOPE, wrapped)));
    assertEquals(BoxFailure.SECURE_STORE_UNAVAILABLE, refusalOf(() -> box.wrap("other", KEYS, true)));
    assertEquals(BoxFailure.SECURE_STORE_UNAVAILABLE, refusalOf(() -> box.forget(SCOPE)));
    assertEquals(before, lines());
  }

  @Test
  void anotherSystemHasNoKeychain() {
    assertEquals(BoxFailure.SECURE_STORE_UNAVAILABLE, refusalOf(() -> KeychainBox.named("signet")));
  }
}
