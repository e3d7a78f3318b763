"""The driver who reacts to probabilities: which ones, how gently, and what it leaves to the emergency brake."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

from sidestep import registry
from sidestep.errors import BadInput
from sidestep.metrics.score import score
from sidestep.policies.driving.anticipatory import AnticipatoryDriver
from sidestep.scenes.compile import compile_scene
from sidestep.simulation import run_episode
from sidestep.types import Drive, Observation, Outcome, Task
from sidestep.types.forecast import Ego, SampleForecast, TrackHistory
from sidestep.types.road import Crossing, Roads
from sidestep.types.scene import CompiledScene, Region, SceneSpec
from tests.policies.test_driving import CAR, CROWDED, people, state
from tests.simulation.traffic.roads import LANE_Y

BUMPER = 13.206
SAMPLES = 100


class Jumper:
    """Everybody is in ``share`` of 100 samples at ``place`` (x, y) at ``horizon``, and else stays where they are."""

    needs: ClassVar[frozenset[str]] = frozenset()
    history_s: ClassVar[float] = 0.0
    share, horizon, place = 0.4, 3.0, (40.0, LANE_Y)

    def predict(
        self, history: TrackHistory, horizons_s: Any, scene: CompiledScene | None = None, ego: Ego | None = None
    ) -> SampleForecast:
        paths = np.broadcast_to(history.position[-1][:, None, None], (len(history), SAMPLES, len(horizons_s), 2)).copy()
        paths[:, : round(self.share * SAMPLES), list(horizons_s).index(self.horizon)] = self.place
        return SampleForecast(horizons_s, paths)


class Early(Jumper):
    horizon, place = 1.0, (35.0, LANE_Y)


class OnZebra(Jumper):
    share, horizon, place = 1.0, 3.0, (40.0, LANE_Y + 3.0)


def act(predictor: type[Jumper], speed: float = 8.0, scene: CompiledScene | None = None, **settings: Any) -> Drive:
    """At (10, -1.75), with somebody at the kerb far ahead."""
    policy = AnticipatoryDriver(predictor=f"{__name__}:{predictor.__name__}", samples=2000, **settings)
    route = np.array([[float(x), LANE_Y] for x in range(12, 112, 2)])
    start = (10.0, LANE_Y, 0.0)
    policy.reset(
        Task(robot=CAR, start=start, step_s=0.05, time_limit_s=50.0, goal_radius_m=0.3, route=route, map=scene)
    )
    command = policy.act(Observation(0.0, state(speed=speed), pedestrians=people((40.0, LANE_Y + 6.0))))
    assert isinstance(command, Drive)
    return command


def test_the_threshold_of_the_horizon_decides() -> None:
    """In 3 s, at 8 m/s, the bumper is at 37.2 and the zone reaches 24 m farther: somebody at 40 is in it."""
    assert act(Jumper, thresholds=(0.0, 0.0, 0.5, 0.0)).brake == 0.0
    assert act(Jumper, thresholds=(1.0, 1.0, 0.3, 1.0)).brake > 0.0
    assert act(Jumper, thresholds=(0.3, 0.3, 1.0, 0.3)).brake == 0.0  # other horizons do not matter
    assert act(Early, thresholds=(0.3, 1.0, 1.0, 1.0)).brake > 0.0
    assert act(Early, thresholds=(0.5, 0.0, 0.0, 0.0)).brake == 0.0


def test_it_brakes_no_more_than_it_has_to() -> None:
    """With a deceleration a the bumper is at 13.2 + 3 · 8 - 4.5 a in 3 s and the zone ends 3 (8 - 3 a) farther: at
    61.2 - 13.5 a, before somebody at 54 from a = 0.53 on. Of the steps of 0.5 m/s² the next is 1."""

    class Far(Jumper):
        place = (54.0, LANE_Y)

    globals()["Far"] = Far
    Far.__module__ = __name__
    command = act(Far, thresholds=(1.0, 1.0, 0.0, 1.0))
    down = CAR.limits.max_deceleration or 8.0
    assert command.brake == pytest.approx(1.0 / down)


def test_a_crossing_belongs_to_the_zone_while_somebody_comes() -> None:
    crossing = Crossing(name="zebra", ends=((40.0, LANE_Y - 6.0), (40.0, LANE_Y + 6.0)))
    box = Region(kind="road", polygon=((0, -20), (120, -20), (120, 20), (0, 20)))
    scene = compile_scene(SceneSpec(regions=(box,), roads=Roads(crossings=(crossing,))))
    assert act(OnZebra, scene=None).brake == 0.0  # 3 m aside: not in the corridor
    assert act(OnZebra, scene=scene).brake > 0.0
    assert act(OnZebra, scene=scene, zebras=False).brake == 0.0


def test_the_emergency_brake_does_not_ask_the_predictor() -> None:
    policy = AnticipatoryDriver(predictor=f"{__name__}:Jumper", thresholds=(1.0,) * 4)
    route = np.array([[float(x), LANE_Y] for x in range(12, 112, 2)])
    policy.reset(
        Task(robot=CAR, start=(10.0, LANE_Y, 0.0), step_s=0.05, time_limit_s=50.0, goal_radius_m=0.3, route=route)
    )
    command = policy.act(Observation(0.0, state(speed=5.0), pedestrians=people((BUMPER + 1.0, LANE_Y))))
    assert isinstance(command, Drive)
    assert command.brake == 1.0


def test_it_drives_among_people() -> None:
    records = [run_episode(each, "anticipatory", seed=1) for each in CROWDED[::4]]
    assert np.mean([record.outcome is Outcome.SUCCESS for record in records]) > 0.7
    again = run_episode(CROWDED[0], "anticipatory", seed=1)
    assert again.digest == records[0].digest
    found = [score(record, ["preventable_collision"])["preventable_collision"].value for record in records]
    assert sum(found) <= 1


def test_settings_are_checked() -> None:
    with pytest.raises(BadInput, match="thresholds"):
        registry.make_policy("anticipatory", {"thresholds": [0.5, 0.5]})
    with pytest.raises(BadInput, match="samples"):
        registry.make_policy("anticipatory", {"samples": 0})
