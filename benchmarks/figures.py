"""Measures a suite of figures, says on what machine, and prints the figures next to their peers and to the targets for
a machine with two cores of about 2023.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from benchmarks.measure import Case, Effort
from sidestep.errors import BadInput, UnknownName
from sidestep.registry import import_attribute
from sidestep.runs.provenance import describe_machine, installed_version


@dataclass(frozen=True)
class Target:
    """Bounds of a figure; a bound that is None does not apply."""

    at_least: float | None = None
    at_most: float | None = None
    times_peer: float | None = None
    """How many times the peer's figure."""

    def is_met(self, result: Mapping[str, Any]) -> bool | None:
        """Whether a result of ``run_bench`` is within all bounds; None if only a missing peer could tell."""
        value, peer = result["value"], result["peer"]
        if self.at_least is not None and value < self.at_least:
            return False
        if self.at_most is not None and value > self.at_most:
            return False
        if self.times_peer is None:
            return True
        return None if peer is None else bool(peer["ratio"] >= self.times_peer)


TARGETS: dict[str, Target] = {
    "orca/n=1000/threads=1": Target(at_least=1.2e6),
    "orca/n=5000/threads=1": Target(at_least=1.2e6),
    "social_force_moussaid/n=50/threads=1": Target(at_least=3e6, times_peer=50),
    "social_force_helbing/n=200/threads=1": Target(times_peer=5),
    "env/people=20": Target(at_least=40e3, times_peer=300),
    "batch256/people=5": Target(at_least=0.9e6),
    "batch256/people=10": Target(at_least=260e3),
    "batch256/people=20": Target(at_least=90e3),
    "batch256/people=50": Target(at_least=31e3),
    "walls256/sensors=lidar180": Target(at_least=54e3),
    "lidar/rays=720": Target(at_least=30e6),
    "start/warm": Target(at_most=1.0),
    "start/cold": Target(at_most=25.0),
    "run_start/cold": Target(at_most=20.0),
    "render_start/command": Target(at_most=25.0),
    "memory/batch256/people=50": Target(at_most=50e3),
    "run/socnav/workers=2": Target(at_most=60.0),
    "run/overhead": Target(at_most=5.0),
    "run/workers=2": Target(at_least=1.85),
    "run/ray": Target(times_peer=0.85),
    "plan/social_force": Target(at_most=1e4 * 18.23),
    "plan/orca": Target(at_most=1e4 * 48.84),
    "plan/cadrl": Target(at_most=1e4 * 46.78),
    "plan/sampling": Target(at_most=1e4 * 51.12),
    "render/96x96/people=50": Target(at_least=700),
    "render/256x256/people=50": Target(at_least=450),
    "render/640x480/people=50": Target(at_least=200, times_peer=2),
    "render/1500x650/people=50": Target(at_least=65),
    "render_batch10/96x96/people=50": Target(at_least=1000),
    "video/640x480": Target(at_least=80),
    "video60/640x480": Target(at_most=15.0),
    "render_start/warm": Target(at_most=2.0),
    "town/people=500": Target(at_least=20),
    "intersection/run/workers=2": Target(at_most=60.0),
    "intersection/camera/200x88": Target(at_least=150),
    "intersection/camera/200x88/rain": Target(at_least=150),
    "prediction/scores/samples=100": Target(at_most=2.0),
    "prediction/scores/modes=100": Target(at_most=2.0),
    "prediction/bootstrap/models=8": Target(at_most=60.0),
    "demonstrations/write": Target(at_least=100),
    "answers/ilqr/people=20": Target(at_least=20),
    "answers/ilqr_bc/people=20": Target(at_least=20),
    "study/participants=50": Target(at_least=15),
    "study/input_to_picture": Target(at_most=60.0),
}

SMALL, LARGE = "orca/n=200/threads=1", "orca/n=5000/threads=1"
COST_GROWTH = 1.3
"""An agent-step of ORCA may cost so many times more among 5000 people than among 200."""


def orca_cost_growth(results: Mapping[str, Mapping[str, Any]]) -> float | None:
    """Cost of an agent-step in the large crowd over that in the small one; None unless both were measured."""
    if SMALL not in results or LARGE not in results:
        return None
    return float(results[SMALL]["value"] / results[LARGE]["value"])


PEER_PACKAGES = ("pyrvo", "pysocialforce", "jupedsim", "ir-sim")


