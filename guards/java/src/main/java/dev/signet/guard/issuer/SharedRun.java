package dev.signet.guard.issuer;

import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** One run for all threads that want the same at the same time. */
final class SharedRun<T> {
  private final Map<String, CompletableFuture<T>> underWay = new ConcurrentHashMap<>();
  private final long longestMs;

  /** @param longestMs how long a thread waits for another's run; then it runs it itself */
  SharedRun(long longestMs) {
    this.longestMs = longestMs;
  }

  /** Joins the run of that name that is under way, or starts one. */
  T run(String name, Callable<T> work) throws Exception {
    var mine = new CompletableFuture<T>();
    var there = underWay.putIfAbsent(name, mine);
    if (there != null) return join(there, work);
    try {
      var value = work.call();
      mine.complete(value);
      return value;
    } catch (Throwable error) {
      mine.completeExceptionally(error);
      throw error;
    } finally {
      underWay.remove(name, mine);
    }
  }

  private T join(CompletableFuture<T> there, Callable<T> work) throws Exception {
    try {
      return there.get(longestMs, TimeUnit.MILLISECONDS);
    } catch (TimeoutException error) {
      return work.call();
    } catch (ExecutionException error) {
      throw new IllegalStateException("the shared run failed", error.getCause());
    }
  }
}
