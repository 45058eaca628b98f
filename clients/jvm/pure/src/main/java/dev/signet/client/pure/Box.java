package dev.signet.client.pure;

import dev.signet.host.v1.BoxFailure;
import dev.signet.host.v1.BoxScope;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The secret box: random keys of a scope, which a keeper stores, seal what the core stores. Keys and sealed bytes have the
 * formats of libsignet.
 */
final class Box {
  /** Stores the keys of each scope. Its methods throw {@link HostFailure}. */
  interface Keeper {
    byte @Nullable [] read(String scope);

    void write(String scope, byte[] keys);

    void remove(String scope);

    /** Overwrites what it has in memory. */
    void wipe();
  }

  /** Runs a change while no other process changes keys. */
  interface Locked {
    void run(Runnable change);
  }

  private static final byte FORMAT = 1;
  private static final int MAX_KEYS = 64;
  private static final byte[] CANARY = "canary".getBytes(StandardCharsets.UTF_8);
  private static final byte[] CANARY_TEXT = "signet canary".getBytes(StandardCharsets.UTF_8);
  private static final byte[] ROOT = "signet signing root v1".getBytes(StandardCharsets.UTF_8);

  private record Held(String scope, List<Sealing.Key> keys, byte[] signingRoot) {
    void wipe() {
      keys.forEach(Sealing.Key::wipe);
      Arrays.fill(signingRoot, (byte) 0);
    }

    Sealing.Key newest() {
      return keys.get(keys.size() - 1);
    }
  }

  private final Sealing sealing;
  private final Keeper keeper;
  private final Locked locked;
  private final Map<Integer, Held> held = new HashMap<>();
  private int last;

  Box(Sealing sealing, Keeper keeper, Locked locked) {
    this.sealing = sealing;
    this.keeper = keeper;
    this.locked = locked;
  }

  private static HostFailure changed() {
    return new HostFailure(BoxFailure.SECURE_STORE_CHANGED, "the store does not have the keys that were stored there");
  }

  private static int countOf(byte[] kept) {
    if (kept.length < 2) throw changed();
    if (kept[0] > FORMAT) {
      throw new HostFailure(BoxFailure.STATE_NEWER_VERSION, "a later version of this program keeps its keys in the store");
    }
    if (kept[0] != FORMAT || kept[1] <= 0 || kept.length <= 2 + Crypto.KEY_BYTES * kept[1]) throw changed();
    return kept[1];
  }

  private @Nullable List<Sealing.Key> load(String scope) {
    var kept = keeper.read(scope);
    if (kept == null) return null;
    var count = countOf(kept);
    var keys = new ArrayList<Sealing.Key>();
    for (int i = 0, at = 2; i < count; i++, at += Crypto.KEY_BYTES) {
      keys.add(new Sealing.Key(Arrays.copyOfRange(kept, at, at + Crypto.KEY_BYTES)));
    }
    var canary = Arrays.copyOfRange(kept, 2 + Crypto.KEY_BYTES * count, kept.length);
    Arrays.fill(kept, (byte) 0);
    try {
      if (Arrays.equals(sealing.open(keys, scope, CANARY, canary), CANARY_TEXT)) return keys;
    } catch (HostFailure wrong) {
      throw changed();
    }
    throw changed();
  }

  /** Adds a random key to those of the scope, newest last. */
  private void addKey(String scope) {
    var before = keeper.read(scope);
    var count = before == null ? 0 : countOf(before);
    if (count >= MAX_KEYS) throw new HostFailure(BoxFailure.SECURE_STORE_UNAVAILABLE, "a scope has at most 64 keys");
    var newest = new Sealing.Key(Crypto.random(Crypto.KEY_BYTES));
    var earlier = before == null ? new byte[0] : Arrays.copyOfRange(before, 2, 2 + Crypto.KEY_BYTES * count);
    var canary = sealing.seal(newest, scope, CANARY, CANARY_TEXT);
    var kept = Sealing.concat(new byte[] {FORMAT, (byte) (count + 1)}, earlier, newest.raw(), canary);
    keeper.write(scope, kept);
    Values.wipe(kept, earlier, newest.raw());
    // A store may accept bytes and not return them.
    if (load(scope) == null) {
      throw new HostFailure(BoxFailure.SECURE_STORE_UNAVAILABLE, "the store accepted a key and does not return it");
    }
  }

  /** Reads the keys of a scope into memory. Returns a positive number for the calls below. */
  int hold(BoxScope owner, boolean create) {
    var scope = Scope.textOf(owner);
    var keys = load(scope);
    if (keys == null && create) {
      locked.run(() -> {
        if (load(scope) == null) addKey(scope);
      });
      keys = load(scope);
    }
    if (keys == null) throw new HostFailure(BoxFailure.KEY_MISSING, "the scope has no key");
    // The first key stays the first: a rotation changes no signing key.
    held.put(++last, new Held(scope, keys, Crypto.hmacSha256(keys.get(0).raw(), ROOT)));
    return last;
  }

  void release(int box) {
    var released = held.remove(box);
    if (released != null) released.wipe();
  }

  void rotate(BoxScope owner) {
    var scope = Scope.textOf(owner);
    locked.run(() -> {
      if (load(scope) == null) throw new HostFailure(BoxFailure.KEY_MISSING, "there is no key to rotate");
      addKey(scope);
    });
    held.replaceAll((box, each) -> each.scope.equals(scope) ? new Held(scope, load(scope), each.signingRoot) : each);
  }

  void destroy(BoxScope owner) {
    var scope = Scope.textOf(owner);
    locked.run(() -> keeper.remove(scope));
    for (var box : List.copyOf(held.keySet())) {
      if (held.get(box).scope.equals(scope)) release(box);
    }
  }

  private Held held(int box) {
    var found = held.get(box);
    if (found == null) throw new HostFailure(BoxFailure.KEY_MISSING, "the keys of the scope are not held");
    return found;
  }

  byte[] seal(int box, byte[] purpose, byte[] plaintext) {
    var keys = held(box);
    return sealing.seal(keys.newest(), keys.scope, purpose, plaintext);
  }

  byte[] open(int box, byte[] purpose, byte[] sealed) {
    var keys = held(box);
    return sealing.open(keys.keys, keys.scope, purpose, sealed);
  }

  /** The reference of a new signing key, and its public key. Null for a box that is not held. */
  byte @Nullable [] generate(int box) {
    var found = held.get(box);
    if (found == null) return null;
    var reference = Crypto.random(Crypto.KEY_BYTES);
    return Sealing.concat(reference, Crypto.ed25519Public(Crypto.hmacSha256(found.signingRoot, reference)));
  }

  byte @Nullable [] sign(int box, byte[] reference, byte[] message) {
    var found = held.get(box);
    if (found == null || reference.length != Crypto.KEY_BYTES) return null;
    return Crypto.ed25519Sign(Crypto.hmacSha256(found.signingRoot, reference), message);
  }

  void wipe() {
    held.values().forEach(Held::wipe);
    held.clear();
    keeper.wipe();
  }
}
