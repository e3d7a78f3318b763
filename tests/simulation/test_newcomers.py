"""Who appears during a step is met where the robot is at its end, not where it was before."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidestep.simulation import run_episode
from sidestep.types import HolonomicVelocity, Observation, Task
from tests.simulation.scenarios import make


class Eastward:
    needs = frozenset[str]()

    def reset(self, task: Task) -> None:
        """Nothing to prepare."""

    def act(self, observation: Observation) -> HolonomicVelocity:
        return HolonomicVelocity(1.0, 0.0)


@pytest.mark.parametrize(("place", "touched"), [(-0.25, False), (-0.15, True)])
def test_a_newcomer_is_met_at_the_end_of_the_step(tmp_path: Path, place: float, touched: bool) -> None:
    """The robot (radius 0.2) goes from x = 0 to 0.2 in the step; a person of radius 0.2 appears behind it."""
    tracks = f"# rate_hz: 5\n1 1 {place} 0\n2 1 {place} 0\n3 1 {place} 0\n"
    (tmp_path / "tracks.txt").write_text(tracks)
    part = {"model": "replay", "radius": 0.2, "placement": {"kind": "replay", "path": "tracks.txt"}}
    robot = {"spec": "pioneer_3dx", "dynamics": "holonomic", "start": [0, 0, 0], "goal": [9, 0]}
    scenario = make(crowd=[part], robots=[robot], rules={"step_s": 0.2, "time_limit_s": 0.6})
    record = run_episode(scenario, Eastward(), base=tmp_path)
    assert not record.person_present[0, 0]
    assert record.person_present[1, 0]
    assert any(event.kind == "collision_start" for event in record.events) is touched
