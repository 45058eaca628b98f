"""The guard for ASGI 3: FastAPI, Starlette, Quart, Django, and every other application that an ASGI server runs."""
from __future__ import annotations

import asyncio
from concurrent.futures import Executor
from typing import Any, Awaitable, Callable, Dict, List, MutableMapping, Optional, Sequence, Tuple, TypeVar, Union

from .authorize import Allow, AuthDecision
from .context import AuthContext
from .guard import Guard
from .problem import problem_body, problem_headers
from .refusals import Reason, Refused
from .routes import MAX_BODY_BYTES, WEBSOCKET, Call, GuardedRoute, Route, RouteTable, body_json, reader_of
from .target import FindResource, OnDeny, ReadValue

Value = TypeVar("Value")

CALL = "signet.call"
"""The key of the `Call` in a request's scope."""

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]


class AsgiGuard:
    """Calls the application only for callers who meet the requirement of the route.

    Other callers get a problem (RFC 9457) and a challenge (RFC 6750); a request without a route gets 404.
    """

    def __init__(
        self,
        app: AsgiApp,
        *,
        guard: Guard,
        routes: Sequence[Route],
        find_resource: Optional[FindResource] = None,
        on_deny: Optional[OnDeny] = None,
        max_body_bytes: int = MAX_BODY_BYTES,
        executor: Optional[Executor] = None,
    ) -> None:
        """
        routes: every route that is served; one that is not listed is refused.
        find_resource, on_deny: called in a thread of the executor.
        max_body_bytes: the longest JSON body that a requirement is read from.
        executor: where tokens are verified, because keys may have to be fetched. The event loop's own for None.
        Raises ValueError when a requirement cannot be checked.
        """
        self._app, self._max_body_bytes, self._executor = app, max_body_bytes, executor
        self._routes = RouteTable(routes, guard, find_resource, on_deny)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await self._app(scope, receive, send)
        if scope["type"] not in ("http", "websocket"):
            raise ValueError(f"a scope of the type {scope['type']} is not guarded")
        method = WEBSOCKET if scope["type"] == "websocket" else scope["method"]
        found = self._routes.find(method, scope["path"])
        if found is None:
            return await _respond(scope, receive, send, Refused("METHOD_UNKNOWN"))
        route, variables = found
        decision, receive = await self._decide(route, variables, scope, receive)
        if not isinstance(decision, Allow):
            return await _respond(scope, receive, send, decision.refused())
        scope[CALL] = Call(decision.context, variables)
        await self._app(scope, receive, send)

    async def _decide(
        self, route: GuardedRoute, variables: Dict[str, str], scope: Scope, receive: Receive
    ) -> Tuple[AuthDecision, Receive]:
        headers = _headers_of(scope)
        target = route.target

        def authenticate() -> Union[AuthContext, Reason]:
            return target.authenticate(headers.get("authorization"))

        def authorize(caller: Union[AuthContext, Reason], body: Any) -> AuthDecision:
            return target.authorize(caller, lambda: reader_of(variables, headers, body))

        if not route.reads_body:
            return await self._in_thread(lambda: authorize(authenticate(), None)), receive
        # The body is read only for a caller that is known.
        caller = await self._in_thread(authenticate)
        body = None
        if not isinstance(caller, str):
            data, receive = await _peek_body(receive, self._max_body_bytes)
            body = body_json(headers.get("content-type"), data)
        return await self._in_thread(lambda: authorize(caller, body)), receive

    async def _in_thread(self, run: Callable[[], Value]) -> Value:
        return await asyncio.get_running_loop().run_in_executor(self._executor, run)


def call_of(scope: Scope) -> Call:
    """Returns what the guard found out. Raises KeyError for a request that did not pass a guard."""
    call = scope[CALL]
    if not isinstance(call, Call):
        raise KeyError(CALL)
    return call


async def refuse(refused: Refused, send: Send) -> None:
    """Responds with a problem, for handlers that refuse in the guard's words."""
    await _send_problem(refused, send, "http.response")


async def _respond(scope: Scope, receive: Receive, send: Send, refused: Refused) -> None:
    if scope["type"] == "http":
        return await _send_problem(refused, send, "http.response")
    # A WebSocket server wants its connect event to be read first.
    await receive()
    if "websocket.http.response" in (scope.get("extensions") or {}):
        return await _send_problem(refused, send, "websocket.http.response")
    await send({"type": "websocket.close", "code": 1008, "reason": refused.reason})


async def _send_problem(refused: Refused, send: Send, kind: str) -> None:
    body = problem_body(refused)
    headers = {**problem_headers(refused), "content-length": str(len(body))}
    lines = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": f"{kind}.start", "status": refused.status, "headers": lines})
    await send({"type": f"{kind}.body", "body": body})


def _headers_of(scope: Scope) -> Dict[str, str]:
    """Two headers of one name are joined by a comma (RFC 9110 section 5.2)."""
    headers: Dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


async def _peek_body(receive: Receive, max_bytes: int) -> Tuple[Optional[bytes], Receive]:
    """Returns the body, None when it is longer, and what reads it again."""
    messages: List[Message] = []
    data, size, is_whole = [], 0, False
    while not is_whole and size <= max_bytes:
        message = await receive()
        messages.append(message)
        if message["type"] != "http.request":
            break
        part = message.get("body", b"")
        data.append(part)
        size += len(part)
        is_whole = not message.get("more_body", False)

    async def again() -> Message:
        return messages.pop(0) if messages else await receive()

    return (b"".join(data) if is_whole and size <= max_bytes else None), again


__all__ = ("CALL", "AsgiGuard", "Call", "Route", "call_of", "refuse")
