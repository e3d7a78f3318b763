"""What each figure should reach on a machine with two cores of about 2023."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


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
    "env/people=20": Target(at_least=40e3, times_peer=500),
    "batch256/people=5": Target(at_least=0.9e6),
    "batch256/people=10": Target(at_least=260e3),
    "batch256/people=20": Target(at_least=90e3),
    "batch256/people=50": Target(at_least=31e3),
    "lidar/rays=720": Target(at_least=30e6),
    "start/warm": Target(at_most=1.0),
    "start/cold": Target(at_most=25.0),
    "memory/batch256/people=50": Target(at_most=50e3),
    "run/socnav/workers=2": Target(at_most=60.0),
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
}

SMALL, LARGE = "orca/n=200/threads=1", "orca/n=5000/threads=1"
COST_GROWTH = 1.3
"""An agent-step of ORCA may cost so many times more among 5000 people than among 200."""


def orca_cost_growth(results: Mapping[str, Mapping[str, Any]]) -> float | None:
    """Cost of an agent-step in the large crowd over that in the small one; None unless both were measured."""
    if SMALL not in results or LARGE not in results:
        return None
    return float(results[SMALL]["value"] / results[LARGE]["value"])
