"""Follows what the issuer revokes, so that a verifier that asks nobody refuses it within moments."""
from __future__ import annotations

import random
import threading
from typing import Callable, Optional, Union

from .claims import LONGEST_TOKEN_MS
from .clock import Clock, system_clock
from .context import AuthContext
from .fetch import Cancel, Fetch, FetchRequest, StatusError, fetch_text
from .jwt import JwtVerifier
from .key_set import KeySource
from .liveness import Liveness
from .refusals import Reason
from .revocation_set import RevocationSet
from .service_token import GetToken, with_token
from .shared_run import SharedRun
from .statement import STATEMENT_TYPE, FeedPosition, RevocationStatement, judge_statement, parse_statement
from .strict_json import Json, parse_json
from .token_crypto import VerifyKey

_MAX_STATEMENT_LENGTH = 2_000_000
_PAUSE_BETWEEN_MS, _PAUSE_CROWDED_MS, _PAUSE_FIRST_MS, _PAUSE_LONGEST_MS = 25, 1_000, 250, 15_000
# Where too many readers wait already, this one asks without waiting, for so long.
_CROWDED_MS = 60_000
# How long a call waits for the first answer. Then it goes by what is known.
_PATIENCE_MS = 2_000
_ABANDONED_MS = 15_000
# Pages of one run, and beginnings: an issuer whose log never ends, or always begins anew, is not followed.
_MAX_PAGES = 10_000
_MAX_BEGINNINGS = 3


