"""Who is calling and may they: the same on every target. The targets read headers and messages."""
from __future__ import annotations

import threading
from enum import Enum
from typing import NamedTuple, Optional, Union
from weakref import WeakKeyDictionary

from .access_token import create_verifier
from .authorize import Allow, AuthDecision, Question, RequestFacts, authorize
from .bearer import parse_bearer
from .clock import Clock, system_clock
from .context import NOT_LOADED, AuthContext, Grants, with_grants
from .grants import PermissionSnapshot, held_at
from .ids import is_id
from .introspection import Introspect
from .key_set import KeySource
from .liveness import FindLiveness, Liveness
from .permission_snapshots import FindPermissions, PermissionSnapshots
from .refusals import Reason, Refused
from .requirement import Action, BodyCredential, Freshness, Public, Requirement, ResourceAction, Role, checks_in
from .revocation_feed import RevocationFeed

_WITH_LIVENESS = Freshness(60_000, "INTROSPECT")
_WITHOUT_LIVENESS = Freshness(930_000, "INTROSPECT")


class _AnyApp(Enum):
    ANY_APP = "any app"


ANY_APP = _AnyApp.ANY_APP
"""For a service that serves every app: tokens of any app are accepted."""

AppId = Union[str, _AnyApp]
"""The app whose tokens are accepted (`app_…`), or ANY_APP."""


class _Held(NamedTuple):
    caller: Union[AuthContext, Reason]
    snapshot: Optional[PermissionSnapshot]


