"""A policy that asks for pictures gets those that it asked for, and no others."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

from sidestep.simulation import run_episode
from sidestep.types import Observation, Task, Velocity
from tests.simulation.scenarios import crossing


class Flat:
    """A camera that paints the number of people present and how far it has driven."""

    def __init__(self, scene: Any, robot: Any, needs: frozenset[str], *rest: Any) -> None:
        self.needs = needs

    def follow(self, *_: Any) -> None: ...

    def sense(self, robot: Any, people: Any, time_s: float) -> dict[str, Any]:
        pictures = {"rgb": np.full((4, 6, 3), len(people), np.uint8), "depth": np.full((4, 6), time_s, np.float32)}
        return {name: pictures[name] for name in self.needs}


class Looking:
    needs: ClassVar[frozenset[str]] = frozenset({"rgb", "depth"})

    def __init__(self) -> None:
        self.seen: list[Observation] = []

    def reset(self, task: Task) -> None:
        self.seen.clear()

    def act(self, observation: Observation) -> Velocity:
        self.seen.append(observation)
        return Velocity(0.0, 0.0)


class OnlyDepth(Looking):
    needs: ClassVar[frozenset[str]] = frozenset({"depth"})


@pytest.fixture
def camera(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sidestep.render.camera.RobotCamera", Flat)


def test_pictures_reach_the_policy(camera: None) -> None:
    policy = Looking()
    run_episode(crossing(5, rules={"step_s": 0.1, "time_limit_s": 0.5}), policy)
    rgb, depth = policy.seen[2].rgb, policy.seen[2].depth
    assert rgb is not None
    assert depth is not None
    assert rgb.shape == (4, 6, 3)
    assert (rgb == 5).all()
    assert depth == pytest.approx(0.2)
    assert policy.seen[2].semantic is None


def test_only_what_was_asked_for(camera: None) -> None:
    policy = OnlyDepth()
    run_episode(crossing(5, rules={"step_s": 0.1, "time_limit_s": 0.2}), policy)
    assert policy.seen[0].rgb is None
    assert policy.seen[0].depth is not None
