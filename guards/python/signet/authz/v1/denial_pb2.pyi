from signet.authz.v1 import reason_pb2 as _reason_pb2
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Denial(_message.Message):
    __slots__ = ["reason", "safe_message", "status_code"]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SAFE_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    STATUS_CODE_FIELD_NUMBER: _ClassVar[int]
    reason: _reason_pb2.Reason
    safe_message: str
    status_code: int
    def __init__(self, reason: _Optional[_Union[_reason_pb2.Reason, str]] = ..., status_code: _Optional[int] = ..., safe_message: _Optional[str] = ...) -> None: ...
