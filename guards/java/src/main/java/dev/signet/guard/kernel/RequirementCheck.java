package dev.signet.guard.kernel;

import dev.signet.guard.Requirement;
import dev.signet.guard.Requirement.Source;
import java.util.List;

/** What is wrong with a requirement that was built in code, found before the first call. */
public final class RequirementCheck {
  private RequirementCheck() {}

  /** Whether a target can read the field at a place. */
  @FunctionalInterface
  public interface Readable {
    /** False also for places that the target does not have. */
    boolean canRead(Source from, String field);
  }

  /** @throws IllegalArgumentException when the requirement cannot be checked on this target. */
  public static void check(Requirement requirement, Readable readable) {
    check(requirement, readable, false);
  }

  private static void check(Requirement requirement, Readable readable, boolean isInComposite) {
    var freshness = requirement.options().freshness();
    if (freshness != null) {
      refuseIf(freshness.maxStalenessMs() < 0 || freshness.onStale() == null, "freshness requires max_staleness");
    }
    refuseIf(requirement.options().maxAuthAgeSeconds() < 0, "a negative age of the sign-in");
    if (requirement instanceof Requirement.Public || requirement instanceof Requirement.BodyCredential) {
      refuseIf(isInComposite, "public or bodyCredential inside a composite");
    } else if (requirement instanceof Requirement.AnyOf any) {
      checkParts(any.of(), readable);
    } else if (requirement instanceof Requirement.AllOf all) {
      checkParts(all.of(), readable);
    } else if (requirement instanceof Requirement.Tenant tenant) {
      if (tenant.from() != Source.TOKEN) checkSource(tenant.from(), tenant.field(), readable);
    } else if (requirement instanceof Requirement.ResourceAction action) {
      refuseIf(action.from() == Source.TOKEN, "a token names no resource");
      refuseIf(isEmpty(action.action()) || isEmpty(action.type()), "an empty action or type");
      checkSource(action.from(), action.field(), readable);
    } else if (requirement instanceof Requirement.Device device) {
      refuseIf(device.proof(), "a device's proof is not checked here");
    } else if (requirement instanceof Requirement.Kinds kinds) {
      refuseIf(kinds.of().isEmpty(), "kinds must have at least one kind");
    } else if (requirement instanceof Requirement.Delegated delegated) {
      var hasNone = delegated.actors().isEmpty() || delegated.actors().contains("");
      refuseIf(hasNone, "delegated must have at least one actor");
    } else if (requirement instanceof Requirement.Scope scope) {
      refuseIf(isEmpty(scope.scope()), "an empty scope");
    } else if (requirement instanceof Requirement.Action action) {
      refuseIf(isEmpty(action.action()), "an empty action");
    } else if (requirement instanceof Requirement.Role role) {
      refuseIf(isEmpty(role.role()), "an empty role");
    }
  }

  private static void checkParts(List<Requirement> parts, Readable readable) {
    refuseIf(parts.isEmpty(), "an empty composite");
    for (var part : parts) check(part, readable, true);
  }

  private static void checkSource(Source from, String field, Readable readable) {
    var canRead = from != null && field != null && readable.canRead(from, field);
    refuseIf(!canRead, from + " has no field \"" + field + "\" here");
  }

  private static boolean isEmpty(String text) {
    return text == null || text.isEmpty();
  }

  private static void refuseIf(boolean isWrong, String why) {
    if (isWrong) throw new IllegalArgumentException(why);
  }
}
