"""The contract's messages: the requirement in a method's option, and the caller as signet.authz.v1.AuthContext."""
from __future__ import annotations

import re
from typing import Any, Callable, Dict, List, Optional

from google.protobuf import descriptor_pb2, json_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor
from signet.authz.v1 import context_pb2, requirement_pb2

from .context import AuthContext, NotLoaded, PrincipalRef, thawed
from .requirement import (
    BODY,
    HEADER,
    PATH,
    TOKEN,
    Action,
    AllOf,
    AnyOf,
    BodyCredential,
    Check,
    Delegated,
    Device,
    Freshness,
    Kinds,
    Public,
    Requirement,
    ResourceAction,
    Role,
    Scope,
    Tenant,
    check_requirement,
)

_ACTION = re.compile(r"[a-z0-9_-]+\.[a-z0-9_-]+\.[a-z0-9_-]+")
_HEADER_NAME = re.compile(r"[a-z0-9-]+")
_ON_STALE = {0: "DENY", 1: "DENY", 2: "INTROSPECT", 3: "ALLOW"}


def requirement_of(method: MethodDescriptor) -> Requirement:
    """Returns what the method's option (signet.authz.v1.requires) asks of callers.

    Raises ValueError, naming the method, when it has none or one that cannot be checked.
    """
    options = method.GetOptions()
    extension: Any = requirement_pb2.requires
    if not options.HasExtension(extension):
        raise ValueError(f"{method.full_name}: no (signet.authz.v1.requires)")
    try:
        requirement = parse_requirement(options.Extensions[extension])
        check_method(requirement, method)
        return requirement
    except ValueError as error:
        raise ValueError(f"{method.full_name}: {error}") from None


def check_method(requirement: Requirement, method: Optional[MethodDescriptor]) -> None:
    """Raises ValueError when the requirement cannot be checked on the method; None: a method of unknown messages."""
    readable = {HEADER: lambda field: _HEADER_NAME.fullmatch(field) is not None}
    if method is not None:

        def has_field(field: str) -> bool:
            # Not every runtime that is supported has method.client_streaming.
            copy = descriptor_pb2.MethodDescriptorProto()
            method.CopyToProto(copy)
            if copy.client_streaming:
                raise ValueError(f"{field}: a client stream has no single request field")
            read_field(method.input_type, field)
            return True

        readable[BODY] = readable[PATH] = has_field
    check_requirement(requirement, readable)


def read_field(message: Descriptor, path: str) -> Callable[[Any], Optional[str]]:
    """Returns what reads one text field of a message; it gives None when the field or a message on the way is not set.

    path: names of the schema, with dots: `note.tenant_id`.
    Raises ValueError when the message has no such field, or it is not a singular string field.
    """
    names = path.split(".")
    at: Optional[Descriptor] = message
    field: Any = None
    for name in names:
        field = None if at is None else at.fields_by_name.get(name)
        if field is None or _is_repeated(field):
            raise ValueError(f'{message.full_name} has no single field "{path}"')
        at = field.message_type
    if field.type != FieldDescriptor.TYPE_STRING:
        raise ValueError(f'{message.full_name}: "{path}" is not a singular string field')

    def read(value: Any) -> Optional[str]:
        for name in names[:-1]:
            if not value.HasField(name):
                return None
            value = getattr(value, name)
        text: str = getattr(value, names[-1])
        return text or None

    return read


def parse_requirement(wire: Any, in_composite: bool = False) -> Requirement:
    """Returns a signet.authz.v1.AuthRequirement as a Requirement.

    Raises ValueError when a check is missing, empty, unknown, or must not stand where it does.
    """
    _refuse_unknown(wire)
    check = _check_of(wire, in_composite)
    freshness = _freshness_of(wire.freshness) if wire.HasField("freshness") else None
    age = wire.max_auth_age_seconds
    if isinstance(check, (Public, BodyCredential)) and (freshness is not None or age > 0):
        raise ValueError(f"{wire.WhichOneof('check')} uses no token, so it cannot have freshness")
    return Requirement(check, freshness, age, wire.allow_delegated)


def wire_context(context: AuthContext) -> context_pb2.AuthContext:
    """Returns the caller as the contract has it."""
    wire = context_pb2.AuthContext(
        principal=_wire_principal(context.principal),
        identity_id=context.identity_id or "",
        app_id=context.app_id,
        tenant_id=context.tenant_id or "",
        context_id=context.context_id or "",
        session_id=context.session_id or "",
        device_id=context.device_id or "",
        token_id=context.token_id,
        credential_id=context.credential_id or "",
        issuer=context.issuer,
        audience=context.audience,
        scopes=list(dict.fromkeys(context.claims.get("scp", context.scopes))),
        method=context.method,
    )
    if not isinstance(context.roles, NotLoaded) and not isinstance(context.permissions, NotLoaded):
        wire.grants_loaded = True
        wire.roles.extend(sorted(context.roles))
        wire.permissions.extend(sorted(context.permissions))
    json_format.ParseDict(thawed(context.claims), wire.claims)
    delegation = context.delegation
    if delegation is not None:
        wire.actor.CopyFrom(_wire_principal(delegation.actor))
        wire.delegation.actor.CopyFrom(wire.actor)
        wire.delegation.job_id = delegation.job_id
        wire.delegation.origin_session_id = delegation.origin_session_id or ""
        wire.delegation.expires_at.FromMilliseconds(delegation.expires_at_ms)
    return wire


