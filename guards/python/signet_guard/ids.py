"""Ids: a prefix that says of what, and 26 characters of Crockford's base32."""
from __future__ import annotations

import re

_ID = re.compile(r"([a-z]{3})_[0-9a-hjkmnp-tv-z]{26}")


def is_id(kind: str, value: object) -> bool:
    """True for an id of the kind: a `ten_` is never accepted as an `app_`."""
    match = _ID.fullmatch(value) if isinstance(value, str) else None
    return match is not None and match[1] == kind
