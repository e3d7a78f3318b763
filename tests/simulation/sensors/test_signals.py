"""The state of traffic signals, and who needs them where there are none."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep.errors import BadInput
from sidestep.simulation import run_episode
from sidestep.simulation.sensors.signals import signal_state
from sidestep.simulation.traffic.lane_driving import _is_green
from sidestep.types import Drive, Observation, Task
from sidestep.types.road import Signal
from tests.simulation.traffic.roads import EAST, WEST, on_the_road, straight_road

LIGHT = Signal(name="light", lanes=("a",), cycle_s=40.0, green_at_s=10.0, green_s=15.0, yellow_s=3.0)


@pytest.mark.parametrize(
    ("time", "state"),
    [
        (0.0, "red"), (9.99, "red"), (10.0, "green"), (24.99, "green"), (25.0, "yellow"), (27.99, "yellow"),
        (28.0, "red"), (49.99, "red"), (50.0, "green"), (410.0, "green"), (428.0, "red"),
    ],
)  # fmt: skip
def test_a_cycle(time: float, state: str) -> None:
    assert signal_state(LIGHT, time) == state


@given(time=st.integers(0, 4000).map(lambda k: k / 8))
def test_drivers_see_what_policies_see(time: float) -> None:
    row = np.array([LIGHT.cycle_s, LIGHT.green_at_s, LIGHT.green_s, LIGHT.yellow_s])
    assert _is_green(row, time) == (signal_state(LIGHT, time) == "green")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"green_s": 39.0}, "longer than cycle_s"),
        ({"green_at_s": 40.0}, "not within the cycle"),
    ],
)
def test_impossible_cycles(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Signal(name="light", lanes=("a",), **{"cycle_s": 40.0, **changes})


class Watcher:
    """Stands and keeps what it saw."""

    needs: ClassVar[frozenset[str]] = frozenset({"signals"})

    def reset(self, task: Task) -> None:
        self.seen: list[Any] = []

    def act(self, observation: Observation) -> Drive:
        self.seen.append((observation.time, observation.signals))
        return Drive(0.0, 0.0, 1.0)


SIGNALS = [
    {"name": "ahead", "lanes": [EAST], "cycle_s": 4, "green_at_s": 1, "green_s": 1, "yellow_s": 0.5},
    {"name": "oncoming", "lanes": [WEST], "cycle_s": 4, "green_at_s": 0, "green_s": 1, "yellow_s": 0.5},
]


def test_policies_get_all_signals_by_name() -> None:
    watcher = Watcher()
    run_episode(on_the_road(scene=straight_road(signals=SIGNALS), rules={"time_limit_s": 4}), watcher, act_limit_s=None)
    states = {round(time, 2): state for time, state in watcher.seen}
    assert states[0.0] == {"ahead": "red", "oncoming": "green"}
    assert states[1.0] == {"ahead": "green", "oncoming": "yellow"}
    assert states[2.0] == {"ahead": "yellow", "oncoming": "red"}
    assert states[3.0] == {"ahead": "red", "oncoming": "red"}


def test_a_scene_without_signals_is_refused() -> None:
    with pytest.raises(BadInput, match=r"needs signals, and the scene has none; take a scene with roads\.signals"):
        run_episode(on_the_road(), Watcher())
