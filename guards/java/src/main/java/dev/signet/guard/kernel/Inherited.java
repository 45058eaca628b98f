package dev.signet.guard.kernel;

import dev.signet.guard.Requirement;
import dev.signet.guard.Requirement.Freshness;

/**
 * What a composite hands down to its parts.
 *
 * @param freshness the nearest one
 * @param maxAuthAgeSeconds the least age of the sign-in that is asked for; 0: however long ago
 */
record Inherited(Freshness freshness, long maxAuthAgeSeconds) {
  static Inherited of(Freshness freshness) {
    return new Inherited(freshness, 0);
  }

  /** What holds inside of a requirement. */
  Inherited narrow(Requirement.Options own) {
    var age = own.maxAuthAgeSeconds();
    var least = age > 0 && maxAuthAgeSeconds > 0 ? Math.min(age, maxAuthAgeSeconds) : Math.max(age, maxAuthAgeSeconds);
    return new Inherited(own.freshness() == null ? freshness : own.freshness(), least);
  }
}
