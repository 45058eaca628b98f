"""What callers were granted: asked of the issuer once for each version of it, and kept, for a version never changes."""
from __future__ import annotations

import threading
from typing import Callable, Dict, NamedTuple, Optional, Union
from urllib.parse import urlencode

from .clock import Clock, system_clock
from .context import AuthContext
from .fetch import Fetch, FetchRequest, StatusError, fetch_text
from .grants import PermissionSnapshot, place_of
from .jwt import JwtVerifier, untimely
from .key_set import KeySource
from .refusals import Reason
from .revocation_feed import RevocationFeed
from .service_token import GetToken, with_token
from .shared_run import SharedRun
from .snapshot import MAX_SNAPSHOT_LENGTH, SnapshotKey, parse_snapshot
from .strict_json import Json, decode_object, parse_json

FindPermissions = Callable[[AuthContext], Union[PermissionSnapshot, Reason]]
"""Returns what the caller's principal was granted, or PERMISSIONS_STALE: authority changed since the token was issued.
Raises when nobody can tell."""

_TIMEOUT_MS = 5_000
# The JSON around a snapshot is short.
_MAX_BYTES = MAX_SNAPSHOT_LENGTH + 1_024


class _Held(NamedTuple):
    snapshot: Optional[PermissionSnapshot]
    """None: outdated."""
    kid: str
    length: int


class PermissionSnapshots:
    """Finds what callers of any app were granted. Threads may share it."""

    def __init__(
        self,
        *,
        issuer: str,
        base_url: str,
        statement_keys: KeySource,
        token: GetToken,
        revocations: Optional[RevocationFeed] = None,
        clock: Clock = system_clock,
        fetch: Fetch = fetch_text,
        capacity: int = 1_000,
        max_held_length: int = 33_554_432,
    ) -> None:
        """
        issuer: the `iss` that is accepted.
        base_url: where the issuer answers, configured.
        statement_keys: the keys at `/.well-known/statement-keys.json`: no other key signs statements.
        token: this service's own access token for the issuer, with the scope `auth.permissions.read`.
        revocations: the guard's feed: a snapshot that a revoked key signed is dropped.
        capacity, max_held_length: how many snapshots are held, and how many characters they have as they were signed.
        """
        self._issuer, self._base_url, self._token, self._fetch = issuer, base_url, token, fetch
        self._statement_keys = (
            statement_keys if revocations is None else revocations.without_revoked(statement_keys)
        )
        self._capacity, self._max_held_length = capacity, max_held_length
        self._lock = threading.Lock()
        self._held: Dict[SnapshotKey, _Held] = {}
        self._held_length = 0
        self._shared: SharedRun[_Held] = SharedRun(_TIMEOUT_MS)

        def read(payload: Json, now_ms: float) -> Union[Json, Reason]:
            return untimely(payload, now_ms) or payload

        self._verify: JwtVerifier[Json] = JwtVerifier(
            typ="perm+jwt",
            key_set=self._statement_keys,
            clock=clock,
            read=read,
            max_length=MAX_SNAPSHOT_LENGTH,
        )

    def __call__(self, caller: AuthContext) -> Union[PermissionSnapshot, Reason]:
        key = SnapshotKey(caller.principal.id, place_of(caller), caller.perm_ver)
        held = self._remembered(key)
        if held is None:
            held = self._shared(repr(key), lambda: self._load(key))
        self._keep(key, held)
        return "PERMISSIONS_STALE" if held.snapshot is None else held.snapshot

    def held(self, caller: AuthContext) -> Optional[PermissionSnapshot]:
        """Returns what is in memory; None where the issuer would have to be asked."""
        held = self._remembered(SnapshotKey(caller.principal.id, place_of(caller), caller.perm_ver))
        return None if held is None else held.snapshot

    def _remembered(self, key: SnapshotKey) -> Optional[_Held]:
        held = self._held.get(key)
        if held is None or held.snapshot is None:
            return held
        # A key that was withdrawn takes its snapshots with it.
        if isinstance(self._statement_keys.find(held.kid), str):
            with self._lock:
                self._forget(key)
            return None
        return held

    def _load(self, key: SnapshotKey) -> _Held:
        jws = self._ask(key)
        if jws is None:
            return _Held(None, "", 0)
        payload = self._verify(jws)
        snapshot = None if isinstance(payload, str) else parse_snapshot(payload, self._issuer, key)
        header = decode_object(jws.split(".")[0])
        if snapshot is None or header is None:
            raise ValueError("the issuer's snapshot does not match the request")
        return _Held(snapshot, header["kid"], len(jws))

    def _ask(self, key: SnapshotKey) -> Optional[str]:
        """Returns None when permissions have changed since this version."""
        query = {"appId": key.place.app_id}
        if key.place.tenant_id is not None:
            query["tenantId"] = key.place.tenant_id
        if key.place.context_id is not None:
            query["contextId"] = key.place.context_id
        query["permVer"] = str(key.perm_ver)
        url = f"{self._base_url}/auth/permissions/{key.principal_id}?{urlencode(query)}"

        def ask(own: str) -> str:
            headers = {"authorization": f"Bearer {own}"}
            return self._fetch(FetchRequest(url, _TIMEOUT_MS, _MAX_BYTES, headers=headers))

        try:
            answer = parse_json(with_token(self._token, ask))
        except StatusError as error:
            # SNAPSHOT_OUTDATED is the one conflict that exists.
            if error.status == 409:
                return None
            raise
        if not isinstance(answer, dict) or not isinstance(answer.get("jws"), str):
            raise ValueError("the issuer's response has no jws")
        jws: str = answer["jws"]
        return jws

    def _keep(self, key: SnapshotKey, held: _Held) -> None:
        """Moves what is used behind what was not used since, and drops the oldest beyond the limits."""
        with self._lock:
            self._forget(key)
            self._held[key] = held
            self._held_length += held.length
            while len(self._held) > self._capacity or self._held_length > self._max_held_length:
                self._forget(next(iter(self._held)))

    def _forget(self, key: SnapshotKey) -> None:
        held = self._held.pop(key, None)
        if held is not None:
            self._held_length -= held.length
