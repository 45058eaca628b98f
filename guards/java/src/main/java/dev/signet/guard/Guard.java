package dev.signet.guard;

import dev.signet.guard.Decision.Allow;
import dev.signet.guard.Decision.Deny;
import dev.signet.guard.Requirement.Freshness;
import dev.signet.guard.Requirement.OnStale;
import dev.signet.guard.issuer.HttpKeySet;
import dev.signet.guard.issuer.Http;
import dev.signet.guard.issuer.RevocationFeed;
import dev.signet.guard.kernel.Authorizer;
import dev.signet.guard.kernel.Grants;
import dev.signet.guard.kernel.Question;
import dev.signet.guard.kernel.Values;
import dev.signet.guard.token.AccessTokens;
import dev.signet.guard.token.Bearer;
import java.time.Clock;
import java.util.Objects;
import java.util.function.BiConsumer;

/**
 * Who is calling, and may they: the same on every transport. Build one for a service and share it. Thread-safe.
 *
 * <pre>{@code
 * Guard guard = Guard.builder()
 *     .issuer("https://auth.example")
 *     .audience("svc-notes")
 *     .appId(Guard.ANY_APP)
 *     .build();
 * }</pre>
 *
 * <p>Calls may block: for keys that are not there yet or are too old, for {@code introspection}, for permissions that
 * were not asked for before. Each of these is bounded by a few seconds and shared by the threads that need it.
 */
public final class Guard {
  /** For {@link Builder#appId}: the service serves every app. */
  public static final String ANY_APP = "*";

  private static final Freshness WITH_LIVENESS = new Freshness(60_000, OnStale.INTROSPECT);
  private static final Freshness WITHOUT_LIVENESS = new Freshness(930_000, OnStale.INTROSPECT);

  private final Builder options;
  private final AccessTokens tokens;
  private final Freshness defaultFreshness;

  private Guard(Builder options) {
    this.options = options;
    this.tokens =
        new AccessTokens(options.issuer, options.audience, options.keySet, options.clock, options.cacheSize);
    this.defaultFreshness = options.defaultFreshness;
  }

  /** A builder. */
  public static Builder builder() {
    return new Builder();
  }

  /** What requirements that say nothing of it ask for. */
  public Freshness defaultFreshness() {
    return defaultFreshness;
  }

  /**
   * The caller that an Authorization header names, or why it is not known.
   *
   * @param header the header as sent, several joined by ", "; null when there is none
   */
  public Caller authenticate(String header) {
    var bearer = Bearer.parse(header);
    if (bearer.isRefused()) return Caller.unknown(bearer.refusal());
    try {
      var context = tokens.verify(bearer.value());
      return context.isRefused() ? Caller.unknown(context.refusal()) : Caller.known(context.value(), bearer.value());
    } catch (RuntimeException fault) {
      // Nothing in a token may do this: it is a fault, and a fault lets nobody in.
      return Caller.unknown(Reason.INTERNAL);
    }
  }

  /**
   * Whether the caller may do what needs the requirement. {@link Rule} is the way to call it with what a request says.
   */
  public Decision authorize(Caller caller, Requirement requirement, RequestFacts request) {
    var isOpen = requirement instanceof Requirement.Public || requirement instanceof Requirement.BodyCredential;
    if (caller.context() == null || isOpen) return decide(caller, requirement, request, null, null);
    Liveness known = null;
    if (options.liveness != null) {
      try {
        known = Objects.requireNonNull(options.liveness.find(caller.context()));
      } catch (Exception error) {
        keepInterrupt(error);
        return decide(Caller.unknown(Reason.UNAVAILABLE), requirement, request, null, null);
      }
    }
    var decision = decideWhole(caller, requirement, request, known);
    var wantsFresher = decision instanceof Deny deny && deny.introspect() && options.introspection != null;
    if (!wantsFresher) return withHeld(decision);
    try {
      var fresh = Objects.requireNonNull(options.introspection.introspect(caller.context(), caller.token()));
      return withHeld(decideWhole(caller, requirement, request, fresh));
    } catch (Exception error) {
      keepInterrupt(error);
      return decision;
    }
  }

