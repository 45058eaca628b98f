"""The issuer's public keys: fetched seldom, kept long, never trusted to be small, quick or well-formed."""
from __future__ import annotations

import threading
from typing import Dict, NamedTuple, Optional, Protocol, Union

from .clock import Clock, system_clock
from .fetch import Fetch, FetchRequest, fetch_text
from .jwks import parse_jwks
from .refusals import Reason
from .shared_run import SharedRun
from .token_crypto import VerifyKey


class KeySource(Protocol):
    """Finds the key that a token names."""

    def find(self, kid: str) -> Union[VerifyKey, Reason]:
        """Returns the key, KEY_UNKNOWN when it is not published, or UNAVAILABLE when no keys could be fetched."""


class KeySetLimits(NamedTuple):
    """Times are milliseconds."""

    timeout_ms: float = 5_000
    max_bytes: int = 65_536
    max_age_ms: float = 300_000
    """Older keys are fetched again."""
    max_stale_ms: float = 86_400_000
    """While fetching fails, keys serve until they are this old."""
    cooldown_ms: float = 30_000
    """An unknown kid, or a failed fetch, leads to at most one fetch in this time."""
    first_cooldown_ms: float = 5_000
    """The same, while there are no keys at all."""
    unknown_ms: float = 60_000
    """A kid that a fetch did not bring leads to no other fetch for this long."""
    max_unknown: int = 1_000
    """How many such kids are remembered."""


class _Loaded(NamedTuple):
    keys: Dict[str, VerifyKey]
    fetched_at_ms: float


class KeySet:
    """The JWK Set at an address. Threads may share it."""

    def __init__(
        self,
        url: str,
        *,
        clock: Clock = system_clock,
        fetch: Fetch = fetch_text,
        limits: KeySetLimits = KeySetLimits(),
    ) -> None:
        """url: configured, never from a request or a token."""
        self._url, self._clock, self._fetch, self._limits = url, clock, fetch, limits
        self._loaded: Optional[_Loaded] = None
        self._tried_at_ms = float("-inf")
        self._unknown: Dict[str, float] = {}
        self._unknown_lock = threading.Lock()
        self._shared: SharedRun[None] = SharedRun(limits.timeout_ms)

    def find(self, kid: str) -> Union[VerifyKey, Reason]:
        loaded = self._loaded
        if loaded is None or self._clock() - loaded.fetched_at_ms > self._limits.max_age_ms:
            self._refresh()
            loaded = self._loaded
        if loaded is None or self._clock() - loaded.fetched_at_ms > self._limits.max_stale_ms:
            return "UNAVAILABLE"
        key = loaded.keys.get(kid)
        if key is not None:
            return key
        if self._is_known_unknown(kid):
            return "KEY_UNKNOWN"
        self._refresh()
        refreshed = self._loaded or loaded
        found = refreshed.keys.get(kid)
        if found is None and refreshed is not loaded:
            self._mark_unknown(kid)
        return "KEY_UNKNOWN" if found is None else found

    def _refresh(self) -> None:
        """Fetches, unless that was tried too recently. Threads at the same time share one attempt."""
        self._shared("", self._load)

    def _load(self) -> None:
        limits = self._limits
        pause_ms = limits.first_cooldown_ms if self._loaded is None else limits.cooldown_ms
        now_ms = self._clock()
        if now_ms - self._tried_at_ms < pause_ms:
            return
        self._tried_at_ms = now_ms
        try:
            text = self._fetch(FetchRequest(self._url, limits.timeout_ms, limits.max_bytes))
            self._loaded = _Loaded(parse_jwks(text), now_ms)
        except Exception:
            # What was fetched before serves on, up to max_stale_ms.
            pass

    def _is_known_unknown(self, kid: str) -> bool:
        with self._unknown_lock:
            since_ms = self._unknown.get(kid)
            if since_ms is None:
                return False
            if self._clock() - since_ms < self._limits.unknown_ms:
                return True
            del self._unknown[kid]
            return False

    def _mark_unknown(self, kid: str) -> None:
        with self._unknown_lock:
            while len(self._unknown) >= self._limits.max_unknown:
                del self._unknown[next(iter(self._unknown))]
            self._unknown[kid] = self._clock()
