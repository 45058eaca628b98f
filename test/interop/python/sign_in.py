"""A gRPC client that knows the contract only: stubs from proto/, no code of ours.

Signs in, lists sessions, refreshes, presents the old refresh token again and prints what it saw as JSON.
Usage: sign_in.py STUBS HOST:PORT  (the sign-in request as JSON on standard input)
"""
import json
import sys

stubs, target = sys.argv[1:3]
sys.path.insert(0, stubs)

import grpc  # noqa: E402
from google.protobuf import json_format  # noqa: E402
from google.rpc import error_details_pb2, status_pb2  # noqa: E402
from signet.auth.v1 import auth_service_pb2 as auth  # noqa: E402
from signet.auth.v1 import session_service_pb2 as sessions  # noqa: E402

channel = grpc.insecure_channel(target)


def call(service, method, request, response_type, metadata=()):
    invoke = channel.unary_unary(
        f"/signet.auth.v1.{service}/{method}",
        request_serializer=lambda message: message.SerializeToString(),
        response_deserializer=response_type.FromString,
    )
    return invoke(request, timeout=10, metadata=metadata)


def reason_of(error):
    """The typed reason in the rich error details (grpc-status-details-bin)."""
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin":
            status = status_pb2.Status.FromString(value)
            for detail in status.details:
                info = error_details_pb2.ErrorInfo()
                if detail.Unpack(info):
                    return info.reason
    return None


def refusal(service, method, request, response_type, metadata=()):
    try:
        call(service, method, request, response_type, metadata)
    except grpc.RpcError as error:
        return [error.code().name, reason_of(error)]
    return None


seen = {}
login = call(
    "AuthService",
    "ExternalLogin",
    json_format.Parse(sys.stdin.read(), auth.ExternalLoginRequest()),
    auth.ExternalLoginResponse,
)
seen["principal"] = login.principal.id
bearer = (("authorization", f"Bearer {login.access_token}"),)
listed = call("SessionService", "ListSessions", sessions.ListSessionsRequest(), sessions.ListSessionsResponse, bearer)
seen["sessions"] = len(listed.sessions)
seen["anonymous"] = refusal("AuthService", "Me", auth.MeRequest(), auth.MeResponse)
seen["invalid"] = refusal(
    "SessionService", "RevokeSession", sessions.RevokeSessionRequest(session_id="nonsense"), sessions.RevokeSessionResponse, bearer
)
first = auth.RefreshRequest(refresh_token=login.refresh_token)
refreshed = call("AuthService", "Refresh", first, auth.RefreshResponse)
seen["refreshed"] = refreshed.refresh_token != login.refresh_token
seen["reuse"] = refusal("AuthService", "Refresh", first, auth.RefreshResponse)
seen["successor"] = refusal(
    "AuthService", "Refresh", auth.RefreshRequest(refresh_token=refreshed.refresh_token), auth.RefreshResponse
)
seen["revoked"] = refusal("AuthService", "Me", auth.MeRequest(), auth.MeResponse, bearer)
print(json.dumps(seen))
