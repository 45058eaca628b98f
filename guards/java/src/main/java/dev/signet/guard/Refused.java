package dev.signet.guard;

import java.util.Map;

/** An expected refusal with its typed reason. A handler may throw it to refuse in the guard's own words. */
public final class Refused extends RuntimeException {
  private static final long serialVersionUID = 1;

  private final Reason reason;
  private final transient Map<String, String> metadata;

  /** A refusal without details. */
  public Refused(Reason reason) {
    this(reason, Map.of());
  }

  /**
   * A refusal.
   *
   * @param metadata facts for the caller: names and numbers of the request, never secrets
   */
  public Refused(Reason reason, Map<String, String> metadata) {
    super(reason.message(), null, false, false);
    this.reason = reason;
    this.metadata = Map.copyOf(metadata);
  }

  /** What a denial tells the caller. */
  public static Refused of(Decision.Deny deny) {
    return new Refused(deny.reason(), deny.metadata());
  }

  /** Why. */
  public Reason reason() {
    return reason;
  }

  /** Facts for the caller. */
  public Map<String, String> metadata() {
    return metadata;
  }
}
