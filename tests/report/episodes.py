"""Real episodes for the viewer and the exporters: a planner among people, and people with something to say."""

from __future__ import annotations

from functools import cache

from sidestep.policies.mpc.policy import Mpc
from sidestep.simulation import run_episode
from sidestep.suites.files import load_suite
from sidestep.types import EpisodeRecord, Observation
from tests.report.conftest import box
from tests.simulation.crowd.events.playing import play

STREET = {
    "name": "street",
    "regions": [
        {"kind": "grass", "polygon": box(-8, 4.2, 48, 9)},
        {"kind": "frontage", "polygon": box(-8, 2.2, 48, 4.2)},
        {"kind": "sidewalk", "polygon": box(-8, -2.2, 48, 2.2)},
        {"kind": "verge", "polygon": box(-8, -3.4, 48, -2.2)},
        {"kind": "kerb", "polygon": box(-8, -3.6, 48, -3.4)},
        {"kind": "road", "polygon": box(-8, -9, 48, -3.6)},
        {"kind": "ramp", "polygon": box(18, -3.6, 21, -2.2)},
        {"kind": "crosswalk", "polygon": box(18, -9, 21, -3.6)},
        {"kind": "building", "polygon": box(6, 4.6, 16, 8.6)},
        {"kind": "furniture", "polygon": box(3, 2.4, 4.6, 2.9)},
    ],
}
EVENTS = [
    {"kind": "gesturing", "at": [9, -0.9]},
    {"kind": "conversing", "at": [17, 0.0], "people": 3},
    {"kind": "obstructing", "at": [24, 1.0]},
]


@cache
def planned() -> EpisodeRecord:
    """``mpc`` in a circle crossing, six seconds of it."""
    scenario = next(s for s in load_suite("core").scenarios() if s.name == "circle-crossing")
    rules = scenario.rules.model_copy(update={"time_limit_s": 6.0})
    return run_episode(scenario.model_copy(update={"rules": rules}), Mpc(), seed=1)


def _astray(observation: Observation) -> tuple[float, float]:
    """Straight on, through whoever stands there, and off the sidewalk at last."""
    return 1.6, -1.0 if 20.0 < observation.robot.x < 27.0 and observation.time > 13.0 else 0.0


@cache
def eventful() -> EpisodeRecord:
    """Past a raised hand, through a conversation, off the sidewalk, and put back."""
    rules = {
        "step_s": 0.1, "time_limit_s": 19, "ends_on": ["off_route"], "on_failure": "reset", "avoid_groups": True,
        "stay_on": ["sidewalk", "frontage"],
    }  # fmt: skip
    lidar = {"lidar": {"mount": [0.5, 0.2], "rays": 90, "field_of_view": 3.0, "angle_min": -1.5, "max_range": 6.0}}
    return play(EVENTS, _astray, scene=STREET, rules=rules, sensors=lidar)
