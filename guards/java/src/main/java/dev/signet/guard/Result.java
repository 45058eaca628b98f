package dev.signet.guard;

/**
 * A value, or the reason why there is none.
 *
 * @param value null when refused
 * @param refusal null when there is a value
 */
public record Result<T>(T value, Reason refusal) {
  /** A value. */
  public static <T> Result<T> of(T value) {
    return new Result<>(value, null);
  }

  /** No value. */
  public static <T> Result<T> refused(Reason reason) {
    return new Result<>(null, reason);
  }

  /** Whether there is no value. */
  public boolean isRefused() {
    return refusal != null;
  }
}
