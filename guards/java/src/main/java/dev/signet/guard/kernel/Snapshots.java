package dev.signet.guard.kernel;

import static dev.signet.guard.kernel.Values.isText;

import dev.signet.guard.PermissionSnapshot;
import dev.signet.guard.PermissionSnapshot.Grant;
import dev.signet.guard.PermissionSnapshot.Key;
import dev.signet.guard.PermissionSnapshot.Resource;
import dev.signet.guard.PermissionSnapshot.Role;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/** A permission snapshot in the claims of a signed statement. */
public final class Snapshots {
  /** The most that a signed snapshot has, in characters. */
  public static final int MAX_LENGTH = 1_048_576;

  private Snapshots() {}

  /**
   * The snapshot in a verified statement. Null unless the statement is that issuer's, is of exactly this key, and is
   * whole: an old one under a newer key, or one of another principal, is none.
   */
  public static PermissionSnapshot parse(Map<String, Object> payload, String issuer, Key key) {
    var isAsked =
        issuer.equals(payload.get("iss"))
            && key.principalId().equals(payload.get("sub"))
            && key.appId().equals(payload.get("app_id"))
            && Objects.equals(key.tenantId(), payload.get("tenant_id"))
            && Objects.equals(key.contextId(), payload.get("context_id"))
            && Objects.equals(key.permVer(), payload.get("perm_ver"));
    if (!isAsked) return null;
    var roles = rolesOf(payload.get("roles"));
    var scopes = scopesOf(payload.get("scopes"));
    var grants = grantsOf(payload.get("grants"), key.appId());
    if (roles == null || scopes == null || grants == null) return null;
    return new PermissionSnapshot(roles, scopes, grants);
  }

  private static Map<String, Role> rolesOf(Object value) {
    if (!(value instanceof List<?> list)) return null;
    var roles = new HashMap<String, Role>();
    for (var one : list) {
      var role = Values.object(one);
      if (role == null || !isText(role.get("id")) || !isText(role.get("key"))) return null;
      var permissions = Values.texts(role.get("permissions"));
      if (permissions == null || !(role.get("inheritable") instanceof Boolean isInheritable)) return null;
      roles.put((String) role.get("id"), new Role((String) role.get("key"), setOf(permissions), isInheritable));
    }
    return roles;
  }

  private static Map<String, Set<String>> scopesOf(Object value) {
    var map = Values.object(value);
    if (map == null) return null;
    var scopes = new HashMap<String, Set<String>>();
    for (var one : map.entrySet()) {
      var permissions = Values.texts(one.getValue());
      if (permissions == null) return null;
      scopes.put(one.getKey(), setOf(permissions));
    }
    return scopes;
  }

  private static Set<String> setOf(List<String> texts) {
    return Set.copyOf(new HashSet<>(texts));
  }

  private static List<Grant> grantsOf(Object value, String appId) {
    if (!(value instanceof List<?> list)) return null;
    var grants = new ArrayList<Grant>();
    for (var one : list) {
      var grant = grantOf(Values.object(one), appId);
      if (grant == null) return null;
      grants.add(grant);
    }
    return grants;
  }

  /** What narrows and is not understood must not widen. */
  private static Grant grantOf(Map<String, Object> grant, String appId) {
    if (grant == null || !isText(grant.get("role_id"))) return null;
    if (grant.containsKey("tenant_id") && !Values.isId("ten", grant.get("tenant_id"))) return null;
    if (grant.containsKey("context_id") && !Values.isId("ctx", grant.get("context_id"))) return null;
    if (grant.containsKey("expires_at_ms") && !(grant.get("expires_at_ms") instanceof Long)) return null;
    Resource resource = null;
    if (grant.containsKey("resource")) {
      var named = Values.object(grant.get("resource"));
      if (named == null || !isText(named.get("type")) || !isText(named.get("id"))) return null;
      resource = new Resource((String) named.get("type"), (String) named.get("id"));
    }
    return new Grant(
        (String) grant.get("role_id"),
        appId,
        (String) grant.get("tenant_id"),
        (String) grant.get("context_id"),
        resource,
        (Long) grant.get("expires_at_ms"));
  }
}
