"""A gRPC client that knows the contract only: stubs from proto/, no code of ours.

A service gets its own token, exchanges a user's, asks about it and ends it; prints what it saw as JSON.
Usage: tokens.py STUBS HOST:PORT  (ids, secrets and the user's token as JSON on standard input)
"""
import json
import sys

stubs, target = sys.argv[1:3]
sys.path.insert(0, stubs)

import grpc  # noqa: E402
from google.rpc import error_details_pb2, status_pb2  # noqa: E402
from signet.auth.v1 import token_service_pb2 as tokens  # noqa: E402

channel = grpc.insecure_channel(target)
given = json.load(sys.stdin)
ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token"


def call(method, request, response_type):
    invoke = channel.unary_unary(
        f"/signet.auth.v1.TokenService/{method}",
        request_serializer=lambda message: message.SerializeToString(),
        response_deserializer=response_type.FromString,
    )
    return invoke(request, timeout=10)


def refusal(method, request, response_type):
    """Code, reason, and what RFC 6749 calls it."""
    try:
        call(method, request, response_type)
    except grpc.RpcError as error:
        for key, value in error.trailing_metadata() or ():
            if key == "grpc-status-details-bin":
                for detail in status_pb2.Status.FromString(value).details:
                    info = error_details_pb2.ErrorInfo()
                    if detail.Unpack(info):
                        return [error.code().name, info.reason, info.metadata["error"]]
        return [error.code().name]
    return None


def token(**fields):
    return tokens.TokenRequest(client_id=given["client_id"], client_secret=given["client_secret"], **fields)


seen = {}
own = call("Token", token(grant_type="client_credentials", audience="svc-notes"), tokens.TokenResponse)
seen["own"] = [own.token_type, own.expires_in, own.scope]
exchange = dict(
    grant_type="on_behalf_of", subject_token_type=ACCESS_TOKEN, audience="svc-notes", scope="notes.read", job_id="python"
)
delegated = call("Token", token(subject_token=given["subject_token"], **exchange), tokens.TokenResponse)
seen["delegated"] = [delegated.issued_token_type, delegated.scope]
seen["empty subject"] = refusal("Token", token(subject_token="", **exchange), tokens.TokenResponse)[:2]
seen["no subject"] = refusal("Token", token(**exchange), tokens.TokenResponse)
seen["too much"] = refusal(
    "Token", token(**{**exchange, "scope": "notes.admin", "subject_token": given["subject_token"]}), tokens.TokenResponse
)
ask = tokens.IntrospectRequest(
    token=delegated.access_token, client_id=given["notes_id"], client_secret=given["notes_secret"]
)
told = call("Introspect", ask, tokens.IntrospectResponse)
seen["told"] = [told.active, told.principal_type, told.act.client_id == given["client_id"], told.job_id]
call(
    "Revoke",
    tokens.RevokeRequest(
        token=delegated.access_token, client_id=given["client_id"], client_secret=given["client_secret"]
    ),
    tokens.RevokeResponse,
)
seen["after"] = call("Introspect", ask, tokens.IntrospectResponse).active
metadata = call(
    "GetAuthorizationServerMetadata",
    tokens.GetAuthorizationServerMetadataRequest(),
    tokens.GetAuthorizationServerMetadataResponse,
)
seen["endpoint"] = metadata.token_endpoint
print(json.dumps(seen))
