package dev.signet.client.boxes;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.signet.client.SecretBox;
import dev.signet.host.v1.BoxFailure;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/** Contract-tested with a fake, never run on Windows. */
@EnabledIfSystemProperty(named = Fakes.PROPERTY, matches = ".+")
class DpapiBoxTest extends BoxContract {
  private Path keys() {
    return folder.resolve("keys");
  }

  @Override
  SecretBox start() throws IOException {
    Files.writeString(folder.resolve("user"), "ada");
    return Fakes.dpapi(folder, keys());
  }

  @Override
  Map<String, byte[]> stored() throws IOException {
    var stored = new HashMap<String, byte[]>();
    try (var files = Files.list(keys())) {
      for (var file : files.toList()) stored.put(file.getFileName().toString(), Files.readAllBytes(file));
    }
    return stored;
  }

  @Override
  void store(Map<String, byte[]> stored) throws IOException {
    for (var name : stored().keySet()) Files.delete(keys().resolve(name));
    for (var entry : stored.entrySet()) Files.write(keys().resolve(entry.getKey()), entry.getValue());
  }

  @Test
  void describesWhatItPromises() {
    assertEquals(new SecretBox.Description("jvm-dpapi", 1, false, false, true), box.describe());
  }

  @Test
  void aFileOpensForItsScopeOnly() throws Exception {
    var wrapped = box.wrap(SCOPE, KEYS, true);
    var name = stored().keySet().iterator().next();
    box.wrap("other", KEYS, true);
    var moved = stored();
    var other = moved.keySet().stream().filter(one -> !one.equals(name)).findFirst().orElseThrow();
    moved.put(other, moved.get(name));
    store(moved);
    // The files are equal, so the entropy alone tells the scopes apart.
    assertEquals(BoxFailure.STATE_TAMPERED, refusalOf(() -> box.unwrap("other", wrapped)));
    assertArrayEquals(KEYS, box.unwrap(SCOPE, wrapped));
  }

  @Test
  void everyChangedByteOfAFileIsRefused() throws Exception {
    var wrapped = box.wrap(SCOPE, KEYS, true);
    var name = stored().keySet().iterator().next();
    var file = stored().get(name);
    for (int i = 0; i < file.length; i++) {
      var changed = file.clone();
      changed[i] ^= 1;
      store(Map.of(name, changed));
      var isUser = i < 16;
      assertEquals(isUser ? BoxFailure.WRONG_USER : BoxFailure.STATE_TAMPERED, refusalOf(() -> box.unwrap(SCOPE, wrapped)));
      assertArrayEquals(changed, stored().get(name));
    }
    store(Map.of(name, file));
    assertArrayEquals(KEYS, box.unwrap(SCOPE, wrapped));
  }

  @Test
  void anotherUserDoesNotOpenIt() throws Exception {
    var wrapped = box.wrap(SCOPE, KEYS, true);
    var before = stored();
    Files.writeString(folder.resolve("user"), "eve");
    assertEquals(BoxFailure.WRONG_USER, refusalOf(() -> box.unwrap(SCOPE, wrapped)));
    assertEquals(BoxFailure.WRONG_USER, refusalOf(() -> box.wrap(SCOPE, KEYS, false)));
    assertEquals(before.keySet(), stored().keySet());
    Files.writeString(folder.resolve("user"), "ada");
    assertArrayEquals(KEYS, box.unwrap(SCOPE, wrapped));
  }

  @Test
  void aFaultIsUnavailableAndNothingIsLost() throws Exception {
    var wrapped = box.wrap(SCOPE, KEYS, true);
    var before = stored();
    // ERROR_FILE_NOT_FOUND: the user's profile is not loaded.
    Files.writeString(folder.resolve("broken"), "2");
    assertEquals(BoxFailure.SECURE_STORE_UNAVAILABLE, refusalOf(() -> box.unwrap(SCOPE, wrapped)));
    assertEquals(BoxFailure.SECURE_STORE_UNAVAILABLE, refusalOf(() -> box.wrap(SCOPE, KEYS, true)));
    assertEquals(BoxFailure.SECURE_STORE_UNAVAILABLE, refusalOf(() -> box.wrap("other", KEYS, true)));
    assertEquals(before.keySet(), stored().keySet());
    Files.delete(folder.resolve("broken"));
    assertArrayEquals(KEYS, box.unwrap(SCOPE, wrapped));
  }

  @Test
  void aFolderThatCannotBeWrittenIsUnavailable() throws Exception {
    Files.createFile(keys());
    assertEquals(BoxFailure.SECURE_STORE_UNAVAILABLE, refusalOf(() -> box.wrap(SCOPE, KEYS, true)));
    assertEquals(BoxFailure.SECURE_STORE_UNAVAILABLE, refusalOf(() -> box.wrap(SCOPE, KEYS, false)));
    assertEquals(BoxFailure.SECURE_STORE_UNAVAILABLE, refusalOf(() -> box.forget(SCOPE)));
  }

  @Test
  void anotherSystemHasNoDataProtection() {
    assertEquals(BoxFailure.SECURE_STORE_UNAVAILABLE, refusalOf(() -> DpapiBox.in(keys())));
  }
}
