"""What a capability asks of its caller. The contract is signet/authz/v1/requirement.proto."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, List, Mapping, Optional, Tuple, Union

from .context import PRINCIPAL_KINDS

PATH = "PATH"
BODY = "BODY"
HEADER = "HEADER"
TOKEN = "TOKEN"
SOURCES = (PATH, BODY, HEADER, TOKEN)
"""Where a request names a resource or a tenant."""
ON_STALE = ("DENY", "INTROSPECT", "ALLOW")


@dataclass(frozen=True)
class Freshness:
    """How old the knowledge of revocations may be, and what happens when it is older."""

    max_staleness_ms: float
    on_stale: str = "DENY"
    """DENY: answer 401. INTROSPECT: ask the issuer about this token. ALLOW: go on with what is known."""


@dataclass(frozen=True)
class Public:
    """Nobody needs to be known; no credential is looked at."""


@dataclass(frozen=True)
class BodyCredential:
    """The request carries its own credential, which the handler verifies."""


@dataclass(frozen=True)
class Scope:
    scope: str


@dataclass(frozen=True)
class Action:
    action: str


@dataclass(frozen=True)
class Role:
    role: str


@dataclass(frozen=True)
class ResourceAction:
    action: str
    type: str
    source: str
    field: str


@dataclass(frozen=True)
class Kinds:
    of: Tuple[str, ...]


@dataclass(frozen=True)
class Tenant:
    source: str
    field: str = ""


@dataclass(frozen=True)
class Delegated:
    actors: Tuple[str, ...]


@dataclass(frozen=True)
class Device:
    proof: bool = False


@dataclass(frozen=True)
class AnyOf:
    of: Tuple["Requirement", ...]


@dataclass(frozen=True)
class AllOf:
    of: Tuple["Requirement", ...]


Check = Union[
    Public, BodyCredential, Scope, Action, Role, ResourceAction, Kinds, Tenant, Delegated, Device, AnyOf, AllOf
]


@dataclass(frozen=True)
class Requirement:
    """A check, or a composition of checks, and its options. Options of a composite hold for all of it."""

    check: Check
    freshness: Optional[Freshness] = None
    max_auth_age_seconds: int = 0
    """The user signed in at most this many seconds ago (RFC 9470); 0 asks for nothing."""
    allow_delegated: bool = False
    """A token with an actor is accepted although no `delegated` check names the actor."""


def public() -> Requirement:
    """Anybody may call; a stale token cannot stop a sign-in."""
    return Requirement(Public())


def body_credential(allow_delegated: bool = False) -> Requirement:
    """The handler verifies a credential in the request. A valid bearer token that comes along is used."""
    return Requirement(BodyCredential(), allow_delegated=allow_delegated)


def scope(
    name: str,
    *,
    freshness: Optional[Freshness] = None,
    max_auth_age_seconds: int = 0,
    allow_delegated: bool = False,
) -> Requirement:
    """The token carries this scope."""
    return Requirement(Scope(name), freshness, max_auth_age_seconds, allow_delegated)


def action(
    name: str,
    *,
    freshness: Optional[Freshness] = None,
    max_auth_age_seconds: int = 0,
    allow_delegated: bool = False,
) -> Requirement:
    """The caller is granted this action (`service.resource.verb`) somewhere in the app."""
    return Requirement(Action(name), freshness, max_auth_age_seconds, allow_delegated)


def role(
    key: str,
    *,
    freshness: Optional[Freshness] = None,
    max_auth_age_seconds: int = 0,
    allow_delegated: bool = False,
) -> Requirement:
    """The caller holds the role with this key in the token's app, tenant and context.

    The token's scopes do not narrow a role: ask for a scope beside it, or any token of the caller will do.
    """
    return Requirement(Role(key), freshness, max_auth_age_seconds, allow_delegated)


def resource_action(
    name: str,
    *,
    type: str,
    source: str,
    field: str,
    freshness: Optional[Freshness] = None,
    max_auth_age_seconds: int = 0,
    allow_delegated: bool = False,
) -> Requirement:
    """The caller is granted this action on the resource that the request names."""
    check = ResourceAction(name, type, source, field)
    return Requirement(check, freshness, max_auth_age_seconds, allow_delegated)


def kinds(
    *of: str,
    freshness: Optional[Freshness] = None,
    max_auth_age_seconds: int = 0,
    allow_delegated: bool = False,
) -> Requirement:
    """The caller is of one of these kinds: USER, SERVICE, AGENT, ACTOR."""
    return Requirement(Kinds(of), freshness, max_auth_age_seconds, allow_delegated)


def tenant(
    source: str,
    field: str = "",
    *,
    freshness: Optional[Freshness] = None,
    max_auth_age_seconds: int = 0,
    allow_delegated: bool = False,
) -> Requirement:
    """The token belongs to the tenant that the request names; TOKEN asks only that it belongs to one."""
    return Requirement(Tenant(source, field), freshness, max_auth_age_seconds, allow_delegated)


def delegated(
    *actors: str, freshness: Optional[Freshness] = None, max_auth_age_seconds: int = 0
) -> Requirement:
    """One of these services, by principal id or client id, calls on a user's behalf."""
    return Requirement(Delegated(actors), freshness, max_auth_age_seconds)


