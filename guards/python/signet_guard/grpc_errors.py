"""A refusal as gRPC sends it: status, google.rpc.ErrorInfo (AIP-193), Denial, and the challenge."""
from __future__ import annotations

from typing import List, Tuple

import grpc
from google.protobuf.message import Message
from signet.authz.v1 import denial_pb2

from .problem import challenge_of
from .refusals import Refused

DETAILS = "grpc-status-details-bin"


def code_of(refused: Refused) -> grpc.StatusCode:
    """Returns the status code."""
    if refused.code == "canceled":
        return grpc.StatusCode.CANCELLED
    return grpc.StatusCode[refused.code.upper()]


def trailers_of(refused: Refused) -> Tuple[Tuple[str, bytes], ...]:
    """Returns the trailing metadata: details, and WWW-Authenticate where it is due."""
    denial = denial_pb2.Denial(
        reason=refused.reason,
        status_code=refused.status,
        safe_message=refused.message,
    )
    status = (
        _number(1, code_of(refused).value[0])
        + _text(2, refused.message)
        + _any("google.rpc.ErrorInfo", _error_info(refused))
        + _any("signet.authz.v1.Denial", _bytes_of(denial))
    )
    trailers: List[Tuple[str, bytes]] = [(DETAILS, status)]
    challenge = challenge_of(refused)
    if challenge is not None:
        trailers.append(("www-authenticate", challenge))  # type: ignore[arg-type]
    return tuple(trailers)


# google.rpc.Status and ErrorInfo are written by hand: three fields each. The package that has them,
# googleapis-common-protos, holds its users to a range of protobuf versions.


def _error_info(refused: Refused) -> bytes:
    metadata = b"".join(
        _field(3, _text(1, name) + _text(2, value)) for name, value in sorted(refused.metadata.items())
    )
    return _text(1, refused.reason) + _text(2, "signet") + metadata


def _any(name: str, value: bytes) -> bytes:
    return _field(3, _text(1, f"type.googleapis.com/{name}") + _field(2, value))


def _text(number: int, text: str) -> bytes:
    return _field(number, text.encode("utf-8"))


def _field(number: int, value: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _number(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _bytes_of(message: Message) -> bytes:
    return message.SerializeToString()
