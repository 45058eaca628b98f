package dev.signet.client.android;

import dev.signet.client.SecretBox;
import dev.signet.client.SecretBoxException;
import java.nio.file.Path;

/** The box of a fake device in a folder, for {@link MemberOnAndroid}. */
final class FakePhone implements SecretBox {
  private final KeystoreBox box = KeystoreBox.named("signet");

  FakePhone(String folder) {
    FakeKeystore.install(new FakeDevice(Path.of(folder)));
  }

  @Override
  public Description describe() {
    return box.describe();
  }

  @Override
  public byte[] wrap(String scope, byte[] keys, boolean isFirst) throws SecretBoxException {
    return box.wrap(scope, keys, isFirst);
  }

  @Override
  public byte[] unwrap(String scope, byte[] wrapped) throws SecretBoxException {
    return box.unwrap(scope, wrapped);
  }

  @Override
  public void forget(String scope) throws SecretBoxException {
    box.forget(scope);
  }
}
