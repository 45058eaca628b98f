package dev.signet.guard;

import dev.signet.guard.AuthContext.PrincipalKind;
import java.util.List;
import java.util.stream.Stream;

/**
 * What a method or a path asks of its caller: one check, or a composition of checks. The same as the method option
 * {@code signet.authz.v1.requires}.
 *
 * <pre>{@code
 * Requirement.allOf(Requirement.scope("notes.read"), Requirement.tenant(Source.PATH, "tenant_id"))
 * }</pre>
 */
public sealed interface Requirement {

  /** What stands beside the check. On a composite it holds for all of it. */
  Options options();

  /** The same check with other options. */
  Requirement with(Options options);

  /** Where a request names a resource or a tenant. */
  enum Source {
    /** A path variable of the route. */
    PATH,
    /** A field of the message or JSON body. */
    BODY,
    /** A request header. */
    HEADER,
    /** The token itself. */
    TOKEN,
    /** The context that an app graph hands to a port. */
    GRAPH
  }

  /**
   * How old the knowledge of revocations may be.
   *
   * @param maxStalenessMs the oldest knowledge that serves, in milliseconds; not negative
   * @param onStale what happens beyond it
   */
  record Freshness(long maxStalenessMs, OnStale onStale) {}

  /** What a guard does when its knowledge is too old. */
  enum OnStale {
    /** Refuses: 401 REVOCATION_STATE_STALE. */
    DENY,
    /** Asks the issuer about this token; refuses when there is no answer. */
    INTROSPECT,
    /** Goes on with what is known. */
    ALLOW
  }

  /**
   * What any requirement may carry beside its check.
   *
   * @param freshness null: the guard's default, or that of the composite around it
   * @param maxAuthAgeSeconds the user signed in at most this long ago (RFC 9470); 0 asks for nothing
   * @param allowDelegated whether a token with an actor is taken although no {@code delegated} check names the actor
   */
  record Options(Freshness freshness, long maxAuthAgeSeconds, boolean allowDelegated) {
    /** Nothing beside the check. */
    public static final Options NONE = new Options(null, 0, false);
  }

  /** Nobody needs to be known; no credential is looked at. */
  record Public(Options options) implements Requirement {
    @Override
    public Public with(Options other) {
      return new Public(other);
    }
  }

  /** The request carries its own credential, which the handler verifies. */
  record BodyCredential(Options options) implements Requirement {
    @Override
    public BodyCredential with(Options other) {
      return new BodyCredential(other);
    }
  }

  /** The token carries this scope. */
  record Scope(String scope, Options options) implements Requirement {
    @Override
    public Scope with(Options other) {
      return new Scope(scope, other);
    }
  }

  /** The caller is granted this action ({@code service.resource.verb}) somewhere in the app. */
  record Action(String action, Options options) implements Requirement {
    @Override
    public Action with(Options other) {
      return new Action(action, other);
    }
  }

  /** The caller holds the role with this key in the token's app, tenant and context. */
  record Role(String role, Options options) implements Requirement {
    @Override
    public Role with(Options other) {
      return new Role(role, other);
    }
  }

  /** The caller is granted this action on the resource that the request names. */
  record ResourceAction(String action, String type, Source from, String field, Options options)
      implements Requirement {
    @Override
    public ResourceAction with(Options other) {
      return new ResourceAction(action, type, from, field, other);
    }
  }

  /** The caller is of one of these kinds. */
  record Kinds(List<PrincipalKind> of, Options options) implements Requirement {
    /** Copies the list. */
    public Kinds {
      of = List.copyOf(of);
    }

    @Override
    public Kinds with(Options other) {
      return new Kinds(of, other);
    }
  }

  /** The token belongs to the tenant that the request names; from TOKEN, to any tenant. */
  record Tenant(Source from, String field, Options options) implements Requirement {
    @Override
    public Tenant with(Options other) {
      return new Tenant(from, field, other);
    }
  }

