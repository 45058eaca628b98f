"""Reads the parts of a JWT so that two readers cannot read two things."""
from __future__ import annotations

import base64
import binascii
import json
from typing import Any, Dict, List, Optional, Tuple

Json = Dict[str, Any]

_MAX_SAFE_INTEGER = 2**53 - 1


def decode_base64url(text: str) -> Optional[bytes]:
    """Returns the bytes of base64url without padding; None for a text that no encoder writes."""
    try:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError):
        return None
    # Encoded again it is the same text, or many texts would be the same bytes: b64decode passes over what is not of the
    # alphabet, and over the unused bits of the last character.
    return data if base64.urlsafe_b64encode(data).decode("ascii").rstrip("=") == text else None


def parse_json(text: str, unique_names: bool = False) -> Any:
    """Returns the JSON value in a text.

    unique_names: also refuse an object that has a name twice.
    Raises ValueError for everything that RFC 8259 does not allow, `NaN` and `Infinity` included.
    """
    try:
        return json.loads(
            text, object_pairs_hook=_unique if unique_names else None, parse_constant=_refuse_constant
        )
    except RecursionError:
        raise ValueError("JSON nests too deep") from None


def decode_object(part: str, unique_names: bool = False) -> Optional[Json]:
    """Returns the JSON object in base64url; None when it is none or its UTF-8 is not valid."""
    data = decode_base64url(part)
    if data is None:
        return None
    try:
        value = parse_json(data.decode("utf-8"), unique_names)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def is_text(value: object) -> bool:
    """True for a string that is not empty."""
    return isinstance(value, str) and value != ""


def is_texts(value: object) -> bool:
    """True for a list of strings of which none is empty."""
    return isinstance(value, list) and all(is_text(one) for one in value)


def is_number(value: object) -> bool:
    """True for a JSON number. In Python `True` is an int; in JSON it is no number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_count(value: object) -> bool:
    """True for a whole number from 0 to 2**53 - 1. JSON writes 1.0 and 1 for the same number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return 0 <= value <= _MAX_SAFE_INTEGER and value == int(value)


def is_safe_integer(value: object) -> bool:
    """True for a whole number from -(2**53 - 1) to 2**53 - 1."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return -_MAX_SAFE_INTEGER <= value <= _MAX_SAFE_INTEGER and value == int(value)


def _unique(pairs: List[Tuple[str, Any]]) -> Json:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("an object has a name twice")
    return members


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
