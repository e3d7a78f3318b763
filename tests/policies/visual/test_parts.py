"""Pictures, histories, goals, denoising and decoding, each against numbers worked out by hand."""

from __future__ import annotations

from math import cos, hypot, pi
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep.policies.visual.inputs import InputMaker, PointGoals, point_numbers, random_picture, text_tensor
from sidestep.policies.visual.memory import CameraFrame, Memory, Odometry, from_frame, into_frame
from sidestep.policies.visual.outputs import denoised, squared_cosine_betas
from sidestep.policies.visual.picture import coloured, fitted, picture_tensors, resized
from sidestep.policies.visual.policy import Track, arc_velocity
from sidestep.policies.visual.spec import DiffusionOutput, GoalSpec, ImageSpec, VisualSpec, to_axes
from sidestep.types import Observation, RobotState

STILL = RobotState(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


def spec(**changes: Any) -> VisualSpec:
    document: dict[str, Any] = {
        "name": "test",
        "image": {"width": 4, "height": 2, "rate_hz": 5},
        "output": {"kind": "waypoints", "points": 3},
    }
    return VisualSpec.parse(document | changes, "test")


def flat(value: int, width: int = 4, height: int = 2) -> Any:
    return np.full((height, width, 3), value, np.uint8)


def test_area_average_keeps_the_mean_and_exact_blocks() -> None:
    picture = np.zeros((4, 4, 3), np.uint8)
    picture[:2, :2] = 100
    picture[2:, 2:] = 200
    assert resized(picture, 2, 2)[..., 0].tolist() == [[100, 0], [0, 200]]
    assert resized(picture, 1, 1)[0, 0].tolist() == [75, 75, 75]
    assert resized(flat(77), 7, 5).tolist() == np.full((5, 7, 3), 77).tolist()


def test_the_middle_is_cropped_before_resizing() -> None:
    image = ImageSpec(width=2, height=2, rate_hz=5, camera={"width": 6, "height": 4}, crop=(4, 4))
    picture = np.zeros((4, 6, 3), np.uint8)
    picture[:, [0, 5]] = 255  # cropped away
    picture[:, 1:3] = 40
    assert fitted(picture, image)[..., 0].tolist() == [[40, 0], [40, 0]]


def test_a_camera_of_another_size_is_brought_to_the_wished_shape() -> None:
    image = ImageSpec(width=4, height=2, rate_hz=5)
    picture = np.zeros((8, 8, 3), np.uint8)
    picture[2:6] = 90  # the middle of shape 2 : 1
    assert (fitted(picture, image) == 90).all()


def test_colours() -> None:
    picture = np.zeros((2, 2, 3), np.uint8)
    picture[..., 0], picture[0, 1] = 200, (0, 100, 0)
    assert coloured(picture, "bgr")[:, 0, 0].tolist() == [0.0, 0.0, 200.0]
    assert coloured(picture, "grey")[0, 0, 0] == pytest.approx(59.8)
    yuv = coloured(np.full((4, 6, 3), 50, np.uint8), "yuv420")
    assert yuv.shape == (6, 2, 3)
    assert yuv[:, 0, 0] == pytest.approx([50, 50, 50, 50, 128, 128])
    luma = coloured(picture, "yuv420")[:4, 0, 0]
    assert luma == pytest.approx([59.8, 58.7, 59.8, 59.8])


def stacked(**history: Any) -> Any:
    image = ImageSpec(width=4, height=2, rate_hz=5, history={"frames": 3, **history})
    return picture_tensors([flat(0), flat(51), flat(102)], image)


def test_history_stacks_in_order() -> None:
    channels = stacked(stack="channels")["image"]
    assert channels.shape == (1, 9, 2, 4)
    assert channels[0, :, 0, 0] == pytest.approx([0.0] * 3 + [0.2] * 3 + [0.4] * 3)
    assert stacked(stack="channels", order="newest_first")["image"][0, ::3, 0, 0] == pytest.approx([0.4, 0.2, 0.0])
    time = stacked(stack="time")["image"]
    assert time.shape == (1, 3, 3, 2, 4)
    assert time[0, :, 0, 0, 0] == pytest.approx([0.0, 0.2, 0.4])
    assert stacked(stack="batch")["image"].shape == (3, 3, 2, 4)


def test_separate_pictures_and_normalisation() -> None:
    image = ImageSpec(
        input="frame_{}", width=4, height=2, rate_hz=5, layout="nhwc", mean=(0.5, 0.0, 0.0), std=(0.5, 1.0, 2.0),
        history={"frames": 2, "stack": "separate"},
    )  # fmt: skip
    tensors = picture_tensors([None, flat(255)], image)
    assert list(tensors) == ["frame_0", "frame_1"]
    assert not tensors["frame_0"].any()
    assert tensors["frame_1"].shape == (1, 2, 4, 3)
    assert tensors["frame_1"][0, 0, 0] == pytest.approx([1.0, 1.0, 0.5])


def test_memory_finds_the_nearest_moments_and_repeats_the_first() -> None:
    memory = Memory(2.0)
    for k in range(8):
        memory.add(CameraFrame(0.25 * k, flat(k), STILL))
    assert [frame.time for frame in memory.history(3, 0.5) if frame] == [0.75, 1.25, 1.75]
    assert memory.history(6, 0.5)[:2] == [None, None]
    maker = InputMaker(spec(image={"width": 4, "height": 2, "rate_hz": 4, "history": {"frames": 3}}), 0, 1.0, "paper")
    fresh = Memory(1.0)
    fresh.add(CameraFrame(0.0, flat(51), STILL))
    fresh.add(CameraFrame(0.25, flat(102), STILL))
    assert maker.make(fresh, Observation(0.25, STILL))["image"][0, ::3, 0, 0] == pytest.approx([0.2, 0.2, 0.4])


@given(st.floats(-5, 5), st.floats(-5, 5), st.floats(-7, 7))
def test_frames_are_inverse(x: float, y: float, heading: float) -> None:
    robot = RobotState(x, y, heading, 0.0, 0.0, 0.0)
    points = np.array([[1.0, 2.0], [-3.0, 0.5]])
    assert into_frame(from_frame(points, robot), robot) == pytest.approx(points)


def test_odometry_between_two_looks() -> None:
    odometry = Odometry()
    odometry.add(1.0, RobotState(0.0, 0.0, 3.1, 1.0, 0.0, 0.0))
    odometry.add(1.2, RobotState(0.2, 0.4, -3.1, 1.0, 0.0, 0.0))
    between = odometry.at(1.05)
    assert (between.x, between.y) == pytest.approx((0.05, 0.1))
    assert between.heading == pytest.approx(3.1 + 0.25 * (2 * pi - 6.2))
    assert odometry.at(1.5).x == 0.2
    assert odometry.at(0.5).x == 0.0


def test_a_point_on_the_left_in_other_axes() -> None:
    point = np.array([[3.0, 4.0]])  # 3 m ahead, 4 m left
    assert to_axes(point, "right_ahead").tolist() == [[-4.0, 3.0]]
    assert to_axes(point, "ahead_right").tolist() == [[3.0, -4.0]]
    goal = GoalSpec(kind="point", input="g", encoding="polar", length={"metres": 0.5})
    assert point_numbers(point[0], goal, 0.5) == pytest.approx([10.0, 0.6, 0.8])
    pose = GoalSpec(kind="point", input="g", encoding="pose", farthest_m=2.5)
    assert point_numbers(point[0], pose, 1.0) == pytest.approx([1.5, 2.0, 0.6, 0.8])


def test_random_goals_stay_in_the_world_until_passed_or_old() -> None:
    goals = PointGoals(seed=7, period_s=10.0)
    ahead, left = goals.current(STILL, 0.0)
    assert 5.0 <= ahead <= 20.0
    assert -5.0 <= left <= 5.0
    moved = RobotState(1.0, 0.0, 0.0, 1.0, 0.0, 0.0)
    assert goals.current(moved, 1.0) == pytest.approx([ahead - 1.0, left])
    turned = RobotState(0.0, 0.0, pi, 0.0, 0.0, 0.0)
    new = goals.current(turned, 2.0)  # the first is behind now
    assert 5.0 <= new[0] <= 20.0
    assert not np.allclose(goals.current(turned, 12.5), new)  # and this one is too old
    assert np.array_equal(PointGoals(7).current(STILL, 0.0), [ahead, left])
    assert not np.array_equal(PointGoals(8).current(STILL, 0.0), [ahead, left])


@given(st.integers(0, 2**32 - 1))
def test_random_goals_have_the_published_range(seed: int) -> None:
    ahead, left = PointGoals(seed).current(STILL, 0.0)
    assert 5.0 <= ahead <= 20.0
    assert -5.0 <= left <= 5.0


def test_random_pictures_and_texts() -> None:
    assert np.array_equal(random_picture(3, 4, 2), random_picture(3, 4, 2))
    assert not np.array_equal(random_picture(3, 4, 2), random_picture(4, 4, 2))
    assert text_tensor(GoalSpec(kind="language", input="t")).tolist() == ["Follow the sidewalk"]
    numbers = text_tensor(GoalSpec(kind="language", input="t", text="ab", text_as="utf8", text_length=4))
    assert numbers.tolist() == [[97, 98, 0, 0]]
    tokens = text_tensor(GoalSpec(kind="language", input="t", text_as="tokens", tokens=(5, 6), text_length=3))
    assert tokens.tolist() == [[5, 6, 0]]


def test_more_inputs() -> None:
    extra = {
        "past": {"kind": "past_positions", "count": 3, "spacing_s": 0.2, "axes": "right_ahead", "append_goal": True},
        "speed": {"kind": "past_velocities", "count": 1},
        "mask": {"kind": "goal_mask"},
        "noise": {"kind": "noise", "shape": [1, 6]},
        "one": {"kind": "constant", "value": [[1, 2]], "dtype": "int64"},
        "memory": {"kind": "state", "output": "new", "shape": [1, 3, 2], "shift": True},
    }
    maker = InputMaker(spec(goal={"kind": "point"}, extra=extra), 0, 1.0, "true")
    memory = Memory(1.0)
    for k in range(3):
        memory.add(CameraFrame(0.2 * k, flat(0), RobotState(0.3 * k, 0.0, 0.0, 1.5, 0.0, 0.25)))
    now = Observation(0.4, memory.now.robot, goal=(1.6, 2.0))
    inputs = maker.make(memory, now)
    assert inputs["past"][0] == pytest.approx(np.array([[0, -0.6], [0, -0.3], [0, 0], [-2, 1]]), abs=1e-6)
    assert inputs["speed"].tolist() == [[[1.5, 0.25]]]
    assert inputs["mask"].tolist() == [0]
    assert inputs["one"].tolist() == [[1, 2]]
    assert not inputs["memory"].any()
    assert not np.array_equal(inputs["noise"], maker.make(memory, now)["noise"])
    maker.keep({"new": np.array([[7.0, 8.0]])})
    assert maker.make(memory, now)["memory"].tolist() == [[[0, 0], [0, 0], [7, 8]]]


def test_squared_cosine_schedule() -> None:
    betas = squared_cosine_betas(10)
    # by hand: 1 − (cos(0.108 / 1.008 · π/2) / cos(0.008 / 1.008 · π/2))²
    first = 1.0 - (cos(0.108 / 1.008 * pi / 2) / cos(0.008 / 1.008 * pi / 2)) ** 2
    assert betas[0] == pytest.approx(first)
    assert betas[-1] == 0.999
    assert (np.diff(betas) > 0.0).all()


def test_two_denoising_steps_by_hand() -> None:
    output = DiffusionOutput(kind="diffusion", points=1, steps=2, clip=None)
    betas = squared_cosine_betas(2)
    a0, a1 = 1.0 - betas[0], (1.0 - betas[0]) * (1.0 - betas[1])
    start = np.array([[[0.4, -0.2]]])
    said = np.array([[[0.1, 0.1]]])
    z = np.random.default_rng(5).standard_normal(start.shape)
    x0 = (start - np.sqrt(1 - a1) * said) / np.sqrt(a1)
    x1 = (np.sqrt(a0) * betas[1] * x0 + np.sqrt(1 - betas[1]) * (1 - a0) * start) / (1 - a1)
    x1 += np.sqrt(betas[1] * (1 - a0) / (1 - a1)) * z
    expected = (x1 - np.sqrt(1 - a0) * said) / np.sqrt(a0)
    asked: list[float] = []

    def predict(sample: Any, step: float) -> Any:
        asked.append(step)
        return said

    assert denoised(start, predict, output, np.random.default_rng(5)) == pytest.approx(expected)
    assert asked == [1.0, 0.0]


def test_a_network_that_knows_the_answer_ends_there() -> None:
    answer = np.array([[[0.5, -0.3], [0.9, 0.1]]])
    for predicts in ("sample", "velocity"):
        output = DiffusionOutput(kind="diffusion", points=2, steps=7, predicts=predicts)
        start = np.random.default_rng(0).standard_normal(answer.shape)
        # straight from the noise to the answer: the velocity of flow matching
        said = answer if predicts == "sample" else answer - start
        found = denoised(start, lambda sample, step, said=said: said, output, np.random.default_rng(1))
        assert found == pytest.approx(answer)


def test_a_track_forgets_what_is_passed_and_ends() -> None:
    track = Track(np.array([[1.0, 0.0], [2.0, 0.0], [2.0, 1.0]]), STILL)
    assert track.left(STILL).tolist() == [[1.0, 0.0], [2.0, 0.0], [2.0, 1.0]]
    left = track.left(RobotState(1.5, 0.0, pi / 2, 0.0, 0.0, 0.0))
    assert left == pytest.approx(np.array([[0.0, -0.5], [1.0, -0.5]]), abs=1e-12)
    assert track.left(RobotState(2.0, 1.1, 0.0, 0.0, 0.0, 0.0)) is None


@given(st.floats(0.1, 5.0), st.floats(-5.0, 5.0))
def test_an_arc_ends_where_it_should(x: float, y: float) -> None:
    v, omega = arc_velocity(x, y, 2.0)
    heading = 2.0 * omega
    if abs(omega) < 1e-6:
        assert 2.0 * v == pytest.approx(hypot(x, y), rel=1e-4)
        return
    radius = v / omega
    assert radius * np.sin(heading) == pytest.approx(x, abs=1e-6)
    assert radius * (1.0 - np.cos(heading)) == pytest.approx(y, abs=1e-6)
