package dev.signet.client.pure;

import com.google.protobuf.UnknownFieldSet;
import dev.signet.client.SecretBox;
import dev.signet.client.SecretBoxException;
import dev.signet.host.v1.BoxFailure;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** Keys in a file that the program's box wraps. Number 8 of the file is the backend. */
final class WrappedKeeper implements Box.Keeper {
  private final String backend;
  private final SecretBox box;
  private final KeyFile.Place place;

  WrappedKeeper(String backend, SecretBox box, KeyFile.Place place) {
    this.backend = backend;
    this.box = box;
    this.place = place;
  }

  private interface Work {
    byte[] run() throws SecretBoxException;
  }

  private static byte[] ask(Work work) {
    try {
      return work.run();
    } catch (SecretBoxException refused) {
      throw new HostFailure(refused.failure(), "the program's secret box refuses");
    } catch (RuntimeException defect) {
      // Its text may have a secret.
      throw new HostFailure(BoxFailure.SECURE_STORE_UNAVAILABLE, "the program's secret box does not answer");
    }
  }

  @Override
  public byte @Nullable [] read(String scope) {
    var wrapped = load().entries.get(scope);
    if (wrapped == null) return null;
    return copyAndWipe(ask(() -> box.unwrap(scope, wrapped)));
  }

  /** The program makes its wrapping key before the file names it: a key that no file names is replaced by the next first one. */
  @Override
  public void write(String scope, byte[] keys) {
    var file = load();
    var isFirst = !file.entries.containsKey(scope);
    var copy = keys.clone();
    file.entries.put(scope, copyAndWipe(ask(() -> box.wrap(scope, copy, isFirst))));
    Values.wipe(copy);
    place.write().accept(file.format());
  }

  /** A copy, as the box may keep its array. */
  private static byte[] copyAndWipe(byte[] made) {
    var copy = made.clone();
    Values.wipe(made);
    if (copy.length > 0) return copy;
    throw new HostFailure(BoxFailure.SECURE_STORE_UNAVAILABLE, "the program's secret box does not answer");
  }

  @Override
  public void remove(String scope) {
    var file = load();
    ask(() -> {
      box.forget(scope);
      return new byte[0];
    });
    if (file.entries.remove(scope) != null) place.write().accept(file.format());
  }

  @Override
  public void wipe() {}

  private KeyFile load() {
    var bytes = place.read().get();
    if (bytes == null) {
      var name = backend.getBytes(StandardCharsets.UTF_8);
      return KeyFile.create(UnknownFieldSet.newBuilder().addField(8, KeyFile.field(name)).build());
    }
    var file = KeyFile.parse(bytes);
    if (new String(file.bytes(8), StandardCharsets.UTF_8).equals(backend)) return file;
    throw new HostFailure(BoxFailure.SECURE_STORE_CHANGED, "another secret box wrote the keys");
  }
}
