package dev.signet.guard.grpc;

import com.google.protobuf.Descriptors.MethodDescriptor;
import dev.signet.authz.v1.AuthRequirement;
import dev.signet.authz.v1.Composite;
import dev.signet.authz.v1.RequirementProto;
import dev.signet.guard.AuthContext.PrincipalKind;
import dev.signet.guard.Requirement;
import dev.signet.guard.Requirement.Freshness;
import dev.signet.guard.Requirement.OnStale;
import dev.signet.guard.Requirement.Options;
import dev.signet.guard.Requirement.Source;
import java.util.List;
import java.util.regex.Pattern;

/** The contract's AuthRequirement as a {@link Requirement}. Everything that is wrong with one stops the program. */
public final class MethodRequirement {
  private static final Pattern ACTION = Pattern.compile("[a-z0-9_-]+\\.[a-z0-9_-]+\\.[a-z0-9_-]+");
  private static final Pattern HEADER = Pattern.compile("[a-z0-9-]+");

  private MethodRequirement() {}

  /**
   * What the method asks of its callers.
   *
   * @throws IllegalArgumentException when the method says nothing, or something that cannot be checked
   */
  public static Requirement of(MethodDescriptor method) {
    try {
      var options = method.getOptions();
      if (!options.hasExtension(RequirementProto.requires)) throw wrong("no (signet.authz.v1.requires)");
      var requirement = parse(options.getExtension(RequirementProto.requires));
      requirement.checks().forEach(check -> checkSource(check, method));
      return requirement;
    } catch (IllegalArgumentException error) {
      throw new IllegalArgumentException(method.getFullName() + ": " + error.getMessage(), error);
    }
  }

  /** @throws IllegalArgumentException when a check is missing, empty, or not to be had where it stands. */
  public static Requirement parse(AuthRequirement wire) {
    return parse(wire, false);
  }

  private static Requirement parse(AuthRequirement wire, boolean isInComposite) {
    // A check or the requirement has an option that this version does not support must not be passed over.
    if (!wire.getUnknownFields().asMap().isEmpty()) {
      throw wrong("the requirement has a check or an option that this guard does not support");
    }
    return checkOf(wire, isInComposite).with(optionsOf(wire));
  }

  private static Requirement checkOf(AuthRequirement wire, boolean isInComposite) {
    switch (wire.getCheckCase()) {
      case PUBLIC:
      case BODY_CREDENTIAL:
        var isPublic = wire.getCheckCase() == AuthRequirement.CheckCase.PUBLIC;
        if (!(isPublic ? wire.getPublic() : wire.getBodyCredential())) throw wrong("a check is false: omit it");
        if (isInComposite) throw wrong("public or body_credential inside a composite");
        return isPublic ? Requirement.publicAccess() : Requirement.bodyCredential();
      case SCOPE:
        return Requirement.scope(notEmpty("scope", wire.getScope()));
      case ACTION:
        return Requirement.action(actionOf(wire.getAction()));
      case ROLE:
        return Requirement.role(notEmpty("role", wire.getRole()));
      case RESOURCE_ACTION:
        var action = wire.getResourceAction();
        return Requirement.resourceAction(
            actionOf(action.getAction()),
            notEmpty("type", action.getType()),
            sourceOf(action.getFrom()),
            notEmpty("field", action.getField()));
      case KINDS:
        var kinds = wire.getKinds().getOfList();
        if (kinds.isEmpty()) throw wrong("kinds must have at least one kind");
        return Requirement.kinds(kinds.stream().map(MethodRequirement::kindOf).toArray(PrincipalKind[]::new));
      case TENANT:
        return tenantOf(sourceOf(wire.getTenant().getFrom()), wire.getTenant().getField());
      case DELEGATED:
        var actors = wire.getDelegated().getActorsList();
        if (actors.isEmpty()) throw wrong("delegated must have at least one actor");
        return Requirement.delegated(actors.stream().map(one -> notEmpty("actor", one)).toArray(String[]::new));
      case DEVICE:
        if (wire.getDevice().getProof()) throw wrong("this guard cannot verify a device proof");
        return Requirement.device();
      case ANY_OF:
        return Requirement.anyOf(partsOf(wire.getAnyOf()));
      case ALL_OF:
        return Requirement.allOf(partsOf(wire.getAllOf()));
      default:
        throw wrong("a requirement must have a check");
    }
  }

