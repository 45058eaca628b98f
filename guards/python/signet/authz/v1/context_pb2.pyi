from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

ACTOR: PrincipalKind
ACTOR_ENVELOPE: AuthMethod
AGENT: PrincipalKind
AUTH_METHOD_UNSPECIFIED: AuthMethod
CLIENT_CREDENTIALS: AuthMethod
DESCRIPTOR: _descriptor.FileDescriptor
INTERNAL_JOB: AuthMethod
ON_BEHALF_OF: AuthMethod
PERSONAL_ACCESS_TOKEN: AuthMethod
PRINCIPAL_KIND_UNSPECIFIED: PrincipalKind
SERVICE: PrincipalKind
USER: PrincipalKind
USER_SESSION: AuthMethod

class AuthContext(_message.Message):
    __slots__ = ["actor", "app_id", "audience", "claims", "context_id", "credential_id", "delegation", "device_id", "grants_loaded", "identity_id", "issuer", "method", "permissions", "principal", "roles", "scopes", "session_id", "tenant_id", "token_id"]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    APP_ID_FIELD_NUMBER: _ClassVar[int]
    AUDIENCE_FIELD_NUMBER: _ClassVar[int]
    CLAIMS_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_ID_FIELD_NUMBER: _ClassVar[int]
    CREDENTIAL_ID_FIELD_NUMBER: _ClassVar[int]
    DELEGATION_FIELD_NUMBER: _ClassVar[int]
    DEVICE_ID_FIELD_NUMBER: _ClassVar[int]
    GRANTS_LOADED_FIELD_NUMBER: _ClassVar[int]
    IDENTITY_ID_FIELD_NUMBER: _ClassVar[int]
    ISSUER_FIELD_NUMBER: _ClassVar[int]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    PERMISSIONS_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    ROLES_FIELD_NUMBER: _ClassVar[int]
    SCOPES_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    TOKEN_ID_FIELD_NUMBER: _ClassVar[int]
    actor: PrincipalRef
    app_id: str
    audience: str
    claims: _struct_pb2.Struct
    context_id: str
    credential_id: str
    delegation: Delegation
    device_id: str
    grants_loaded: bool
    identity_id: str
    issuer: str
    method: AuthMethod
    permissions: _containers.RepeatedScalarFieldContainer[str]
    principal: PrincipalRef
    roles: _containers.RepeatedScalarFieldContainer[str]
    scopes: _containers.RepeatedScalarFieldContainer[str]
    session_id: str
    tenant_id: str
    token_id: str
    def __init__(self, principal: _Optional[_Union[PrincipalRef, _Mapping]] = ..., identity_id: _Optional[str] = ..., app_id: _Optional[str] = ..., tenant_id: _Optional[str] = ..., context_id: _Optional[str] = ..., session_id: _Optional[str] = ..., token_id: _Optional[str] = ..., credential_id: _Optional[str] = ..., issuer: _Optional[str] = ..., audience: _Optional[str] = ..., scopes: _Optional[_Iterable[str]] = ..., roles: _Optional[_Iterable[str]] = ..., permissions: _Optional[_Iterable[str]] = ..., method: _Optional[_Union[AuthMethod, str]] = ..., actor: _Optional[_Union[PrincipalRef, _Mapping]] = ..., delegation: _Optional[_Union[Delegation, _Mapping]] = ..., claims: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., device_id: _Optional[str] = ..., grants_loaded: bool = ...) -> None: ...

class Delegation(_message.Message):
    __slots__ = ["actor", "expires_at", "job_id", "origin_session_id"]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    actor: PrincipalRef
    expires_at: _timestamp_pb2.Timestamp
    job_id: str
    origin_session_id: str
    def __init__(self, actor: _Optional[_Union[PrincipalRef, _Mapping]] = ..., job_id: _Optional[str] = ..., origin_session_id: _Optional[str] = ..., expires_at: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class PrincipalRef(_message.Message):
    __slots__ = ["id", "kind"]
    ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    id: str
    kind: PrincipalKind
    def __init__(self, id: _Optional[str] = ..., kind: _Optional[_Union[PrincipalKind, str]] = ...) -> None: ...

class ResourceRef(_message.Message):
    __slots__ = ["app_id", "context_id", "id", "tenant_id", "type"]
    APP_ID_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_ID_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    app_id: str
    context_id: str
    id: str
    tenant_id: str
    type: str
    def __init__(self, type: _Optional[str] = ..., id: _Optional[str] = ..., app_id: _Optional[str] = ..., tenant_id: _Optional[str] = ..., context_id: _Optional[str] = ...) -> None: ...

class PrincipalKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class AuthMethod(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []
