"""Every refusal that a caller can meet: the same reason, status and message on every transport."""
from __future__ import annotations

from typing import Mapping, NamedTuple, Optional

from ._reason_table import REASON_TABLE

Reason = str
"""The name of a value of signet.authz.v1.Reason, such as `"TOKEN_EXPIRED"`."""


class Refusal(NamedTuple):
    """What is said with a reason."""

    code: str
    """The canonical status code by its gRPC name, in lower case: `unauthenticated`."""
    status: int
    """The HTTP status."""
    message: str
    """A sentence that may be shown to the caller."""


REFUSALS: Mapping[Reason, Refusal] = {reason: Refusal(*row) for reason, row in REASON_TABLE.items()}


class Refused(Exception):
    """An expected refusal. `str()` of it may be shown to the caller.

    metadata: facts for the caller, such as the missing scope: names and numbers of the request, never secrets.
    Raises KeyError for a reason that is not in the contract.
    """

    def __init__(
        self, reason: Reason, message: Optional[str] = None, metadata: Optional[Mapping[str, str]] = None
    ) -> None:
        refusal = REFUSALS[reason]
        self.reason = reason
        self.code = refusal.code
        self.status = refusal.status
        self.message = refusal.message if message is None else message
        self.metadata: Mapping[str, str] = dict(metadata or {})
        super().__init__(self.message)
