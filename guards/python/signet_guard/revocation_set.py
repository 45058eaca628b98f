"""What was revoked, as a verifier holds it: found by the claims of a token, bounded, and forgotten when it expires."""
from __future__ import annotations

import threading
from typing import Dict, Iterable, NamedTuple, Optional, Sequence

from .claims import SKEW_SECONDS
from .context import AuthContext, AuthorityVersions, session_of
from .liveness import LivenessFacts
from .statement import RevocationEntry

_SWEEP_EVERY_MS = 10_000


class _Name(NamedTuple):
    kind: str
    key: str
    app_id: Optional[str]


class RevocationSet:
    """Threads may share it."""

    def __init__(self, capacity: int) -> None:
        """capacity: the most entries."""
        self._capacity = capacity
        self._entries: Dict[_Name, RevocationEntry] = {}
        self._swept_at_ms = 0.0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, added: Sequence[RevocationEntry], now_ms: float) -> bool:
        """Returns False when the capacity is reached: then the set knows less than was revoked."""
        with self._lock:
            if now_ms - self._swept_at_ms > _SWEEP_EVERY_MS or len(self._entries) + len(added) > self._capacity:
                self._sweep(now_ms)
            for entry in added:
                if _is_over(entry, now_ms):
                    continue
                name = _Name(entry.kind, entry.key, entry.app_id)
                if len(self._entries) >= self._capacity and name not in self._entries:
                    return False
                self._entries[name] = entry
            return True

    def facts_of(self, context: AuthContext, now_ms: float) -> LivenessFacts:
        """Returns what the set says of a caller whose token is good otherwise."""

        def reach(kind: str, key: Optional[str]) -> Optional[str]:
            return self._reach(self._find(kind, key, now_ms), context.issued_at_ms)

        app = reach("APP", context.app_id)
        tenant = reach("TENANT", context.tenant_id)
        place = reach("CONTEXT", context.context_id)
        principal = reach("PRINCIPAL", context.principal.id)
        actor = reach("PRINCIPAL", None if context.actor is None else context.actor.id)
        is_old = "before" in (principal, actor, app, tenant, place, reach("ISSUER_EPOCH", "all"))
        revoked = {
            "PRINCIPAL": principal == "all",
            "SESSION": reach("SESSION", session_of(context)) is not None,
            "CREDENTIAL": reach("CREDENTIAL", context.credential_id) is not None,
            "TOKEN": is_old or reach("TOKEN", context.token_id) is not None,
        }
        authority = self._find("AUTHORITY", context.principal.id, now_ms, context.app_id)
        policy = self._find("POLICY", context.app_id, now_ms)
        return LivenessFacts(
            actor="SUSPENDED" if actor == "all" else "ACTIVE",
            app="SUSPENDED" if app == "all" else "ACTIVE",
            tenant=_status_of(context.tenant_id, tenant),
            context=_status_of(context.context_id, place),
            revoked=frozenset(kind for kind, is_so in revoked.items() if is_so),
            minimum=AuthorityVersions(_min_version(authority), _min_version(policy)),
        )

    def is_key_revoked(self, kid: str, now_ms: float) -> bool:
        return self._find("KEY", kid, now_ms) is not None

    def _find(self, kind: str, key: Optional[str], now_ms: float, app_id: Optional[str] = None) -> Optional[RevocationEntry]:
        if key is None:
            return None
        entry = self._entries.get(_Name(kind, key, app_id))
        return None if entry is None or _is_over(entry, now_ms) else entry

    @staticmethod
    def _reach(entry: Optional[RevocationEntry], issued_at_ms: float) -> Optional[str]:
        """Returns "all" for whatever is issued, "before" for a token that was issued before an instant."""
        if entry is None:
            return None
        if entry.issued_before_ms is None:
            return "all"
        return "before" if issued_at_ms < entry.issued_before_ms else None

    def _sweep(self, now_ms: float) -> None:
        over: Iterable[_Name] = [name for name, entry in self._entries.items() if _is_over(entry, now_ms)]
        for name in over:
            del self._entries[name]
        self._swept_at_ms = now_ms


def _is_over(entry: RevocationEntry, now_ms: float) -> bool:
    # Clocks may differ: a token is accepted for that long after it expired.
    return entry.expires_at_ms + SKEW_SECONDS * 1_000 <= now_ms


def _status_of(place_id: Optional[str], reached: Optional[str]) -> Optional[str]:
    if place_id is None:
        return None
    return "SUSPENDED" if reached == "all" else "ACTIVE"


def _min_version(entry: Optional[RevocationEntry]) -> int:
    return 0 if entry is None or entry.min_version is None else entry.min_version
