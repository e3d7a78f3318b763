"""Measure a suite of figures."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any

from sidestep.bench.machine import bench_machine
from sidestep.bench.measure import Case, Effort
from sidestep.errors import BadInput, UnknownName
from sidestep.registry import import_attribute

SUITES: dict[str, tuple[str, ...]] = {
    "core": (
        "sidestep.bench.crowd:cases",
        "sidestep.bench.environment:cases",
        "sidestep.bench.lidar:cases",
        "sidestep.bench.start:cases",
        "sidestep.bench.memory:cases",
    ),
    "run": ("sidestep.bench.runs:cases",),
    "render": ("sidestep.bench.render:cases",),
    "town": ("sidestep.bench.town:cases",),
}
"""The functions that list the cases of each suite."""

Progress = Callable[[int, int, str], None]
"""Figures done, figures in all, and what is measured now or is worth knowing about it."""

QUICK_REPEATS = 2


def run_bench(
    suite: str = "core",
    repeats: int = 5,
    quick: bool = False,
    only: str | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Measure every figure of ``suite`` whose id matches the glob ``only``; the document of the command.

    ``quick`` measures a few figures in short blocks: enough to see that all works, too noisy to quote.
    """
    if repeats < 1:
        raise BadInput(f"repeats must be at least 1, got {repeats}")
    cases = choose_cases(suite, quick, only)
    effort = Effort(repeats=repeats)
    if quick:
        effort = Effort(repeats=min(repeats, QUICK_REPEATS), block_s=0.01, warm_up_s=0.0, quick=True)
    results = []
    for done, case in enumerate(cases):

        def note(text: str, done: int = done, case: Case = case) -> None:
            if progress is not None:
                progress(done, len(cases), f"{case.id}: {text}")

        note("measuring")
        results.append(case.measure(effort, note).to_dict())
    if progress is not None:
        progress(len(cases), len(cases), "done")
    return {"machine": bench_machine(), "results": results}


def choose_cases(suite: str, quick: bool = False, only: str | None = None) -> list[Case]:
    """The cases of ``suite`` that match; a pattern that matches none is an error."""
    if suite not in SUITES:
        raise UnknownName("bench suite", suite, SUITES)
    cases: list[Case] = [case for reference in SUITES[suite] for case in import_attribute(reference)()]
    chosen = [case for case in cases if (case.quick or not quick) and (only is None or fnmatchcase(case.id, only))]
    if not chosen:
        known = ", ".join(case.id for case in cases if case.quick or not quick)
        raise BadInput(f"no figure of bench suite {suite!r} matches {only!r}; there are: {known}")
    return chosen
