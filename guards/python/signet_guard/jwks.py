"""Reads a JWK Set (RFC 7517)."""
from __future__ import annotations

import re
from typing import Any, Dict, Optional, Tuple

from .strict_json import parse_json
from .token_crypto import VerifyKey, import_key

MAX_KEYS = 16
KID = re.compile(r"[A-Za-z0-9_-]{1,128}")
_COORDINATE = re.compile(r"[A-Za-z0-9_-]{43}")


def parse_jwks(text: str) -> Dict[str, VerifyKey]:
    """Returns the ES256 keys by `kid`. Other keys are passed over, as RFC 7517 section 5 asks.

    Raises ValueError when the text is no JWK Set, has more than 16 keys, two keys with one `kid`, or a key that is no
    point of the curve.
    """
    jwk_set = parse_json(text)
    if not isinstance(jwk_set, dict) or not isinstance(jwk_set.get("keys"), list):
        raise ValueError("not a JWK Set")
    if len(jwk_set["keys"]) > MAX_KEYS:
        raise ValueError("the JWK Set has more than 16 keys")
    keys: Dict[str, VerifyKey] = {}
    for jwk in jwk_set["keys"]:
        parsed = _parse_key(jwk)
        if parsed is None:
            continue
        kid, x, y = parsed
        if kid in keys:
            raise ValueError("the JWK Set has two keys with the same kid")
        keys[kid] = import_key(x, y)
    return keys


def _parse_key(jwk: Any) -> Optional[Tuple[str, str, str]]:
    if not isinstance(jwk, dict):
        return None
    if (jwk.get("kty"), jwk.get("crv"), jwk.get("use")) != ("EC", "P-256", "sig") or jwk.get("alg", "ES256") != "ES256":
        return None
    kid, x, y = jwk.get("kid"), jwk.get("x"), jwk.get("y")
    if not isinstance(kid, str) or KID.fullmatch(kid) is None:
        return None
    if not isinstance(x, str) or _COORDINATE.fullmatch(x) is None:
        return None
    if not isinstance(y, str) or _COORDINATE.fullmatch(y) is None:
        return None
    return kid, x, y
