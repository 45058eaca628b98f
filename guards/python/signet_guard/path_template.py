"""Reads a path by a template of whole segments: `/notes/{note_id}`."""
from __future__ import annotations

import re
from typing import Dict, Optional

_VARIABLE = re.compile(r"\{([a-z][a-z0-9_.]*)\}")


class PathTemplate:
    def __init__(self, template: str) -> None:
        """Raises ValueError when a variable's name is no name, or is there twice."""
        if not template.startswith("/"):
            raise ValueError(f"{template}: a path must begin with a slash")
        self.template = template
        self._segments = [self._segment_of(text) for text in template.split("/")]
        names = [name for name, _ in self._segments if name is not None]
        if len(set(names)) != len(names):
            raise ValueError(f"{template}: a variable occurs twice")
        self.names = frozenset(names)

    def _segment_of(self, text: str) -> "tuple[Optional[str], str]":
        match = _VARIABLE.fullmatch(text)
        if match is None and ("{" in text or "}" in text):
            raise ValueError(f"{self.template}: {text} is not a path variable")
        return (None if match is None else match[1]), text

    def covers(self, other: "PathTemplate") -> bool:
        """True when every path of the other template is one of this."""
        if len(self._segments) != len(other._segments):
            return False
        pairs = zip(self._segments, other._segments)
        return all(name is not None or (other_name is None and text == other_text) for (name, text), (other_name, other_text) in pairs)

    def match(self, path: str) -> Optional[Dict[str, str]]:
        """Returns the variables of a decoded path; None when it is another path."""
        parts = path.split("/")
        if len(parts) != len(self._segments):
            return None
        values: Dict[str, str] = {}
        for (name, text), part in zip(self._segments, parts):
            if name is None:
                if part != text:
                    return None
            elif part == "":
                return None
            else:
                values[name] = part
        return values
