package dev.signet.client;

import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** The core in libsignet, behind JNI. */
final class Libsignet implements CoreHost {
  @Override
  public Core open(byte[] options, @Nullable SecretBox box) {
    Native.load();
    var opened = new long[2];
    var failure = new byte[1][0];
    var status = Native.open(options, box, opened, failure);
    if (status != Native.OK) throw SignetException.parse(failure[0]);
    return new NativeCore(opened[0], opened[1]);
  }

  private record NativeCore(long client, long box) implements Core {
    @Override
    public void call(long id, String method, byte[] request) {
      var status = Native.call(client, id, method.getBytes(StandardCharsets.UTF_8), request);
      if (status != Native.OK) throw refused(status);
    }

    @Override
    public @Nullable Output next() {
      var head = new long[2];
      var out = new byte[1][0];
      var status = Native.next(client, -1, head, out);
      while (status == Native.TIMEOUT) status = Native.next(client, -1, head, out);
      if (status == Native.OK) return new Output((int) head[0], head[1], out[0]);
      if (status == Native.E_STOPPED) throw SignetException.stopped();
      return null;
    }

    @Override
    public void close() {
      Native.close(client);
    }

    @Override
    public void release() {
      Native.close(client);
      Native.releaseBox(box);
    }
  }

  private static SignetException refused(int status) {
    return switch (status) {
      case Native.E_ARGUMENT -> SignetException.of("HOST_REFUSED", "a request may have 64 MiB", null);
      case Native.E_MEMORY -> SignetException.of("HOST_REFUSED", "there is no memory for the request", null);
      case Native.E_STOPPED -> SignetException.stopped();
      default -> SignetException.closed();
    };
  }
}
