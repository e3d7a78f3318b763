"""Limits on the time and memory that reading an input may take."""

from __future__ import annotations

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

STATUS = Path("/proc/self/statm")


def limit_memory(more_bytes: int) -> None:
    """On Linux, let the process grow by at most ``more_bytes`` from now on."""
    if STATUS.exists():
        pages = int(STATUS.read_text(encoding="ascii").split()[0])
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + more_bytes, hard))


class TooSlow(BaseException):
    """An input took longer than it may. No reader can catch it."""


@contextmanager
def within(seconds: float, more_bytes: int = 1_500_000_000) -> Iterator[None]:
    """Raise ``TooSlow`` after so many seconds, and (on Linux) let the process grow by at most ``more_bytes``."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TooSlow(f"more than {seconds:g} s")

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    limit_memory(more_bytes)
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
