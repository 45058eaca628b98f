"""One check of a requirement against one call: steps 3 to 8, in order."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Mapping, NamedTuple, Optional

from .claims import MAX_ACT_DEPTH, SKEW_SECONDS
from .context import AuthContext
from .grants import PermissionSnapshot, has_role_at, is_held_at, is_held_on, misplacement
from .liveness import Liveness, displacement
from .refusals import Reason
from .requirement import (
    TOKEN,
    Action,
    Check,
    Delegated,
    Device,
    Freshness,
    Kinds,
    ResourceAction,
    Role,
    Scope,
    Tenant,
    resource_key,
    tenant_key,
)

if TYPE_CHECKING:
    from .authorize import RequestFacts


class KnownCall(NamedTuple):
    """A call whose caller is known."""

    context: AuthContext
    app_id: Optional[str]
    """The app that the service belongs to; None where it serves every app."""
    request: "RequestFacts"
    liveness: Optional[Liveness]
    snapshot: Optional[PermissionSnapshot]
    now_ms: float


class Inherited(NamedTuple):
    """What a composite hands down to its parts."""

    freshness: Freshness
    max_auth_age_seconds: Optional[int]
    """None: however long ago."""


@dataclass(frozen=True)
class Failure:
    step: int
    reason: Reason
    metadata: Mapping[str, str] = field(default_factory=dict)
    true_reason: Optional[Reason] = None
    """None: `reason` is the true one."""
    introspect: bool = False


def failure_of(check: Check, call: KnownCall, options: Inherited) -> Optional[Failure]:
    """Returns the first step that the call fails for this check; None when it passes them all."""
    return (
        _staleness(call, options.freshness)
        or _no_device(check, call)
        or _wrong_place(check, call)
        or _wrong_kind(check, call)
        or _missing(check, call)
        or _too_long_ago(call, options.max_auth_age_seconds)
        or _not_granted(check, call)
        or _wrong_actor(check, call)
    )


def _staleness(call: KnownCall, freshness: Freshness) -> Optional[Failure]:
    # Principal, session and credential were active when the token was issued: that is the least that is known.
    as_of_ms = call.context.issued_at_ms if call.liveness is None else call.liveness.as_of_ms
    if freshness.on_stale == "ALLOW" or call.now_ms - as_of_ms <= freshness.max_staleness_ms:
        return None
    return Failure(3, "REVOCATION_STATE_STALE", introspect=freshness.on_stale == "INTROSPECT")


def _no_device(check: Check, call: KnownCall) -> Optional[Failure]:
    if isinstance(check, Device) and call.context.device_id is None:
        return Failure(3, "DEVICE_REQUIRED")
    return None


def _wrong_place(check: Check, call: KnownCall) -> Optional[Failure]:
    context, request = call.context, call.request
    if call.app_id is not None and call.app_id != context.app_id:
        return Failure(4, "APP_MISMATCH")
    displaced = None if call.liveness is None else displacement(context, call.liveness.facts)
    if displaced is not None:
        return Failure(4, displaced)
    if isinstance(check, Tenant):
        if context.tenant_id is None:
            return Failure(4, "TENANT_REQUIRED")
        if check.source != TOKEN and request.tenants.get(tenant_key(check)) != context.tenant_id:
            return Failure(4, "TENANT_MISMATCH")
    if isinstance(check, ResourceAction):
        resource = request.resources.get(resource_key(check))
        problem: Optional[Reason] = "RESOURCE_UNRESOLVED"
        if resource is not None and resource.type == check.type:
            problem = misplacement(context, resource)
        # The same answer for somebody else's resource and for none, or the difference would tell which ids exist.
        if problem is not None:
            return Failure(4, "RESOURCE_UNRESOLVED", true_reason=problem)
    return None


def _wrong_kind(check: Check, call: KnownCall) -> Optional[Failure]:
    if isinstance(check, Kinds) and call.context.principal.kind not in check.of:
        return Failure(5, "PRINCIPAL_KIND_NOT_ALLOWED")
    return None


def _missing(check: Check, call: KnownCall) -> Optional[Failure]:
    if isinstance(check, Scope) and check.scope not in call.context.scopes:
        return Failure(6, "MISSING_SCOPE", {"scope": check.scope})
    snapshot = call.snapshot
    if isinstance(check, Role) and (
        snapshot is None or not has_role_at(snapshot, call.context, check.role, call.now_ms)
    ):
        return Failure(6, "MISSING_ROLE", {"role": check.role})
    if isinstance(check, (Action, ResourceAction)):
        if snapshot is None or not is_held_at(snapshot, call.context, check.action, call.now_ms):
            return Failure(6, "MISSING_PERMISSION", {"permission": check.action})
    return None


def _too_long_ago(call: KnownCall, max_auth_age_seconds: Optional[int]) -> Optional[Failure]:
    if max_auth_age_seconds is None:
        return None
    auth_time_ms = call.context.auth_time_ms
    if auth_time_ms is not None and call.now_ms - auth_time_ms <= max_auth_age_seconds * 1_000:
        return None
    return Failure(6, "STEP_UP_REQUIRED", {"max_age": str(max_auth_age_seconds)})


def _not_granted(check: Check, call: KnownCall) -> Optional[Failure]:
    if not isinstance(check, ResourceAction):
        return None
    resource = call.request.resources.get(resource_key(check))
    if resource is not None and call.snapshot is not None:
        if is_held_on(call.snapshot, call.context, check.action, resource, call.now_ms):
            return None
    return Failure(7, "RESOURCE_NOT_GRANTED")


def _wrong_actor(check: Check, call: KnownCall) -> Optional[Failure]:
    delegation = call.context.delegation
    if delegation is None:
        return Failure(8, "ACTOR_REQUIRED") if isinstance(check, Delegated) else None
    if isinstance(check, Delegated):
        if delegation.actor.id not in check.actors and delegation.actor_client_id not in check.actors:
            return Failure(8, "ACTOR_NOT_ALLOWED")
    if delegation.expires_at_ms + SKEW_SECONDS * 1_000 <= call.now_ms:
        return Failure(8, "DELEGATION_EXPIRED")
    if delegation.depth > MAX_ACT_DEPTH:
        return Failure(8, "DELEGATION_CHAIN_TOO_DEEP")
    if call.request.job_id is not None and call.request.job_id != delegation.job_id:
        return Failure(8, "JOB_MISMATCH")
    return None
