package dev.signet.client;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import dev.signet.client.v1.ClientEvent;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One open client of libsignet: its thread, its calls without a reply, its events.
 *
 * <p>It has no reference to a {@link SignetClient} but those of unanswered calls and of subscriptions, so that a forgotten
 * client is collected.
 */
final class Engine {
  /** libsignet asks for 4 MiB; the JVM guards a part of a thread's stack. */
  private static final int STACK_BYTES = 16 << 20;

  private static final AtomicLong CLIENTS = new AtomicLong();

  private final ConcurrentHashMap<Long, Call<?>> calls = new ConcurrentHashMap<>();
  private final AtomicLong lastCall = new AtomicLong();
  private final Executor executor;
  private final Events events;
  private final Thread thread;
  private final CompletableFuture<Long> handle = new CompletableFuture<>();
  private volatile @Nullable Supplier<SignetException> end;

  /** A call without a reply. The owner stays reachable until then. */
  private record Call<T>(Object owner, CompletableFuture<T> future, Parser<T> parser) {
    void succeed(byte[] reply) {
      try {
        future.complete(parser.parseFrom(reply));
      } catch (InvalidProtocolBufferException malformed) {
        future.completeExceptionally(
            SignetException.of("HOST_REFUSED", "libsignet returned a reply that cannot be read", null));
      } finally {
        Arrays.fill(reply, (byte) 0);
      }
    }
  }

  /**
   * Opens a client. Waits for it.
   *
   * @param options a NativeOptions, which is wiped
   * @param box the box of the option {@code wrapped_box}; null for another choice
   */
  Engine(byte[] options, @Nullable SecretBox box, Executor executor, int eventCapacity) {
    this.executor = executor;
    this.events = new Events(this::execute, eventCapacity);
    Native.load();
    thread = new Thread(null, () -> run(options, box), "signet-client-" + CLIENTS.incrementAndGet(), STACK_BYTES);
    thread.setDaemon(true);
    thread.start();
    try {
      // Ignores an interrupt, and keeps it for the caller.
      handle.join();
    } catch (CompletionException failure) {
      throw failure.getCause() instanceof SignetException known ? known : failure;
    }
  }

  Events events() {
    return events;
  }

  boolean isOpen() {
    return end == null;
  }

  <T> CompletableFuture<T> call(Object owner, String method, MessageLite request, Parser<T> parser) {
    var future = new CompletableFuture<T>();
    var id = lastCall.incrementAndGet();
    calls.put(id, new Call<>(owner, future, parser));
    var bytes = request.toByteArray();
    var status = Native.call(handle.join(), id, method.getBytes(StandardCharsets.UTF_8), bytes);
    Arrays.fill(bytes, (byte) 0);
    // The end may have come before the call was in the map.
    var ended = end;
    if (status != Native.OK || ended != null) fail(id, ended != null ? ended : () -> refused(status));
    return future;
  }

  private static SignetException refused(int status) {
    return switch (status) {
      case Native.E_ARGUMENT -> SignetException.of("HOST_REFUSED", "a request may have 64 MiB", null);
      case Native.E_MEMORY -> SignetException.of("HOST_REFUSED", "there is no memory for the request", null);
      case Native.E_STOPPED -> stopped();
      default -> SignetException.closed();
    };
  }

  private static SignetException stopped() {
    return SignetException.of("STOPPED", "the core stopped: close this client, and open another one", null);
  }

  private void fail(long id, Supplier<SignetException> why) {
    var call = calls.remove(id);
    if (call != null) execute(() -> call.future().completeExceptionally(why.get()));
  }

  /** Runs the code of the app, which must not hold up the thread of the client. */
  private void execute(Runnable code) {
    try {
      executor.execute(code);
    } catch (RejectedExecutionException isShutDown) {
      code.run();
    }
  }

  private void run(byte[] options, @Nullable SecretBox box) {
    var opened = new long[2];
    try {
      open(options, box, opened);
      handle.complete(opened[0]);
      work(opened[0]);
    } catch (SignetException failure) {
      handle.completeExceptionally(failure);
    } catch (RuntimeException | Error defect) {
      handle.completeExceptionally(SignetException.of("STOPPED", "the client's thread failed", defect));
      end(Engine::stopped);
      throw defect;
    } finally {
      if (opened[0] != 0) Native.close(opened[0]);
      Native.releaseBox(opened[1]);
    }
  }

  private static void open(byte[] options, @Nullable SecretBox box, long[] opened) {
    var failure = new byte[1][0];
    var status = Native.open(options, box, opened, failure);
    Arrays.fill(options, (byte) 0);
    if (status != Native.OK) throw SignetException.parse(failure[0]);
  }

  /** Takes outputs until the client is closed or stops. */
  private void work(long client) {
    var head = new long[2];
    var out = new byte[1][];
    while (true) {
      out[0] = new byte[0];
      var status = Native.next(client, -1, head, out);
      if (status == Native.OK) deliver((int) head[0], head[1], out[0]);
      else if (status != Native.TIMEOUT) {
        end(status == Native.E_STOPPED ? Engine::stopped : SignetException::closed);
        return;
      }
    }
  }

  private void deliver(int kind, long id, byte[] bytes) {
    switch (kind) {
      case Native.REPLY -> {
        var call = calls.remove(id);
        if (call != null) execute(() -> call.succeed(bytes));
      }
      case Native.REPLY_FAILURE -> fail(id, () -> SignetException.parse(bytes));
      case Native.EVENT -> events.publish(eventOf(bytes));
      default -> {} // A later version's output.
    }
  }

  private static ClientEvent eventOf(byte[] bytes) {
    try {
      return ClientEvent.parseFrom(bytes);
    } catch (InvalidProtocolBufferException malformed) {
      throw new IllegalStateException("libsignet returned an event that cannot be read", malformed);
    } finally {
      Arrays.fill(bytes, (byte) 0);
    }
  }

  private void end(Supplier<SignetException> why) {
    end = why;
    for (var id : calls.keySet()) fail(id, why);
    var failure = why.get();
    events.end(failure.reason().equals("CLOSED") ? null : failure);
  }

  /** Wipes the memory of the core, and waits for the thread. */
  void close() {
    Native.close(handle.join());
    var isInterrupted = false;
    while (thread != Thread.currentThread() && thread.isAlive()) {
      try {
        thread.join();
      } catch (InterruptedException interrupt) {
        isInterrupted = true;
      }
    }
    if (isInterrupted) Thread.currentThread().interrupt();
  }
}
