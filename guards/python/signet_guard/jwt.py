"""Verifies a JWT of one type, in the order in which the attacks of RFC 8725 are cheapest to refuse."""
from __future__ import annotations

import hashlib
import threading
from typing import Any, Callable, Dict, Generic, NamedTuple, Optional, TypeVar, Union

from .claims import SKEW_SECONDS
from .clock import Clock
from .jwks import KID
from .key_set import KeySource
from .refusals import Reason
from .strict_json import Json, decode_base64url, decode_object, is_number

MAX_TOKEN_LENGTH = 8_192
_MAX_HEADERS = 64
# Names in a header that change how a token is read or with which key: the issuer writes none of them.
_FORBIDDEN = ("crit", "b64", "jku", "jwk", "x5u", "x5c", "zip")

Value = TypeVar("Value")


class _Verified(NamedTuple):
    value: object
    payload: Json
    kid: str


def keep_reason(reason: Reason, header: Json, payload_part: str) -> Reason:
    """Reports the reason itself."""
    return reason


class JwtVerifier(Generic[Value]):
    """Returns what a token says, or the reason for its refusal. Threads may share it."""

    def __init__(
        self,
        *,
        typ: str,
        key_set: KeySource,
        clock: Clock,
        read: Callable[[Json, float], Union[Value, Reason]],
        cache_size: int = 0,
        max_length: int = MAX_TOKEN_LENGTH,
        tell: Callable[[Reason, Json, str], Reason] = keep_reason,
    ) -> None:
        """
        typ: the one `typ` that is accepted.
        read: called with verified claims and the time; checks the times by `untimely`.
        cache_size: how many verified tokens are remembered; 0 for none.
        tell: the reason to report for a header that is refused.
        """
        self._typ, self._key_set, self._clock, self._read = typ, key_set, clock, read
        self._cache_size, self._max_length, self._tell = cache_size, max_length, tell
        self._lock = threading.Lock()
        # A key has one header, so the few that are in use are parsed once.
        self._headers: Dict[str, str] = {}
        self._verified: Dict[bytes, _Verified] = {}

    def __call__(self, token: str) -> Union[Value, Reason]:
        """Returns UNAVAILABLE when the keys could not be fetched."""
        if len(token) > self._max_length:
            return "MALFORMED_CREDENTIAL"
        digest = b""
        if self._cache_size > 0:
            digest = hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
            known = self._verified.get(digest)
            if known is not None:
                late = untimely(known.payload, self._clock())
                if late is not None:
                    self._forget(digest)
                    return late
                # A key that was withdrawn takes its tokens with it.
                if not isinstance(self._key_set.find(known.kid), str):
                    return known.value  # type: ignore[return-value]

        parts = token.split(".")
        if len(parts) != 3 or not parts[0] or not parts[1]:
            return "MALFORMED_CREDENTIAL"
        header_part, payload_part, signature_part = parts
        kid = self._headers.get(header_part)
        if kid is None:
            parsed = self._parse_header(header_part, payload_part)
            if parsed.reason is not None:
                return parsed.reason
            kid = parsed.kid
        key = self._key_set.find(kid)
        if isinstance(key, str):
            return key
        signature = decode_base64url(signature_part)
        if signature is None or len(signature) != 64:
            return "SIGNATURE_INVALID"
        signed = f"{header_part}.{payload_part}".encode("utf-8", "surrogatepass")
        if not key.verify(signature, signed):
            return "SIGNATURE_INVALID"
        with self._lock:
            if len(self._headers) < _MAX_HEADERS:
                self._headers[header_part] = kid

        payload = decode_object(payload_part)
        if payload is None:
            return "MALFORMED_CREDENTIAL"
        value = self._read(payload, self._clock())
        if self._cache_size > 0 and not isinstance(value, str):
            self._remember(digest, _Verified(value, payload, kid))
        return value

    def _remember(self, digest: bytes, verified: _Verified) -> None:
        with self._lock:
            while len(self._verified) >= self._cache_size and digest not in self._verified:
                del self._verified[next(iter(self._verified))]
            self._verified[digest] = verified

    def _forget(self, digest: bytes) -> None:
        with self._lock:
            self._verified.pop(digest, None)

    def _parse_header(self, part: str, payload_part: str) -> "_Header":
        header = decode_object(part, unique_names=True)
        if header is None or any(name in header for name in _FORBIDDEN):
            return _Header("", "MALFORMED_CREDENTIAL")
        if header.get("alg") != "ES256":
            return _Header("", self._tell("ALG_NOT_ALLOWED", header, payload_part))
        if header.get("typ") != self._typ:
            return _Header("", self._tell("TYP_NOT_ALLOWED", header, payload_part))
        kid = header.get("kid")
        # The shape of every kid that is published; nothing else reaches the key set.
        if not isinstance(kid, str) or KID.fullmatch(kid) is None:
            return _Header("", "KEY_UNKNOWN")
        return _Header(kid, None)


class _Header(NamedTuple):
    kid: str
    reason: Optional[Reason]


def untimely(claims: Json, now_ms: float) -> Optional[Reason]:
    """Returns why a token is past `exp`, or before `nbf` or `iat`. The reader of the claims refuses what is no number."""
    now = now_ms / 1_000
    exp: Any = claims.get("exp")
    nbf: Any = claims.get("nbf")
    iat: Any = claims.get("iat")
    if is_number(exp) and exp + SKEW_SECONDS <= now:
        return "TOKEN_EXPIRED"
    if is_number(nbf) and nbf > now + SKEW_SECONDS:
        return "TOKEN_NOT_YET_VALID"
    if is_number(iat) and iat > now + SKEW_SECONDS:
        return "TOKEN_NOT_YET_VALID"
    return None