  /** The call is made on a user's behalf by one of these services: principal ids or client ids. */
  record Delegated(List<String> actors, Options options) implements Requirement {
    /** Copies the list. */
    public Delegated {
      actors = List.copyOf(actors);
    }

    @Override
    public Delegated with(Options other) {
      return new Delegated(actors, other);
    }
  }

  /** The token is bound to a device of the user's. */
  record Device(boolean proof, Options options) implements Requirement {
    @Override
    public Device with(Options other) {
      return new Device(proof, other);
    }
  }

  /** At least one of these holds. */
  record AnyOf(List<Requirement> of, Options options) implements Requirement {
    /** Copies the list. */
    public AnyOf {
      of = List.copyOf(of);
    }

    @Override
    public AnyOf with(Options other) {
      return new AnyOf(of, other);
    }
  }

  /** Each of these holds. */
  record AllOf(List<Requirement> of, Options options) implements Requirement {
    /** Copies the list. */
    public AllOf {
      of = List.copyOf(of);
    }

    @Override
    public AllOf with(Options other) {
      return new AllOf(of, other);
    }
  }

  /** Nobody needs to be known. */
  static Requirement publicAccess() {
    return new Public(Options.NONE);
  }

  /** The request carries its own credential. */
  static Requirement bodyCredential() {
    return new BodyCredential(Options.NONE);
  }

  /** The token carries the scope. */
  static Requirement scope(String scope) {
    return new Scope(scope, Options.NONE);
  }

  /** The caller is granted the action somewhere in the app. */
  static Requirement action(String action) {
    return new Action(action, Options.NONE);
  }

  /**
   * The caller holds the role with this key in the token's app, tenant and context. The token's scopes do not narrow a
   * role: ask for a scope beside it, or any token of the caller will do.
   */
  static Requirement role(String key) {
    return new Role(key, Options.NONE);
  }

  /** The caller is granted the action on the resource that the request names. */
  static Requirement resourceAction(String action, String type, Source from, String field) {
    return new ResourceAction(action, type, from, field, Options.NONE);
  }

  /** The caller is of one of these kinds. */
  static Requirement kinds(PrincipalKind... of) {
    return new Kinds(List.of(of), Options.NONE);
  }

  /** The token belongs to the tenant that the request names. */
  static Requirement tenant(Source from, String field) {
    return new Tenant(from, field, Options.NONE);
  }

  /** The token belongs to a tenant. */
  static Requirement anyTenant() {
    return new Tenant(Source.TOKEN, "", Options.NONE);
  }

  /** The call is made on a user's behalf by one of these services. */
  static Requirement delegated(String... actors) {
    return new Delegated(List.of(actors), Options.NONE);
  }

  /** The token is bound to a device. */
  static Requirement device() {
    return new Device(false, Options.NONE);
  }

  /** At least one of these holds. */
  static Requirement anyOf(Requirement... of) {
    return new AnyOf(List.of(of), Options.NONE);
  }

  /** Each of these holds. */
  static Requirement allOf(Requirement... of) {
    return new AllOf(List.of(of), Options.NONE);
  }

  /** The same, for knowledge of this age. */
  default Requirement fresh(long maxStalenessMs, OnStale onStale) {
    var freshness = new Freshness(maxStalenessMs, onStale);
    return with(new Options(freshness, options().maxAuthAgeSeconds(), options().allowDelegated()));
  }

  /** The same, for a user who signed in at most so long ago. */
  default Requirement signedInWithin(long seconds) {
    return with(new Options(options().freshness(), seconds, options().allowDelegated()));
  }

  /** The same, also for services that act for a user. */
  default Requirement orOnBehalf() {
    return with(new Options(options().freshness(), options().maxAuthAgeSeconds(), true));
  }

  /** Every single check in it, in the order of declaration. */
  default Stream<Requirement> checks() {
    if (this instanceof AnyOf any) return any.of().stream().flatMap(Requirement::checks);
    if (this instanceof AllOf all) return all.of().stream().flatMap(Requirement::checks);
    return Stream.of(this);
  }
}
