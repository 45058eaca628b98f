"""The guard for WSGI (PEP 3333): Flask, Django, and every other application that a WSGI server runs."""
from __future__ import annotations

import io
from http import HTTPStatus
from typing import Any, Callable, Dict, Iterable, Optional, Sequence, Tuple

from .authorize import Allow
from .guard import Guard
from .problem import problem_body, problem_headers
from .refusals import Refused
from .routes import MAX_BODY_BYTES, Call, Route, RouteTable, body_json, reader_of
from .target import FindResource, OnDeny, ReadValue

CALL = "signet.call"
"""The key of the `Call` in a request's environ."""

Environ = Dict[str, Any]
StartResponse = Callable[..., Any]
WsgiApp = Callable[[Environ, StartResponse], Iterable[bytes]]


class WsgiGuard:
    """Calls the application only for callers who meet the requirement of the route.

    Other callers get a problem (RFC 9457) and a challenge (RFC 6750); a request without a route gets 404.
    """

    def __init__(
        self,
        app: WsgiApp,
        *,
        guard: Guard,
        routes: Sequence[Route],
        find_resource: Optional[FindResource] = None,
        on_deny: Optional[OnDeny] = None,
        max_body_bytes: int = MAX_BODY_BYTES,
    ) -> None:
        """
        routes: every route that is served; one that is not listed is refused.
        max_body_bytes: the longest JSON body that a requirement is read from.
        Raises ValueError when a requirement cannot be checked.
        """
        self._app, self._max_body_bytes = app, max_body_bytes
        self._routes = RouteTable(routes, guard, find_resource, on_deny)

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        # What the application routes on. SCRIPT_NAME is not part of it: some servers take it from a header of the caller.
        # A server hands over the bytes of the decoded path as latin-1 (PEP 3333).
        path = str(environ.get("PATH_INFO", "")).encode("latin-1")
        found = self._routes.find(environ["REQUEST_METHOD"], path.decode("utf-8", "replace"))
        if found is None:
            return _respond(start_response, Refused("METHOD_UNKNOWN"))
        route, variables = found

        def prepare() -> ReadValue:
            body = None
            if route.reads_body:
                body = body_json(environ.get("CONTENT_TYPE"), _peek_body(environ, self._max_body_bytes))
            return reader_of(variables, _headers_of(environ), body)

        caller = route.target.authenticate(environ.get("HTTP_AUTHORIZATION"))
        decision = route.target.authorize(caller, prepare)
        if not isinstance(decision, Allow):
            return _respond(start_response, decision.refused())
        environ[CALL] = Call(decision.context, variables)
        return self._app(environ, start_response)


def call_of(environ: Environ) -> Call:
    """Returns what the guard found out. Raises KeyError for a request that did not pass a guard."""
    call = environ[CALL]
    if not isinstance(call, Call):
        raise KeyError(CALL)
    return call


def refuse(refused: Refused, start_response: StartResponse) -> Iterable[bytes]:
    """Responds with a problem, for handlers that refuse in the guard's words."""
    return _respond(start_response, refused)


def _respond(start_response: StartResponse, refused: Refused) -> Iterable[bytes]:
    body = problem_body(refused)
    headers = [*problem_headers(refused).items(), ("content-length", str(len(body)))]
    try:
        phrase = HTTPStatus(refused.status).phrase
    except ValueError:
        phrase = "Refused"
    start_response(f"{refused.status} {phrase}", headers)
    return [body]


def _headers_of(environ: Environ) -> Dict[str, str]:
    headers = {
        name[5:].replace("_", "-").lower(): value
        for name, value in environ.items()
        if name.startswith("HTTP_") and isinstance(value, str)
    }
    for name in ("CONTENT_TYPE", "CONTENT_LENGTH"):
        if environ.get(name):
            headers[name.replace("_", "-").lower()] = environ[name]
    return headers


def _peek_body(environ: Environ, max_bytes: int) -> Optional[bytes]:
    """Returns the body and leaves it to be read again; None when it is longer."""
    source, length = environ["wsgi.input"], _content_length(environ)
    if length is None and not environ.get("wsgi.input_terminated"):
        return b""
    wanted = max_bytes + 1 if length is None else min(length, max_bytes + 1)
    data = b""
    while len(data) < wanted:
        part = source.read(wanted - len(data))
        if not part:
            break
        data += part
    if len(data) <= max_bytes:
        environ["wsgi.input"] = io.BytesIO(data)
        return data
    environ["wsgi.input"] = io.BufferedReader(_Joined(data, source))
    return None


def _content_length(environ: Environ) -> Optional[int]:
    text = environ.get("CONTENT_LENGTH")
    return int(text) if isinstance(text, str) and text.isascii() and text.isdigit() else None


class _Joined(io.RawIOBase):
    """What was read already, and then the rest."""

    def __init__(self, head: bytes, rest: Any) -> None:
        self._head, self._rest = head, rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data: bytes
        if self._head:
            data, self._head = self._head[: len(buffer)], self._head[len(buffer) :]
        else:
            data = self._rest.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


__all__: Tuple[str, ...] = ("CALL", "Call", "Route", "WsgiGuard", "call_of", "refuse")
