"""The guard for gRPC servers that run on asyncio: an interceptor for `grpc.aio.server`."""
from __future__ import annotations

import asyncio
import inspect
from concurrent.futures import Executor
from contextvars import ContextVar
from typing import Any, AsyncIterator, Awaitable, Callable, Mapping, NoReturn, Optional, Sequence

import grpc
from google.protobuf.descriptor import ServiceDescriptor

from .context import AuthContext
from .grpc_errors import code_of, trailers_of
from .grpc_methods import GuardedMethod, MethodTable, decode
from .guard import Guard
from .refusals import Refused
from .requirement import Requirement
from .target import FindResource, OnDeny

# A call runs in a task of its own, and so in a context of its own.
_caller: "ContextVar[Optional[AuthContext]]" = ContextVar("signet_guard_caller")


def current_caller() -> Optional[AuthContext]:
    """Returns the caller: None in public methods, and where a request carries its own credential and no valid token.

    Raises LookupError for a call that did not pass a guard.
    """
    return _caller.get()


class AioGrpcGuard(grpc.aio.ServerInterceptor):
    """Authenticates before the message is decoded, authorizes with the message. Handlers are coroutines.

    A handler that raises Refused answers with that refusal.
    """

    def __init__(
        self,
        guard: Guard,
        *,
        services: Sequence[ServiceDescriptor],
        requirements: Optional[Mapping[str, Requirement]] = None,
        find_resource: Optional[FindResource] = None,
        on_deny: Optional[OnDeny] = None,
        executor: Optional[Executor] = None,
    ) -> None:
        """As GrpcGuard. executor: where tokens are verified, because keys may have to be fetched."""
        self._methods = MethodTable(guard, services, requirements or {}, find_resource, on_deny)
        self._executor = executor

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Any:
        handler = await continuation(handler_call_details)
        if handler is None:
            return None
        try:
            method: Optional[GuardedMethod] = self._methods.find(handler_call_details.method)
        except Refused:
            method = None
        return _guarded(handler, method, self._executor)


def _guarded(handler: Any, method: Optional[GuardedMethod], executor: Optional[Executor]) -> Any:
    deserialize = handler.request_deserializer
    is_stream = handler.request_streaming

    async def admit(data: Any, context: Any) -> Any:
        """Returns the message, or the stream of messages, of a call that may go on."""

        def decide() -> Any:
            if method is None:
                raise Refused("METHOD_UNKNOWN")
            metadata = tuple(context.invocation_metadata() or ())
            caller = method.authenticate(metadata)
            if is_stream or isinstance(caller, str):
                # Either there is no one message, or the decision rests on nothing else.
                admitted = method.admit(caller, metadata, None)
                return admitted, data if is_stream else decode(deserialize, data)
            message = decode(deserialize, data)
            return method.admit(caller, metadata, message), message

        admitted, message = await asyncio.get_running_loop().run_in_executor(executor, decide)
        _caller.set(admitted)
        return message

    inner = (
        (handler.stream_stream if is_stream else handler.unary_stream)
        if handler.response_streaming
        else (handler.stream_unary if is_stream else handler.unary_unary)
    )

    async def one(data: Any, context: Any) -> Any:
        try:
            message = await admit(data, context)
            if not inspect.iscoroutinefunction(inner):
                raise TypeError("a guarded handler must be a coroutine")
            return await inner(message, context)
        except Refused as refused:
            await abort(context, refused)

    async def many(data: Any, context: Any) -> AsyncIterator[Any]:
        try:
            message = await admit(data, context)
            if not inspect.isasyncgenfunction(inner):
                raise TypeError("a guarded handler must be an async generator")
            async for response in inner(message, context):
                yield response
        except Refused as refused:
            await abort(context, refused)

    async def written(data: Any, context: Any) -> None:
        try:
            await inner(await admit(data, context), context)
        except Refused as refused:
            await abort(context, refused)

    serialize = handler.response_serializer
    # admit() decodes, after the caller is known.
    first = deserialize if is_stream else None
    if not handler.response_streaming:
        make = grpc.stream_unary_rpc_method_handler if is_stream else grpc.unary_unary_rpc_method_handler
        return make(one, first, serialize)
    make = grpc.stream_stream_rpc_method_handler if is_stream else grpc.unary_stream_rpc_method_handler
    # A handler that writes its responses to the context is a plain coroutine.
    return make(written if inspect.iscoroutinefunction(inner) else many, first, serialize)


async def abort(context: Any, refused: Refused) -> NoReturn:
    """Ends the call with a refusal: status, details and challenge."""
    context.set_trailing_metadata(trailers_of(refused))
    await context.abort(code_of(refused), refused.message)
    raise AssertionError("abort does not return")
