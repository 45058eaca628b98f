"""What a token is good for: what its scopes let it use of what its principal was granted."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, FrozenSet, Mapping, NamedTuple, Optional, Set, Tuple

from .context import AuthContext, Grants
from .refusals import Reason


class Place(NamedTuple):
    """An app, a tenant of it, and a context of that. None: none."""

    app_id: str
    tenant_id: Optional[str]
    context_id: Optional[str]


@dataclass(frozen=True)
class ResourceRef:
    """A resource, as the service that owns it finds it in its own store: never as a request describes it."""

    type: str
    id: str
    app_id: str
    tenant_id: Optional[str] = None
    context_id: Optional[str] = None

    @property
    def place(self) -> Place:
        return Place(self.app_id, self.tenant_id, self.context_id)


@dataclass(frozen=True)
class HeldGrant:
    """A role that the principal has at a node: a resource, or everything of a context, tenant or app."""

    role_id: str
    place: Place
    """Without a tenant: every tenant of the app; of a grant on a resource, that the resource is of none."""
    resource: Optional[Tuple[str, str]] = None
    """Type and id; None: every resource of the place."""
    expires_at_ms: Optional[float] = None
    """The grant holds before this instant, and not at it. None: it does not expire."""


@dataclass(frozen=True)
class SnapshotRole:
    key: str
    permissions: FrozenSet[str]
    inheritable: bool
    """A grant of the role covers everything below its node."""


@dataclass(frozen=True)
class PermissionSnapshot:
    """What a principal was granted at a place, and what the app's roles and scopes mean."""

    roles: Mapping[str, SnapshotRole]
    """Active roles by id."""
    scopes: Mapping[str, FrozenSet[str]]
    """Permissions by scope: what a token with the scope may use."""
    grants: Tuple[HeldGrant, ...]


def place_of(context: AuthContext) -> Place:
    """Returns the place that the token belongs to."""
    return Place(context.app_id, context.tenant_id, context.context_id)


def misplacement(context: AuthContext, resource: ResourceRef) -> Optional[Reason]:
    """Returns why the resource is out of the caller's reach, whatever was granted; None when it is not."""
    if resource.app_id != context.app_id:
        return "APP_MISMATCH"
    if resource.tenant_id != context.tenant_id:
        return "TENANT_MISMATCH"
    return None if resource.context_id == context.context_id else "CONTEXT_MISMATCH"


def is_held_at(snapshot: PermissionSnapshot, context: AuthContext, permission: str, now_ms: float) -> bool:
    """True when the permission is held anywhere that the token reaches: on its place, around it, or on a resource."""
    place = place_of(context)
    return _is_held(
        snapshot, context, permission, now_ms, lambda grant, role: _reaches(grant, role.inheritable, place)
    )


def is_held_on(
    snapshot: PermissionSnapshot, context: AuthContext, permission: str, resource: ResourceRef, now_ms: float
) -> bool:
    """True when the permission is held on this very resource, or where it covers the resource."""
    return _is_held(
        snapshot, context, permission, now_ms, lambda grant, role: _covers(grant, role.inheritable, resource)
    )


def has_role_at(snapshot: PermissionSnapshot, context: AuthContext, key: str, now_ms: float) -> bool:
    """True when the role is held in the token's whole place: a role on a resource is not. Scopes do not narrow a role."""
    place = place_of(context)
    for grant in snapshot.grants:
        role = snapshot.roles.get(grant.role_id)
        if role is None or role.key != key:
            continue
        if _is_live(grant, now_ms) and _reaches_whole(grant, role.inheritable, place):
            return True
    return False


def held_at(snapshot: PermissionSnapshot, context: AuthContext, now_ms: float) -> Grants:
    """Returns the keys of the roles, and the permissions, that the token reaches at its place."""
    place = place_of(context)
    empty: FrozenSet[str] = frozenset()
    usable = {permission for scope in context.scopes for permission in snapshot.scopes.get(scope, empty)}
    roles: Set[str] = set()
    permissions: Set[str] = set()
    for grant in snapshot.grants:
        role = snapshot.roles.get(grant.role_id)
        if role is None or not _is_live(grant, now_ms) or not _reaches(grant, role.inheritable, place):
            continue
        permissions.update(one for one in role.permissions if one in usable)
        if _reaches_whole(grant, role.inheritable, place):
            roles.add(role.key)
    return Grants(frozenset(roles), frozenset(permissions))


def _is_held(
    snapshot: PermissionSnapshot,
    context: AuthContext,
    permission: str,
    now_ms: float,
    applies: Callable[[HeldGrant, SnapshotRole], bool],
) -> bool:
    if not any(permission in snapshot.scopes.get(scope, ()) for scope in context.scopes):
        return False
    for grant in snapshot.grants:
        role = snapshot.roles.get(grant.role_id)
        if role is None or permission not in role.permissions:
            continue
        if _is_live(grant, now_ms) and applies(grant, role):
            return True
    return False


def _is_live(grant: HeldGrant, now_ms: float) -> bool:
    return grant.expires_at_ms is None or now_ms < grant.expires_at_ms


def _covers(grant: HeldGrant, is_inherited: bool, resource: ResourceRef) -> bool:
    if grant.resource is None:
        return is_inherited and _is_around(grant.place, resource.place)
    # An id names a resource in its own place: in another place the same id is somebody else's resource.
    return grant.place == resource.place and grant.resource == (resource.type, resource.id)


def _reaches(grant: HeldGrant, is_inherited: bool, place: Place) -> bool:
    return grant.place == place or (grant.resource is None and is_inherited and _is_around(grant.place, place))


def _reaches_whole(grant: HeldGrant, is_inherited: bool, place: Place) -> bool:
    """True when the grant holds in all of a place, and not on one resource of it."""
    return grant.resource is None and _reaches(grant, is_inherited, place)


def _is_around(outer: Place, place: Place) -> bool:
    return (
        outer.app_id == place.app_id
        and outer.tenant_id in (None, place.tenant_id)
        and outer.context_id in (None, place.context_id)
    )
