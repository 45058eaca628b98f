package dev.signet.client;

import org.jspecify.annotations.Nullable;

/** The program's box, and its last refusal. */
final class WatchedBox implements SecretBox {
  private final SecretBox box;
  private volatile @Nullable SecretBoxException refusal;

  WatchedBox(SecretBox box) {
    this.box = box;
  }

  private interface Work<T> {
    T run() throws SecretBoxException;
  }

  private <T> T watch(Work<T> work) throws SecretBoxException {
    try {
      var made = work.run();
      refusal = null;
      return made;
    } catch (SecretBoxException refused) {
      refusal = refused;
      throw refused;
    }
  }

  @Nullable SecretBoxException refusal() {
    return refusal;
  }

  @Override
  public Description describe() {
    return box.describe();
  }

  @Override
  public byte[] wrap(String scope, byte[] keys, boolean isFirst) throws SecretBoxException {
    return watch(() -> box.wrap(scope, keys, isFirst));
  }

  @Override
  public byte[] unwrap(String scope, byte[] wrapped) throws SecretBoxException {
    return watch(() -> box.unwrap(scope, wrapped));
  }

  @Override
  public void forget(String scope) throws SecretBoxException {
    watch(() -> {
      box.forget(scope);
      return scope;
    });
  }
}