def _wire_principal(principal: PrincipalRef) -> context_pb2.PrincipalRef:
    return context_pb2.PrincipalRef(id=principal.id, kind=principal.kind)


def _check_of(wire: Any, in_composite: bool) -> Check:
    name = wire.WhichOneof("check")
    if name in ("public", "body_credential"):
        if not getattr(wire, name):
            raise ValueError(f"{name} is false: omit it")
        if in_composite:
            raise ValueError(f"{name} inside a composite")
        return Public() if name == "public" else BodyCredential()
    if name == "scope":
        return Scope(_not_empty("scope", wire.scope))
    if name == "action":
        return Action(_action_of(wire.action))
    if name == "role":
        return Role(_not_empty("role", wire.role))
    if name == "resource_action":
        return _resource_action_of(wire.resource_action)
    if name == "kinds":
        _refuse_unknown(wire.kinds)
        if len(wire.kinds.of) == 0:
            raise ValueError("kinds must have at least one kind")
        return Kinds(tuple(_kind_of(kind) for kind in wire.kinds.of))
    if name == "tenant":
        return _tenant_of(wire.tenant)
    if name == "delegated":
        _refuse_unknown(wire.delegated)
        if len(wire.delegated.actors) == 0:
            raise ValueError("delegated must have at least one actor")
        return Delegated(tuple(_not_empty("actor", actor) for actor in wire.delegated.actors))
    if name == "device":
        _refuse_unknown(wire.device)
        return Device(wire.device.proof)
    if name in ("any_of", "all_of"):
        composite = getattr(wire, name)
        _refuse_unknown(composite)
        if len(composite.of) == 0:
            raise ValueError(f"an empty {name}")
        parts = tuple(parse_requirement(part, True) for part in composite.of)
        return AnyOf(parts) if name == "any_of" else AllOf(parts)
    raise ValueError("a requirement must have a check")


def _resource_action_of(wire: Any) -> ResourceAction:
    _refuse_unknown(wire)
    return ResourceAction(
        action=_action_of(wire.action),
        type=_not_empty("type", wire.type),
        source=_source_of(getattr(wire, "from")),
        field=_not_empty("field", wire.field),
    )


def _tenant_of(wire: Any) -> Tenant:
    _refuse_unknown(wire)
    source = _source_of(getattr(wire, "from"))
    if source != TOKEN:
        return Tenant(source, _not_empty("field", wire.field))
    if wire.field:
        raise ValueError("the token's tenant has no field")
    return Tenant(TOKEN)


def _freshness_of(wire: Any) -> Freshness:
    _refuse_unknown(wire)
    on_stale = _ON_STALE.get(wire.on_stale)
    if on_stale is None:
        raise ValueError(f"unknown on_stale {wire.on_stale}")
    if not wire.HasField("max_staleness"):
        raise ValueError("freshness without max_staleness")
    max_staleness_ms = wire.max_staleness.seconds * 1_000 + wire.max_staleness.nanos // 1_000_000
    if max_staleness_ms < 0:
        raise ValueError("a negative max_staleness")
    return Freshness(max_staleness_ms, on_stale)


def _kind_of(wire: int) -> str:
    if wire not in context_pb2.PrincipalKind.values() or wire == context_pb2.PRINCIPAL_KIND_UNSPECIFIED:
        raise ValueError(f"unknown kind {wire}")
    return str(context_pb2.PrincipalKind.Name(wire))


def _source_of(wire: int) -> str:
    names: Dict[int, str] = {
        requirement_pb2.PATH: PATH,
        requirement_pb2.BODY: BODY,
        requirement_pb2.HEADER: HEADER,
        requirement_pb2.TOKEN: TOKEN,
    }
    if wire == requirement_pb2.GRAPH:
        raise ValueError("an RPC has no graph")
    if wire not in names:
        raise ValueError(f"unknown source {wire}")
    return names[wire]


def _action_of(action: str) -> str:
    if _ACTION.fullmatch(action) is None:
        raise ValueError(f'"{action}" must have the form service.resource.verb')
    return action


def _not_empty(what: str, text: str) -> str:
    if text == "":
        raise ValueError(f"an empty {what}")
    return text


def _is_repeated(field: Any) -> bool:
    # `label` is deprecated in newer runtimes, `is_repeated` unknown to older ones.
    is_repeated = getattr(field, "is_repeated", None)
    return bool(is_repeated) if isinstance(is_repeated, bool) else field.label == FieldDescriptor.LABEL_REPEATED


def _refuse_unknown(wire: Any) -> None:
    """What a newer contract asks for is not passed over."""
    if len(_unknown_fields(wire)) > 0:
        raise ValueError("the requirement has an option that this version does not support")


def _unknown_fields(wire: Any) -> Any:
    try:
        from google.protobuf.unknown_fields import UnknownFieldSet
    except ImportError:  # protobuf before 4.23
        return wire.UnknownFields()
    return UnknownFieldSet(wire)


__all__: List[str] = ["check_method", "parse_requirement", "read_field", "requirement_of", "wire_context"]
