package signet.example.notes;

import dev.signet.authz.v1.AuthContext;
import dev.signet.authz.v1.AuthRequirement;
import dev.signet.authz.v1.Composite;
import dev.signet.authz.v1.Source;
import dev.signet.authz.v1.TenantBound;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/** Whether a verified caller meets a requirement. */
final class Authorizer {
  private static final Comparator<Refused> BY_STEP = Comparator.comparingInt(refused -> refused.step);

  private final AuthContext who;
  private final Function<TenantBound, String> tenantOf;

  private Authorizer(AuthContext who, Function<TenantBound, String> tenantOf) {
    this.who = who;
    this.tenantOf = tenantOf;
  }

  /** @param tenantOf Answers with the tenant that the request names. */
  static void authorize(AuthRequirement required, AuthContext who, Function<TenantBound, String> tenantOf)
      throws Refused {
    var takesActor = new Authorizer(who, tenantOf).evaluate(required);
    if (who.hasActor() && !takesActor) throw new Refused("ACTOR_NOT_ALLOWED", 8, Map.of());
  }

  /** Whether what passed takes an actor. */
  private boolean evaluate(AuthRequirement r) throws Refused {
    switch (r.getCheckCase()) {
      case SCOPE -> {
        var scope = r.getScope();
        if (!who.getScopesList().contains(scope)) throw new Refused("MISSING_SCOPE", 6, Map.of("scope", scope));
      }
      case KINDS -> {
        var isOne = r.getKinds().getOfList().contains(who.getPrincipal().getKind());
        if (!isOne) throw new Refused("PRINCIPAL_KIND_NOT_ALLOWED", 5, Map.of());
      }
      case TENANT -> {
        var tenant = who.getTenantId();
        if (tenant.isEmpty()) throw new Refused("TENANT_REQUIRED", 4, Map.of());
        var isNamed = r.getTenant().getFrom() == Source.TOKEN || tenant.equals(tenantOf.apply(r.getTenant()));
        if (!isNamed) throw new Refused("TENANT_MISMATCH", 4, Map.of());
      }
      case ANY_OF -> {
        var parts = new Parts(r.getAnyOf());
        // The furthest of any, the earliest of all; of equals the first.
        if (!parts.hasPassed) throw parts.failures.stream().max(BY_STEP).orElseThrow();
        return r.getAllowDelegated() || parts.takesActor;
      }
      case ALL_OF -> {
        var parts = new Parts(r.getAllOf());
        if (!parts.failures.isEmpty()) throw parts.failures.stream().min(BY_STEP).orElseThrow();
        return r.getAllowDelegated() || parts.takesActor;
      }
      default -> throw new Refused("INTERNAL");
    }
    return r.getAllowDelegated();
  }

  private final class Parts {
    final List<Refused> failures = new ArrayList<>();
    boolean hasPassed;
    boolean takesActor;

    Parts(Composite composite) {
      for (var part : composite.getOfList()) {
        try {
          takesActor |= evaluate(part);
          hasPassed = true;
        } catch (Refused refused) {
          failures.add(refused);
        }
      }
    }
  }
}
