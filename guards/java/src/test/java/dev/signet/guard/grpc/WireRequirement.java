package dev.signet.guard.grpc;

import dev.signet.authz.v1.AuthRequirement;
import dev.signet.authz.v1.Composite;
import dev.signet.authz.v1.DelegatedActor;
import dev.signet.authz.v1.DeviceBound;
import dev.signet.authz.v1.Freshness;
import dev.signet.authz.v1.PrincipalKind;
import dev.signet.authz.v1.PrincipalKinds;
import dev.signet.authz.v1.ResourceAction;
import dev.signet.authz.v1.Source;
import dev.signet.authz.v1.TenantBound;
import dev.signet.guard.Requirement;
import java.util.List;

/** A requirement as the method option has it. */
final class WireRequirement {
  private WireRequirement() {}

  static AuthRequirement of(Requirement of) {
    var wire = AuthRequirement.newBuilder();
    if (of instanceof Requirement.Public) wire.setPublic(true);
    else if (of instanceof Requirement.BodyCredential) wire.setBodyCredential(true);
    else if (of instanceof Requirement.Scope scope) wire.setScope(scope.scope());
    else if (of instanceof Requirement.Action action) wire.setAction(action.action());
    else if (of instanceof Requirement.Role role) wire.setRole(role.role());
    else if (of instanceof Requirement.ResourceAction on) {
      wire.setResourceAction(
          ResourceAction.newBuilder()
              .setAction(on.action())
              .setType(on.type())
              .setFrom(Source.valueOf(on.from().name()))
              .setField(on.field()));
    } else if (of instanceof Requirement.Kinds kinds) {
      var some = PrincipalKinds.newBuilder();
      kinds.of().forEach(kind -> some.addOf(PrincipalKind.valueOf(kind.name())));
      wire.setKinds(some);
    } else if (of instanceof Requirement.Tenant tenant) {
      wire.setTenant(
          TenantBound.newBuilder().setFrom(Source.valueOf(tenant.from().name())).setField(tenant.field()));
    } else if (of instanceof Requirement.Delegated delegated) {
      wire.setDelegated(DelegatedActor.newBuilder().addAllActors(delegated.actors()));
    } else if (of instanceof Requirement.Device device) {
      wire.setDevice(DeviceBound.newBuilder().setProof(device.proof()));
    } else if (of instanceof Requirement.AnyOf any) wire.setAnyOf(parts(any.of()));
    else if (of instanceof Requirement.AllOf all) wire.setAllOf(parts(all.of()));
    var freshness = of.options().freshness();
    if (freshness != null) {
      var age = Freshness.newBuilder().setOnStale(Freshness.OnStale.valueOf(freshness.onStale().name()));
      age.getMaxStalenessBuilder().setSeconds(freshness.maxStalenessMs() / 1_000);
      wire.setFreshness(age);
    }
    wire.setMaxAuthAgeSeconds((int) of.options().maxAuthAgeSeconds());
    return wire.setAllowDelegated(of.options().allowDelegated()).build();
  }

  private static Composite parts(List<Requirement> of) {
    var parts = Composite.newBuilder();
    of.forEach(part -> parts.addOf(of(part)));
    return parts.build();
  }
}
