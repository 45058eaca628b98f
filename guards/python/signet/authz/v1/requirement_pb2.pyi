from google.protobuf import descriptor_pb2 as _descriptor_pb2
from google.protobuf import duration_pb2 as _duration_pb2
from signet.authz.v1 import context_pb2 as _context_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

BODY: Source
DESCRIPTOR: _descriptor.FileDescriptor
GRAPH: Source
HEADER: Source
PATH: Source
REQUIRES_FIELD_NUMBER: _ClassVar[int]
SOURCE_UNSPECIFIED: Source
TOKEN: Source
requires: _descriptor.FieldDescriptor

class AuthRequirement(_message.Message):
    __slots__ = ["action", "all_of", "allow_delegated", "any_of", "body_credential", "delegated", "device", "freshness", "kinds", "max_auth_age_seconds", "public", "resource_action", "role", "scope", "tenant"]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    ALLOW_DELEGATED_FIELD_NUMBER: _ClassVar[int]
    ALL_OF_FIELD_NUMBER: _ClassVar[int]
    ANY_OF_FIELD_NUMBER: _ClassVar[int]
    BODY_CREDENTIAL_FIELD_NUMBER: _ClassVar[int]
    DELEGATED_FIELD_NUMBER: _ClassVar[int]
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    FRESHNESS_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    MAX_AUTH_AGE_SECONDS_FIELD_NUMBER: _ClassVar[int]
    PUBLIC_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_ACTION_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    action: str
    all_of: Composite
    allow_delegated: bool
    any_of: Composite
    body_credential: bool
    delegated: DelegatedActor
    device: DeviceBound
    freshness: Freshness
    kinds: PrincipalKinds
    max_auth_age_seconds: int
    public: bool
    resource_action: ResourceAction
    role: str
    scope: str
    tenant: TenantBound
    def __init__(self, public: bool = ..., scope: _Optional[str] = ..., action: _Optional[str] = ..., resource_action: _Optional[_Union[ResourceAction, _Mapping]] = ..., kinds: _Optional[_Union[PrincipalKinds, _Mapping]] = ..., tenant: _Optional[_Union[TenantBound, _Mapping]] = ..., delegated: _Optional[_Union[DelegatedActor, _Mapping]] = ..., any_of: _Optional[_Union[Composite, _Mapping]] = ..., all_of: _Optional[_Union[Composite, _Mapping]] = ..., body_credential: bool = ..., device: _Optional[_Union[DeviceBound, _Mapping]] = ..., role: _Optional[str] = ..., freshness: _Optional[_Union[Freshness, _Mapping]] = ..., max_auth_age_seconds: _Optional[int] = ..., allow_delegated: bool = ...) -> None: ...

class Composite(_message.Message):
    __slots__ = ["of"]
    OF_FIELD_NUMBER: _ClassVar[int]
    of: _containers.RepeatedCompositeFieldContainer[AuthRequirement]
    def __init__(self, of: _Optional[_Iterable[_Union[AuthRequirement, _Mapping]]] = ...) -> None: ...

class DelegatedActor(_message.Message):
    __slots__ = ["actors"]
    ACTORS_FIELD_NUMBER: _ClassVar[int]
    actors: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, actors: _Optional[_Iterable[str]] = ...) -> None: ...

class DeviceBound(_message.Message):
    __slots__ = ["proof"]
    PROOF_FIELD_NUMBER: _ClassVar[int]
    proof: bool
    def __init__(self, proof: bool = ...) -> None: ...

class Freshness(_message.Message):
    __slots__ = ["max_staleness", "on_stale"]
    class OnStale(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = []
    ALLOW: Freshness.OnStale
    DENY: Freshness.OnStale
    INTROSPECT: Freshness.OnStale
    MAX_STALENESS_FIELD_NUMBER: _ClassVar[int]
    ON_STALE_FIELD_NUMBER: _ClassVar[int]
    ON_STALE_UNSPECIFIED: Freshness.OnStale
    max_staleness: _duration_pb2.Duration
    on_stale: Freshness.OnStale
    def __init__(self, max_staleness: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., on_stale: _Optional[_Union[Freshness.OnStale, str]] = ...) -> None: ...

class PrincipalKinds(_message.Message):
    __slots__ = ["of"]
    OF_FIELD_NUMBER: _ClassVar[int]
    of: _containers.RepeatedScalarFieldContainer[_context_pb2.PrincipalKind]
    def __init__(self, of: _Optional[_Iterable[_Union[_context_pb2.PrincipalKind, str]]] = ...) -> None: ...

class ResourceAction(_message.Message):
    __slots__ = ["action", "field", "type"]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    FIELD_FIELD_NUMBER: _ClassVar[int]
    FROM_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    action: str
    field: str
    type: str
    def __init__(self, action: _Optional[str] = ..., type: _Optional[str] = ..., field: _Optional[str] = ..., **kwargs) -> None: ...

class TenantBound(_message.Message):
    __slots__ = ["field"]
    FIELD_FIELD_NUMBER: _ClassVar[int]
    FROM_FIELD_NUMBER: _ClassVar[int]
    field: str
    def __init__(self, field: _Optional[str] = ..., **kwargs) -> None: ...

class Source(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []
