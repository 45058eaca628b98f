"""HTTP requests to the issuer: no redirect, no proxy, and limits on time and size."""
from __future__ import annotations

import functools
import http.client
import socket
import ssl
import threading
from typing import Callable, List, Mapping, NamedTuple, Optional
from urllib.parse import urlsplit


class FetchRequest(NamedTuple):
    """One request. Its address comes from settings, never from a token."""

    url: str
    timeout_ms: float = 5_000
    """For the whole answer, from resolving the name to the last byte."""
    max_bytes: int = 65_536
    method: str = "GET"
    headers: Mapping[str, str] = {}
    body: Optional[bytes] = None
    cancel: Optional["Cancel"] = None


class StatusError(Exception):
    """An answer that is not 200."""

    def __init__(self, status: int) -> None:
        super().__init__(f"the issuer answered with status {status}")
        self.status = status


class FetchError(Exception):
    """No answer, or one beyond a limit."""


Fetch = Callable[[FetchRequest], str]
"""Returns the body of a 200 answer. Raises StatusError for another status, any other exception beyond a limit."""


class Cancel:
    """Ends requests from another thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._actions: List[Callable[[], None]] = []
        self.is_set = False

    def add(self, action: Callable[[], None]) -> None:
        """Calls the action when this is set; at once when it is set already."""
        with self._lock:
            if not self.is_set:
                self._actions.append(action)
                return
        action()

    def remove(self, action: Callable[[], None]) -> None:
        with self._lock:
            if action in self._actions:
                self._actions.remove(action)

    def set(self) -> None:
        with self._lock:
            self.is_set = True
            actions, self._actions = self._actions, []
        for action in actions:
            action()


def fetch_text(request: FetchRequest) -> str:
    """Returns the body of a 200 answer.

    Raises StatusError for any other status, redirects included: an address that was configured must not lead
    elsewhere. Raises FetchError beyond a limit.
    """
    exchange = _Exchange(request)
    # A thread of its own, because nothing else ends a name look-up or a header that arrives byte by byte.
    threading.Thread(target=exchange.run, name="signet-fetch", daemon=True).start()
    if request.cancel is not None:
        request.cancel.add(exchange.end)
    try:
        exchange.done.wait(request.timeout_ms / 1_000)
    finally:
        if request.cancel is not None:
            request.cancel.remove(exchange.end)
    return exchange.outcome()


class _Exchange:
    def __init__(self, request: FetchRequest) -> None:
        self.request = request
        self.done = threading.Event()
        self._connection: Optional[http.client.HTTPConnection] = None
        self._sock: Optional[socket.socket] = None
        self._text: Optional[str] = None
        self._error: Optional[BaseException] = None

    def run(self) -> None:
        try:
            self._text = self._read()
        except BaseException as error:  # noqa: BLE001  outcome() raises it in the thread that waits
            self._error = error
        finally:
            self._close()
            self.done.set()

    def end(self) -> None:
        """Ends the request before its time limit."""
        if self._error is None and not self.done.is_set():
            self._error = FetchError("the request was canceled")
        self.done.set()
        self._close()

    def outcome(self) -> str:
        if not self.done.is_set():
            self._close()
            raise FetchError("the issuer's response timed out")
        if self._error is not None:
            raise self._error
        if self._text is None:
            raise FetchError("the request was canceled")
        return self._text

    def _close(self) -> None:
        if self._sock is not None:
            try:
                # Wakes a thread that waits in recv; close() alone does not.
                self._sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            self._sock.close()
        if self._connection is not None:
            self._connection.close()

    def _read(self) -> str:
        request = self.request
        url = urlsplit(request.url)
        if url.scheme not in ("http", "https") or url.hostname is None or url.username is not None:
            raise FetchError("the address is not an http or https address")
        seconds = request.timeout_ms / 1_000
        connection = (
            http.client.HTTPSConnection(url.hostname, url.port, timeout=seconds, context=_trust())
            if url.scheme == "https"
            else http.client.HTTPConnection(url.hostname, url.port, timeout=seconds)
        )
        self._connection = connection
        connection.connect()
        self._sock = connection.sock
        path = (url.path or "/") + (f"?{url.query}" if url.query else "")
        headers = {"accept": "application/json", "connection": "close", **request.headers}
        connection.request(request.method, path, body=request.body, headers=headers)
        response = connection.getresponse()
        if response.status != 200:
            raise StatusError(response.status)
        data = response.read(request.max_bytes + 1)
        if len(data) > request.max_bytes:
            raise FetchError("the issuer's response exceeds the size limit")
        # A cut answer is no answer: read() with a size does not say so itself.
        if response.length:
            raise FetchError("the issuer's response is incomplete")
        return data.decode("utf-8-sig")


@functools.lru_cache(maxsize=1)
def _trust() -> ssl.SSLContext:
    """The certificates that the machine trusts; OpenSSL reads `SSL_CERT_FILE` and `SSL_CERT_DIR` for others."""
    return ssl.create_default_context()
