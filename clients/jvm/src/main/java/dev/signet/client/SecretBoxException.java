package dev.signet.client;

import dev.signet.host.v1.BoxFailure;
import org.jspecify.annotations.Nullable;

/** A refusal of a {@link SecretBox}. The call that needed the keys fails with the same reason. */
public final class SecretBoxException extends Exception {
  private static final long serialVersionUID = 1;

  private final BoxFailure failure;

  /**
   * A refusal with its reason.
   *
   * @param failure the reason
   * @param message for a developer, without a secret
   * @param cause the platform's exception; null for none
   */
  public SecretBoxException(BoxFailure failure, String message, @Nullable Throwable cause) {
    super(failure + ": " + message, cause);
    if (failure == BoxFailure.BOX_FAILURE_UNSPECIFIED || failure == BoxFailure.UNRECOGNIZED) {
      throw new IllegalArgumentException("failure must be a reason");
    }
    this.failure = failure;
  }

  /**
   * Returns the reason.
   *
   * @return the reason
   */
  public BoxFailure failure() {
    return failure;
  }
}
