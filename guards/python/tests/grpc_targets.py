"""gRPC servers whose methods carry the requirements of the golden vectors as options."""
import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import grpc
from google.protobuf import any_pb2, descriptor_pb2, descriptor_pool, message_factory
from signet.authz.v1 import context_pb2, denial_pb2, requirement_pb2

from signet_guard import requirement as language
from signet_guard.grpc import GrpcGuard, caller_of
from signet_guard.grpc_aio import AioGrpcGuard, current_caller

SOURCES = {"PATH": requirement_pb2.PATH, "BODY": requirement_pb2.BODY, "HEADER": requirement_pb2.HEADER, "TOKEN": requirement_pb2.TOKEN}
ON_STALE = {"DENY": 1, "INTROSPECT": 2, "ALLOW": 3}


def wire_of(requirement, wire=None):
    """A requirement as the method option has it."""
    wire = requirement_pb2.AuthRequirement() if wire is None else wire
    check = requirement.check
    if isinstance(check, language.Public):
        wire.public = True
    elif isinstance(check, language.BodyCredential):
        wire.body_credential = True
    elif isinstance(check, language.Scope):
        wire.scope = check.scope
    elif isinstance(check, language.Action):
        wire.action = check.action
    elif isinstance(check, language.Role):
        wire.role = check.role
    elif isinstance(check, language.ResourceAction):
        wire.resource_action.action, wire.resource_action.type = check.action, check.type
        wire.resource_action.field = check.field
        setattr(wire.resource_action, "from", SOURCES[check.source])
    elif isinstance(check, language.Kinds):
        wire.kinds.of.extend(context_pb2.PrincipalKind.Value(kind) for kind in check.of)
    elif isinstance(check, language.Tenant):
        wire.tenant.field = check.field
        setattr(wire.tenant, "from", SOURCES[check.source])
    elif isinstance(check, language.Delegated):
        wire.delegated.actors.extend(check.actors)
    elif isinstance(check, language.Device):
        wire.device.proof = check.proof
    else:
        composite = wire.any_of if isinstance(check, language.AnyOf) else wire.all_of
        composite.SetInParent()
        for part in check.of:
            wire_of(part, composite.of.add())
    if requirement.freshness is not None:
        wire.freshness.max_staleness.FromMilliseconds(int(requirement.freshness.max_staleness_ms))
        wire.freshness.on_stale = ON_STALE[requirement.freshness.on_stale]
    wire.max_auth_age_seconds = requirement.max_auth_age_seconds
    wire.allow_delegated = requirement.allow_delegated
    return wire


class Contract:
    """One service with a method for each requirement: unary, and a stream of one response."""

    _number = 0

    def __init__(self, requirements):
        Contract._number += 1
        package = f"signet.guard.test.v{Contract._number}"
        file = descriptor_pb2.FileDescriptorProto(name=f"{package}.proto", package=package, syntax="proto3")
        file.dependency.append("signet/authz/v1/requirement.proto")
        text, message = descriptor_pb2.FieldDescriptorProto.TYPE_STRING, descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE
        note = file.message_type.add(name="Note")
        note.field.add(name="id", number=1, type=text, label=1)
        request = file.message_type.add(name="Request")
        request.field.add(name="tenant_id", number=1, type=text, label=1)
        request.field.add(name="note", number=2, type=message, type_name=f".{package}.Note", label=1)
        request.field.add(name="tags", number=3, type=text, label=3)
        request.field.add(name="count", number=4, type=descriptor_pb2.FieldDescriptorProto.TYPE_INT32, label=1)
        response = file.message_type.add(name="Response")
        response.field.add(name="caller", number=1, type=text, label=1)
        service = file.service.add(name="Service")
        for i, requirement in enumerate(requirements):
            for kind in ("Unary", "Stream"):
                method = service.method.add(
                    name=f"{kind}{i}", input_type=f".{package}.Request", output_type=f".{package}.Response"
                )
                method.server_streaming = kind == "Stream"
                if requirement is not None:
                    wire_of(requirement, method.options.Extensions[requirement_pb2.requires])
        pool = descriptor_pool.Default()
        pool.AddSerializedFile(file.SerializeToString())
        self.service = pool.FindServiceByName(f"{package}.Service")
        self.request = class_of(pool.FindMessageTypeByName(f"{package}.Request"))
        self.response = class_of(pool.FindMessageTypeByName(f"{package}.Response"))

    def path(self, method):
        return f"/{self.service.full_name}/{method}"


def class_of(descriptor):
    if hasattr(message_factory, "GetMessageClass"):
        return message_factory.GetMessageClass(descriptor)
    return message_factory.MessageFactory(descriptor_pool.Default()).GetPrototype(descriptor)


def message_of(contract, request):
    message = contract.request(tenant_id=request.get("tenant_id", ""))
    if "note.id" in request:
        message.note.id = request["note.id"]
    return message


def outcome_of(error):
    """What the client sees of a refusal."""
    trailers = dict(error.trailing_metadata())
    reason, metadata, denial = details_of(trailers["grpc-status-details-bin"])
    return {
        "allow": False,
        "reason": reason,
        "status": denial.status_code,
        "message": denial.safe_message,
        "metadata": metadata,
        "challenge": trailers.get("www-authenticate"),
    }


