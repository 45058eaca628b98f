"""The caller, as a verified token describes it."""
from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from types import MappingProxyType
from typing import Any, FrozenSet, Iterator, Mapping, NamedTuple, NoReturn, Optional, Union

from .strict_json import Json

USER = "USER"
SERVICE = "SERVICE"
PRINCIPAL_KINDS = ("USER", "SERVICE", "AGENT", "ACTOR")

_METHODS = {
    "session": "USER_SESSION",
    "client_credentials": "CLIENT_CREDENTIALS",
    "pat": "PERSONAL_ACCESS_TOKEN",
    "on_behalf_of": "ON_BEHALF_OF",
}


@dataclass(frozen=True)
class PrincipalRef:
    """A principal by id (`prn_…`) and kind."""

    id: str
    kind: str


@dataclass(frozen=True)
class Delegation:
    """What the service that acts for the principal was allowed."""

    actor: PrincipalRef
    actor_client_id: str
    """The acting service's client id, by which requirements may name it."""
    job_id: str
    origin_session_id: Optional[str]
    expires_at_ms: int
    depth: int
    """How many services stand between the user and the caller: 1 for one."""


@dataclass(frozen=True)
class AuthorityVersions:
    """Versions of what a principal may do in an app. Each only rises."""

    principal: int = 0
    """Of the principal in the app: its grants, memberships and status."""
    policy: int = 0
    """Of the app's policy: its roles, permissions and scopes."""


class NotLoaded(Enum):
    """The type of `NOT_LOADED`."""

    NOT_LOADED = "not loaded"

    def _refuse(self) -> NoReturn:
        raise TypeError("roles and permissions are not loaded: Guard.load_grants loads them")

    def __bool__(self) -> bool:
        self._refuse()

    def __contains__(self, _: object) -> bool:
        self._refuse()

    def __iter__(self) -> Iterator[str]:
        self._refuse()

    def __len__(self) -> int:
        self._refuse()


NOT_LOADED = NotLoaded.NOT_LOADED
"""In place of roles and permissions that nobody has read: no token carries them. Its use as a set raises TypeError, so
that it cannot be taken for "none"."""


class Grants(NamedTuple):
    """Keys of what a caller holds in its token's app, tenant and context."""

    roles: FrozenSet[str]
    """Held in all of that place: a role on a single resource is not among them."""
    permissions: FrozenSet[str]
    """Held there or on a resource there, as far as the token's scopes let them be used."""


@dataclass(frozen=True, eq=False)
class AuthContext:
    """The caller. Built from a verified token, immutable, and shared between calls. Times are milliseconds."""

    principal: PrincipalRef
    identity_id: Optional[str]
    app_id: str
    tenant_id: Optional[str]
    context_id: Optional[str]
    session_id: Optional[str]
    device_id: Optional[str]
    """The device that the session is bound to."""
    token_id: str
    credential_id: Optional[str]
    issuer: str
    audience: str
    scopes: FrozenSet[str]
    roles: Union[FrozenSet[str], NotLoaded]
    permissions: Union[FrozenSet[str], NotLoaded]
    method: str
    """A name of signet.authz.v1.AuthMethod: how the caller obtained the token."""
    actor: Optional[PrincipalRef]
    delegation: Optional[Delegation]
    claims: Mapping[str, Any]
    """The verified claims as the token has them, also those that are unknown here. Immutable."""
    auth_time_ms: Optional[int]
    """When the user signed in; None for services."""
    issued_at_ms: int
    expires_at_ms: int
    perm_ver: int
    versions: AuthorityVersions
    """The two parts that `perm_ver` is the sum of."""


def context_of(claims: Json) -> AuthContext:
    """Returns the caller of claims that `check_claims` accepted."""
    act = claims.get("act")
    delegation = None if act is None else _delegation_of(claims, act)
    auth_time = claims.get("auth_time")
    return AuthContext(
        principal=PrincipalRef(claims["sub"], USER if claims["principal_type"] == "user" else SERVICE),
        identity_id=claims.get("identity_id"),
        app_id=claims["app_id"],
        tenant_id=claims.get("tenant_id"),
        context_id=claims.get("context_id"),
        session_id=claims.get("sid"),
        device_id=claims.get("did"),
        token_id=claims["jti"],
        credential_id=claims.get("cred_id"),
        issuer=claims["iss"],
        audience=claims["aud"],
        scopes=frozenset(claims["scp"]),
        roles=NOT_LOADED,
        permissions=NOT_LOADED,
        method=_METHODS[claims["gty"]],
        actor=None if delegation is None else delegation.actor,
        delegation=delegation,
        claims=frozen(claims),
        auth_time_ms=None if auth_time is None else int(auth_time) * 1_000,
        issued_at_ms=int(claims["iat"]) * 1_000,
        expires_at_ms=int(claims["exp"]) * 1_000,
        perm_ver=int(claims["perm_ver"]),
        versions=versions_of(claims),
    )


def with_grants(context: AuthContext, grants: Grants) -> AuthContext:
    """Returns the same caller with its roles and permissions."""
    return replace(context, roles=grants.roles, permissions=grants.permissions)


def versions_of(claims: Mapping[str, Any]) -> AuthorityVersions:
    """Returns the parts that claims state. Of a sum without its parts both are the lowest that exist."""
    perm_ver, pol_ver = claims["perm_ver"], claims.get("pol_ver")
    if pol_ver is None or pol_ver > perm_ver:
        return AuthorityVersions()
    return AuthorityVersions(int(perm_ver) - int(pol_ver), int(pol_ver))


def session_of(context: AuthContext) -> Optional[str]:
    """Returns the session whose end ends the token: for a delegated token, that of the user who delegated."""
    if context.session_id is not None:
        return context.session_id
    return None if context.delegation is None else context.delegation.origin_session_id


def frozen(value: Any) -> Any:
    """Returns a JSON value that nobody can change."""
    if isinstance(value, dict):
        return MappingProxyType({name: frozen(member) for name, member in value.items()})
    return tuple(frozen(member) for member in value) if isinstance(value, list) else value


def thawed(value: Any) -> Any:
    """Returns a JSON value of `frozen` as dicts and lists."""
    if isinstance(value, Mapping):
        return {name: thawed(member) for name, member in value.items()}
    return [thawed(member) for member in value] if isinstance(value, tuple) else value


def _delegation_of(claims: Json, act: Json) -> Delegation:
    depth, outer = 1, act
    while "act" in outer:
        depth, outer = depth + 1, outer["act"]
    return Delegation(
        # Only the outermost actor decides (RFC 8693 section 4.1).
        actor=PrincipalRef(act["sub"], SERVICE),
        actor_client_id=act["client_id"],
        job_id=claims.get("job_id", ""),
        origin_session_id=claims.get("osid"),
        expires_at_ms=int(claims["exp"]) * 1_000,
        depth=depth,
    )
