package dev.signet.guard;

import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;

/**
 * The caller, as a verified token describes it. Immutable: it can be shared between calls and threads.
 *
 * <p>Ids that may be absent are null then. Times are milliseconds since the Unix epoch.
 *
 * @param principal whose authority and whose resources: the subject
 * @param identityId the global human identity; null for services
 * @param appId the app that the token was issued for
 * @param tenantId null when the token belongs to no tenant
 * @param contextId null when the token belongs to no context
 * @param sessionId the session of a signed-in user; null for services and delegated calls
 * @param deviceId the device that the session is bound to; null for none
 * @param tokenId the claim {@code jti}
 * @param credentialId the personal access token or client secret that the token was obtained with; null for none
 * @param issuer the claim {@code iss}
 * @param audience the claim {@code aud}: always one
 * @param scopes the claim {@code scp}, in its order
 * @param grants roles and permissions; empty where nobody has read them, since no token carries them. That is not
 *     "none": {@link Guard#loadGrants} reads them
 * @param method how the caller came by the token
 * @param actor the service that acts for the principal; null when nobody does
 * @param delegation what the actor was allowed; null when there is no actor
 * @param claims the verified claims, as they are in the token
 * @param authTimeMs when the user signed in; null for services
 * @param issuedAtMs the claim {@code iat}
 * @param expiresAtMs the claim {@code exp}
 * @param permVer the claim {@code perm_ver}
 * @param versions what {@code permVer} is the sum of
 */
public record AuthContext(
    Principal principal,
    String identityId,
    String appId,
    String tenantId,
    String contextId,
    String sessionId,
    String deviceId,
    String tokenId,
    String credentialId,
    String issuer,
    String audience,
    Set<String> scopes,
    Optional<Grants> grants,
    AuthMethod method,
    Principal actor,
    Delegation delegation,
    Map<String, Object> claims,
    Long authTimeMs,
    long issuedAtMs,
    long expiresAtMs,
    long permVer,
    Versions versions) {

  /** Copies the collections. */
  public AuthContext {
    Objects.requireNonNull(principal, "principal");
    Objects.requireNonNull(appId, "appId");
    Objects.requireNonNull(versions, "versions");
    scopes = frozen(scopes);
    Objects.requireNonNull(grants, "grants");
    claims = Collections.unmodifiableMap(claims);
  }

  /**
   * Keys of what a caller holds in its token's app, tenant and context.
   *
   * @param roles held in all of that place: a role on a single resource is not among them
   * @param permissions held there or on a resource there, as far as the token's scopes let them be used
   */
  public record Grants(Set<String> roles, Set<String> permissions) {
    /** Copies the sets. */
    public Grants {
      roles = frozen(roles);
      permissions = frozen(permissions);
    }
  }

  /** What kind of entity is authorized. */
  public enum PrincipalKind {
    /** A human. */
    USER,
    /** A service account. */
    SERVICE,
    /** An autonomous agent; reserved. */
    AGENT,
    /** An actor of an app graph; reserved. */
    ACTOR
  }

  /** How a caller came by its token. */
  public enum AuthMethod {
    /** A person signed in. */
    USER_SESSION,
    /** A service presented its secret or key (RFC 6749 section 4.4). */
    CLIENT_CREDENTIALS,
    /** A personal access token was exchanged. */
    PERSONAL_ACCESS_TOKEN,
    /** A service acts for a user (RFC 8693). */
    ON_BEHALF_OF
  }

  /**
   * A principal by id and kind.
   *
   * @param id {@code prn_…}
   * @param kind what kind it is
   */
  public record Principal(String id, PrincipalKind kind) {}

  /**
   * What an actor was allowed to do for the principal.
   *
   * @param actor the service that acts
   * @param actorClientId the acting service's client id, by which requirements may name it
   * @param jobId the job that the delegation was given for
   * @param originSessionId the session of the subject that it came from; null for standing delegations
   * @param expiresAtMs when it ends; milliseconds since the Unix epoch
   * @param depth how many services stand between the user and the caller: 1 for one
   */
  public record Delegation(
      Principal actor, String actorClientId, String jobId, String originSessionId, long expiresAtMs, int depth) {}

  /**
   * Versions of what a principal may do in an app. Each only rises.
   *
   * @param principal of the principal in the app: its grants, memberships and status
   * @param policy of the app's policy: its roles, permissions and scopes
   */
  public record Versions(long principal, long policy) {
    /** Nothing was ever changed. */
    public static final Versions NONE = new Versions(0, 0);
  }

  /** The session whose end ends the token; for a delegated one, that of the user who delegated. Null for none. */
  public String endingSessionId() {
    if (sessionId != null) return sessionId;
    return delegation == null ? null : delegation.originSessionId();
  }

  /** The same caller, with its roles and permissions. */
  public AuthContext withGrants(Grants held) {
    return new AuthContext(
        principal, identityId, appId, tenantId, contextId, sessionId, deviceId, tokenId, credentialId, issuer,
        audience, scopes, Optional.of(held), method, actor, delegation, claims, authTimeMs, issuedAtMs, expiresAtMs,
        permVer, versions);
  }

  /** The principal and its app: nothing of the claims, so that a log line tells no more. */
  @Override
  public String toString() {
    return "AuthContext[" + principal.kind() + " " + principal.id() + " of " + appId + "]";
  }

  private static Set<String> frozen(Set<String> members) {
    return Collections.unmodifiableSet(new LinkedHashSet<>(members));
  }
}
