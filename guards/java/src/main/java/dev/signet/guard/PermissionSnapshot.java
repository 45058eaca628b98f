package dev.signet.guard;

import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What a principal was granted at a place, and what the app's roles and scopes mean.
 *
 * @param roles active ones, by id
 * @param scopes permissions by scope: what a token with the scope may use
 * @param grants what the principal was granted
 */
public record PermissionSnapshot(Map<String, Role> roles, Map<String, Set<String>> scopes, List<Grant> grants) {

  /** Copies the collections. */
  public PermissionSnapshot {
    roles = Map.copyOf(roles);
    scopes = Map.copyOf(scopes);
    grants = List.copyOf(grants);
  }

  /**
   * A role.
   *
   * @param key its name
   * @param permissions what it gives
   * @param inheritable whether a grant of it covers everything below its node
   */
  public record Role(String key, Set<String> permissions, boolean inheritable) {
    /** Copies the set. */
    public Role {
      permissions = Set.copyOf(permissions);
    }
  }

  /**
   * A role that the principal has at a node: a resource, or everything of a context, tenant or app.
   *
   * @param roleId the role
   * @param appId the app
   * @param tenantId null: every tenant of the app; of a resource, that it is of none
   * @param contextId null: every context of the tenant; of a resource, that it is of none
   * @param resource null: every resource of the context
   * @param expiresAtMs it holds before this, and not at it; null: it does not expire
   */
  public record Grant(
      String roleId, String appId, String tenantId, String contextId, Resource resource, Long expiresAtMs) {}

  /** A resource by type and id. */
  public record Resource(String type, String id) {}

  /**
   * What a snapshot is of: all of it is asked for, and all of it must be answered.
   *
   * @param principalId the principal
   * @param appId the app
   * @param tenantId null for none
   * @param contextId null for none
   * @param permVer the version
   */
  public record Key(String principalId, String appId, String tenantId, String contextId, long permVer) {
    /** What the caller's token is of. */
    public static Key of(AuthContext caller) {
      return new Key(
          caller.principal().id(), caller.appId(), caller.tenantId(), caller.contextId(), caller.permVer());
    }
  }

  /** Finds what a caller was granted. Called by many threads. */
  @FunctionalInterface
  public interface Finder {
    /**
     * The snapshot, or null when authority changed since the token was issued and what it was then cannot be had.
     *
     * @throws Exception when nobody can tell
     */
    PermissionSnapshot find(AuthContext caller) throws Exception;

    /** The snapshot that is in memory, or null where the issuer would have to be asked. */
    default PermissionSnapshot held(AuthContext caller) {
      return null;
    }
  }
}