def device(
    *,
    freshness: Optional[Freshness] = None,
    max_auth_age_seconds: int = 0,
    allow_delegated: bool = False,
) -> Requirement:
    """The token is bound to a device of the user's."""
    return Requirement(Device(), freshness, max_auth_age_seconds, allow_delegated)


def any_of(
    *of: Requirement,
    freshness: Optional[Freshness] = None,
    max_auth_age_seconds: int = 0,
    allow_delegated: bool = False,
) -> Requirement:
    """At least one of these holds."""
    return Requirement(AnyOf(of), freshness, max_auth_age_seconds, allow_delegated)


def all_of(
    *of: Requirement,
    freshness: Optional[Freshness] = None,
    max_auth_age_seconds: int = 0,
    allow_delegated: bool = False,
) -> Requirement:
    """Each of these holds."""
    return Requirement(AllOf(of), freshness, max_auth_age_seconds, allow_delegated)


def tenant_key(check: Tenant) -> str:
    """Returns the key of a tenant that a request names."""
    return f"{check.source} {check.field}"


def resource_key(check: ResourceAction) -> str:
    """Returns the key of a resource that a request names."""
    return f"{check.type} {check.source} {check.field}"


def checks_in(requirement: Requirement) -> List[Check]:
    """Returns every single check in a requirement, in the order of declaration."""
    check = requirement.check
    if isinstance(check, (AnyOf, AllOf)):
        return [one for part in check.of for one in checks_in(part)]
    return [check]


Readable = Mapping[str, Callable[[str], bool]]
"""Whether a target can read the field at a source. A target does not have the sources that are not listed."""


def check_requirement(requirement: object, readable: Readable, in_composite: bool = False) -> None:
    """Raises ValueError when the requirement cannot be checked on this target."""
    if not isinstance(requirement, Requirement):
        raise ValueError(f"{type(requirement).__name__} is not a Requirement")
    _check_options(requirement)
    check = requirement.check
    if isinstance(check, (Public, BodyCredential)):
        if in_composite:
            raise ValueError(f"{_name(check)} inside a composite")
        if requirement.freshness is not None or requirement.max_auth_age_seconds > 0:
            raise ValueError(f"{_name(check)} uses no token, so it cannot have freshness")
    elif isinstance(check, (AnyOf, AllOf)):
        if len(check.of) == 0:
            raise ValueError(f"{_name(check)} is empty")
        for part in check.of:
            check_requirement(part, readable, True)
    elif isinstance(check, Tenant):
        if check.source != TOKEN:
            _check_source(check.source, check.field, readable)
        elif check.field != "":
            raise ValueError("the token's tenant has no field")
    elif isinstance(check, ResourceAction):
        _check_text("action", check.action)
        _check_text("type", check.type)
        if check.source == TOKEN:
            raise ValueError("a token names no resource")
        _check_source(check.source, check.field, readable)
    elif isinstance(check, Kinds):
        if len(check.of) == 0 or any(kind not in PRINCIPAL_KINDS for kind in check.of):
            raise ValueError(f"kinds must have at least one of {', '.join(PRINCIPAL_KINDS)}")
    elif isinstance(check, Delegated):
        if len(check.actors) == 0:
            raise ValueError("delegated must have at least one actor")
        for actor in check.actors:
            _check_text("actor", actor)
    elif isinstance(check, Device):
        if check.proof is not False:
            raise ValueError("this guard cannot verify a device proof: the service that owns the devices verifies it")
    elif isinstance(check, Scope):
        _check_text("scope", check.scope)
    elif isinstance(check, Action):
        _check_text("action", check.action)
    elif isinstance(check, Role):
        _check_text("role", check.role)
    else:
        raise ValueError(f"an unknown check: {check!r}")


def _check_options(requirement: Requirement) -> None:
    freshness, age = requirement.freshness, requirement.max_auth_age_seconds
    if freshness is not None:
        if not isinstance(freshness, Freshness) or not freshness.max_staleness_ms >= 0:
            raise ValueError("freshness requires max_staleness_ms of at least 0")
        if freshness.on_stale not in ON_STALE:
            raise ValueError(f"on_stale must be one of {', '.join(ON_STALE)}")
    if isinstance(age, bool) or not isinstance(age, int) or age < 0:
        raise ValueError("max_auth_age_seconds must be an integer of at least 0")
    if not isinstance(requirement.allow_delegated, bool):
        raise ValueError("allow_delegated must be True or False")


def _check_source(source: str, field: str, readable: Readable) -> None:
    can_read = readable.get(source)
    if can_read is None or not can_read(field):
        raise ValueError(f'{source} has no field "{field}" here')


def _check_text(what: str, text: object) -> None:
    if not isinstance(text, str) or text == "":
        raise ValueError(f"{what} is empty")


def _name(check: Check) -> str:
    return type(check).__name__