class Guard:
    """Verifies access tokens and decides what a requirement asks. Threads may share it."""

    def __init__(
        self,
        *,
        issuer: str,
        audience: str,
        app_id: AppId,
        key_set: KeySource,
        clock: Clock = system_clock,
        revocations: Optional[RevocationFeed] = None,
        liveness: Optional[FindLiveness] = None,
        introspect: Optional[Introspect] = None,
        permissions: Optional[FindPermissions] = None,
        default_freshness: Optional[Freshness] = None,
        cache_size: int = 10_000,
    ) -> None:
        """
        issuer: the `iss` that is accepted.
        audience: the `aud` that is accepted: this service's own.
        app_id: the app whose tokens are accepted (`app_…`): tokens of other apps are refused with APP_MISMATCH. A
            service that serves every app says ANY_APP.
        revocations: a feed that is followed: gives `liveness`, and withdraws keys.
        liveness: asked at each call whether the caller is active. Without it that knowledge is as old as the token.
        introspect: asked when a requirement wants fresher facts than there are.
        permissions: asked what the caller was granted, where a requirement needs more than scopes. Without it no
            action is granted.
        default_freshness: for requirements that say nothing: 60 s, then introspection; without `liveness`, a token's
            whole life.
        cache_size: how many verified tokens are remembered.
        Raises ValueError for an empty issuer or audience, and for an app_id that is neither an app's id nor ANY_APP.
        """
        if issuer == "" or audience == "":
            raise ValueError("issuer and audience must not be empty")
        if app_id is not ANY_APP and not is_id("app", app_id):
            raise ValueError("app_id must be the id of an app (app_…), or ANY_APP")
        self._app_id = None if isinstance(app_id, _AnyApp) else app_id
        self._issuer, self._audience, self._clock = issuer, audience, clock
        self._introspect, self._permissions = introspect, permissions
        self._liveness = revocations.liveness if liveness is None and revocations is not None else liveness
        if default_freshness is None:
            default_freshness = _WITHOUT_LIVENESS if self._liveness is None else _WITH_LIVENESS
        self.default_freshness = default_freshness
        self._verify = create_verifier(
            issuer=issuer,
            audience=audience,
            key_set=key_set if revocations is None else revocations.without_revoked(key_set),
            clock=clock,
            cache_size=cache_size,
        )
        # Introspection asks for the token itself, which a context does not carry.
        self._tokens: "WeakKeyDictionary[AuthContext, str]" = WeakKeyDictionary()
        self._tokens_lock = threading.Lock()

    def authenticate(self, header: Optional[str]) -> Union[AuthContext, Reason]:
        """Returns the caller that the Authorization header names, or why it is not known; None is no header."""
        bearer = parse_bearer(header)
        if isinstance(bearer, str):
            return bearer
        try:
            context = self._verify(bearer.token)
        except Exception:
            # Nothing in a token may cause this: it is a fault, and a fault lets nobody in.
            return "INTERNAL"
        if not isinstance(context, str):
            self.introduce(context, bearer.token)
        return context

    def introduce(self, caller: AuthContext, token: str) -> None:
        """Registers the token of a caller that somebody else has verified: introspection asks for it."""
        if self._introspect is not None:
            with self._tokens_lock:
                self._tokens[caller] = token

    def authorize(
        self, caller: Union[AuthContext, Reason], requirement: Requirement, request: RequestFacts
    ) -> AuthDecision:
        """Decides whether the caller may do what needs the requirement."""
        is_open = isinstance(requirement.check, (Public, BodyCredential))
        if isinstance(caller, str) or is_open:
            return self._decide(_Held(caller, None), requirement, request, None)
        liveness: Optional[Liveness] = None
        if self._liveness is not None:
            try:
                liveness = self._liveness(caller)
            except Exception:
                return self._decide(_Held("UNAVAILABLE", None), requirement, request, None)
        decision = self._decide_whole(caller, requirement, request, liveness)
        if isinstance(decision, Allow):
            return self._with_held(decision)
        if not decision.introspect or self._introspect is None:
            return decision
        with self._tokens_lock:
            token = self._tokens.get(caller, "")
        try:
            fresh = self._introspect(caller, token)
        except Exception:
            return decision
        decision = self._decide_whole(caller, requirement, request, fresh)
        return self._with_held(decision) if isinstance(decision, Allow) else decision

    def load_grants(self, caller: AuthContext) -> Grants:
        """Returns the caller's roles and permissions: from memory, or asked of the issuer.

        For handlers whose caller does not have them, since its requirement did not need them.
        Raises Refused with PERMISSIONS_STALE or UNAVAILABLE, and ValueError when the guard has no `permissions`.
        """
        if self._permissions is None:
            raise ValueError("load_grants requires the guard's option permissions")
        held = self._held_by(caller)
        if isinstance(held.caller, str) or held.snapshot is None:
            raise Refused(held.caller if isinstance(held.caller, str) else "INTERNAL")
        return held_at(held.snapshot, caller, self._clock())

    def _with_held(self, decision: Allow) -> Allow:
        """Returns the decision with the grants that are in memory, where it did not need them."""
        caller = decision.context
        if caller is None or caller.roles is not NOT_LOADED or not isinstance(self._permissions, PermissionSnapshots):
            return decision
        snapshot = self._permissions.held(caller)
        return decision if snapshot is None else Allow(with_grants(caller, held_at(snapshot, caller, self._clock())))

    def _decide_whole(
        self, caller: AuthContext, requirement: Requirement, request: RequestFacts, liveness: Optional[Liveness]
    ) -> AuthDecision:
        decision = self._decide(_Held(caller, None), requirement, request, liveness)
        # What fails before step 6 fails whatever was granted, and a grant never takes anything away.
        if isinstance(decision, Allow) or decision.step < 6 or not _asks_permissions(requirement):
            return decision
        return self._decide(self._held_by(caller), requirement, request, liveness)

    def _held_by(self, caller: AuthContext) -> _Held:
        """Returns the caller with what it was granted, or why that is not known."""
        if self._permissions is None:
            return _Held(caller, None)
        try:
            snapshot = self._permissions(caller)
        except Exception:
            return _Held("UNAVAILABLE", None)
        if isinstance(snapshot, str):
            return _Held(snapshot, None)
        return _Held(with_grants(caller, held_at(snapshot, caller, self._clock())), snapshot)

    def _decide(
        self, held: _Held, requirement: Requirement, request: RequestFacts, liveness: Optional[Liveness]
    ) -> AuthDecision:
        return authorize(
            Question(
                context=held.caller,
                requirement=requirement,
                issuer=self._issuer,
                audience=self._audience,
                app_id=self._app_id,
                request=request,
                liveness=liveness,
                default_freshness=self.default_freshness,
                snapshot=held.snapshot,
                now_ms=self._clock(),
            )
        )


def _asks_permissions(requirement: Requirement) -> bool:
    """True when scopes alone may not decide."""
    return any(isinstance(check, (Action, ResourceAction, Role)) for check in checks_in(requirement))
