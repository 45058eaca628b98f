"""A service of somebody else's: it knows Signet's contract and the guard for Python.

Usage: notes.py GUARD STUBS serve SERVICE | decide | call
What each needs comes as one JSON object on standard input; GUARD is the folder of the package signet_guard.
"""
import concurrent.futures
import json
import sys

sys.path[:0] = sys.argv[1:3]

import grpc  # noqa: E402
from google.protobuf import json_format  # noqa: E402
from google.rpc import error_details_pb2, status_pb2  # noqa: E402

# The library's package and the stubs' have one name.
grpc.__path__.append(f"{sys.argv[2]}/grpc")
from grpc.health.v1 import health_pb2  # noqa: E402
from signet.auth.v1 import auth_service_pb2 as auth  # noqa: E402
from signet.authz.v1 import denial_pb2, requirement_pb2  # noqa: E402
from signet.example.notes.v1 import notes_pb2 as notes  # noqa: E402

from signet_guard import ANY_APP, Freshness, Guard, KeySet, RequestFacts  # noqa: E402
from signet_guard.authorize import Question, authorize  # noqa: E402
from signet_guard.context import context_of  # noqa: E402
from signet_guard.grpc import GrpcGuard, caller_of  # noqa: E402
from signet_guard.proto import parse_requirement, wire_context  # noqa: E402


class Notes:
    """The service: nothing in it looks at a token."""

    def __init__(self):
        self.texts = {}

    def CreateNote(self, request, context):
        caller = caller_of(context)
        self.texts.setdefault(caller.tenant_id, []).append(request.text)
        return notes.CreateNoteResponse(author=caller.principal.id)

    def ListNotes(self, request, context):
        for text in list(self.texts.get(caller_of(context).tenant_id, ())):
            yield notes.ListNotesResponse(text=text)

    def Whoami(self, request, context):
        return notes.WhoamiResponse(context=wire_context(caller_of(context)))

    def Ping(self, request, context):
        return notes.PingResponse()


def handler_of(method, implementation):
    kind = grpc.unary_stream_rpc_method_handler if method.server_streaming else grpc.unary_unary_rpc_method_handler
    request_type = getattr(notes, method.input_type.name)
    return kind(
        getattr(implementation, method.name, None),
        request_deserializer=request_type.FromString,
        response_serializer=lambda message: message.SerializeToString(),
    )


def serve(name):
    given = json.loads(sys.stdin.readline())
    service = notes.DESCRIPTOR.services_by_name[name]
    guard = Guard(issuer=given["issuer"], audience=given["audience"], app_id=ANY_APP, key_set=KeySet(given["jwksUrl"]))
    interceptor = GrpcGuard(guard, services=[service])
    implementation = Notes()
    handlers = {method.name: handler_of(method, implementation) for method in service.methods}
    # The longest token is 8,192 characters, which gRPC would have for all metadata together.
    options = [("grpc.max_metadata_size", 32768)]
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(4), interceptors=[interceptor], options=options)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service.full_name, handlers),))
    print(server.add_insecure_port("127.0.0.1:0"), flush=True)
    server.start()
    sys.stdin.read()
    server.stop(None)


def decide():
    decisions = []
    for case in json.load(sys.stdin):
        context = context_of(case["claims"])
        question = Question(
            context=context,
            requirement=parse_requirement(
                json_format.ParseDict(case["requirement"], requirement_pb2.AuthRequirement())
            ),
            issuer=context.issuer,
            audience=context.audience,
            app_id=None,
            request=RequestFacts(tenants=case["tenants"]),
            liveness=None,
            # Only what is decided after the token was verified is asked here.
            default_freshness=Freshness(0, "ALLOW"),
            snapshot=None,
            now_ms=context.issued_at_ms,
        )
        decision = authorize(question)
        reason = getattr(decision, "reason", None)
        if reason is None:
            decisions.append({"allow": True})
            continue
        told = {"status": decision.status, "message": decision.safe_message}
        beside = {"metadata": dict(decision.metadata)} if decision.metadata else {}
        decisions.append({"allow": False, "reason": reason, **told, **beside})
    print(json.dumps(decisions))


def look():
    """Calls Signet and prints what it saw."""
    given = json.loads(sys.stdin.readline())
    # Error details travel in trailers; gRPC takes 8 KiB in all, and what is more ends the call without a reason.
    options = [("grpc.max_metadata_size", 131072), ("grpc.absolute_max_metadata_size", 131072)]
    if given["ca"]:
        trusted = grpc.ssl_channel_credentials(given["ca"].encode("ascii"))
        channel = grpc.secure_channel(given["target"], trusted, options)
    else:
        channel = grpc.insecure_channel(given["target"], options)

    def me(*metadata, channel=channel):
        invoke = channel.unary_unary(
            "/signet.auth.v1.AuthService/Me",
            request_serializer=auth.MeRequest.SerializeToString,
            response_deserializer=auth.MeResponse.FromString,
        )
        return invoke(auth.MeRequest(), timeout=20, metadata=metadata)

    def reason_of(*metadata, **where):
        try:
            me(*metadata, **where)
        except grpc.RpcError as error:
            return describe(error)
        return None

    seen = {
        "principal": me(("authorization", f"Bearer {given['token']}")).principal.id,
        "anonymous": reason_of(),
        "other": reason_of(("authorization", f"Bearer {given['otherToken']}")),
        "crowded": reason_of(channel=grpc.insecure_channel(given["crowded"], options)),
        "health": [],
    }
    watch = channel.unary_stream(
        "/grpc.health.v1.Health/Watch",
        request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
        response_deserializer=health_pb2.HealthCheckResponse.FromString,
    )
    stream = watch(health_pb2.HealthCheckRequest(), timeout=20)
    for message in stream:
        seen["health"].append(health_pb2.HealthCheckResponse.ServingStatus.Name(message.status))
        if len(seen["health"]) == 1:
            # Whoever started this stops the server now, and the stream says so.
            print('"watching"', flush=True)
    seen["ended"] = stream.code().name
    print(json.dumps(seen))


def describe(error):
    """The typed reason: of google.rpc.ErrorInfo, and the status that signet.authz.v1.Denial has for REST."""
    seen = [error.code().name.capitalize()]
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin":
            for detail in status_pb2.Status.FromString(value).details:
                info, denial = error_details_pb2.ErrorInfo(), denial_pb2.Denial()
                if detail.Unpack(info):
                    seen += [info.domain, info.reason]
                elif detail.Unpack(denial):
                    seen += [denial.status_code]
    return seen


{"serve": serve, "decide": decide, "call": look}[sys.argv[3]](*sys.argv[4:])
