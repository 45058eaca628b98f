"""A denial as HTTP says it: RFC 9457 problems and the challenges of RFC 6750 and RFC 9470."""
from __future__ import annotations

import json
import re
from typing import Dict, Mapping, Optional

from .refusals import REFUSALS, Refused

# A 401 whose credential was in the body, or was absent: the challenge names no error (RFC 6750 section 3.1).
_WITHOUT_ERROR = frozenset(
    (
        "NO_CREDENTIAL",
        "PROVIDER_TOKEN_INVALID",
        "PROVIDER_TOKEN_REPLAYED",
        "NONCE_MISMATCH",
        "REFRESH_TOKEN_INVALID",
        "REFRESH_TOKEN_REUSED",
    )
)
_NOT_QUOTABLE = re.compile(r"[^\x20-\x21\x23-\x5b\x5d-\x7e]")


def problem_of(refused: Refused) -> Dict[str, object]:
    """Returns the problem (RFC 9457) with reason, domain and metadata of google.rpc.ErrorInfo."""
    return {
        "type": f"urn:signet:reason:{refused.reason}",
        "title": REFUSALS[refused.reason].message,
        "status": refused.status,
        "detail": refused.message,
        "reason": refused.reason,
        "domain": "signet",
        "metadata": dict(refused.metadata),
    }


def problem_body(refused: Refused) -> bytes:
    """Returns the problem as UTF-8."""
    return json.dumps(problem_of(refused), separators=(",", ":")).encode("utf-8")


def problem_headers(refused: Refused) -> Dict[str, str]:
    """Returns the headers that go with the problem. Names are in lower case."""
    headers = {"content-type": "application/problem+json", "cache-control": "no-store"}
    challenge = challenge_of(refused)
    if challenge is not None:
        headers["www-authenticate"] = challenge
    return headers


def challenge_of(refused: Refused) -> Optional[str]:
    """Returns the WWW-Authenticate header, or None where none is due.

    Reads `scope`, `max_age` (seconds) and `error` (RFC 6749) of the metadata.
    """
    if refused.reason == "MISSING_SCOPE":
        return _bearer({"error": "insufficient_scope", "scope": refused.metadata.get("scope")})
    if refused.reason == "STEP_UP_REQUIRED":
        return _bearer(
            {"error": "insufficient_user_authentication", "max_age": refused.metadata.get("max_age")}
        )
    if refused.status != 401:
        return None
    # RFC 6749 section 5.2: the challenge names the method that was, or may be, used.
    if refused.reason == "CLIENT_INVALID":
        return 'Basic realm="signet", charset="UTF-8"'
    # A token in the body was refused, not the caller's own.
    if refused.metadata.get("error") == "invalid_grant":
        return None
    if refused.reason in _WITHOUT_ERROR:
        return _bearer({})
    return _bearer({"error": "invalid_token", "error_description": REFUSALS[refused.reason].message})


def _bearer(parameters: Mapping[str, Optional[str]]) -> str:
    parts = ['realm="signet"']
    for name, value in parameters.items():
        # Printable ASCII without quote and backslash: nothing that a caller sent can end the quoted string.
        if value is not None:
            parts.append(f'{name}="{_NOT_QUOTABLE.sub("", value)}"')
    return f"Bearer {', '.join(parts)}"
