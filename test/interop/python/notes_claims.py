"""What the claims of an access token may be, and the AuthContext that they are."""
import re

from google.protobuf import json_format
from signet.authz.v1 import context_pb2 as context

MAX_LIFE_SECONDS = 900
MAX_ACT_DEPTH = 3
ID = re.compile(r"([a-z]{3})_[0-9a-hjkmnp-tv-z]{26}")
METHODS = {
    "session": context.USER_SESSION,
    "client_credentials": context.CLIENT_CREDENTIALS,
    "pat": context.PERSONAL_ACCESS_TOKEN,
    "on_behalf_of": context.ON_BEHALF_OF,
}
OPTIONAL_IDS = {
    "identity_id": "idn", "tenant_id": "ten", "context_id": "ctx", "sid": "ses", "osid": "ses", "did": "dev",
}


def check_claims(claims):
    """What is wrong with a verified payload, as a reason: types, lifetime, and the shapes that a grant gives."""
    if not is_count(claims.get("exp")):
        return "TOKEN_EXPIRED"
    if not is_count(claims.get("nbf")) or not is_count(claims.get("iat")):
        return "TOKEN_NOT_YET_VALID"
    if claims["exp"] - claims["iat"] > MAX_LIFE_SECONDS:
        return "TOKEN_EXPIRED"
    if not is_id("app", claims.get("app_id")) or claims.get("principal_type") not in ("user", "service"):
        return "MALFORMED_CREDENTIAL"
    reason = check_act(claims["act"], 1) if "act" in claims else None
    return reason or (None if is_well_formed(claims) else "MALFORMED_CREDENTIAL")


def is_well_formed(claims):
    if any(name in claims and not is_id(kind, claims[name]) for name, kind in OPTIONAL_IDS.items()):
        return False
    if any(name in claims and not is_text(claims[name]) for name in ("cred_id", "job_id")):
        return False
    gty = claims.get("gty")
    if not is_text(gty) or gty not in METHODS or not is_id("prn", claims.get("sub")):
        return False
    is_user = claims["principal_type"] == "user"
    if is_user != ("identity_id" in claims) or ("sid" in claims) != (gty == "session"):
        return False
    if is_user == (gty == "client_credentials"):
        return False
    if gty == "on_behalf_of":
        if "act" not in claims or "job_id" not in claims:
            return False
    elif any(name in claims for name in ("act", "job_id", "osid")):
        return False
    if "did" in claims and gty != "session":
        return False
    if "auth_time" in claims and not is_count(claims["auth_time"]):
        return False
    return (
        is_text(claims.get("jti"))
        and is_text(claims.get("client_id"))
        and is_count(claims.get("perm_ver"))
        and all(isinstance(claims.get(name), list) and all(map(is_text, claims[name])) for name in ("scp", "amr"))
    )


def check_act(act, depth):
    if depth > MAX_ACT_DEPTH:
        return "DELEGATION_CHAIN_TOO_DEEP"
    if not isinstance(act, dict) or not is_id("prn", act.get("sub")) or act.get("principal_type") != "service":
        return "MALFORMED_CREDENTIAL"
    if not is_text(act.get("client_id")):
        return "MALFORMED_CREDENTIAL"
    return check_act(act["act"], depth + 1) if "act" in act else None


def context_of(claims):
    """The AuthContext of claims that were checked."""
    who = context.AuthContext(
        principal=context.PrincipalRef(
            id=claims["sub"], kind=context.USER if claims["principal_type"] == "user" else context.SERVICE
        ),
        identity_id=claims.get("identity_id", ""),
        app_id=claims["app_id"],
        tenant_id=claims.get("tenant_id", ""),
        context_id=claims.get("context_id", ""),
        session_id=claims.get("sid", ""),
        device_id=claims.get("did", ""),
        token_id=claims["jti"],
        credential_id=claims.get("cred_id", ""),
        issuer=claims["iss"],
        audience=claims["aud"],
        scopes=claims["scp"],
        method=METHODS[claims["gty"]],
    )
    json_format.ParseDict(claims, who.claims)
    # Only the outermost actor decides (RFC 8693 section 4.1).
    if "act" in claims:
        who.actor.id, who.actor.kind = claims["act"]["sub"], context.SERVICE
        who.delegation.actor.CopyFrom(who.actor)
        who.delegation.job_id = claims["job_id"]
        who.delegation.origin_session_id = claims.get("osid", "")
        who.delegation.expires_at.seconds = int(claims["exp"])
    return who


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_count(value):
    return is_number(value) and 0 <= value <= 2**53 - 1 and value == int(value)


def is_text(value):
    return isinstance(value, str) and value != ""


def is_id(kind, value):
    match = ID.fullmatch(value) if isinstance(value, str) else None
    return match is not None and match[1] == kind
