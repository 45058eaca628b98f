package dev.signet.guard.grpc;

import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.Status;

/**
 * Waits for the one message of a call before the handler is started. gRPC calls a listener by one thread at a time.
 */
abstract class AwaitMessage<Q> extends ServerCall.Listener<Q> {
  private final ServerCall<Q, ?> call;
  private ServerCall.Listener<Q> handler;
  private boolean isReady;

  AwaitMessage(ServerCall<Q, ?> call) {
    this.call = call;
    call.request(1);
  }

  /** Starts the handler, or refuses the call. */
  abstract ServerCall.Listener<Q> decided(Q message);

  @Override
  public void onMessage(Q message) {
    if (handler == null) {
      handler = decided(message);
      if (isReady) handler.onReady();
    }
    // A second message, which such a method does not have, is for the handler to refuse.
    handler.onMessage(message);
  }

  @Override
  public void onHalfClose() {
    if (handler != null) handler.onHalfClose();
    else call.close(Status.INTERNAL.withDescription("the call has no request message"), new Metadata());
  }

  @Override
  public void onCancel() {
    if (handler != null) handler.onCancel();
  }

  @Override
  public void onComplete() {
    if (handler != null) handler.onComplete();
  }

  @Override
  public void onReady() {
    if (handler != null) handler.onReady();
    else isReady = true;
  }
}
