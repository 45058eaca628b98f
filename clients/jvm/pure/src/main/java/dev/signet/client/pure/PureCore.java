package dev.signet.client.pure;

import dev.signet.client.CoreHost;
import dev.signet.client.SignetException;
import dev.signet.client.pure.Values.Text;
import dev.signet.client.v1.ClientFailure;
import dev.signet.host.v1.EffectResult;
import dev.signet.host.v1.HostInfo;
import dev.signet.host.v1.NativeOptions;
import dev.signet.host.v1.OutputKind;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** An open core: its engine, its effects, and the queue of other threads. */
final class PureCore implements CoreHost.Core, Http.Sink {
  private static final int INTERFACE_VERSION = 1, MAX_REQUEST = 64 << 20, MAX_WAIT_MS = 60_000;

  /** Work for the client's thread, from any thread. */
  private final LinkedBlockingQueue<Runnable> inbox = new LinkedBlockingQueue<>();
  /** Outcomes of effects. They enter the core before calls do. */
  private final ArrayDeque<Outcome> outcomes = new ArrayDeque<>();
  private final ArrayDeque<CoreHost.Output> outputs = new ArrayDeque<>();
  /** Effects start after the core returns: they must not enter it again. */
  private final ArrayDeque<CoreHost.Output> started = new ArrayDeque<>();
  private final Effects effects;
  private final Engine engine;
  private long wakeAtMs;
  private volatile boolean isClosing;
  private volatile boolean isStopped;

  private record Outcome(String entry, long id, byte[] bytes) {}

  /**
   * Opens the core. Closes the folder if it fails.
   *
   * @param describe the description of the box for the core
   * @throws SignetException if the core refuses the options
   * @throws EngineException if the engine does not start
   */
  PureCore(NativeOptions options, Folder folder, Box box, HostInfo.Builder describe, int memoryLimit) {
    effects = new Effects(folder, box, options.getTrustAnchors(), this, inbox::add);
    var isOpen = false;
    try {
      engine = new Engine(new Primitives(box, this::onOutput), memoryLimit);
      var info = describe.setVersion(INTERFACE_VERSION).setPlatform(options.getPlatform()).setStorePersistent(true).build();
      enter("start", info.toByteArray(), options.getIdentity().toByteArray());
      // The core answers its start as the call 0, and at once.
      var answer = outputs.poll();
      if (isStopped || answer == null || answer.id() != 0 || answer.kind() == OutputKind.EVENT_VALUE) {
        throw new EngineException("the core did not answer its start");
      }
      if (answer.kind() == OutputKind.REPLY_FAILURE_VALUE) throw PureJavaHost.failure(answer.bytes());
      isOpen = true;
    } finally {
      if (!isOpen) effects.close();
    }
  }

  private void onOutput(int kind, long id, byte[] bytes) {
    var output = new CoreHost.Output(kind, id, bytes);
    switch (kind) {
      case OutputKind.REPLY_VALUE, OutputKind.REPLY_FAILURE_VALUE, OutputKind.EVENT_VALUE -> outputs.add(output);
      case OutputKind.EFFECT_VALUE, OutputKind.CANCEL_VALUE -> started.add(output);
      case OutputKind.WAKE_AT_VALUE -> wakeAtMs = id;
      default -> {} // A later version's output.
    }
  }

  private void enter(String name, Object... arguments) {
    if (isStopped) return;
    try {
      engine.enter(name, arguments);
    } catch (EngineException fault) {
      // A failed engine is dropped: its state is unknown, and the stored rows are whole.
      isStopped = true;
      return;
    }
    for (var each = started.poll(); each != null; each = started.poll()) {
      if (each.kind() == OutputKind.EFFECT_VALUE) effects.start(each.id(), each.bytes());
      else cancel(each.id());
    }
  }

  private void cancel(long id) {
    outcomes.removeIf(each -> each.id == id);
    effects.cancel(id);
  }

  @Override
  public void push(long id, byte[] piece) {
    outcomes.add(new Outcome("push", id, piece));
  }

  @Override
  public void complete(long id, EffectResult result) {
    outcomes.add(new Outcome("complete", id, result.toByteArray()));
  }

  @Override
  public void call(long id, String method, byte[] request) {
    if (isStopped) throw PureJavaHost.failure(ClientFailure.Kind.HOST, "STOPPED", "the core stopped");
    if (isClosing) throw closed();
    if (request.length > MAX_REQUEST) {
      throw PureJavaHost.failure(ClientFailure.Kind.HOST, "HOST_REFUSED", "a request may have 64 MiB");
    }
    var copy = request.clone();
    inbox.add(() -> {
      enter("call", (double) id, new Text(method), copy);
      Arrays.fill(copy, (byte) 0);
    });
  }

  private static SignetException closed() {
    return PureJavaHost.failure(ClientFailure.Kind.HOST, "CLOSED", "the client is closed: open another one");
  }

  @Override
  public CoreHost.@Nullable Output next() {
    while (!isClosing) {
      if (!outputs.isEmpty()) return outputs.remove();
      if (isStopped) {
        throw PureJavaHost.failure(
            ClientFailure.Kind.HOST, "STOPPED", "the core stopped: close this client, and open another one");
      }
      step();
    }
    return null;
  }

  /** Enters the core once, or waits for work. */
  private void step() {
    var patience = effects.poll();
    var outcome = outcomes.poll();
    if (outcome != null) {
      enter(outcome.entry, (double) outcome.id, outcome.bytes);
      Arrays.fill(outcome.bytes, (byte) 0);
      return;
    }
    var now = System.currentTimeMillis();
    var wait = wakeAtMs == 0 ? MAX_WAIT_MS : Math.max(0, Math.min(wakeAtMs - now, MAX_WAIT_MS));
    var work = take(patience < 0 ? wait : Math.min(wait, patience));
    if (work != null) {
      work.run();
    } else if (wakeAtMs != 0 && wakeAtMs <= System.currentTimeMillis()) {
      wakeAtMs = 0;
      enter("tick");
    }
  }

  private @Nullable Runnable take(long milliseconds) {
    try {
      return inbox.poll(milliseconds, TimeUnit.MILLISECONDS);
    } catch (InterruptedException unexpected) {
      return null; // Nothing interrupts the client's thread.
    }
  }

  @Override
  public void close() {
    isClosing = true;
    inbox.add(() -> {});
  }

  @Override
  public void release() {
    isClosing = true;
    outputs.forEach(output -> Arrays.fill(output.bytes(), (byte) 0));
    outcomes.forEach(outcome -> Arrays.fill(outcome.bytes, (byte) 0));
    outputs.clear();
    outcomes.clear();
    inbox.clear();
    engine.wipe();
    effects.close();
  }
}
