"""Running cases of a target, and telling defects from declared errors."""

from __future__ import annotations

import signal
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from tests.fuzz.guard import TooSlow
from tests.fuzz.target import Prepared, Target, case, check

CASE_S = 10.0
"""Processor time for one case, s; most take less than a millisecond."""
MORE_BYTES = 1_500_000_000
"""By which a process may grow while it reads."""
LONGEST_LINE = 600
"""Characters of a line of an error message, without the paths in it."""


@dataclass(frozen=True)
class Defect:
    """A case that neither returned nor raised a declared error. ``place`` tells defects apart."""

    number: int
    place: str
    told: str


def _stop(number: int, frame: FrameType | None) -> None:
    raise TooSlow(f"more than {CASE_S:g} s")


def place_of(error: BaseException) -> str:
    """Kind of the error, and file and line of ours where it came up."""
    frames = [each for each in traceback.extract_tb(error.__traceback__) if "sidestep" in each.filename]
    inner = frames[-1] if frames else traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} at {Path(inner.filename).name}:{inner.lineno}"


def find_defect(target: Target, prepared: Prepared, number: int, folder: Path) -> Defect | None:
    """Run one case."""
    content = case(target, prepared, number)
    signal.setitimer(signal.ITIMER_PROF, CASE_S)
    try:
        told = check(target, prepared, content)
    except BaseException as error:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        if isinstance(error, KeyboardInterrupt):
            raise
        return Defect(number, place_of(error), f"{type(error).__name__}: {error!s:.300}")
    signal.setitimer(signal.ITIMER_PROF, 0.0)
    if len(told) > LONGEST_LINE:
        longest = max((len(line) for line in told.replace(str(folder), "").splitlines()), default=0)
        if longest > LONGEST_LINE:
            return Defect(number, "a long message", f"a line of {longest} characters: {told[:200]}")
    return None


def run_cases(
    target: Target,
    prepared: Prepared,
    numbers: range,
    folder: Path,
    found: Callable[[Defect], None],
    before: Callable[[int], None] = lambda number: None,
) -> float:
    """Run all cases of ``numbers``; seconds that it took. ``before`` is told each number before its case runs."""
    started = time.perf_counter()
    handler = signal.signal(signal.SIGPROF, _stop)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for number in numbers:
                before(number)
                defect = find_defect(target, prepared, number, folder)
                if defect is not None:
                    found(defect)
    finally:
        signal.signal(signal.SIGPROF, handler)
    return time.perf_counter() - started
