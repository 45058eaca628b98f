"""The requirement in a method's descriptor, and whether a caller meets it."""
import re

from google.protobuf.descriptor import FieldDescriptor
from signet.authz.v1 import context_pb2 as context
from signet.authz.v1 import requirement_pb2 as requirement

from notes_token import Refused


def requirement_of(method):
    """The method's option. A method that says nothing, or asks for what is not checked here, is refused."""
    options = method.GetOptions()
    if not options.HasExtension(requirement.requires):
        raise ValueError(f"{method.full_name}: no (signet.authz.v1.requires)")
    required = options.Extensions[requirement.requires]
    try:
        check(required, method.input_type)
    except ValueError as error:
        raise ValueError(f"{method.full_name}: {error}") from None
    return required


def check(required, message, in_composite=False):
    """message is None where there is none, as in the decision vectors."""
    if required.HasField("freshness") or required.max_auth_age_seconds or len(required.UnknownFields()) > 0:
        raise ValueError("an option that is not checked here")
    kind = required.WhichOneof("check")
    if kind == "public":
        if in_composite or not required.public:
            raise ValueError("public is true, and stands alone")
    elif kind == "scope":
        if not required.scope:
            raise ValueError("an empty scope")
    elif kind == "kinds":
        if not required.kinds.of or context.PRINCIPAL_KIND_UNSPECIFIED in required.kinds.of:
            raise ValueError("kinds without a kind")
    elif kind == "tenant":
        check_source(required.tenant, message)
    elif kind in ("any_of", "all_of"):
        parts = getattr(required, kind).of
        if not parts:
            raise ValueError("an empty composite")
        for part in parts:
            check(part, message, in_composite=True)
    else:
        raise ValueError("no check, or one that is not known here")


def check_source(tenant, message):
    source = getattr(tenant, "from")
    if source == requirement.TOKEN:
        if tenant.field:
            raise ValueError("the token's tenant has no field")
    elif source == requirement.HEADER:
        if not re.fullmatch(r"[a-z0-9-]+", tenant.field):
            raise ValueError(f'"{tenant.field}" is no header in lower case')
    elif source in (requirement.BODY, requirement.PATH):
        if message is None:
            return
        field = None
        for name in tenant.field.split("."):
            field = message.fields_by_name.get(name) if message is not None else None
            if field is None or field.label == FieldDescriptor.LABEL_REPEATED:
                raise ValueError(f'no field "{tenant.field}"')
            message = field.message_type
        if field.type != FieldDescriptor.TYPE_STRING:
            raise ValueError(f'"{tenant.field}" is no text')
    else:
        raise ValueError("a tenant from nowhere")


def authorize(required, who, tenant_of):
    """Raises Refused. tenant_of answers with the tenant that the request names."""
    takes_actor = evaluate(required, who, tenant_of)
    if who.HasField("actor") and not takes_actor:
        raise Refused("ACTOR_NOT_ALLOWED", 8)


def evaluate(required, who, tenant_of):
    """Whether what passed takes an actor. Raises Refused."""
    kind = required.WhichOneof("check")
    if kind == "scope":
        if required.scope not in who.scopes:
            raise Refused("MISSING_SCOPE", 6, required.scope)
    elif kind == "kinds":
        if who.principal.kind not in required.kinds.of:
            raise Refused("PRINCIPAL_KIND_NOT_ALLOWED", 5)
    elif kind == "tenant":
        if not who.tenant_id:
            raise Refused("TENANT_REQUIRED", 4)
        if getattr(required.tenant, "from") != requirement.TOKEN and tenant_of(required.tenant) != who.tenant_id:
            raise Refused("TENANT_MISMATCH", 4)
    elif kind in ("any_of", "all_of"):
        passed, failures = [], []
        for part in getattr(required, kind).of:
            try:
                passed.append(evaluate(part, who, tenant_of))
            except Refused as refused:
                failures.append(refused)
        # The furthest of any, the earliest of all; of equals the first.
        if kind == "any_of" and not passed:
            raise max(failures, key=lambda refused: refused.step)
        if kind == "all_of" and failures:
            raise min(failures, key=lambda refused: refused.step)
        return required.allow_delegated or any(passed)
    else:
        raise Refused("INTERNAL")
    return required.allow_delegated
