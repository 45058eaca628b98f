"""What the claims of an access token may be (RFC 9068, RFC 8693, RFC 9470)."""
from __future__ import annotations

from typing import Any, Optional

from .ids import is_id
from .refusals import Reason
from .strict_json import Json, is_count, is_text, is_texts

MAX_LIFETIME_SECONDS = 900
SKEW_SECONDS = 30
"""Clocks may differ by this much."""
LONGEST_TOKEN_MS = (MAX_LIFETIME_SECONDS + SKEW_SECONDS) * 1_000
"""No token that was issued before a revocation is accepted later than this."""
MAX_ACT_DEPTH = 3
"""How many services may stand between the user and the caller."""

_MALFORMED: Reason = "MALFORMED_CREDENTIAL"
_GRANTS = ("session", "client_credentials", "pat", "on_behalf_of")
_OPTIONAL_IDS = (
    ("identity_id", "idn"),
    ("tenant_id", "ten"),
    ("context_id", "ctx"),
    ("sid", "ses"),
    ("osid", "ses"),
)


def check_claims(claims: Json) -> Optional[Reason]:
    """Returns the first thing that is wrong with a verified payload, in the verifier's order; None for nothing.

    A claim with the wrong type has the reason of its check; everything else that is wrong is MALFORMED_CREDENTIAL.
    Unknown claims are ignored.
    """
    exp: Any = claims.get("exp")
    iat: Any = claims.get("iat")
    if not is_text(claims.get("iss")):
        return "ISSUER_MISMATCH"
    if not is_text(claims.get("aud")):
        return "AUDIENCE_MISMATCH"
    if not is_count(exp):
        return "TOKEN_EXPIRED"
    if not is_count(claims.get("nbf")) or not is_count(iat):
        return "TOKEN_NOT_YET_VALID"
    if exp - iat > MAX_LIFETIME_SECONDS:
        return "TOKEN_EXPIRED"
    return _check_subject(claims) or _check_rest(claims)


def _check_rest(claims: Json) -> Optional[Reason]:
    perm_ver = claims.get("perm_ver")
    if not is_text(claims.get("jti")) or not is_text(claims.get("client_id")) or not is_count(perm_ver):
        return _MALFORMED
    if "pol_ver" in claims and not (is_count(claims["pol_ver"]) and claims["pol_ver"] <= perm_ver):
        return _MALFORMED
    if not is_texts(claims.get("scp")) or not is_texts(claims.get("amr")):
        return _MALFORMED
    if "auth_time" in claims and not is_count(claims["auth_time"]):
        return _MALFORMED
    # Only a session has a device: a service that acts for the user, and a personal access token, have none.
    if "did" in claims and not (is_id("dev", claims["did"]) and claims["gty"] == "session"):
        return _MALFORMED
    return None


def _check_subject(claims: Json) -> Optional[Reason]:
    """Checks subject, place and actor: they have one of the shapes that a grant gives."""
    if not is_id("app", claims.get("app_id")) or claims.get("principal_type") not in ("user", "service"):
        return _MALFORMED
    if "act" in claims:
        reason = _check_act(claims["act"], 1)
        if reason is not None:
            return reason
    if not is_id("prn", claims.get("sub")):
        return _MALFORMED
    if any(name in claims and not is_id(kind, claims[name]) for name, kind in _OPTIONAL_IDS):
        return _MALFORMED
    if any(name in claims and not is_text(claims[name]) for name in ("cred_id", "job_id")):
        return _MALFORMED
    gty = claims.get("gty")
    if not isinstance(gty, str) or gty not in _GRANTS:
        return _MALFORMED
    is_user = claims["principal_type"] == "user"
    if is_user != ("identity_id" in claims):
        return _MALFORMED
    if ("sid" in claims) != (gty == "session"):
        return _MALFORMED
    if is_user == (gty == "client_credentials"):
        return _MALFORMED
    if gty == "on_behalf_of":
        return None if "act" in claims and "job_id" in claims else _MALFORMED
    return _MALFORMED if any(name in claims for name in ("act", "job_id", "osid")) else None


def _check_act(act: Any, depth: int) -> Optional[Reason]:
    if depth > MAX_ACT_DEPTH:
        return "DELEGATION_CHAIN_TOO_DEEP"
    if not isinstance(act, dict):
        return _MALFORMED
    if not is_id("prn", act.get("sub")) or act.get("principal_type") != "service" or not is_text(act.get("client_id")):
        return _MALFORMED
    return _check_act(act["act"], depth + 1) if "act" in act else None
