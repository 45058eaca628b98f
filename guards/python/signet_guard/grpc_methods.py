"""The methods of the services that a gRPC server serves, each with its requirement."""
from __future__ import annotations

import logging
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor

from .authorize import Allow
from .context import AuthContext
from .guard import Guard
from .proto import check_method, read_field, requirement_of
from .refusals import Refused
from .requirement import BODY, HEADER, PATH, Requirement, ResourceAction, Tenant, checks_in
from .target import FindResource, OnDeny, ReadValue, Target

_log = logging.getLogger("signet_guard")

Metadata = Sequence[Tuple[str, Any]]


class GuardedMethod(NamedTuple):
    target: Target
    fields: Mapping[str, Callable[[Any], Optional[str]]]

    def authenticate(self, metadata: Metadata) -> Any:
        return self.target.authenticate(_header_of(metadata, "authorization"))

    def admit(self, caller: Any, metadata: Metadata, message: Any) -> Optional[AuthContext]:
        """Returns the caller. message: None for a stream of requests. Raises Refused."""

        def read(source: str, field: str) -> Optional[str]:
            if source == HEADER:
                return _header_of(metadata, field)
            # A path variable is a field of the message: a transcoder wrote it there.
            reader = self.fields.get(field) if source in (PATH, BODY) else None
            return None if reader is None or message is None else reader(message)

        def prepare() -> ReadValue:
            return read

        try:
            decision = self.target.authorize(caller, prepare)
        except Exception:
            # gRPC tells its client the text of an exception, which may be of a database.
            _log.exception("find_resource or on_deny failed, so the call is refused")
            raise Refused("INTERNAL") from None
        if not isinstance(decision, Allow):
            raise decision.refused()
        return decision.context


class MethodTable:
    """Finds a method by its path: `/notes.v1.NotesService/ListNotes`."""

    def __init__(
        self,
        guard: Guard,
        services: Sequence[ServiceDescriptor],
        requirements: Mapping[str, Requirement],
        find_resource: Optional[FindResource],
        on_deny: Optional[OnDeny],
    ) -> None:
        """Raises ValueError when a method has no requirement, or one that cannot be checked."""
        self._methods: Dict[str, GuardedMethod] = {}

        def add(path: str, requirement: Requirement, method: Optional[MethodDescriptor]) -> None:
            # The fields were checked with the descriptor, which knows more than a name.
            anything = {source: lambda field: True for source in (PATH, BODY, HEADER)}
            target = Target(guard, requirement, anything, find_resource, on_deny)
            self._methods[path] = GuardedMethod(target, _fields_of(requirement, method))

        for service in services:
            for method in service.methods:
                path = f"/{service.full_name}/{method.name}"
                if path not in requirements:
                    add(path, requirement_of(method), method)
        for path, requirement in requirements.items():
            try:
                served = _method_at(path, services)
                check_method(requirement, served)
                add(path, requirement, served)
            except ValueError as error:
                raise ValueError(f"{path}: {error}") from None

    def find(self, path: str) -> GuardedMethod:
        """Raises Refused for a method that is not served."""
        method = self._methods.get(path)
        if method is None:
            raise Refused("METHOD_UNKNOWN")
        return method


def decode(deserialize: Optional[Callable[[bytes], Any]], data: Any) -> Any:
    """Returns the message in the bytes of a call. Raises Refused."""
    if deserialize is None:
        return data
    try:
        return deserialize(data)
    except Exception:
        raise Refused("MALFORMED_REQUEST") from None


def _method_at(path: str, services: Sequence[ServiceDescriptor]) -> Optional[MethodDescriptor]:
    for service in services:
        for method in service.methods:
            if path == f"/{service.full_name}/{method.name}":
                return method
    return None


def _fields_of(
    requirement: Requirement, method: Optional[MethodDescriptor]
) -> Mapping[str, Callable[[Any], Optional[str]]]:
    fields: Dict[str, Callable[[Any], Optional[str]]] = {}
    if method is not None:
        for check in checks_in(requirement):
            if isinstance(check, (Tenant, ResourceAction)) and check.source in (PATH, BODY):
                fields[check.field] = read_field(method.input_type, check.field)
    return fields


def _header_of(metadata: Metadata, name: str) -> Optional[str]:
    """Two of one name are joined by a comma, which no credential has."""
    values: List[str] = [value for key, value in metadata if key == name and isinstance(value, str)]
    return ", ".join(values) if values else None