class FeedError(Exception):
    """Why the feed stands still: a reason, ISSUER, UNTIMELY, ROLLBACK, GAP, FULL or UNREACHABLE."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"the revocation feed: {problem}")
        self.problem = problem


class RevocationFeed:
    """Threads may share it. `start` follows the feed in a thread of its own; start it after a fork, not before."""

    def __init__(
        self,
        *,
        issuer: str,
        base_url: str,
        statement_keys: KeySource,
        token: GetToken,
        clock: Clock = system_clock,
        fetch: Fetch = fetch_text,
        capacity: int = 250_000,
        wait_seconds: int = 3,
        on_problem: Optional[Callable[[str, Optional[BaseException]], None]] = None,
    ) -> None:
        """
        issuer: the `iss` that is accepted.
        base_url: where the issuer answers, configured.
        statement_keys: the keys at `/.well-known/statement-keys.json`: no other key signs statements.
        token: this service's own access token for the issuer, with the scope `auth.revocations.read`.
        capacity: the most entries; with more, the feed counts as stale.
        wait_seconds: how long a call waits for news: how old the feed gets while there is none.
        on_problem: called each time that the feed cannot go on. It tries again.
        """
        self._issuer, self._base_url, self._token = issuer, base_url, token
        self._clock, self._fetch, self._wait_seconds = clock, fetch, wait_seconds
        self._on_problem = on_problem
        self._revoked = RevocationSet(capacity)
        self._lock = threading.Lock()
        self._position = FeedPosition()
        self._answered: Optional[threading.Event] = None
        self._shared: SharedRun[None] = SharedRun(_ABANDONED_MS)
        self._thread: Optional[threading.Thread] = None
        self._stopped = threading.Event()
        self._cancel = Cancel()

        def read(payload: Json, now_ms: float) -> Union[RevocationStatement, Reason]:
            return parse_statement(payload) or "MALFORMED_CREDENTIAL"

        self._verify: JwtVerifier[RevocationStatement] = JwtVerifier(
            typ=STATEMENT_TYPE,
            key_set=self.without_revoked(statement_keys),
            clock=clock,
            read=read,
            max_length=_MAX_STATEMENT_LENGTH,
        )

    @property
    def as_of_ms(self) -> int:
        """Everything that was revoked until then is known here; 0 while nothing is."""
        return self._position.as_of_ms

    @property
    def seq(self) -> int:
        """The last place that was read."""
        return self._position.seq

    def __len__(self) -> int:
        """Returns how many entries are held."""
        return len(self._revoked)

    def liveness(self, context: AuthContext) -> Liveness:
        """Returns what the feed says of a caller: for a guard's `liveness`."""
        answered = self._answered
        if answered is not None and self.as_of_ms == 0:
            # Nothing is known before the first answer.
            answered.wait(_PATIENCE_MS / 1_000)
        now_ms = self._clock()
        # When the token was issued, nothing that it concerns was revoked. What was revoked since is in the feed for as
        # long as an access token lives: of a context that is older, only that is known.
        issued_at_ms = min(context.issued_at_ms, now_ms)
        is_told = now_ms - issued_at_ms <= LONGEST_TOKEN_MS
        as_of_ms = max(self.as_of_ms, issued_at_ms) if is_told else issued_at_ms
        return Liveness(self._revoked.facts_of(context, now_ms), as_of_ms)

    def without_revoked(self, keys: KeySource) -> KeySource:
        """Returns the same keys without those that were revoked."""
        return _WithoutRevoked(keys, self._revoked, self._clock)

    def refresh(self) -> None:
        """Reads to the end without waiting. Threads share one question. Raises FeedError when that cannot be done."""
        self._shared("", self._refresh)

    def _refresh(self) -> None:
        answered = threading.Event()
        self._answered = answered
        try:
            self._pull(0)
        finally:
            self._answered = None
            answered.set()

    def start(self) -> None:
        """Follows the feed in a daemon thread until `stop`."""
        with self._lock:
            if self._thread is None and not self._stopped.is_set():
                self._thread = threading.Thread(target=self._follow, name="signet-revocations", daemon=True)
                self._thread.start()

    def stop(self) -> None:
        """Returns when nothing is under way any more."""
        self._stopped.set()
        self._cancel.set()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _follow(self) -> None:
        crowded_until_ms = 0.0
        failures = 0
        while not self._stopped.is_set():
            is_crowded = self._clock() < crowded_until_ms
            try:
                self._pull(0 if is_crowded else self._wait_seconds)
                failures = 0
                pause_ms: float = _PAUSE_CROWDED_MS if is_crowded else _PAUSE_BETWEEN_MS
            except Exception as error:
                if self._stopped.is_set():
                    return
                cause = error.__cause__
                if isinstance(cause, StatusError) and cause.status == 429:
                    crowded_until_ms = self._clock() + _CROWDED_MS
                self._report(error)
                longest_ms = min(_PAUSE_LONGEST_MS, _PAUSE_FIRST_MS * 2 ** min(failures, 16))
                failures += 1
                pause_ms = longest_ms * (0.5 + random.random() / 2)
            self._stopped.wait(pause_ms / 1_000)

    def _report(self, error: Exception) -> None:
        if self._on_problem is None:
            return
        problem = error.problem if isinstance(error, FeedError) else "UNREACHABLE"
        try:
            self._on_problem(problem, error.__cause__ if isinstance(error, FeedError) else error)
        except Exception:
            # A fault of a listener must not end the feed.
            pass

    def _pull(self, seconds: int) -> None:
        """Reads to the end; waits for news when there is none. Raises FeedError."""
        beginnings = 0
        for _ in range(_MAX_PAGES):
            position = self._position
            # The end of an empty log can be waited at like any other.
            is_beginning = position.seq == 0 and (position.log is None or position.head > 0)
            path = (
                "/auth/revocations/snapshot?after=0"
                if is_beginning
                else f"/auth/revocations?after={position.seq}&wait={seconds}"
            )
            statement = self._ask(path, seconds)
            with self._lock:
                result = self._take(statement)
            if result == "GAP" and beginnings < _MAX_BEGINNINGS:
                beginnings += 1
                continue
            if result is not None:
                raise FeedError(result)
            if statement.seq_to == statement.head:
                return
        raise FeedError("UNREACHABLE")

    def _take(self, statement: RevocationStatement) -> Optional[str]:
        """Moves on, or returns why not."""
        now_ms, position = self._clock(), self._position
        following = judge_statement(position, statement, self._issuer, now_ms)
        if following == "GAP":
            # What is known stays known, until it expires.
            self._position = position._replace(seq=0)
        if isinstance(following, str):
            return following
        # What is known already may have been followed by something newer of the same key.
        is_same = statement.log == position.log
        entries = [entry for entry in statement.entries if not is_same or entry.seq > position.seq]
        if not self._revoked.add(entries, now_ms):
            # Read again from the beginning, when some of it may have expired.
            self._position = position._replace(seq=0)
            return "FULL"
        self._position = following
        return None

    def _ask(self, path: str, seconds: int) -> RevocationStatement:
        def ask(own: str) -> str:
            return self._fetch(
                FetchRequest(
                    f"{self._base_url}{path}",
                    timeout_ms=10_000 + seconds * 1_000,
                    max_bytes=_MAX_STATEMENT_LENGTH,
                    headers={"authorization": f"Bearer {own}"},
                    cancel=self._cancel,
                )
            )

        try:
            if self._stopped.is_set():
                raise RuntimeError("the revocation feed was stopped")
            text = with_token(self._token, ask)
        except Exception as error:
            raise FeedError("UNREACHABLE") from error
        statement = self._verify(_statement_in(text))
        if isinstance(statement, str):
            raise FeedError(statement)
        return statement


class _WithoutRevoked:
    def __init__(self, keys: KeySource, revoked: RevocationSet, clock: Clock) -> None:
        self._keys, self._revoked, self._clock = keys, revoked, clock

    def find(self, kid: str) -> Union[VerifyKey, Reason]:
        return "KEY_UNKNOWN" if self._revoked.is_key_revoked(kid, self._clock()) else self._keys.find(kid)


def _statement_in(text: str) -> str:
    """Returns the statement in an answer; a text that does not verify where there is none."""
    try:
        answer = parse_json(text)
    except ValueError:
        return ""
    statement = answer.get("statement") if isinstance(answer, dict) else None
    return statement if isinstance(statement, str) else ""
