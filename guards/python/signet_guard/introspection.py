"""RFC 7662: asks the issuer about one token, where the revocation feed is too old for a requirement."""
from __future__ import annotations

from typing import Callable
from urllib.parse import urlencode

from .clock import Clock, system_clock
from .context import AuthContext
from .fetch import Fetch, FetchRequest, fetch_text
from .liveness import Liveness, LivenessFacts
from .service_token import FORM, GetToken, with_token
from .shared_run import SharedRun
from .strict_json import parse_json

Introspect = Callable[[AuthContext, str], Liveness]
"""Returns whether a token is still active. Raises when the issuer does not answer."""


class Introspection:
    """Asks the issuer. Threads that ask about one token at the same time share one question."""

    def __init__(
        self,
        *,
        url: str,
        token: GetToken,
        clock: Clock = system_clock,
        fetch: Fetch = fetch_text,
        timeout_ms: float = 2_000,
    ) -> None:
        """
        url: the issuer's introspection endpoint, configured.
        token: this service's own access token for the issuer, with the scope `auth.introspect`.
        """
        self._url, self._token, self._clock, self._fetch = url, token, clock, fetch
        self._timeout_ms = timeout_ms
        self._shared: SharedRun[Liveness] = SharedRun(timeout_ms)

    def __call__(self, context: AuthContext, token: str) -> Liveness:
        return self._shared(token, lambda: self._ask(context, token))

    def _ask(self, context: AuthContext, token: str) -> Liveness:
        # Before the question: a change while it is under way may be missed.
        as_of_ms = self._clock()
        body = urlencode({"token": token}).encode("ascii")

        def ask(own: str) -> str:
            headers = {"authorization": f"Bearer {own}", "content-type": FORM}
            return self._fetch(
                FetchRequest(self._url, self._timeout_ms, method="POST", headers=headers, body=body)
            )

        is_active = _is_active(parse_json(with_token(self._token, ask)), context)
        # The issuer does not say why a token is not active.
        facts = LivenessFacts() if is_active else LivenessFacts(revoked=frozenset(("TOKEN",)))
        return Liveness(facts, as_of_ms)


def _is_active(answer: object, context: AuthContext) -> bool:
    if not isinstance(answer, dict):
        raise ValueError("the response is not an introspection response")
    if answer.get("active") is False:
        return False
    if answer.get("active") is not True or answer.get("jti") != context.token_id:
        raise ValueError("the introspection response is not about this token")
    return True
