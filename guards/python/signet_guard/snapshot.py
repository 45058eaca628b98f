"""Reads a permission snapshot from the claims of a signed statement."""
from __future__ import annotations

from typing import Any, Dict, FrozenSet, List, NamedTuple, Optional, Tuple

from .grants import HeldGrant, PermissionSnapshot, Place, SnapshotRole
from .ids import is_id
from .strict_json import Json, is_number, is_safe_integer, is_text, is_texts

MAX_SNAPSHOT_LENGTH = 1_048_576
"""The most characters of a signed snapshot."""


class SnapshotKey(NamedTuple):
    """What a snapshot is of: all of it is asked for, and all of it must be answered."""

    principal_id: str
    place: Place
    perm_ver: int


class _Invalid(Exception):
    pass


def parse_snapshot(payload: Json, issuer: str, key: SnapshotKey) -> Optional[PermissionSnapshot]:
    """Returns the snapshot in a verified statement.

    None unless the statement is that issuer's, is of exactly this key, and is whole: an old one under a newer key, or
    one of another principal, is none.
    """
    is_asked = (
        payload.get("iss") == issuer
        and payload.get("sub") == key.principal_id
        and payload.get("app_id") == key.place.app_id
        and payload.get("tenant_id") == key.place.tenant_id
        and payload.get("context_id") == key.place.context_id
        and is_number(payload.get("perm_ver"))
        and payload["perm_ver"] == key.perm_ver
    )
    if not is_asked:
        return None
    try:
        return PermissionSnapshot(
            roles=dict(_role_of(one) for one in _list_of(payload.get("roles"))),
            scopes=_scopes_of(payload.get("scopes")),
            grants=tuple(_grant_of(one, key.place.app_id) for one in _list_of(payload.get("grants"))),
        )
    except _Invalid:
        return None


def _list_of(value: Any) -> List[Any]:
    if not isinstance(value, list):
        raise _Invalid
    return value


def _scopes_of(value: Any) -> Dict[str, FrozenSet[str]]:
    if not isinstance(value, dict) or not all(is_texts(permissions) for permissions in value.values()):
        raise _Invalid
    return {scope: frozenset(permissions) for scope, permissions in value.items()}


def _role_of(value: Any) -> Tuple[str, SnapshotRole]:
    if not isinstance(value, dict) or not is_text(value.get("id")) or not is_text(value.get("key")):
        raise _Invalid
    if not is_texts(value.get("permissions")) or not isinstance(value.get("inheritable"), bool):
        raise _Invalid
    return value["id"], SnapshotRole(value["key"], frozenset(value["permissions"]), value["inheritable"])


def _grant_of(value: Any, app_id: str) -> HeldGrant:
    if not isinstance(value, dict) or not is_text(value.get("role_id")):
        raise _Invalid
    # A member that narrows the grant and cannot be read must not widen it.
    if "tenant_id" in value and not is_id("ten", value["tenant_id"]):
        raise _Invalid
    if "context_id" in value and not is_id("ctx", value["context_id"]):
        raise _Invalid
    if "expires_at_ms" in value and not is_safe_integer(value["expires_at_ms"]):
        raise _Invalid
    resource = _resource_of(value["resource"]) if "resource" in value else None
    place = Place(app_id, value.get("tenant_id"), value.get("context_id"))
    return HeldGrant(value["role_id"], place, resource, value.get("expires_at_ms"))


def _resource_of(value: Any) -> Tuple[str, str]:
    if not isinstance(value, dict) or not is_text(value.get("type")) or not is_text(value.get("id")):
        raise _Invalid
    return value["type"], value["id"]
