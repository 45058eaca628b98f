"""Whether principal, session, credential and membership are active."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Callable, FrozenSet, Optional

from .context import SERVICE, AuthContext, AuthorityVersions, session_of
from .refusals import Reason

NEVER_MS = float("inf")


@dataclass(frozen=True)
class SessionFacts:
    status: str = "ACTIVE"
    idle_expires_at_ms: float = NEVER_MS
    absolute_expires_at_ms: float = NEVER_MS


@dataclass(frozen=True)
class LivenessFacts:
    """What is known of a caller. What does not exist has the status MISSING, or any other than ACTIVE."""

    principal: str = "ACTIVE"
    actor: str = "ACTIVE"
    """Of the acting service."""
    identity: str = "ACTIVE"
    session: Optional[SessionFacts] = SessionFacts()
    membership: Optional[str] = "ACTIVE"
    """None: there is none, which a service does not need."""
    app: str = "ACTIVE"
    tenant: Optional[str] = None
    """None: nobody asked, because the token belongs to no tenant."""
    context: Optional[str] = None
    """None: nobody asked, because the token belongs to no context."""
    revoked: FrozenSet[str] = frozenset()
    """Of PRINCIPAL, SESSION, CREDENTIAL and TOKEN: those that were revoked."""
    minimum: AuthorityVersions = field(default_factory=AuthorityVersions)
    """The oldest versions that a token of the principal in the app may have been issued under."""


@dataclass(frozen=True)
class Liveness:
    facts: LivenessFacts
    as_of_ms: float
    """When the facts were true, in milliseconds since the Unix epoch."""


FindLiveness = Callable[[AuthContext], Liveness]
"""Returns what is known of the caller. Raises when nobody can tell."""


def inactivity(context: AuthContext, facts: LivenessFacts, now_ms: float) -> Optional[Reason]:
    """Returns why principal, identity, session, credential or token is not active (step 3); None when they are."""
    revoked = facts.revoked
    if facts.principal != "ACTIVE" or "PRINCIPAL" in revoked:
        return "PRINCIPAL_INACTIVE"
    if context.actor is not None and facts.actor != "ACTIVE":
        return "PRINCIPAL_INACTIVE"
    if context.identity_id is not None and facts.identity != "ACTIVE":
        return "IDENTITY_INACTIVE"
    if session_of(context) is not None:
        session = facts.session
        if session is None or session.status != "ACTIVE" or "SESSION" in revoked:
            return "SESSION_REVOKED"
        if session.idle_expires_at_ms <= now_ms or session.absolute_expires_at_ms <= now_ms:
            return "SESSION_EXPIRED"
    if "CREDENTIAL" in revoked:
        return "CREDENTIAL_REVOKED"
    if "TOKEN" in revoked:
        return "TOKEN_REVOKED"
    versions, minimum = context.versions, facts.minimum
    is_current = versions.principal >= minimum.principal and versions.policy >= minimum.policy
    return None if is_current else "PERMISSIONS_STALE"


def displacement(context: AuthContext, facts: LivenessFacts) -> Optional[Reason]:
    """Returns why the principal has no place in the app now (step 4); None when it has. Services need no membership."""
    if facts.app != "ACTIVE" or facts.tenant not in (None, "ACTIVE") or facts.context not in (None, "ACTIVE"):
        return "TENANT_SUSPENDED"
    if context.principal.kind == SERVICE and facts.membership is None:
        return None
    return None if facts.membership == "ACTIVE" else "MEMBERSHIP_INACTIVE"