def bench_machine() -> dict[str, Any]:
    """Processor, number of cores, versions of Sidestep, of what it computes with and of the peers."""
    machine = describe_machine()
    versions = {"sidestep": installed_version("sidestep"), **machine["versions"]}
    for name in ("gymnasium", *PEER_PACKAGES):
        versions[name] = installed_version(name)
    known = {name: version for name, version in versions.items() if version is not None}
    return {"cpu": machine["cpu"], "cores": machine["cores"], "versions": known}


SUITES: dict[str, tuple[str, ...]] = {
    "core": (
        "benchmarks.crowd:cases",
        "benchmarks.environment:cases",
        "benchmarks.lidar:cases",
        "benchmarks.environment:start_cases",
        "benchmarks.environment:memory_cases",
    ),
    "run": ("benchmarks.runs:cases",),
    "render": ("benchmarks.render:cases",),
    "town": ("benchmarks.town:cases",),
    "intersection": ("benchmarks.intersection:cases",),
    "prediction": ("benchmarks.prediction:cases",),
    "planning": ("benchmarks.planning:cases",),
    "study": ("benchmarks.studies:cases",),
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

    A figure that needs what is not installed is listed under ``not_measured`` with the reason and the remedy.
    ``quick`` measures a few figures in short blocks: enough to see that all works, too noisy to quote.
    """
    if repeats < 1:
        raise BadInput(f"repeats must be at least 1, got {repeats}")
    cases = choose_cases(suite, quick, only)
    effort = Effort(repeats=repeats)
    if quick:
        effort = Effort(repeats=min(repeats, QUICK_REPEATS), block_s=0.01, warm_up_s=0.0, quick=True)
    results, missing = [], []
    for done, case in enumerate(cases):

        def note(text: str, done: int = done, case: Case = case) -> None:
            if progress is not None:
                progress(done, len(cases), f"{case.id}: {text}")

        reason = case.missing()
        if reason is not None:
            missing.append({"id": case.id, "reason": reason})
            note(reason)
            continue
        note("measuring")
        results.append(case.measure(effort, note).to_dict())
    if progress is not None:
        progress(len(cases), len(cases), "done")
    document: dict[str, Any] = {"machine": bench_machine(), "results": results}
    return {**document, "not_measured": missing} if missing else document


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


HEADER = ("id", "value", "unit", "spread", "peer", "its value", "ratio", "target", "met")
RIGHT = (1, 3, 5, 6)
PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


def bench_table(result: Mapping[str, Any]) -> str:
    """The document of ``run_bench`` as aligned text: one line per figure, the machine above."""
    machine = result["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    lines = [f"{machine['cpu']}, {machine['cores']} cores", versions, ""]
    lines += align([HEADER, *(_row(entry) for entry in result["results"])])
    lines += [f"{entry['id']}: not measured, {entry['reason']}" for entry in result.get("not_measured", ())]
    growth = orca_cost_growth({entry["id"]: entry for entry in result["results"]})
    if growth is not None:
        lines.append("")
        lines.append(
            f"an ORCA agent-step among 5000 people costs {growth:.2f} times one among 200; "
            f"target ≤ {COST_GROWTH}: {_yes_no(growth <= COST_GROWTH)}"
        )
    return "\n".join(lines)


def align(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns of equal width, two spaces apart."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if k in RIGHT else cell.ljust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def short(value: float) -> str:
    """Three digits and a prefix: 1234567 is ``1.23 M``."""
    for size, prefix in PREFIXES:
        if abs(value) >= size:
            return f"{value / size:.3g} {prefix}"
    return f"{value:.3g}"


def _row(entry: Mapping[str, Any]) -> tuple[str, ...]:
    peer, target = entry["peer"], TARGETS.get(entry["id"])
    theirs = ("", "", "") if peer is None else (peer["name"], short(peer["value"]), f"{peer['ratio']:.3g}×")
    goal = ("", "") if target is None else (_target(target), _yes_no(target.is_met(entry)))
    return (entry["id"], short(entry["value"]), entry["unit"], f"{entry['spread']:.0%}", *theirs, *goal)


def _target(target: Target) -> str:
    bounds = []
    if target.at_least is not None:
        bounds.append(f"≥ {short(target.at_least)}")
    if target.at_most is not None:
        bounds.append(f"≤ {short(target.at_most)}")
    if target.times_peer is not None:
        bounds.append(f"≥ {target.times_peer:g}× peer")
    return ", ".join(bounds)


def _yes_no(met: bool | None) -> str:
    return "?" if met is None else ("yes" if met else "no")
