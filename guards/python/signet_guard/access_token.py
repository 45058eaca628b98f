"""Verifies access tokens (RFC 9068) of one issuer for one audience."""
from __future__ import annotations

from typing import Union

from .claims import check_claims
from .clock import Clock
from .context import AuthContext, context_of
from .jwt import JwtVerifier, untimely
from .key_set import KeySource
from .refusals import Reason
from .strict_json import Json, decode_object

_PROVIDER_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA")


def create_verifier(
    *, issuer: str, audience: str, key_set: KeySource, clock: Clock, cache_size: int
) -> JwtVerifier[AuthContext]:
    """Returns a verifier that gives the caller of a token, or the reason for its refusal."""

    def read(payload: Json, now_ms: float) -> Union[AuthContext, Reason]:
        if payload.get("iss") != issuer:
            return "ISSUER_MISMATCH"
        if payload.get("aud") != audience:
            return "AUDIENCE_MISMATCH"
        reason = untimely(payload, now_ms) or check_claims(payload)
        return context_of(payload) if reason is None else reason

    def tell(reason: Reason, header: Json, payload_part: str) -> Reason:
        # Tells a developer that it sent a provider's ID token. The token is refused either way.
        if header.get("typ", "JWT") != "JWT" or header.get("alg") not in _PROVIDER_ALGORITHMS:
            return reason
        iss = (decode_object(payload_part) or {}).get("iss")
        return "PROVIDER_TOKEN_NOT_ACCEPTED" if isinstance(iss, str) and iss != issuer else reason

    return JwtVerifier(
        typ="at+jwt", key_set=key_set, clock=clock, read=read, cache_size=cache_size, tell=tell
    )
