"""A statement of the revocation feed: what was revoked in a range of the log, and as of when."""
from __future__ import annotations

from typing import Any, List, NamedTuple, Optional, Tuple, Union

from .claims import SKEW_SECONDS
from .strict_json import Json, is_count

STATEMENT_TYPE = "rev+jwt"
MAX_ENTRIES = 2_000
KINDS = (
    "TOKEN",
    "SESSION",
    "CREDENTIAL",
    "PRINCIPAL",
    "TENANT",
    "CONTEXT",
    "APP",
    "AUTHORITY",
    "POLICY",
    "KEY",
    "ISSUER_EPOCH",
)
_MAX_AGE_MS = 60_000
"""How old a statement may be when it arrives."""


class RevocationEntry(NamedTuple):
    """One thing that verifiers must refuse. A later entry of the same kind, key and app replaces an earlier one."""

    seq: int
    kind: str
    key: str
    expires_at_ms: int
    """From then on nothing that the entry concerns would be accepted anyway."""
    issued_before_ms: Optional[int] = None
    """Only tokens that were issued before this are refused. None: every token."""
    app_id: Optional[str] = None
    """AUTHORITY: the app whose tokens the entry concerns."""
    min_version: Optional[int] = None
    """AUTHORITY and POLICY: tokens of a lower version are refused."""


class RevocationStatement(NamedTuple):
    issuer: str
    log: str
    """Another id is another log, whose places mean nothing in this one."""
    seq_from: int
    seq_to: int
    """The statement has every entry that still counts of the places after `seq_from` up to and with `seq_to`."""
    head: int
    """The newest place of the log."""
    as_of_ms: int
    entries: Tuple[RevocationEntry, ...]


class FeedPosition(NamedTuple):
    """How far a reader has come."""

    log: Optional[str] = None
    """None before the first statement."""
    seq: int = 0
    """The last place that was read; 0 to begin, also to begin again."""
    head: int = 0
    """The newest place that the log was ever said to have: it never has fewer."""
    as_of_ms: int = 0
    """Everything that was revoked until then is known here. 0 while that cannot be said."""


def parse_statement(payload: Json) -> Optional[RevocationStatement]:
    """Returns None for what is no statement: nothing of it is used then."""
    iss, iat, log, entries = payload.get("iss"), payload.get("iat"), payload.get("log"), payload.get("entries")
    seq_from, seq_to, head = payload.get("seq_from"), payload.get("seq_to"), payload.get("head")
    if not _is_text(iss) or not _is_text(log):
        return None
    if not all(is_count(one) for one in (iat, seq_from, seq_to, head)):
        return None
    start, end, newest, as_of = (int(one) for one in (seq_from, seq_to, head, iat))  # type: ignore[arg-type]
    if start > end or end > newest or not isinstance(entries, list) or len(entries) > MAX_ENTRIES:
        return None
    parsed: List[RevocationEntry] = []
    for one in entries:
        entry = parse_entry(one)
        if entry is None or entry.seq <= start or entry.seq > end:
            return None
        parsed.append(entry)
    return RevocationStatement(str(iss), str(log), start, end, newest, as_of * 1_000, tuple(parsed))


def parse_entry(value: Any) -> Optional[RevocationEntry]:
    """Returns None for what is no entry, and for an unknown kind: what cannot be understood cannot be obeyed."""
    if not isinstance(value, dict):
        return None
    kind = value.get("kind")
    if not is_count(value.get("seq")) or not isinstance(kind, str) or kind not in KINDS:
        return None
    if not _is_text(value.get("key")) or not is_count(value.get("exp")):
        return None
    has_bound = "issued_before" in value
    if has_bound and not is_count(value["issued_before"]):
        return None
    if (kind == "AUTHORITY") != ("app_id" in value) or ("app_id" in value and not _is_text(value["app_id"])):
        return None
    if (kind in ("AUTHORITY", "POLICY")) != ("min_version" in value):
        return None
    if "min_version" in value and not is_count(value["min_version"]):
        return None
    # Without a bound it would refuse every token for ever.
    if kind == "ISSUER_EPOCH" and not has_bound:
        return None
    return RevocationEntry(
        seq=int(value["seq"]),
        kind=kind,
        key=value["key"],
        expires_at_ms=int(value["exp"]) * 1_000,
        issued_before_ms=int(value["issued_before"]) * 1_000 if has_bound else None,
        app_id=value.get("app_id"),
        min_version=int(value["min_version"]) if "min_version" in value else None,
    )


def judge_statement(
    position: FeedPosition, statement: RevocationStatement, issuer: str, now_ms: float
) -> Union[FeedPosition, str]:
    """Returns the reader's next position, or why the statement is refused.

    ISSUER, UNTIMELY; ROLLBACK: the log has lost what was read of it, so the reader stays and becomes stale; GAP:
    something before the statement was missed, so the log is read from its beginning.
    """
    as_of_ms = statement.as_of_ms
    if statement.issuer != issuer:
        return "ISSUER"
    if as_of_ms > now_ms + SKEW_SECONDS * 1_000 or as_of_ms < now_ms - _MAX_AGE_MS:
        return "UNTIMELY"
    is_whole = statement.seq_to == statement.head
    if statement.log != position.log:
        if statement.seq_from != 0:
            return "GAP"
        # What an earlier log said last is as old as it was: a statement from before that is a replay.
        if as_of_ms < position.as_of_ms:
            return "UNTIMELY"
        known_ms = as_of_ms if is_whole else position.as_of_ms
        return FeedPosition(statement.log, statement.seq_to, statement.head, known_ms)
    if statement.head < position.head:
        return "ROLLBACK"
    if statement.seq_from > position.seq:
        return "GAP"
    return FeedPosition(
        statement.log,
        max(position.seq, statement.seq_to),
        max(position.head, statement.head),
        max(position.as_of_ms, as_of_ms) if is_whole else position.as_of_ms,
    )


def _is_text(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= 256
