"""The specification's authorization algorithm: nine steps, in order, without a clock, a store or a network."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Mapping, Optional, Union

from .check import Failure, Inherited, KnownCall
from .context import AuthContext
from .evaluate import Passed, evaluate
from .grants import PermissionSnapshot, ResourceRef
from .liveness import Liveness, inactivity
from .refusals import REFUSALS, Reason, Refused
from .requirement import BodyCredential, Freshness, Public, Requirement


@dataclass(frozen=True)
class RequestFacts:
    """What the request says, and what the target found for it."""

    tenants: Mapping[str, str] = field(default_factory=dict)
    """The tenants that the request names, by `tenant_key`."""
    resources: Mapping[str, ResourceRef] = field(default_factory=dict)
    """The resources that the request names and the target found, by `resource_key`."""
    job_id: Optional[str] = None
    """The job that the call is a part of, where the target knows it."""


@dataclass(frozen=True)
class Question:
    context: Union[AuthContext, Reason]
    """The caller, or why it is not known."""
    requirement: Requirement
    issuer: str
    audience: str
    app_id: Optional[str]
    """The app that the service belongs to; None where it serves every app."""
    request: RequestFacts
    liveness: Optional[Liveness]
    """None: nothing is known but that the token was issued, so the knowledge is as old as the token."""
    default_freshness: Freshness
    snapshot: Optional[PermissionSnapshot]
    """What the principal was granted; None where nobody asked, and then no permission is held."""
    now_ms: float


@dataclass(frozen=True)
class Allow:
    context: Optional[AuthContext]
    """None only for `public`, and for `body_credential` without a valid token."""


@dataclass(frozen=True)
class Deny:
    reason: Reason
    status: int
    safe_message: str
    """May be shown to the caller."""
    metadata: Mapping[str, str]
    """For WWW-Authenticate and ErrorInfo: `scope`, `permission`, `role`, `max_age`."""
    step: int
    """The step that failed, 1 to 8; 0 for a fault."""
    true_reason: Reason
    """For the audit, where the caller may not be told: whether a resource exists elsewhere."""
    introspect: bool
    """Fresher facts about the token could turn this into Allow: ask its issuer."""

    def refused(self) -> Refused:
        """Returns the denial as an exception."""
        return Refused(self.reason, self.safe_message, self.metadata)


AuthDecision = Union[Allow, Deny]


def authorize(question: Question) -> AuthDecision:
    """Decides whether the call may go on. A fault of the authorizer itself is a denial."""
    try:
        return _decide(question)
    except Exception:
        return _deny_of(Failure(0, "INTERNAL"))


def denial_of(reason: Reason) -> Deny:
    """Returns the denial of a call that is refused before there is anything to authorize."""
    return _deny_of(Failure(_step_of(reason), reason))


def _decide(question: Question) -> AuthDecision:
    context, requirement = question.context, question.requirement
    if isinstance(requirement.check, Public):
        return Allow(None)
    is_open = isinstance(requirement.check, BodyCredential)
    if isinstance(context, str):
        return Allow(None) if is_open else denial_of(context)
    mismatch = _mismatch_of(context, question)
    if is_open:
        # Ending a session again is no error, so the handler is told who calls although the session may have ended.
        is_of_app = question.app_id is None or question.app_id == context.app_id
        is_taken = context.actor is None or requirement.allow_delegated
        return Allow(context if mismatch is None and is_of_app and is_taken else None)
    if mismatch is not None:
        return _deny_of(Failure(2, mismatch))
    if question.liveness is not None:
        inactive = inactivity(context, question.liveness.facts, question.now_ms)
        if inactive is not None:
            return _deny_of(Failure(3, inactive))
    call = KnownCall(context, question.app_id, question.request, question.liveness, question.snapshot, question.now_ms)
    outcome = evaluate(requirement, call, Inherited(question.default_freshness, None))
    if not isinstance(outcome, Passed):
        return _deny_of(outcome)
    # A token with an actor is accepted only where something says so.
    if context.actor is not None and not outcome.takes_actor:
        return _deny_of(Failure(8, "ACTOR_NOT_ALLOWED"))
    return Allow(context)


def _mismatch_of(context: AuthContext, question: Question) -> Optional[Reason]:
    if context.issuer != question.issuer:
        return "ISSUER_MISMATCH"
    return None if context.audience == question.audience else "AUDIENCE_MISMATCH"


_NOT_SENT = frozenset(
    (
        "NO_CREDENTIAL",
        "MALFORMED_CREDENTIAL",
        "PAT_NOT_BEARER",
        "PROVIDER_TOKEN_NOT_ACCEPTED",
        "REFRESH_TOKEN_NOT_BEARER",
    )
)


def _step_of(reason: Reason) -> int:
    if reason in _NOT_SENT:
        return 1
    if reason == "PERMISSIONS_STALE":
        return 3
    status = REFUSALS[reason].status
    if status == 401:
        return 2
    return 8 if status == 403 else 0


def _deny_of(failure: Failure) -> Deny:
    refusal = REFUSALS[failure.reason]
    return Deny(
        reason=failure.reason,
        status=refusal.status,
        safe_message=refusal.message,
        metadata=failure.metadata,
        step=failure.step,
        true_reason=failure.reason if failure.true_reason is None else failure.true_reason,
        introspect=failure.introspect,
    )