  private static Requirement[] partsOf(Composite composite) {
    if (composite.getOfCount() == 0) throw wrong("an empty composite");
    return composite.getOfList().stream().map(part -> parse(part, true)).toArray(Requirement[]::new);
  }

  private static Requirement tenantOf(Source from, String field) {
    if (from != Source.TOKEN) return Requirement.tenant(from, notEmpty("field", field));
    if (!field.isEmpty()) throw wrong("the token's tenant has no field");
    return Requirement.anyTenant();
  }

  private static Options optionsOf(AuthRequirement wire) {
    // uint32, which Java has as int.
    var maxAuthAgeSeconds = Integer.toUnsignedLong(wire.getMaxAuthAgeSeconds());
    var isOpen = List.of(AuthRequirement.CheckCase.PUBLIC, AuthRequirement.CheckCase.BODY_CREDENTIAL)
        .contains(wire.getCheckCase());
    if (isOpen && (wire.hasFreshness() || maxAuthAgeSeconds > 0)) {
      throw wrong("it uses no token, so it cannot have freshness");
    }
    return new Options(wire.hasFreshness() ? freshnessOf(wire.getFreshness()) : null, maxAuthAgeSeconds,
        wire.getAllowDelegated());
  }

  private static Freshness freshnessOf(dev.signet.authz.v1.Freshness wire) {
    if (!wire.hasMaxStaleness()) throw wrong("freshness without max_staleness");
    var age = wire.getMaxStaleness();
    var ms = Math.addExact(Math.multiplyExact(age.getSeconds(), 1_000L), Math.floorDiv(age.getNanos(), 1_000_000));
    if (ms < 0) throw wrong("a negative max_staleness");
    switch (wire.getOnStale()) {
      case ON_STALE_UNSPECIFIED:
      case DENY:
        return new Freshness(ms, OnStale.DENY);
      case INTROSPECT:
        return new Freshness(ms, OnStale.INTROSPECT);
      case ALLOW:
        return new Freshness(ms, OnStale.ALLOW);
      default:
        throw wrong("unknown on_stale " + wire.getOnStaleValue());
    }
  }

  private static PrincipalKind kindOf(dev.signet.authz.v1.PrincipalKind wire) {
    switch (wire) {
      case USER:
        return PrincipalKind.USER;
      case SERVICE:
        return PrincipalKind.SERVICE;
      case AGENT:
        return PrincipalKind.AGENT;
      case ACTOR:
        return PrincipalKind.ACTOR;
      default:
        throw wrong("unknown kind " + wire);
    }
  }

  private static Source sourceOf(dev.signet.authz.v1.Source wire) {
    switch (wire) {
      case PATH:
        return Source.PATH;
      case BODY:
        return Source.BODY;
      case HEADER:
        return Source.HEADER;
      case TOKEN:
        return Source.TOKEN;
      case GRAPH:
        return Source.GRAPH;
      default:
        throw wrong("unknown source " + wire);
    }
  }

  private static String actionOf(String action) {
    if (!ACTION.matcher(action).matches()) throw wrong("\"" + action + "\" must have the form service.resource.verb");
    return action;
  }

  private static String notEmpty(String what, String text) {
    if (text.isEmpty()) throw wrong("an empty " + what);
    return text;
  }

  /** Every field that the check names is one of the method's request. */
  private static void checkSource(Requirement check, MethodDescriptor method) {
    if (check instanceof Requirement.Tenant tenant) checkSource(tenant.from(), tenant.field(), method);
    if (check instanceof Requirement.ResourceAction action) {
      if (action.from() == Source.TOKEN) throw wrong("a token names no resource");
      checkSource(action.from(), action.field(), method);
    }
  }

  private static void checkSource(Source from, String field, MethodDescriptor method) {
    if (from == Source.GRAPH) throw wrong("an RPC has no graph");
    // A name with -bin at its end has bytes in gRPC.
    if (from == Source.HEADER && (!HEADER.matcher(field).matches() || field.endsWith("-bin"))) {
      throw wrong("\"" + field + "\" is not a lower-case text header");
    }
    if (from != Source.PATH && from != Source.BODY) return;
    if (method.isClientStreaming()) throw wrong(field + ": a client stream has no single request field");
    MessageField.of(method.getInputType(), field);
  }

  private static IllegalArgumentException wrong(String why) {
    return new IllegalArgumentException(why);
  }
}
