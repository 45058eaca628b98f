package dev.signet.client;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.signet.client.v1.ClientFailure;
import java.time.Duration;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A failed call. A {@link java.util.concurrent.CompletableFuture} completes with it, so {@code join()} throws a {@code
 * CompletionException} whose cause it is. Its texts have no secret and no plaintext.
 *
 * <p>This library adds four reasons of the kind HOST to those of the contract: {@code CLOSED} after {@link
 * SignetClient#close()}; {@code STOPPED} after a fault of the core, with stored data intact; {@code LIBRARY_UNAVAILABLE}
 * where libsignet cannot be loaded; {@code EVENTS_LAGGED} for a subscriber that is too slow.
 */
public final class SignetException extends RuntimeException {
  private static final long serialVersionUID = 1;

  private final ClientFailure.Kind kind;
  private final String reason;
  private final int code;
  private final Map<String, String> metadata;
  private final @Nullable Duration retryAfter;

  private SignetException(ClientFailure failure, @Nullable Throwable cause) {
    super(failure.getReason() + ": " + failure.getMessage(), cause);
    kind = failure.getKind();
    reason = failure.getReason();
    code = failure.getCode();
    metadata = Map.copyOf(failure.getMetadataMap());
    retryAfter = failure.hasRetryAfterMs() ? Duration.ofMillis(failure.getRetryAfterMs()) : null;
  }

  static SignetException of(ClientFailure failure) {
    return new SignetException(failure, null);
  }

  /** For bytes that are no ClientFailure, a failure that says so. */
  static SignetException parse(byte[] bytes) {
    try {
      return of(ClientFailure.parseFrom(bytes));
    } catch (InvalidProtocolBufferException malformed) {
      return of("HOST_REFUSED", "the core returned a failure that cannot be read", null);
    }
  }

  static SignetException of(String reason, String message, @Nullable Throwable cause) {
    var failure = ClientFailure.newBuilder().setKind(ClientFailure.Kind.HOST).setReason(reason).setMessage(message);
    return new SignetException(failure.build(), cause);
  }

  static SignetException stopped() {
    return of("STOPPED", "the core stopped: close this client, and open another one", null);
  }

  static SignetException closed() {
    return of("CLOSED", "the client is closed: open another one", null);
  }

  /**
   * Returns the kind of the error.
   *
   * @return the kind
   */
  public ClientFailure.Kind kind() {
    return kind;
  }

  /**
   * Returns the typed reason, such as {@code CONVERSATION_UNKNOWN}.
   *
   * @return the reason
   */
  public String reason() {
    return reason;
  }

  /**
   * Returns the gRPC status code of a refusal by a service.
   *
   * @return the code; zero for none
   */
  public int code() {
    return code;
  }

  /**
   * Returns values of the refused request.
   *
   * @return an immutable map
   */
  public Map<String, String> metadata() {
    return metadata;
  }

  /**
   * Returns the wait that the service demands.
   *
   * @return the wait; null for none
   */
  public @Nullable Duration retryAfter() {
    return retryAfter;
  }
}
