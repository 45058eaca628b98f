package dev.signet.guard;

import java.util.Map;

/** Whether a call may go on. */
public sealed interface Decision {

  /**
   * It may.
   *
   * @param context null only for {@code public}, and for {@code bodyCredential} without a valid token
   */
  record Allow(AuthContext context) implements Decision {}

  /**
   * It may not.
   *
   * @param reason told to the caller
   * @param metadata told to the caller: {@code scope}, {@code permission} or {@code max_age}
   * @param step the step that failed, 1 to 8; 0 for a fault
   * @param trueReason for the audit, where the caller may not be told whether a resource exists elsewhere
   * @param introspect fresher facts about the token could turn this into Allow
   */
  record Deny(Reason reason, Map<String, String> metadata, int step, Reason trueReason, boolean introspect)
      implements Decision {
    /** Copies the map. */
    public Deny {
      metadata = Map.copyOf(metadata);
    }

    /** For a reason without details. */
    public Deny(Reason reason, int step) {
      this(reason, Map.of(), step, reason, false);
    }

    /** The HTTP status. */
    public int statusCode() {
      return reason.status();
    }

    /** A sentence that may be shown to the caller. */
    public String safeMessage() {
      return reason.message();
    }
  }
}
