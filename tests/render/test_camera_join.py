"""A robot's camera in a simulated world, and pictures of records: both show the same world."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from PIL import Image

from sidestep.errors import BadInput
from sidestep.render.films.cameras import BAR_PX, draw_film
from sidestep.render.mesh import Semantic
from sidestep.render.record_view import RecordView
from sidestep.render.world_view import ROBOT_IDS
from sidestep.simulation import run_episode
from sidestep.types import Observation, Scenario, Task, Velocity
from sidestep.types.sensors import CameraSettings
from tests.simulation.scenarios import make, room

SMALL = {"width": 64, "height": 48}


class Watching:
    needs: ClassVar[frozenset[str]] = frozenset({"rgb", "depth", "semantic"})

    def __init__(self) -> None:
        self.seen: list[Observation] = []

    def reset(self, task: Task) -> None:
        self.seen.clear()

    def act(self, observation: Observation) -> Velocity:
        self.seen.append(observation)
        return Velocity(0.3, 0.0)


def scenario(**camera: Any) -> Any:
    """A robot in a room that looks along +x at somebody 2 m ahead who stands, and at a wall 3 m beyond."""
    person = {"start": [0.5, 1.5], "heading": 3.14}
    return make(
        scene=room(10.0),
        robots=[{"spec": "pioneer_3dx", "start": [-2, 1.5, 0], "goal": [4, 1.5]}],
        crowd=[{"model": "static", "people": [person], "radius": 0.2}],
        sensors={"camera": {**SMALL, **camera}},
        rules={"step_s": 0.1, "time_limit_s": 1.0},
    )


@pytest.fixture(scope="module")
def watched() -> tuple[Any, list[Observation]]:
    policy = Watching()
    return run_episode(scenario(), policy, act_limit_s=None), policy.seen


def test_the_person_ahead_is_seen_where_it_is(watched: tuple[Any, list[Observation]]) -> None:
    record, seen = watched
    assert not record.error
    first = seen[0]
    assert first.rgb is not None
    assert first.depth is not None
    assert first.semantic is not None
    assert first.rgb.shape == (48, 64, 3)
    people = first.semantic == Semantic.PERSON
    assert people.any()
    columns = np.flatnonzero(people.any(axis=0))
    assert 25 < columns.mean() < 38
    assert first.depth[people].min() == pytest.approx(2.3, abs=0.25)
    assert first.depth[first.semantic == Semantic.WALL].max() < 12.0


def test_a_record_shows_what_the_policy_saw(watched: tuple[Any, list[Observation]]) -> None:
    record, seen = watched
    view = RecordView(record, record.scenario.sensors.camera, "first")
    for step in (0, 5, 9):
        images = view.images(step, ("rgb", "depth", "semantic"))
        assert np.array_equal(images.rgb, seen[step].rgb)
        assert np.array_equal(images.depth, seen[step].depth)
        assert np.array_equal(images.semantic, seen[step].semantic)


ROUGH: dict[str, Any] = {
    "crop": {"rows": [6, 42], "columns": [2, 62]}, "output_size": [25, 14], "rgb_noise": 4.0, "depth_noise": 0.01,
    "depth_step": 0.01, "min_depth": 0.3, "max_depth": 6.0, "noise_seed": 3,
}  # fmt: skip


@pytest.mark.parametrize("camera", [
    ROUGH, {**ROUGH, "rate_hz": 4.0, "latency_s": 0.15}, {"fx": 50.0, "fy": 40.0, "cx": 20.0, "cy": 30.0},
    {"own_body": True, "mount": [-1.0, 0.0, 0.9]},
])  # fmt: skip
def test_a_record_shows_it_whatever_the_camera(camera: dict[str, Any]) -> None:
    walker = {"start": [0.5, 1.5], "waypoints": [[0.5, -2.0]], "speed": 1.0}
    crowd = [{"model": "orca", "people": [walker], "radius": 0.2}]
    rules = {"step_s": 0.05, "time_limit_s": 1.0, "control_every": 2}
    policy = Watching()
    record = run_episode(scenario(**camera).model_copy(update=parts(crowd, rules)), policy, act_limit_s=None)
    view = RecordView(record, record.scenario.sensors.camera, "first")
    assert len(policy.seen) == 10
    for asked in (0, 3, 4, 9):
        seen = policy.seen[asked]
        images = view.images(2 * asked, ("rgb", "depth", "semantic"))
        assert np.array_equal(images.rgb, seen.rgb)
        assert np.array_equal(images.depth, seen.depth)
        assert np.array_equal(images.semantic, seen.semantic)
    robot = policy.seen[4].semantic == Semantic.ROBOT
    assert robot.any() == camera.get("own_body", False)


def parts(crowd: Any, rules: Any) -> dict[str, Any]:
    """Fields of a scenario, checked."""
    checked = make(crowd=crowd, rules=rules)
    return {"crowd": checked.crowd, "rules": checked.rules}


class OwnCamera(Watching):
    camera: ClassVar[Any] = {"width": 40, "height": 30, "output_size": [20, 10], "yaw": 0.2, "rate_hz": 5.0}


def test_a_record_shows_the_camera_that_the_policy_declares(tmp_path: Path) -> None:
    policy = OwnCamera()
    record = run_episode(scenario(), policy, act_limit_s=None)
    assert policy.seen[3].picture_time == pytest.approx(0.2)
    view = RecordView(record, record.scenario.sensors.camera, "first")
    assert np.array_equal(view.images(3).rgb, policy.seen[3].rgb)
    draw_film(record, tmp_path / "film.gif")
    assert Image.open(tmp_path / "film.gif").size == (20, 10 + BAR_PX)


@pytest.mark.parametrize("angle", ["chase", "above"])
def test_other_angles_show_the_robot(angle: Any) -> None:
    open_air = run_episode(make(rules={"step_s": 0.1, "time_limit_s": 0.5}), Watching(), act_limit_s=None)
    images = RecordView(open_air, CameraSettings(width=96, height=72), angle).images(2, ("instance",))
    assert (images.instance == ROBOT_IDS).any()


def test_depth_noise_is_stated_and_repeats() -> None:
    quiet, noisy, again = Watching(), Watching(), Watching()
    run_episode(scenario(), quiet, act_limit_s=None)
    run_episode(scenario(depth_noise=0.01), noisy, act_limit_s=None)
    run_episode(scenario(depth_noise=0.01), again, act_limit_s=None)
    exact, rough, same = (policy.seen[3].depth for policy in (quiet, noisy, again))
    assert exact is not None
    assert rough is not None
    assert np.array_equal(rough, same)
    near = np.isfinite(exact)
    error = (rough - exact)[near] / exact[near] ** 2
    assert error.std() == pytest.approx(0.01, rel=0.1)


def test_a_camera_of_no_size_is_refused() -> None:
    with pytest.raises(BadInput, match="width"):
        scenario(width=0)
    with pytest.raises(BadInput, match="field_of_view"):
        scenario(field_of_view=3.0)


def test_gestures_and_heads_are_the_same_live_and_in_the_record() -> None:
    policy = Watching()
    event = {"kind": "gesturing", "at": [1.0, 1.5], "trigger_m": 2.75}
    changed = scenario().model_dump() | {"crowd": [], "events": [event]}
    record = run_episode(Scenario.parse(changed, "gesturing"), policy, act_limit_s=None)
    assert set(np.unique(record.person_gesture)) == {0, 5}
    view = RecordView(record, record.scenario.sensors.camera, "first")
    for step in (0, 5, 9):
        assert np.array_equal(view.images(step, ("rgb",)).rgb, policy.seen[step].rgb)
    before, raised = (policy.seen[step].semantic == Semantic.PERSON for step in (0, 9))
    assert raised.sum() > 1.1 * before.sum()  # an arm, and 0.3 m nearer
