package dev.signet.guard.kernel;

import dev.signet.guard.AuthContext;
import dev.signet.guard.PermissionSnapshot;
import dev.signet.guard.PermissionSnapshot.Grant;
import dev.signet.guard.PermissionSnapshot.Role;
import dev.signet.guard.Reason;
import dev.signet.guard.ResourceRef;
import java.util.LinkedHashSet;
import java.util.Objects;
import java.util.function.BiPredicate;

/** What a token is good for: what its scopes let it use of what its principal was granted. */
public final class Grants {
  private Grants() {}

  /** What an AuthContext says of roles and permissions. */
  public static AuthContext.Grants heldAt(PermissionSnapshot of, AuthContext caller, long nowMs) {
    var roles = new LinkedHashSet<String>();
    var permissions = new LinkedHashSet<String>();
    for (var grant : of.grants()) {
      var role = of.roles().get(grant.roleId());
      if (role == null || !isLive(grant, nowMs) || !reaches(grant, role, caller)) continue;
      if (reachesWhole(grant, role, caller)) roles.add(role.key());
      for (var permission : role.permissions()) if (isUsable(of, caller, permission)) permissions.add(permission);
    }
    return new AuthContext.Grants(roles, permissions);
  }

  /** Whether the role is held in the token's whole place: a role on a resource is not. Scopes do not narrow a role. */
  static boolean hasRoleAt(PermissionSnapshot of, AuthContext caller, String key, long nowMs) {
    for (var grant : of.grants()) {
      var role = of.roles().get(grant.roleId());
      if (role == null || !role.key().equals(key)) continue;
      if (isLive(grant, nowMs) && reachesWhole(grant, role, caller)) return true;
    }
    return false;
  }

  /** Whether the permission is held anywhere that the token reaches. */
  static boolean isHeldAt(PermissionSnapshot of, AuthContext caller, String permission, long nowMs) {
    return isHeld(of, caller, permission, nowMs, (grant, role) -> reaches(grant, role, caller));
  }

  /** Whether the permission is held on this very resource, or where it covers it. */
  static boolean isHeldOn(
      PermissionSnapshot of, AuthContext caller, String permission, ResourceRef resource, long nowMs) {
    return isHeld(of, caller, permission, nowMs, (grant, role) -> covers(grant, role, resource));
  }

  private static boolean isHeld(
      PermissionSnapshot of, AuthContext caller, String permission, long nowMs, BiPredicate<Grant, Role> applies) {
    if (!isUsable(of, caller, permission)) return false;
    for (var grant : of.grants()) {
      var role = of.roles().get(grant.roleId());
      var isIn = role != null && role.permissions().contains(permission);
      if (isIn && isLive(grant, nowMs) && applies.test(grant, role)) return true;
    }
    return false;
  }

  /** Whether any of the token's scopes lets it use the permission, where it is granted. */
  private static boolean isUsable(PermissionSnapshot of, AuthContext caller, String permission) {
    for (var scope : caller.scopes()) {
      var usable = of.scopes().get(scope);
      if (usable != null && usable.contains(permission)) return true;
    }
    return false;
  }

  private static boolean isLive(Grant grant, long nowMs) {
    return grant.expiresAtMs() == null || nowMs < grant.expiresAtMs();
  }

  /** True when the grant is on this very resource or, where it is inherited, on a node that the resource is in. */
  private static boolean covers(Grant grant, Role role, ResourceRef of) {
    var resource = grant.resource();
    if (resource == null) return role.inheritable() && isAround(grant, of.appId(), of.tenantId(), of.contextId());
    return isAt(grant, of.appId(), of.tenantId(), of.contextId())
        && resource.type().equals(of.type())
        && resource.id().equals(of.id());
  }

  /** True when the grant holds somewhere at the caller's place. */
  private static boolean reaches(Grant grant, Role role, AuthContext of) {
    if (isAt(grant, of.appId(), of.tenantId(), of.contextId())) return true;
    return grant.resource() == null
        && role.inheritable()
        && isAround(grant, of.appId(), of.tenantId(), of.contextId());
  }

  /** True when the grant holds in all of the caller's place, and not on one resource of it. */
  private static boolean reachesWhole(Grant grant, Role role, AuthContext of) {
    return grant.resource() == null && reaches(grant, role, of);
  }

  private static boolean isAt(Grant grant, String appId, String tenantId, String contextId) {
    return grant.appId().equals(appId)
        && Objects.equals(grant.tenantId(), tenantId)
        && Objects.equals(grant.contextId(), contextId);
  }

  private static boolean isAround(Grant grant, String appId, String tenantId, String contextId) {
    return grant.appId().equals(appId)
        && (grant.tenantId() == null || grant.tenantId().equals(tenantId))
        && (grant.contextId() == null || grant.contextId().equals(contextId));
  }

  /** Why the resource is out of the caller's reach, whatever was granted (step 4); null when it is not. */
  static Reason misplacement(AuthContext context, ResourceRef resource) {
    if (!Objects.equals(resource.appId(), context.appId())) return Reason.APP_MISMATCH;
    if (!Objects.equals(resource.tenantId(), context.tenantId())) return Reason.TENANT_MISMATCH;
    if (!Objects.equals(resource.contextId(), context.contextId())) return Reason.CONTEXT_MISMATCH;
    return null;
  }
}
