package dev.signet.client.pure;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.signet.host.v1.BoxHoldResult;
import dev.signet.host.v1.Done;
import dev.signet.host.v1.Effect;
import dev.signet.host.v1.EffectFailure;
import dev.signet.host.v1.EffectResult;
import java.util.ArrayDeque;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/** Performs the core's effects. All of it is on the client's thread. */
final class Effects {
  private static final long LOCK_WAIT_NANOS = 30_000_000_000L;
  private static final int LOCK_POLL_MS = 20;
  private static final EffectResult DONE = EffectResult.newBuilder().setDone(Done.getDefaultInstance()).build();

  private record Waiting(long id, long untilNanos) {}

  private final Folder folder;
  private final Box box;
  private final FolderLock lock;
  private final Http http;
  private final Http.Sink sink;
  private final ArrayDeque<Waiting> waiting = new ArrayDeque<>();
  private boolean isLocked;

  /** @param core runs on the client's thread */
  Effects(Folder folder, Box box, String trustAnchors, Http.Sink sink, Executor core) {
    this.folder = folder;
    this.box = box;
    this.sink = sink;
    this.http = new Http(sink, core, trustAnchors);
    this.lock = new FolderLock(folder.path().resolve("lock.db"));
  }

  /** Performs or starts an Effect. Its outcome goes to the sink, at once or later. */
  void start(long id, byte[] bytes) {
    EffectResult outcome;
    try {
      outcome = perform(id, Effect.parseFrom(bytes));
    } catch (HostFailure failure) {
      outcome = fail(failure);
    } catch (InvalidProtocolBufferException | RuntimeException fault) {
      outcome = fail(HostFailure.io(fault.getClass().getSimpleName()));
    }
    if (outcome != null) sink.complete(id, outcome);
  }

  private static EffectResult fail(HostFailure failure) {
    return EffectResult.newBuilder().setFailure(failure.toEffect()).build();
  }

  /** Returns the outcome, or null if it comes later. */
  private @Nullable EffectResult perform(long id, Effect effect) {
    var result = EffectResult.newBuilder();
    switch (effect.getEffectCase()) {
      case STORE_READ -> result.setStoreRead(folder.read(effect.getStoreRead()));
      case STORE_LIST -> result.setStoreList(folder.list(effect.getStoreList()));
      case STORE_SPACES -> result.setStoreSpaces(folder.spaces());
      case STORE_TRANSACT -> result.setStoreTransact(folder.transact(effect.getStoreTransact()));
      case STORAGE_READ -> result.setStorageRead(folder.readNamed(effect.getStorageRead().getName()));
      case STORAGE_WRITE -> result.setStorageWrite(folder.writeNamed(effect.getStorageWrite()));
      case STORAGE_REMOVE -> result.setStorageRemove(folder.removeNamed(effect.getStorageRemove()));
      case BOX_HOLD -> result.setBoxHold(BoxHoldResult.newBuilder()
          .setBox(box.hold(effect.getBoxHold().getScope(), effect.getBoxHold().getCreate())));
      case FILE_READ -> result.setFileRead(AppFiles.read(effect.getFileRead()));
      case FILE_INFO -> result.setFileInfo(AppFiles.info(effect.getFileInfo()));
      default -> {
        return change(id, effect);
      }
    }
    return result.build();
  }

  /** Effects without an answer of their own, and those that take their time. */
  private @Nullable EffectResult change(long id, Effect effect) {
    switch (effect.getEffectCase()) {
      case HTTP -> {
        http.start(id, effect.getHttp());
        return null;
      }
      case LOCK_ACQUIRE -> {
        waiting.add(new Waiting(id, System.nanoTime() + LOCK_WAIT_NANOS));
        return null;
      }
      case LOCK_RELEASE -> release();
      case BOX_RELEASE -> box.release(effect.getBoxRelease().getBox());
      case BOX_ROTATE -> box.rotate(effect.getBoxRotate().getScope());
      case BOX_DESTROY -> box.destroy(effect.getBoxDestroy().getScope());
      case FILE_WRITE -> AppFiles.write(effect.getFileWrite());
      default -> throw HostFailure.io("the host does not know this effect");
    }
    return DONE;
  }

  private void release() {
    if (isLocked) lock.release();
    isLocked = false;
  }

  /** Stops an effect. The caller drops its outcome. */
  void cancel(long id) {
    waiting.removeIf(each -> each.id == id);
    http.cancel(id);
  }

  /** Does what is due. Returns after how many milliseconds it must be called again; below zero for any. */
  long poll() {
    var expiry = http.expire();
    var first = waiting.peek();
    if (first == null || isLocked) return expiry;
    if (lock.tryAcquire()) {
      isLocked = true;
      waiting.remove();
      sink.complete(first.id, DONE);
    } else if (System.nanoTime() > first.untilNanos) {
      waiting.remove();
      sink.complete(first.id, fail(new HostFailure(EffectFailure.Kind.LOCK_BUSY, "another client holds the lock")));
    }
    return expiry < 0 ? LOCK_POLL_MS : Math.min(expiry, LOCK_POLL_MS);
  }

  void close() {
    http.close();
    box.wipe();
    lock.close();
    folder.close();
  }
}