  /**
   * The caller's roles and permissions: from memory, or asked of the issuer. For handlers whose caller does not have
   * them, since its requirement did not need them.
   *
   * @throws Refused PERMISSIONS_STALE, or UNAVAILABLE
   * @throws IllegalStateException when the guard has no {@link Builder#permissions}
   */
  public AuthContext.Grants loadGrants(AuthContext caller) {
    if (options.permissions == null) throw new IllegalStateException("loadGrants requires the guard's permissions");
    PermissionSnapshot snapshot;
    try {
      snapshot = options.permissions.find(caller);
    } catch (Exception error) {
      keepInterrupt(error);
      throw new Refused(Reason.UNAVAILABLE);
    }
    if (snapshot == null) throw new Refused(Reason.PERMISSIONS_STALE);
    return Grants.heldAt(snapshot, caller, options.clock.millis());
  }

  /** A caller that is let in is told of the grants that are in memory, where the decision did not need them. */
  private Decision withHeld(Decision decision) {
    if (!(decision instanceof Allow allow) || options.permissions == null) return decision;
    if (allow.context() == null || allow.context().grants().isPresent()) return decision;
    var snapshot = options.permissions.held(allow.context());
    if (snapshot == null) return decision;
    return new Allow(allow.context().withGrants(Grants.heldAt(snapshot, allow.context(), options.clock.millis())));
  }

  private Decision decideWhole(Caller caller, Requirement requirement, RequestFacts request, Liveness known) {
    var decision = decide(caller, requirement, request, known, null);
    // What fails before step 6 fails whatever was granted, and nothing that was granted takes away.
    if (decision instanceof Allow || ((Deny) decision).step() < 6 || !asksPermissions(requirement)) return decision;
    if (options.permissions == null) return decision;
    PermissionSnapshot snapshot;
    try {
      snapshot = options.permissions.find(caller.context());
    } catch (Exception error) {
      keepInterrupt(error);
      return decide(Caller.unknown(Reason.UNAVAILABLE), requirement, request, known, null);
    }
    if (snapshot == null) {
      return decide(Caller.unknown(Reason.PERMISSIONS_STALE), requirement, request, known, null);
    }
    var held = Grants.heldAt(snapshot, caller.context(), options.clock.millis());
    return decide(caller.withContext(caller.context().withGrants(held)), requirement, request, known, snapshot);
  }

  private Decision decide(
      Caller caller, Requirement requirement, RequestFacts request, Liveness known, PermissionSnapshot snapshot) {
    return Authorizer.authorize(
        new Question(
            caller, requirement, options.issuer, options.audience, appId(), request, known, defaultFreshness, snapshot,
            options.clock.millis()));
  }

  /** Whether scopes alone may not decide. */
  private static boolean asksPermissions(Requirement requirement) {
    return requirement
        .checks()
        .anyMatch(
            check ->
                check instanceof Requirement.Action
                    || check instanceof Requirement.Role
                    || check instanceof Requirement.ResourceAction);
  }

  private static void keepInterrupt(Exception error) {
    if (error instanceof InterruptedException) Thread.currentThread().interrupt();
  }

  /** The app that the service belongs to; null where it serves every app. */
  private String appId() {
    return ANY_APP.equals(options.appId) ? null : options.appId;
  }

  /** Null when there is none. */
  ResourceRef.Finder resources() {
    return options.resources;
  }

  void onDeny(Deny deny, Caller caller) {
    options.onDeny.accept(deny, caller);
  }

  /** Builds a guard. Issuer, audience and app have no default. */
  public static final class Builder {
    private String issuer;
    private String audience;
    private String appId;
    private KeySet keySet;
    private Clock clock = Clock.systemUTC();
    private Liveness.Finder liveness;
    private Liveness.Introspector introspection;
    private PermissionSnapshot.Finder permissions;
    private ResourceRef.Finder resources;
    private Freshness defaultFreshness;
    private int cacheSize = 10_000;
    private BiConsumer<Deny, Caller> onDeny = (deny, caller) -> {};

