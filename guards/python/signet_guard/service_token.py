"""A service's own access token for the issuer (RFC 6749 section 4.4)."""
from __future__ import annotations

import threading
from typing import Any, Callable, NamedTuple, Optional, TypeVar
from urllib.parse import urlencode

from .clock import Clock, system_clock
from .fetch import Fetch, FetchRequest, StatusError, fetch_text
from .shared_run import SharedRun
from .strict_json import is_number, parse_json

Value = TypeVar("Value")

GetToken = Callable[[Optional[str]], str]
"""Returns an access token. The argument is a token that was refused: its key or its credential may be revoked, so the
next one is another. Raises when the issuer issues none."""

# Half a minute before it expires, a token counts as expired.
_RENEW_BEFORE_MS = 30_000
FORM = "application/x-www-form-urlencoded"


class _Held(NamedTuple):
    token: str
    until_ms: float


class ServiceToken:
    """Asks for a token when there is none or it is about to expire. Threads may share it."""

    def __init__(
        self,
        *,
        url: str,
        client_id: str,
        client_secret: str,
        audience: str,
        scope: str,
        clock: Clock = system_clock,
        fetch: Fetch = fetch_text,
    ) -> None:
        """url: the issuer's token endpoint, configured. scope: names with a space between."""
        self._url, self._clock, self._fetch = url, clock, fetch
        self._form = {
            "grant_type": "client_credentials",
            "client_id": client_id,
            "client_secret": client_secret,
            "audience": audience,
            "scope": scope,
        }
        self._lock = threading.Lock()
        self._held: Optional[_Held] = None
        self._shared: SharedRun[str] = SharedRun(5_000)

    def __call__(self, refused: Optional[str] = None) -> str:
        with self._lock:
            if self._held is not None and self._held.token == refused:
                self._held = None
            held = self._held
        if held is not None and self._clock() < held.until_ms:
            return held.token
        return self._shared("", self._ask)

    def _ask(self) -> str:
        asked_at_ms = self._clock()
        body = urlencode(self._form).encode("ascii")
        request = FetchRequest(self._url, method="POST", headers={"content-type": FORM}, body=body)
        answer = parse_json(self._fetch(request))
        token = answer.get("access_token") if isinstance(answer, dict) else None
        seconds: Any = answer.get("expires_in") if isinstance(answer, dict) else None
        if not isinstance(token, str) or not is_number(seconds):
            raise ValueError("the issuer's response has no access_token and expires_in")
        with self._lock:
            self._held = _Held(token, asked_at_ms + seconds * 1_000 - _RENEW_BEFORE_MS)
        return token


def with_token(get_token: GetToken, call: Callable[[str], Value]) -> Value:
    """Runs a call with the token; once more, with another token, when it is answered 401."""
    first = get_token(None)
    try:
        return call(first)
    except StatusError as error:
        if error.status != 401:
            raise
    return call(get_token(first))