def details_of(data):
    """google.rpc.Status and ErrorInfo, read by messages that are built here: other names, the same numbers."""
    status = STATUS.FromString(data)
    info, denial = ERROR_INFO(), denial_pb2.Denial()
    for detail in status.details:
        if detail.type_url == "type.googleapis.com/google.rpc.ErrorInfo":
            info.ParseFromString(detail.value)
        elif detail.Is(denial_pb2.Denial.DESCRIPTOR):
            detail.Unpack(denial)
    assert info.domain == "signet", info
    return info.reason, {entry.key: entry.value for entry in info.metadata}, denial


def _details_messages():
    file = descriptor_pb2.FileDescriptorProto(name="signet.guard.test.details.proto", syntax="proto3")
    file.package = "signet.guard.test.details"
    file.dependency.append("google/protobuf/any.proto")
    text, message = descriptor_pb2.FieldDescriptorProto.TYPE_STRING, descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE
    status = file.message_type.add(name="Status")
    status.field.add(name="code", number=1, type=descriptor_pb2.FieldDescriptorProto.TYPE_INT32, label=1)
    status.field.add(name="message", number=2, type=text, label=1)
    status.field.add(name="details", number=3, type=message, type_name=".google.protobuf.Any", label=3)
    entry = file.message_type.add(name="Entry")
    entry.field.add(name="key", number=1, type=text, label=1)
    entry.field.add(name="value", number=2, type=text, label=1)
    info = file.message_type.add(name="ErrorInfo")
    info.field.add(name="reason", number=1, type=text, label=1)
    info.field.add(name="domain", number=2, type=text, label=1)
    info.field.add(name="metadata", number=3, type=message, type_name=".signet.guard.test.details.Entry", label=3)
    assert any_pb2
    pool = descriptor_pool.Default()
    pool.AddSerializedFile(file.SerializeToString())
    return [class_of(pool.FindMessageTypeByName(f"{file.package}.{name}")) for name in ("Status", "ErrorInfo")]


STATUS, ERROR_INFO = _details_messages()


class _Server:
    """One server a target, because a target has one guard, app and requirement."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def target(self, guard, requirement, find_resource):
        contract = Contract([requirement])
        port, stop = self.start(contract, guard, find_resource)
        channel = grpc.insecure_channel(f"127.0.0.1:{port}", [("grpc.max_metadata_size", 65_536)])
        methods = [
            make(
                contract.path(name),
                request_serializer=contract.request.SerializeToString,
                response_deserializer=contract.response.FromString,
            )
            for make, name in ((channel.unary_unary, "Unary0"), (channel.unary_stream, "Stream0"))
        ]

        def call(authorization, request):
            metadata = () if authorization is None else (("authorization", authorization),)
            outcomes = []
            for is_stream, method in enumerate(methods):
                try:
                    answer = method(message_of(contract, request), metadata=metadata, timeout=20)
                    response = list(answer)[0] if is_stream else answer
                    outcomes.append({"allow": True, "caller": response.caller or None})
                except grpc.RpcError as error:
                    outcomes.append(outcome_of(error))
            assert outcomes[0] == outcomes[1], outcomes
            return outcomes[0]

        def close():
            channel.close()
            stop()

        call.close = close
        return call


class SyncServer(_Server):
    def start(self, contract, guard, find_resource):
        def unary(request, context):
            caller = caller_of(context)
            return contract.response(caller=caller.principal.id if caller else "")

        def stream(request, context):
            yield unary(request, context)

        interceptor = GrpcGuard(guard, services=[contract.service], find_resource=find_resource)
        server = grpc.server(
            ThreadPoolExecutor(2), interceptors=[interceptor], options=[("grpc.max_metadata_size", 65_536)]
        )
        server.add_generic_rpc_handlers((handlers_of(contract, unary, stream),))
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        return port, lambda: server.stop(None)


class AioServer(_Server):
    def __enter__(self):
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()

    def run(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(20)

    def start(self, contract, guard, find_resource):
        async def unary(request, context):
            caller = current_caller()
            return contract.response(caller=caller.principal.id if caller else "")

        async def stream(request, context):
            yield await unary(request, context)

        async def start():
            interceptor = AioGrpcGuard(guard, services=[contract.service], find_resource=find_resource)
            server = grpc.aio.server(interceptors=[interceptor], options=[("grpc.max_metadata_size", 65_536)])
            server.add_generic_rpc_handlers((handlers_of(contract, unary, stream),))
            port = server.add_insecure_port("127.0.0.1:0")
            await server.start()
            return server, port

        server, port = self.run(start())
        return port, lambda: self.run(server.stop(None))


def handlers_of(contract, unary, stream):
    serializers = {
        "request_deserializer": contract.request.FromString,
        "response_serializer": contract.response.SerializeToString,
    }
    return grpc.method_handlers_generic_handler(
        contract.service.full_name,
        {
            "Unary0": grpc.unary_unary_rpc_method_handler(unary, **serializers),
            "Stream0": grpc.unary_stream_rpc_method_handler(stream, **serializers),
        },
    )
