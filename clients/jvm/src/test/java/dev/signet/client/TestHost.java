package dev.signet.client;

import dev.signet.client.v1.IdentityOptions;
import java.nio.file.Path;

/** Chooses the host of the tests' clients: the class that a system property names, or libsignet without it. */
final class TestHost {
  static final String NAME = System.getProperty("dev.signet.client.test.host");

  private TestHost() {}

  static SignetClient.Builder builder(IdentityOptions identity, Path folder) {
    var builder = SignetClient.builder(identity, folder);
    if (NAME == null) return builder;
    try {
      return builder.coreHost((CoreHost) Class.forName(NAME).getDeclaredConstructor().newInstance());
    } catch (ReflectiveOperationException missing) {
      throw new IllegalArgumentException(NAME, missing);
    }
  }
}