    private Builder() {}

    /** Required: the {@code iss} that is taken. Without {@link #keySet}, keys are at its well-known address. */
    public Builder issuer(String value) {
      issuer = value;
      return this;
    }

    /** Required: the {@code aud} that is taken: this service's own. */
    public Builder audience(String value) {
      audience = value;
      return this;
    }

    /** Required: the app whose tokens are taken, {@code app_…}, or {@link Guard#ANY_APP}. */
    public Builder appId(String value) {
      appId = value;
      return this;
    }

    /** The issuer's keys; {@code /.well-known/jwks.json} of the issuer by default. */
    public Builder keySet(KeySet value) {
      keySet = value;
      return this;
    }

    /** The time; the system's by default. */
    public Builder clock(Clock value) {
      clock = value;
      return this;
    }

    /** A feed that is followed: refuses what the issuer revokes, and withdraws keys. */
    public Builder revocations(RevocationFeed value) {
      liveness = value;
      return this;
    }

    /**
     * Asked at each call whether principal, session and membership are active. Without it the token's own age is how
     * old that knowledge is: 900 s at most.
     */
    public Builder liveness(Liveness.Finder value) {
      liveness = value;
      return this;
    }

    /** Asked when a requirement wants fresher facts than there are. */
    public Builder introspection(Liveness.Introspector value) {
      introspection = value;
      return this;
    }

    /** Asked what the caller was granted, where scopes may not decide alone. Without it no permission is held. */
    public Builder permissions(PermissionSnapshot.Finder value) {
      permissions = value;
      return this;
    }

    /** Finds the resources that requirements name. Without it none is found, and such calls are refused. */
    public Builder resources(ResourceRef.Finder value) {
      resources = value;
      return this;
    }

    /** For requirements that say nothing: 60 s, then introspection; without liveness, a token's whole life. */
    public Builder defaultFreshness(Freshness value) {
      defaultFreshness = value;
      return this;
    }

    /** How many verified tokens are remembered, by their digest. 10,000. */
    public Builder cacheSize(int value) {
      cacheSize = value;
      return this;
    }

    /** Receives every denial, with its true reason, and the caller. For the audit. */
    public Builder onDeny(BiConsumer<Deny, Caller> value) {
      onDeny = value;
      return this;
    }

    /**
     * The guard.
     *
     * @throws IllegalArgumentException when issuer, audience or app is missing
     */
    public Guard build() {
      require(issuer != null && !issuer.isEmpty(), "issuer is missing: the iss of the tokens that are taken");
      require(audience != null && !audience.isEmpty(), "audience is missing: the aud of the tokens that are taken");
      require(appId != null, "appId is missing: the app whose tokens are taken, or Guard.ANY_APP");
      require(ANY_APP.equals(appId) || Values.isId("app", appId), "appId is no app_… and not Guard.ANY_APP");
      require(cacheSize >= 0, "cacheSize is negative");
      if (keySet == null) keySet = new HttpKeySet(issuer + "/.well-known/jwks.json", Http.create(), clock);
      if (liveness instanceof RevocationFeed feed) keySet = feed.withoutRevoked(keySet);
      if (defaultFreshness == null) defaultFreshness = liveness == null ? WITHOUT_LIVENESS : WITH_LIVENESS;
      var copy = new Builder();
      copy.issuer = issuer;
      copy.audience = audience;
      copy.appId = appId;
      copy.keySet = keySet;
      copy.clock = clock;
      copy.liveness = liveness;
      copy.introspection = introspection;
      copy.permissions = permissions;
      copy.resources = resources;
      copy.defaultFreshness = defaultFreshness;
      copy.cacheSize = cacheSize;
      copy.onDeny = onDeny;
      return new Guard(copy);
    }

    private static void require(boolean holds, String otherwise) {
      if (!holds) throw new IllegalArgumentException(otherwise);
    }
  }
}
