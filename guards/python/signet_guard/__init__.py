"""Verifies Signet's access tokens and decides what a requirement asks of their bearers.

The targets are modules of their own: signet_guard.grpc, signet_guard.grpc_aio, signet_guard.asgi, signet_guard.wsgi.
"""
from .authorize import Allow, AuthDecision, Deny, RequestFacts
from .context import NOT_LOADED, AuthContext, AuthorityVersions, Delegation, Grants, NotLoaded, PrincipalRef
from .fetch import FetchRequest, StatusError, fetch_text
from .grants import HeldGrant, PermissionSnapshot, Place, ResourceRef, SnapshotRole
from .guard import ANY_APP, AppId, Guard
from .introspection import Introspection
from .key_set import KeySet, KeySetLimits, KeySource
from .liveness import Liveness, LivenessFacts, SessionFacts
from .permission_snapshots import PermissionSnapshots
from .problem import challenge_of, problem_of
from .refusals import REFUSALS, Reason, Refusal, Refused
from .requirement import (
    BODY,
    HEADER,
    PATH,
    TOKEN,
    Freshness,
    Requirement,
    action,
    all_of,
    any_of,
    body_credential,
    delegated,
    device,
    kinds,
    public,
    resource_action,
    role,
    scope,
    tenant,
)
from .revocation_feed import FeedError, RevocationFeed
from .routes import Call, Route
from .service_token import ServiceToken
from .target import Target

__version__ = "0.1.0"

__all__ = [
    "ANY_APP",
    "Allow",
    "AppId",
    "AuthContext",
    "AuthDecision",
    "AuthorityVersions",
    "BODY",
    "Call",
    "Delegation",
    "Deny",
    "FeedError",
    "FetchRequest",
    "Freshness",
    "Grants",
    "Guard",
    "HEADER",
    "HeldGrant",
    "Introspection",
    "KeySet",
    "KeySetLimits",
    "KeySource",
    "Liveness",
    "LivenessFacts",
    "NOT_LOADED",
    "NotLoaded",
    "PATH",
    "PermissionSnapshot",
    "PermissionSnapshots",
    "Place",
    "PrincipalRef",
    "REFUSALS",
    "Reason",
    "Refusal",
    "Refused",
    "RequestFacts",
    "Requirement",
    "ResourceRef",
    "RevocationFeed",
    "Route",
    "ServiceToken",
    "SessionFacts",
    "SnapshotRole",
    "StatusError",
    "TOKEN",
    "Target",
    "action",
    "all_of",
    "any_of",
    "body_credential",
    "challenge_of",
    "delegated",
    "device",
    "fetch_text",
    "kinds",
    "problem_of",
    "public",
    "resource_action",
    "role",
    "scope",
    "tenant",
]
