"""A service of somebody else's: it knows Signet's contract and nothing else of it.

Usage: notes.py STUBS REFUSALS serve SERVICE | decide | call
What each needs comes as one JSON object on standard input; REFUSALS has what docs/errors.md says of each reason.
"""
import concurrent.futures
import json
import sys

sys.path.insert(0, sys.argv[1])

import grpc  # noqa: E402
from google.protobuf import any_pb2, json_format  # noqa: E402
from google.rpc import error_details_pb2, status_pb2  # noqa: E402

# The library's package and the stubs' have one name.
grpc.__path__.append(f"{sys.argv[1]}/grpc")
from grpc.health.v1 import health_pb2  # noqa: E402
from signet.auth.v1 import auth_service_pb2 as auth  # noqa: E402
from signet.authz.v1 import denial_pb2, reason_pb2, requirement_pb2  # noqa: E402
from signet.example.notes.v1 import notes_pb2 as notes  # noqa: E402

from notes_claims import context_of  # noqa: E402
from notes_guard import authorize, check, requirement_of  # noqa: E402
from notes_token import KeySet, Refused, Verifier  # noqa: E402

with open(sys.argv[2], encoding="utf-8") as file:
    refusals = json.load(file)

CODES = {
    401: grpc.StatusCode.UNAUTHENTICATED,
    403: grpc.StatusCode.PERMISSION_DENIED,
    503: grpc.StatusCode.UNAVAILABLE,
}


class Notes:
    """The service: nothing in it looks at a token."""

    def __init__(self):
        self.texts = {}

    def CreateNote(self, request, caller):
        self.texts.setdefault(caller.tenant_id, []).append(request.text)
        return notes.CreateNoteResponse(author=caller.principal.id)

    def ListNotes(self, request, caller):
        for text in list(self.texts.get(caller.tenant_id, ())):
            yield notes.ListNotesResponse(text=text)

    def Whoami(self, request, caller):
        return notes.WhoamiResponse(context=caller)

    def Ping(self, request, caller):
        return notes.PingResponse()


def refuse(call, refused):
    """Says why, as google.rpc.ErrorInfo and signet.authz.v1.Denial."""
    told = refusals[refused.reason]
    code = CODES.get(told["status"], grpc.StatusCode.INTERNAL)
    rich = status_pb2.Status(code=code.value[0], message=told["message"])
    details = (
        error_details_pb2.ErrorInfo(reason=refused.reason, domain="signet", metadata=refused.metadata),
        denial_pb2.Denial(
            reason=reason_pb2.Reason.Value(refused.reason), status_code=told["status"], safe_message=told["message"]
        ),
    )
    for detail in details:
        packed = any_pb2.Any()
        packed.Pack(detail)
        rich.details.append(packed)
    call.set_trailing_metadata((("grpc-status-details-bin", rich.SerializeToString()),))
    call.abort(code, told["message"])


def guarded(method, implementation, verifier):
    """The method's handler: decides, then calls the implementation with the caller."""
    required = requirement_of(method)

    def admit(request, call):
        if required.WhichOneof("check") == "public":
            return None
        headers = [(key, value) for key, value in call.invocation_metadata()]

        def all_of(name):
            return [value for key, value in headers if key == name]

        def tenant_of(tenant):
            if getattr(tenant, "from") == requirement_pb2.HEADER:
                return ", ".join(all_of(tenant.field))
            value = request
            for name in tenant.field.split("."):
                value = getattr(value, name)
            return value

        try:
            caller = context_of(verifier.authenticate(all_of("authorization")))
            authorize(required, caller, tenant_of)
            return caller
        except Refused as refused:
            return refuse(call, refused)

    def stream(request, call):
        yield from implementation(request, admit(request, call))

    def unary(request, call):
        return implementation(request, admit(request, call))

    kind = grpc.unary_stream_rpc_method_handler if method.server_streaming else grpc.unary_unary_rpc_method_handler
    request_type = getattr(notes, method.input_type.name)
    return kind(
        stream if method.server_streaming else unary,
        request_deserializer=request_type.FromString,
        response_serializer=lambda message: message.SerializeToString(),
    )


def serve(name):
    given = json.loads(sys.stdin.readline())
    verifier = Verifier(given["issuer"], given["audience"], KeySet(given["jwksUrl"]))
    service = notes.DESCRIPTOR.services_by_name[name]
    implementation = Notes()
    handlers = {
        method.name: guarded(method, getattr(implementation, method.name, None), verifier)
        for method in service.methods
    }
    # The longest token is 8,192 characters, which gRPC would have for all metadata together.
    options = [("grpc.max_metadata_size", 32768)]
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(4), options=options)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service.full_name, handlers),))
    print(server.add_insecure_port("127.0.0.1:0"), flush=True)
    server.start()
    sys.stdin.read()
    server.stop(None)


def decide():
    decisions = []
    for case in json.load(sys.stdin):
        required = json_format.ParseDict(case["requirement"], requirement_pb2.AuthRequirement())
        check(required, None)

        def tenant_of(tenant, tenants=case["tenants"]):
            return tenants.get(f"{requirement_pb2.Source.Name(getattr(tenant, 'from'))} {tenant.field}", "")

        try:
            authorize(required, context_of(case["claims"]), tenant_of)
            decisions.append({"allow": True})
        except Refused as refused:
            told = {name: refusals[refused.reason][name] for name in ("status", "message")}
            beside = {"metadata": refused.metadata} if refused.metadata else {}
            decisions.append({"allow": False, "reason": refused.reason, **told, **beside})
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
