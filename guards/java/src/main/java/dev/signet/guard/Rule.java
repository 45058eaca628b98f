package dev.signet.guard;

import dev.signet.guard.Decision.Deny;
import dev.signet.guard.Requirement.ResourceAction;
import dev.signet.guard.Requirement.Source;
import dev.signet.guard.Requirement.Tenant;
import dev.signet.guard.kernel.RequirementCheck;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * One requirement, decided before what it guards runs. Compiled once, so that a call reads only what its requirement
 * names. Thread-safe. For a transport of your own; {@code grpc} and {@code servlet} build theirs.
 */
public final class Rule {
  private final Guard guard;
  private final Requirement requirement;
  private final List<Tenant> tenants;
  private final List<ResourceAction> resources;

  /** Says whether the transport can read a field at a place. */
  @FunctionalInterface
  public interface Readable extends RequirementCheck.Readable {}

  /** The text that a request has at a place. */
  @FunctionalInterface
  public interface ReadValue {
    /** Null when there is none, or more than one. */
    String read(Source from, String field);
  }

  /** @throws IllegalArgumentException when the requirement cannot be checked with what the transport can read. */
  public Rule(Guard guard, Requirement requirement, Readable readable) {
    RequirementCheck.check(requirement, readable);
    this.guard = guard;
    this.requirement = requirement;
    tenants = requirement.checks().filter(Tenant.class::isInstance).map(Tenant.class::cast).toList();
    resources =
        requirement.checks().filter(ResourceAction.class::isInstance).map(ResourceAction.class::cast).toList();
  }

  /** What is asked. */
  public Requirement requirement() {
    return requirement;
  }

  /**
   * The caller that a header names. Nobody looks at the header of a public call: a stale token must not stop a sign-in.
   *
   * @param header the Authorization header as sent, several joined by ", "; null when there is none
   */
  public Caller authenticate(String header) {
    if (requirement instanceof Requirement.Public) return Caller.unknown(Reason.NO_CREDENTIAL);
    return guard.authenticate(header);
  }

  /**
   * Whether the call may go on. What {@link ResourceRef.Finder} throws is thrown on.
   *
   * @param read reads what the requirement names; not called for a caller that is not known
   */
  public Decision decide(Caller caller, ReadValue read) {
    var facts = caller.context() == null ? new RequestFacts(Map.of(), Map.of(), null) : read(read);
    var decision = guard.authorize(caller, requirement, facts);
    if (decision instanceof Deny deny) guard.onDeny(deny, caller);
    return decision;
  }

  private RequestFacts read(ReadValue read) {
    var named = new HashMap<String, String>();
    for (var check : tenants) {
      var id = read.read(check.from(), check.field());
      if (id != null) named.put(RequestFacts.tenantKey(check), id);
    }
    var found = new HashMap<String, ResourceRef>();
    for (var check : resources) {
      var id = read.read(check.from(), check.field());
      var resource = id == null || guard.resources() == null ? null : guard.resources().find(check.type(), id);
      if (resource != null) found.put(RequestFacts.resourceKey(check), resource);
    }
    return new RequestFacts(named, found, null);
  }
}
