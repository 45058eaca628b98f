package dev.signet.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.signet.client.v1.ClientEvent;
import dev.signet.client.v1.StatusEvent;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Flow;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class EventsTest {
  private final Events events = new Events(Runnable::run, 3);

  /** Records what it gets. Requests nothing by itself. */
  static final class Recorder implements Flow.Subscriber<ClientEvent> {
    final List<String> got = new ArrayList<>();
    Flow.Subscription subscription;
    Throwable failure;
    boolean isComplete;

    @Override
    public void onSubscribe(Flow.Subscription given) {
      subscription = given;
    }

    @Override
    public void onNext(ClientEvent event) {
      got.add(event.getStatus().getStatus());
    }

    @Override
    public void onError(Throwable thrown) {
      failure = thrown;
    }

    @Override
    public void onComplete() {
      isComplete = true;
    }
  }

  private static ClientEvent event(int number) {
    return ClientEvent.newBuilder().setStatus(StatusEvent.newBuilder().setStatus("" + number)).build();
  }

  private Recorder subscribe() {
    var recorder = new Recorder();
    events.subscribe(this, recorder);
    return recorder;
  }

  @Test
  void aSubscriberGetsAsManyAsItRequestsInOrder() {
    var recorder = subscribe();
    for (int i = 0; i < 3; i++) events.publish(event(i));
    assertEquals(List.of(), recorder.got);
    recorder.subscription.request(2);
    assertEquals(List.of("0", "1"), recorder.got);
    recorder.subscription.request(Long.MAX_VALUE);
    recorder.subscription.request(Long.MAX_VALUE);
    events.publish(event(3));
    assertEquals(List.of("0", "1", "2", "3"), recorder.got);
  }

  @Test
  void aSubscriberThatLagsIsEndedWithAReasonAndOthersAreNot() {
    var slow = subscribe();
    var quick = subscribe();
    quick.subscription.request(100);
    for (int i = 0; i < 4; i++) events.publish(event(i));
    assertEquals("EVENTS_LAGGED", assertInstanceOf(SignetException.class, slow.failure).reason());
    slow.subscription.request(9);
    assertEquals(List.of(), slow.got);
    assertEquals(4, quick.got.size());
  }

  @Test
  void aCancelledSubscriptionGetsNothing() {
    var recorder = subscribe();
    recorder.subscription.request(9);
    recorder.subscription.cancel();
    events.publish(event(0));
    events.end(null);
    assertEquals(List.of(), recorder.got);
    assertTrue(!recorder.isComplete);
  }

  @Test
  void theEndDropsWaitingEventsAndReachesLaterSubscribers() {
    var early = subscribe();
    events.publish(event(0));
    events.end(null);
    assertTrue(early.isComplete);
    early.subscription.request(1);
    assertEquals(List.of(), early.got);
    assertTrue(subscribe().isComplete);
  }

  @Test
  void aRequestOfNothingAndAFaultOfTheSubscriberAreErrors() {
    var recorder = subscribe();
    recorder.subscription.request(0);
    assertInstanceOf(IllegalArgumentException.class, recorder.failure);
    var faulty = new AtomicInteger();
    var failed = new Recorder[] {null};
    failed[0] = new Recorder();
    events.subscribe(
        this,
        new Flow.Subscriber<>() {
          @Override
          public void onSubscribe(Flow.Subscription given) {
            given.request(5);
          }

          @Override
          public void onNext(ClientEvent event) {
            faulty.incrementAndGet();
            throw new IllegalStateException("of the app");
          }

          @Override
          public void onError(Throwable thrown) {
            failed[0].onError(thrown);
          }

          @Override
          public void onComplete() {}
        });
    events.publish(event(0));
    events.publish(event(1));
    assertEquals(1, faulty.get());
    assertNotNull(failed[0].failure);
  }
}
