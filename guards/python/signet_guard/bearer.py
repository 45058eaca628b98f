"""Reads the Authorization header (RFC 6750 section 2.1)."""
from __future__ import annotations

import re
from typing import NamedTuple, Optional, Union

from .refusals import Reason

# Two headers arrive joined by a comma, which is no character of b64token.
_BEARER = re.compile(r"[Bb][Ee][Aa][Rr][Ee][Rr] +([A-Za-z0-9\-._~+/]+=*)")


class Bearer(NamedTuple):
    token: str


def parse_bearer(header: Optional[str]) -> Union[Bearer, Reason]:
    """Returns the bearer token in an Authorization header; None is no header."""
    if header is None:
        return "NO_CREDENTIAL"
    match = _BEARER.fullmatch(header)
    if match is None:
        return "MALFORMED_CREDENTIAL"
    token = match[1]
    if token.startswith("sgpat_"):
        return "PAT_NOT_BEARER"
    if token.startswith("sgrt_"):
        return "REFRESH_TOKEN_NOT_BEARER"
    return Bearer(token)
