"""The time, as a function that tests replace."""
from __future__ import annotations

import time
from typing import Callable

Clock = Callable[[], float]
"""Returns milliseconds since the Unix epoch."""


def system_clock() -> float:
    """Returns the time of the machine in milliseconds since the Unix epoch."""
    return time.time() * 1_000
