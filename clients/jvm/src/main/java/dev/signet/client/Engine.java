package dev.signet.client;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import dev.signet.client.v1.ClientEvent;
import dev.signet.host.v1.OutputKind;
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
 * One open client: its thread, its calls without a reply, its events.
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
  private final CompletableFuture<CoreHost.Core> core = new CompletableFuture<>();
  private volatile @Nullable Supplier<SignetException> end;

  /** A call without a reply. The owner stays reachable until then. */
  private record Call<T>(Object owner, CompletableFuture<T> future, Parser<T> parser) {
    void succeed(byte[] reply) {
      try {
        future.complete(parser.parseFrom(reply));
      } catch (InvalidProtocolBufferException malformed) {
        future.completeExceptionally(
            SignetException.of("HOST_REFUSED", "the core returned a reply that cannot be read", null));
      } finally {
        Arrays.fill(reply, (byte) 0);
      }
    }
  }

  /**
   * Opens a client. Waits for it.
   *
   * @param host opens the core, on the client's thread
   * @param options a NativeOptions, which is wiped
   * @param box the box of the option {@code wrapped_box}; null for another choice
   */
  Engine(CoreHost host, byte[] options, @Nullable SecretBox box, Executor executor, int eventCapacity) {
    this.executor = executor;
    this.events = new Events(this::execute, eventCapacity);
    thread = new Thread(null, () -> run(host, options, box), "signet-client-" + CLIENTS.incrementAndGet(), STACK_BYTES);
    thread.setDaemon(true);
    thread.start();
    try {
      // Ignores an interrupt, and keeps it for the caller.
      core.join();
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
    Supplier<SignetException> failure = null;
    try {
      core.join().call(id, method, bytes);
    } catch (SignetException refused) {
      failure = () -> refused;
    } finally {
      Arrays.fill(bytes, (byte) 0);
    }
    // The end may have come before the call was in the map.
    var ended = end;
    if (failure != null || ended != null) fail(id, ended != null ? ended : failure);
    return future;
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

  private void run(CoreHost host, byte[] options, @Nullable SecretBox box) {
    CoreHost.Core opened = null;
    try {
      opened = open(host, options, box);
      core.complete(opened);
      work(opened);
    } catch (SignetException failure) {
      core.completeExceptionally(failure);
    } catch (RuntimeException | Error defect) {
      core.completeExceptionally(SignetException.of("STOPPED", "the client's thread failed", defect));
      end(SignetException::stopped);
      throw defect;
    } finally {
      if (opened != null) opened.release();
    }
  }

  private static CoreHost.Core open(CoreHost host, byte[] options, @Nullable SecretBox box) {
    try {
      return host.open(options, box);
    } finally {
      Arrays.fill(options, (byte) 0);
    }
  }

  /** Takes outputs until the client is closed or stops. */
  private void work(CoreHost.Core opened) {
    try {
      for (var output = opened.next(); output != null; output = opened.next()) deliver(output);
      end(SignetException::closed);
    } catch (SignetException stopped) {
      end(() -> stopped);
    }
  }

  private void deliver(CoreHost.Output output) {
    var bytes = output.bytes();
    switch (output.kind()) {
      case OutputKind.REPLY_VALUE -> {
        var call = calls.remove(output.id());
        if (call != null) execute(() -> call.succeed(bytes));
      }
      case OutputKind.REPLY_FAILURE_VALUE -> fail(output.id(), () -> SignetException.parse(bytes));
      case OutputKind.EVENT_VALUE -> events.publish(eventOf(bytes));
      default -> {} // A later version's output.
    }
  }

  private static ClientEvent eventOf(byte[] bytes) {
    try {
      return ClientEvent.parseFrom(bytes);
    } catch (InvalidProtocolBufferException malformed) {
      throw new IllegalStateException("the core returned an event that cannot be read", malformed);
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
    core.join().close();
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
