package dev.signet.guard.kernel;

import dev.signet.guard.Decision.Deny;
import dev.signet.guard.Reason;
import java.util.Map;

/**
 * The step that a check fails at, and why.
 *
 * @param trueReason for the audit
 * @param introspect fresher facts could let it pass
 */
record Failure(int step, Reason reason, Map<String, String> metadata, Reason trueReason, boolean introspect) {
  Failure(int step, Reason reason) {
    this(step, reason, Map.of(), reason, false);
  }

  Failure(int step, Reason reason, String name, String value) {
    this(step, reason, Map.of(name, value), reason, false);
  }

  Deny asDenial() {
    return new Deny(reason, metadata, step, trueReason, introspect);
  }
}
