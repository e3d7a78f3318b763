"""Sidestep: an open benchmark for robots and vehicles that move among people.

The data flow, left to right, is the list of packages::

    suites ─load─▶ types.Scenario ─simulation.build─▶ World ─simulation.run_episode─▶ types.EpisodeRecord
           ─metrics─▶ types.MetricResult ─runs─▶ results ─report─▶ what a person looks at

The episode record is the waist: everything left of it simulates, everything right of it only reads.

``run``, ``load_run``, ``load_record`` and ``open_episode`` are the way in from Python (``sidestep.api``). A name is
imported when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sidestep._util.record_display import show_records_with as _show_records_with
from sidestep.version import __version__

if TYPE_CHECKING:
    from sidestep.api import Run, load_record, load_run, open_episode, run
    from sidestep.errors import BadInput, SidestepError
    from sidestep.interfaces import Metric, Policy, Predictor, Sensor, Suite
    from sidestep.simulation.check import check_policy
    from sidestep.types import (
        Drive,
        EpisodeRecord,
        HolonomicVelocity,
        Native,
        Observation,
        Position,
        Scenario,
        Task,
        Velocity,
        Waypoints,
    )

_HOME = {
    **dict.fromkeys(("Run", "load_record", "load_run", "open_episode", "run"), "sidestep.api"),
    **dict.fromkeys(("BadInput", "SidestepError"), "sidestep.errors"),
    **dict.fromkeys(("Metric", "Policy", "Predictor", "Sensor", "Suite"), "sidestep.interfaces"),
    "check_policy": "sidestep.simulation.check",
    **dict.fromkeys(
        (
            "Drive", "EpisodeRecord", "HolonomicVelocity", "Native", "Observation", "Position", "Scenario", "Task",
            "Velocity", "Waypoints",
        ),
        "sidestep.types",
    ),
}  # fmt: skip
"""Public name → the module that has it."""

__all__ = [
    "BadInput",
    "Drive",
    "EpisodeRecord",
    "HolonomicVelocity",
    "Metric",
    "Native",
    "Observation",
    "Policy",
    "Position",
    "Predictor",
    "Run",
    "Scenario",
    "Sensor",
    "SidestepError",
    "Suite",
    "Task",
    "Velocity",
    "Waypoints",
    "__version__",
    "check_policy",
    "load_record",
    "load_run",
    "open_episode",
    "run",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'sidestep' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


_show_records_with(lambda: import_module("sidestep.report.inline"))
