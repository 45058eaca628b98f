"""Routes of an HTTP application, each with its requirement: what ASGI and WSGI have in common."""
from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from .context import AuthContext
from .guard import Guard
from .path_template import PathTemplate
from .requirement import BODY, HEADER, PATH, Requirement, ResourceAction, Tenant, checks_in
from .strict_json import parse_json
from .target import FindResource, OnDeny, ReadValue, Target

MAX_BODY_BYTES = 65_536
WEBSOCKET = "WEBSOCKET"
"""The method of a route for WebSocket connections."""
_JSON_TYPE = re.compile(r"application/(json|connect\+json)\s*(;|$)", re.IGNORECASE)
_CHARSET = re.compile(r"charset\s*=\s*\"?([^\";\s]*)", re.IGNORECASE)
_HEADER_NAME = re.compile(r"[a-z0-9-]+")
_UNDERSCORES = re.compile(r"_+([a-z0-9])")


@dataclass(frozen=True)
class Route:
    """One route and what it asks of its callers. A route for GET covers HEAD."""

    method: str
    path: str
    """Whole segments: `/tenants/{tenant_id}/notes`."""
    requirement: Requirement


class Call(NamedTuple):
    """What the guard found out about a request."""

    caller: Optional[AuthContext]
    """None only for `public`, and for `body_credential` without a valid token."""
    path: Mapping[str, str]
    """The path's variables, as the guard read them."""


class GuardedRoute(NamedTuple):
    method: str
    template: PathTemplate
    target: Target
    reads_body: bool


class RouteTable:
    """Finds the route of a request. A request without a route is refused."""

    def __init__(
        self,
        routes: Sequence[Route],
        guard: Guard,
        find_resource: Optional[FindResource],
        on_deny: Optional[OnDeny],
    ) -> None:
        """Raises ValueError, naming the route, when a requirement cannot be checked there."""
        self._routes: List[GuardedRoute] = []
        for route in routes:
            try:
                guarded = _guarded(route, guard, find_resource, on_deny)
                for earlier in self._routes:
                    if earlier.method == guarded.method and earlier.template.covers(guarded.template):
                        raise ValueError(f"list it before {earlier.template.template}: the first matching route wins")
                self._routes.append(guarded)
            except ValueError as error:
                raise ValueError(f"{route.method} {route.path}: {error}") from None

    def find(self, method: str, path: str) -> Optional[Tuple[GuardedRoute, Dict[str, str]]]:
        """Returns the first route of the method and decoded path, and the path's variables."""
        asked = "GET" if method == "HEAD" else method
        for route in self._routes:
            if route.method in (asked, method):
                variables = route.template.match(path)
                if variables is not None:
                    return route, variables
        return None


def _guarded(
    route: Route, guard: Guard, find_resource: Optional[FindResource], on_deny: Optional[OnDeny]
) -> GuardedRoute:
    if route.method != route.method.upper() or route.method == "":
        raise ValueError("a method must be in capitals")
    template = PathTemplate(route.path)
    readable = {
        PATH: lambda field: field in template.names,
        HEADER: lambda field: _HEADER_NAME.fullmatch(field) is not None,
    }
    if route.method != WEBSOCKET:
        readable[BODY] = lambda field: field != ""
    target = Target(guard, route.requirement, readable, find_resource, on_deny)
    reads_body = any(
        isinstance(check, (Tenant, ResourceAction)) and check.source == BODY
        for check in checks_in(route.requirement)
    )
    return GuardedRoute(route.method, template, target, reads_body)


def reader_of(variables: Mapping[str, str], headers: Mapping[str, str], body: Any) -> ReadValue:
    """Returns what reads a request. Header names are in lower case; body: the JSON value, None for none."""

    def read(source: str, field: str) -> Optional[str]:
        if source == PATH:
            return variables.get(field)
        if source == HEADER:
            return headers.get(field)
        return json_field(body, field) if source == BODY else None

    return read


def body_json(content_type: Optional[str], body: Optional[bytes]) -> Any:
    """Returns the JSON in a body; None when it is none, names a charset other than UTF-8, or has a name twice: then nothing
    in it is believed, because a handler could read something else.

    body: None when it is too long.
    """
    if body is None or content_type is None or _JSON_TYPE.match(content_type) is None:
        return None
    if any(charset.lower() != "utf-8" for charset in _CHARSET.findall(content_type)):
        return None
    try:
        return parse_json(body.decode("utf-8-sig"), unique_names=True)
    except ValueError:
        return None


def json_field(value: Any, path: str) -> Optional[str]:
    """Returns one text in a JSON value, by a path of the schema with dots: `note.tenant_id`.

    A name may be written as the schema has it or in lowerCamelCase, as proto3 JSON may. None when it is missing, empty,
    no text, or written in more than one way, letter case not counting: then a handler could read the other one.
    """
    for name in path.split("."):
        if not isinstance(value, dict):
            return None
        names = {name, _camel_case(name)}
        folded = {one.casefold() for one in names}
        spellings = [one for one in value if one.casefold() in folded]
        if len(spellings) != 1 or spellings[0] not in names:
            return None
        value = value[spellings[0]]
    return value if isinstance(value, str) and value != "" else None


def _camel_case(name: str) -> str:
    return _UNDERSCORES.sub(lambda match: match[1].upper(), name)
