package dev.signet.guard.kernel;

import dev.signet.guard.Requirement;
import dev.signet.guard.Requirement.AllOf;
import dev.signet.guard.Requirement.AnyOf;
import java.util.ArrayList;
import java.util.List;

/** What a requirement says of a call whose caller is known: its checks, and what composites make of them. */
final class Evaluation {
  private Evaluation() {}

  /**
   * What came of it.
   *
   * @param failure null when it passed
   * @param takesActor whether what passed takes a token with an actor
   */
  record Outcome(Failure failure, boolean takesActor) {}

  /** @throws IllegalArgumentException when the requirement may not stand where it does. */
  static Outcome of(Requirement requirement, Question call, Inherited inherited) {
    var options = inherited.narrow(requirement.options());
    var allowsActor = requirement.options().allowDelegated();
    if (requirement instanceof AnyOf any) return anyOf(outcomes(any.of(), call, options), allowsActor);
    if (requirement instanceof AllOf all) return allOf(outcomes(all.of(), call, options), allowsActor);
    var failure = Check.failureOf(requirement, call, options);
    if (failure != null) return new Outcome(failure, false);
    return new Outcome(null, allowsActor || requirement instanceof Requirement.Delegated);
  }

  private static List<Outcome> outcomes(List<Requirement> parts, Question call, Inherited options) {
    if (parts.isEmpty()) throw new IllegalArgumentException("an empty composite");
    var outcomes = new ArrayList<Outcome>(parts.size());
    for (var part : parts) outcomes.add(of(part, call, options));
    return outcomes;
  }

  /** Passes with any; else reports the part that got furthest, the first of those that got equally far. */
  private static Outcome anyOf(List<Outcome> parts, boolean allowsActor) {
    var hasPassed = parts.stream().anyMatch(part -> part.failure() == null);
    if (!hasPassed) return failed(parts, true);
    return new Outcome(null, allowsActor || parts.stream().anyMatch(Outcome::takesActor));
  }

  /** Passes with all; else reports the part that failed at the earliest step, the first of those. */
  private static Outcome allOf(List<Outcome> parts, boolean allowsActor) {
    var hasFailed = parts.stream().anyMatch(part -> part.failure() != null);
    if (hasFailed) return failed(parts, false);
    return new Outcome(null, allowsActor || parts.stream().anyMatch(Outcome::takesActor));
  }

  private static Outcome failed(List<Outcome> parts, boolean isFurthest) {
    Failure told = null;
    var introspect = false;
    for (var part : parts) {
      var failure = part.failure();
      if (failure == null) continue;
      introspect |= failure.introspect();
      if (told == null || (isFurthest ? failure.step() > told.step() : failure.step() < told.step())) told = failure;
    }
    var merged = new Failure(told.step(), told.reason(), told.metadata(), told.trueReason(), introspect);
    return new Outcome(merged, false);
  }
}
