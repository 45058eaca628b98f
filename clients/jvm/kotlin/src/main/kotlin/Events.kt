package dev.signet.client.kotlin

import dev.signet.client.SignetClient
import dev.signet.client.v1.ClientEvent
import java.util.concurrent.Flow.Subscriber
import java.util.concurrent.Flow.Subscription
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.flow

/**
 * The events from the collection on. Each collector is a subscriber: see [SignetClient.events]. The flow completes when the
 * client is closed, and fails with the reason EVENTS_LAGGED for a collector that is too slow.
 */
public fun SignetClient.eventFlow(): Flow<ClientEvent> = flow {
  val collector = Collector()
  events().subscribe(collector)
  try {
    for (event in collector.received) {
      emit(event)
      collector.request()
    }
  } finally {
    collector.cancel()
  }
}

/** Requests one event after the other, so that the client counts those that wait. */
private class Collector : Subscriber<ClientEvent> {
  val received = Channel<ClientEvent>(Channel.UNLIMITED)
  private var subscription: Subscription? = null
  private var isCancelled = false

  @Synchronized
  override fun onSubscribe(given: Subscription) {
    subscription = given
    if (isCancelled) given.cancel() else given.request(1)
  }

  override fun onNext(event: ClientEvent) {
    received.trySend(event)
  }

  override fun onError(failure: Throwable) {
    received.close(failure)
  }

  override fun onComplete() {
    received.close()
  }

  @Synchronized
  fun request() {
    subscription?.request(1)
  }

  @Synchronized
  fun cancel() {
    isCancelled = true
    subscription?.cancel()
  }
}
