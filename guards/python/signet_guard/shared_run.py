"""One run for all threads that want the same at the same time."""
from __future__ import annotations

import threading
from typing import Callable, Dict, Generic, Optional, TypeVar

Value = TypeVar("Value")


class _Run(Generic[Value]):
    def __init__(self) -> None:
        self.done = threading.Event()
        self.value: Optional[Value] = None
        self.error: Optional[BaseException] = None

    def outcome(self) -> Value:
        if self.error is not None:
            raise self.error
        return self.value  # type: ignore[return-value]


class SharedRun(Generic[Value]):
    """Joins the run of a name that is under way, or starts one in the calling thread."""

    def __init__(self, longest_ms: float) -> None:
        """longest_ms: how long a thread waits for another thread's run before it runs itself."""
        self._longest_s = longest_ms / 1_000
        self._lock = threading.Lock()
        self._under_way: Dict[str, _Run[Value]] = {}

    def __call__(self, name: str, run: Callable[[], Value]) -> Value:
        with self._lock:
            joined = self._under_way.get(name)
            own: _Run[Value] = _Run()
            if joined is None:
                self._under_way[name] = own
        if joined is not None:
            if joined.done.wait(self._longest_s):
                return joined.outcome()
            with self._lock:
                self._under_way[name] = own
        try:
            own.value = run()
        except BaseException as error:
            own.error = error
            raise
        finally:
            with self._lock:
                if self._under_way.get(name) is own:
                    del self._under_way[name]
            own.done.set()
        return own.outcome()
