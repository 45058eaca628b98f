package dev.signet.client;

import dev.signet.client.v1.ClientEvent;
import java.util.ArrayDeque;
import java.util.Objects;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.Flow;
import org.jspecify.annotations.Nullable;

/** Publishes events to subscribers, each of which has a bounded queue. The publisher never waits. */
final class Events {
  private final Executor executor;
  private final int capacity;
  private final Set<Lane> lanes = ConcurrentHashMap.newKeySet();
  private @Nullable Signal end;

  /** A last signal: complete without a failure. */
  private record Signal(@Nullable Throwable failure) {}

  Events(Executor executor, int capacity) {
    this.executor = executor;
    this.capacity = capacity;
  }

  /** @param owner stays reachable until the subscription ends */
  void subscribe(Object owner, Flow.Subscriber<? super ClientEvent> subscriber) {
    var lane = new Lane(owner, Objects.requireNonNull(subscriber, "subscriber"));
    synchronized (this) {
      if (end == null) lanes.add(lane);
      else lane.finish(end);
    }
    lane.schedule();
  }

  void publish(ClientEvent event) {
    for (var lane : lanes) lane.offer(event);
  }

  /** Ends every subscription. Events that were not delivered are dropped. */
  synchronized void end(@Nullable Throwable failure) {
    end = new Signal(failure);
    for (var lane : lanes) {
      lane.finish(end);
      lane.schedule();
    }
  }

  /** The subscription of one subscriber. Its signals are serial: one thread at a time is in run(). */
  private final class Lane implements Flow.Subscription, Runnable {
    private final Object owner;
    private final Flow.Subscriber<? super ClientEvent> subscriber;
    private final Queue<ClientEvent> queue = new ArrayDeque<>();
    private long demand;
    private boolean isSubscribed;
    private boolean isRunning;
    private boolean isEnded;
    private @Nullable Signal last;

    Lane(Object owner, Flow.Subscriber<? super ClientEvent> subscriber) {
      this.owner = owner;
      this.subscriber = subscriber;
    }

    synchronized void finish(Signal signal) {
      if (last == null) last = signal;
      queue.clear();
    }

    void offer(ClientEvent event) {
      synchronized (this) {
        if (last != null || isEnded) return;
        if (queue.size() < capacity) queue.add(event);
        else finish(new Signal(lagged()));
      }
      schedule();
    }

    private SignetException lagged() {
      var message = "the subscriber lags by " + capacity + " events: subscribe anew, and read the timelines";
      return SignetException.of("EVENTS_LAGGED", message, null);
    }

    @Override
    public void request(long count) {
      if (count <= 0) finish(new Signal(new IllegalArgumentException("count must be positive")));
      else {
        synchronized (this) {
          demand = demand + count < 0 ? Long.MAX_VALUE : demand + count;
        }
      }
      schedule();
    }

    @Override
    public synchronized void cancel() {
      isEnded = true;
      queue.clear();
      lanes.remove(this);
    }

    void schedule() {
      synchronized (this) {
        if (isRunning || isEnded) return;
        isRunning = true;
      }
      executor.execute(this);
    }

    @Override
    public void run() {
      for (var signal = next(); signal != null; signal = next()) {
        try {
          signal.run();
        } catch (RuntimeException fault) {
          // As the JDK's publishers: an exception of the subscriber cancels its subscription.
          finish(new Signal(fault));
        }
      }
    }

    /** Returns the next signal; null if there is none until schedule() is called. */
    private synchronized @Nullable Runnable next() {
      if (!isEnded && !isSubscribed) {
        isSubscribed = true;
        return () -> subscriber.onSubscribe(this);
      }
      if (!isEnded && last != null) {
        var failure = last.failure();
        cancel();
        return failure == null ? subscriber::onComplete : () -> subscriber.onError(failure);
      }
      var event = isEnded || demand == 0 ? null : queue.poll();
      if (event == null) {
        isRunning = false;
        return null;
      }
      demand--;
      return () -> subscriber.onNext(event);
    }

    @Override
    public String toString() {
      return "subscription to " + owner;
    }
  }
}
