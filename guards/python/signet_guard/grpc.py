"""The guard for gRPC servers that run in threads: an interceptor for `grpc.server`."""
from __future__ import annotations

from typing import Any, Callable, Dict, Iterator, Mapping, NoReturn, Optional, Sequence
from weakref import WeakKeyDictionary

import grpc
from google.protobuf.descriptor import ServiceDescriptor

from .context import AuthContext
from .grpc_errors import code_of, trailers_of
from .grpc_methods import GuardedMethod, MethodTable, decode
from .guard import Guard
from .refusals import Refused
from .requirement import Requirement
from .target import FindResource, OnDeny

_callers: "WeakKeyDictionary[Any, Optional[AuthContext]]" = WeakKeyDictionary()


def caller_of(context: grpc.ServicerContext) -> Optional[AuthContext]:
    """Returns the caller: None in public methods, and where a request carries its own credential and no valid token.

    Raises KeyError for a call that did not pass a guard.
    """
    return _callers[context]


class GrpcGuard(grpc.ServerInterceptor):
    """Authenticates before the message is decoded, authorizes with the message.

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
    ) -> None:
        """
        services: every service that is served, as `notes_pb2.DESCRIPTOR.services_by_name["NotesService"]`. A call of
            another method is refused as unknown.
        requirements: by path, for methods whose contract has no requirement: health checks, for instance.
        Raises ValueError when a method has no requirement, or one that cannot be checked.
        """
        self._methods = MethodTable(guard, services, requirements or {}, find_resource, on_deny)

    def intercept_service(
        self, continuation: Callable[[Any], Any], handler_call_details: grpc.HandlerCallDetails
    ) -> Any:
        handler = continuation(handler_call_details)
        if handler is None:
            return None
        try:
            method = self._methods.find(handler_call_details.method)
        except Refused as refused:
            return _refusing(handler, refused)
        return _guarded(handler, method)


def _guarded(handler: Any, method: GuardedMethod) -> Any:
    deserialize = handler.request_deserializer

    def admit_message(data: Any, context: Any) -> Any:
        """Returns the message of a call that may go on."""
        metadata = context.invocation_metadata()
        caller = method.authenticate(metadata)
        if isinstance(caller, str):
            # The decision rests on nothing else, so the message need not be decoded.
            _callers[context] = method.admit(caller, metadata, None)
            return decode(deserialize, data)
        message = decode(deserialize, data)
        _callers[context] = method.admit(caller, metadata, message)
        return message

    def admit_stream(context: Any) -> None:
        metadata = context.invocation_metadata()
        _callers[context] = method.admit(method.authenticate(metadata), metadata, None)

    def unary_unary(data: Any, context: Any) -> Any:
        try:
            return handler.unary_unary(admit_message(data, context), context)
        except Refused as refused:
            abort(context, refused)

    def unary_stream(data: Any, context: Any) -> Iterator[Any]:
        try:
            yield from handler.unary_stream(admit_message(data, context), context)
        except Refused as refused:
            abort(context, refused)

    def stream_unary(messages: Any, context: Any) -> Any:
        try:
            admit_stream(context)
            return handler.stream_unary(messages, context)
        except Refused as refused:
            abort(context, refused)

    def stream_stream(messages: Any, context: Any) -> Iterator[Any]:
        try:
            admit_stream(context)
            yield from handler.stream_stream(messages, context)
        except Refused as refused:
            abort(context, refused)

    serialize = handler.response_serializer
    if handler.request_streaming:
        kinds: Dict[bool, Any] = {False: stream_unary, True: stream_stream}
        make = (grpc.stream_unary_rpc_method_handler, grpc.stream_stream_rpc_method_handler)
    else:
        kinds = {False: unary_unary, True: unary_stream}
        make = (grpc.unary_unary_rpc_method_handler, grpc.unary_stream_rpc_method_handler)
        # admit_message decodes, after the caller is known.
        deserialize_first = None
        return make[handler.response_streaming](kinds[handler.response_streaming], deserialize_first, serialize)
    return make[handler.response_streaming](kinds[handler.response_streaming], deserialize, serialize)


def _refusing(handler: Any, refused: Refused) -> Any:
    def refuse(_: Any, context: Any) -> NoReturn:
        abort(context, refused)

    def refuse_stream(_: Any, context: Any) -> Iterator[Any]:
        abort(context, refused)
        yield  # pragma: no cover

    if handler.request_streaming:
        if handler.response_streaming:
            return grpc.stream_stream_rpc_method_handler(refuse_stream)
        return grpc.stream_unary_rpc_method_handler(refuse)
    if handler.response_streaming:
        return grpc.unary_stream_rpc_method_handler(refuse_stream)
    return grpc.unary_unary_rpc_method_handler(refuse)


def abort(context: grpc.ServicerContext, refused: Refused) -> NoReturn:
    """Ends the call with a refusal: status, details and challenge."""
    context.set_trailing_metadata(trailers_of(refused))
    context.abort(code_of(refused), refused.message)
    raise AssertionError("abort does not return")
