package dev.signet.client.boxes;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.signet.client.SecretBox;
import dev.signet.client.SecretBoxException;
import dev.signet.host.v1.BoxFailure;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** Tests that every box of this artefact passes. */
abstract class BoxContract {
  static final String SCOPE = "[null,\"app_a\",\"prn_a\",null]";
  static final byte[] KEYS = "planted keys of the scope, 7e21".getBytes(StandardCharsets.UTF_8);

  @TempDir Path folder;
  SecretBox box;

  /** A box on an empty system in the folder. */
  abstract SecretBox start() throws Exception;

  /** The stored wrapping keys, by their names. */
  abstract Map<String, byte[]> stored() throws Exception;

  /** Replaces all stored wrapping keys. */
  abstract void store(Map<String, byte[]> keys) throws Exception;

  @BeforeEach
  void startSystem() throws Exception {
    box = start();
  }

  static BoxFailure refusalOf(Executable call) {
    var refused = assertThrows(SecretBoxException.class, call);
    assertFalse(refused.getMessage().contains("planted"));
    return refused.failure();
  }

  @Test
  void wrappedKeysOpenForTheirScopeOnly() throws Exception {
    var wrapped = box.wrap(SCOPE, KEYS, true);
    assertArrayEquals(KEYS, box.unwrap(SCOPE, wrapped));
    assertArrayEquals(KEYS, box.unwrap(SCOPE, box.wrap(SCOPE, KEYS, false)));
    assertEquals(1, stored().size());
    box.wrap("other", KEYS, true);
    assertEquals(2, stored().size());
    assertEquals(BoxFailure.STATE_TAMPERED, refusalOf(() -> box.unwrap("other", wrapped)));
    assertEquals(BoxFailure.KEY_INVALIDATED, refusalOf(() -> box.unwrap("third", wrapped)));
  }

  @Test
  void everyChangedByteIsTampered() throws Exception {
    var wrapped = box.wrap(SCOPE, KEYS, true);
    for (int i = 1; i < wrapped.length; i++) {
      var changed = wrapped.clone();
      changed[i] ^= 1;
      assertEquals(BoxFailure.STATE_TAMPERED, refusalOf(() -> box.unwrap(SCOPE, changed)));
    }
    for (int length = 0; length < 29; length++) {
      var cut = Arrays.copyOf(wrapped, length);
      assertEquals(BoxFailure.STATE_TAMPERED, refusalOf(() -> box.unwrap(SCOPE, cut)));
    }
    wrapped[0] = 0;
    assertEquals(BoxFailure.STATE_TAMPERED, refusalOf(() -> box.unwrap(SCOPE, wrapped)));
    wrapped[0] = 2;
    assertEquals(BoxFailure.STATE_NEWER_VERSION, refusalOf(() -> box.unwrap(SCOPE, wrapped)));
  }

  @Test
  void noncesDiffer() throws Exception {
    var seen = new HashSet<String>();
    box.wrap(SCOPE, KEYS, true);
    for (int i = 0; i < 50; i++) seen.add(Arrays.toString(Arrays.copyOfRange(box.wrap(SCOPE, KEYS, false), 1, 13)));
    assertEquals(50, seen.size());
  }

  @Test
  void aLostKeyIsInvalidatedAndNeverReplaced() throws Exception {
    var wrapped = box.wrap(SCOPE, KEYS, true);
    var keys = stored();
    store(Map.of());
    assertEquals(BoxFailure.KEY_INVALIDATED, refusalOf(() -> box.unwrap(SCOPE, wrapped)));
    assertEquals(BoxFailure.KEY_INVALIDATED, refusalOf(() -> box.wrap(SCOPE, KEYS, false)));
    assertEquals(0, stored().size());
    store(keys);
    assertArrayEquals(KEYS, box.unwrap(SCOPE, wrapped));
  }

  @Test
  void theFirstKeysOfAScopeGetANewWrappingKey() throws Exception {
    var before = box.wrap(SCOPE, KEYS, true);
    // An interrupted call may have left that key.
    var wrapped = box.wrap(SCOPE, KEYS, true);
    assertEquals(1, stored().size());
    assertArrayEquals(KEYS, box.unwrap(SCOPE, wrapped));
    assertEquals(BoxFailure.STATE_TAMPERED, refusalOf(() -> box.unwrap(SCOPE, before)));
  }

  @Test
  void aRestartFindsTheKey() throws Exception {
    var wrapped = box.wrap(SCOPE, KEYS, true);
    assertArrayEquals(KEYS, start().unwrap(SCOPE, wrapped));
  }

  @Test
  void forgetDeletesTheKeyOfOneScope() throws Exception {
    var kept = box.wrap("other", KEYS, true);
    var wrapped = box.wrap(SCOPE, KEYS, true);
    box.forget(SCOPE);
    box.forget(SCOPE);
    assertEquals(BoxFailure.KEY_INVALIDATED, refusalOf(() -> box.unwrap(SCOPE, wrapped)));
    assertArrayEquals(KEYS, box.unwrap("other", kept));
  }

  @Test
  void anEmptyStoredKeyIsTampered() throws Exception {
    var wrapped = box.wrap(SCOPE, KEYS, true);
    store(Map.of(stored().keySet().iterator().next(), new byte[0]));
    assertEquals(BoxFailure.STATE_TAMPERED, refusalOf(() -> box.unwrap(SCOPE, wrapped)));
    assertEquals(BoxFailure.STATE_TAMPERED, refusalOf(() -> box.wrap(SCOPE, KEYS, false)));
  }
}
