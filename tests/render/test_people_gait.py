"""Walking, running, standing, turning: feet on the ground and not sliding, and film equal to live picture."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidestep.errors import BadInput
from sidestep.render.people.animation import PeopleAnimator, track_gait
from sidestep.render.people.body import person_models
from sidestep.render.people.gait_kernels import FEET, STRIDE
from sidestep.render.people.pose import PeopleState, pose_people
from sidestep.render.people.skeleton import FOOT_L, FOOT_R, HEAD
from sidestep.render.people.wardrobe import dress_people
from tests.render.skinning import check_rotations, skin, slip


def steady(speed, turn_rate=0.0, travel=0.0, model=0, scale=1.0, seconds=2.5, step=0.02):
    """Feet (T, V, 3) of somebody in steady motion, with the phase that the metres walked give."""
    time = np.arange(0.0, seconds, step)
    heading = 0.4 + turn_rate * time
    if turn_rate:
        x = speed / turn_rate * (np.sin(heading + travel) - np.sin(0.4 + travel))
        y = -speed / turn_rate * (np.cos(heading + travel) - np.cos(0.4 + travel))
    else:
        x, y = speed * time * np.cos(0.4 + travel), speed * time * np.sin(0.4 + travel)
    pace = np.hypot(speed / scale, 0.22 * turn_rate)
    phase = 0.13 + pace * time / (STRIDE * np.sqrt(pace))
    n = len(time)
    state = PeopleState(
        np.c_[x, y] + (7.0, -3.0), heading, np.full(n, speed), phase, np.full(n, model), np.full(n, scale),
        np.full(n, travel), np.full(n, turn_rate),
    )  # fmt: skip
    bones = pose_people(state)
    check_rotations(bones, state.scale)
    body = person_models()[model]
    feet = np.isin(body.bones[0][:, 0], (FOOT_L, FOOT_R)) & (body.weights[0][:, 0] == 1)
    return np.stack([skin(body, block)[feet] for block in bones])


@pytest.mark.parametrize("speed", [0.6, 0.9, 1.3, 1.7, 2.0])
@pytest.mark.parametrize("scale", [1.5 / 1.75, 1.95 / 1.75])
def test_standing_foot_does_not_slide(speed, scale):
    feet = steady(speed, scale=scale)
    assert slip(feet, 0.004) < 0.02
    assert np.abs(feet[:, :, 2].min(axis=1)).max() < 0.01


@pytest.mark.parametrize(("speed", "turn_rate", "travel"), [
    (0.0, 1.2, 0.0), (0.0, -2.5, 0.0), (1.2, 0.5, 0.0), (0.8, 0.0, np.pi / 2), (0.7, 0.0, np.pi), (1.0, -0.4, 0.6),
])  # fmt: skip
def test_turning_and_sidestepping_feet_do_not_slide(speed, turn_rate, travel):
    feet = steady(speed, turn_rate, travel)
    assert slip(feet, 0.004) < 0.02
    assert np.abs(feet[:, :, 2].min(axis=1)).max() < 0.01


CLOCK = np.arange(0.0, 5.0, 0.05)
WALKS = {
    "start": (1.4 * np.clip(CLOCK - 1, 0, 1), 0 * CLOCK),
    "stop": (1.4 * np.clip((2 - CLOCK) / 0.5, 0, 1), 0 * CLOCK),
    "stop at once": (1.3 * (CLOCK < 2), 0 * CLOCK),
    "slower and faster": (1.3 + 0.3 * np.sin(2 * CLOCK), 0 * CLOCK),
    "round a corner": (1.3 + 0 * CLOCK, np.clip(1.5 * (CLOCK - 2), 0, 1.57)),
    "turn round on the spot": (0 * CLOCK, np.clip(1.5 * (CLOCK - 2), 0, 3.1)),
}


@pytest.mark.parametrize("walk", WALKS)
def test_planted_feet_stay_when_speed_changes(walk):
    speed, heading = WALKS[walk]
    velocity = (speed[:, None] * np.stack([np.cos(heading), np.sin(heading)], axis=1))[:, None]
    looks = dress_people("walk", [2])
    track = track_gait(
        CLOCK, np.cumsum(velocity, axis=0) * 0.05, velocity, heading[:, None], np.ones((len(CLOCK), 1), bool), looks
    )  # fmt: skip
    body = person_models()[looks.model[0]]
    feet = np.isin(body.bones[0][:, 0], (FOOT_L, FOOT_R)) & (body.weights[0][:, 0] == 1)
    times = np.arange(0.0, CLOCK[-1], 0.02)
    paths = np.stack([skin(body, pose_people(track.state_at(t)[1])[0])[feet] for t in times])
    assert slip(paths, 0.003) < (0.06 if walk == "stop at once" else 0.03)
    assert np.abs(paths[:, :, 2].min(axis=1)).max() < 0.01
    if walk.startswith("stop"):
        left, right = (track.columns[-1, 0, first : first + 2] for first in (FEET, FEET + 3))
        assert np.hypot(*(left - right)) < 0.26, "the feet come together"
        assert track.phase[-1, 0] == pytest.approx(track.phase[-8, 0], abs=1e-4), "and then rest"


def test_running_leaves_the_ground_and_lands():
    feet = steady(3.2)
    low = feet[:, :, 2].min(axis=1)
    assert low.min() > -0.01
    assert low.max() > 0.01, "there is a flight phase"
    assert low.max() < 0.12
    assert slip(feet, 0.004) < 0.02


def test_walking_swings_both_legs_alike():
    feet = steady(1.3, seconds=1.2, step=0.01)
    assert 0.05 < feet[:, :, 2].max() < 0.30


states = st.fixed_dictionaries({
    "speed": st.floats(0, 4), "phase": st.floats(-5, 50), "heading": st.floats(-7, 7), "travel": st.floats(-3.2, 3.2),
    "turn_rate": st.floats(-4, 4), "head_yaw": st.floats(-4, 4), "gesture": st.integers(0, 7),
    "gesture_time": st.floats(0, 20), "model": st.integers(0, 9), "scale": st.floats(0.85, 1.12),
    "time": st.floats(0, 100),
})  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(states)
def test_any_pose_stands_on_the_ground_with_proper_bones(values):
    arrays = {key: np.array([value]) for key, value in values.items() if key != "time"}
    state = PeopleState(position=np.array([[3.0, -2.0]]), time=values["time"], **arrays)
    bones = pose_people(state)
    check_rotations(bones, state.scale)
    model = person_models()[values["model"]]
    for level in range(3):
        vertices = skin(model, bones[0], level)
        low = vertices[:, 2].min()
        assert low > -0.01
        if np.hypot(values["speed"] / values["scale"], 0.22 * values["turn_rate"]) < 2.2:
            assert low < 0.01
        assert np.hypot(vertices[:, 0] - 3, vertices[:, 1] + 2).max() < model.radius
    turn = np.arctan2(bones[0, HEAD, 1, 0], bones[0, HEAD, 0, 0]) - values["heading"]
    assert abs((turn + np.pi) % (2 * np.pi) - np.pi) < np.radians(83)  # pitch and roll move the yaw a little


def episode(seed=4, steps=160, people=6):
    """Wandering people who come and go, as a record has them."""
    rng = np.random.default_rng(seed)
    time = np.arange(steps) * 0.05
    turn = np.cumsum(rng.normal(0, 0.08, (steps, people)), axis=0) + rng.uniform(-3, 3, people)
    speed = np.clip(rng.uniform(0, 2.2, people) * (1 + np.sin(time[:, None] + np.arange(people))), 0, None)
    velocity = (speed[..., None] * np.stack([np.cos(turn), np.sin(turn)], axis=-1)).astype(np.float32)
    position = (np.cumsum(velocity, axis=0) * 0.05).astype(np.float32)
    heading = ((turn + np.pi) % (2 * np.pi) - np.pi).astype(np.float32)
    present = np.ones((steps, people), bool)
    present[:30, 1] = present[90:, 2] = present[40:60, 3] = False
    for array in (position, velocity, heading):
        array[~present] = np.nan
    return time, position, velocity, heading, present


def test_film_of_the_record_equals_the_live_picture():
    time, position, velocity, heading, present = episode()
    looks = dress_people("live", range(6))
    track = track_gait(time, position, velocity, heading, present, looks)
    live = PeopleAnimator(looks)
    for t in range(len(time)):
        live.advance(time[t], position[t], velocity[t], heading[t], present[t])
        assert np.array_equal(live.present, np.flatnonzero(present[t]))
        assert np.array_equal(pose_people(live.state()), pose_people(track.state(t)))


def test_gait_knows_no_future():
    time, position, velocity, heading, present = episode()
    looks = dress_people("live", range(6))
    whole = track_gait(time, position, velocity, heading, present, looks)
    part = track_gait(time[:80], position[:80], velocity[:80], heading[:80], present[:80], looks)
    assert np.array_equal(whole.columns[:80], part.columns)


def test_phase_is_metres_walked_over_stride():
    steps, speed = 400, 1.4
    time = np.arange(steps) * 0.05
    position = np.zeros((steps, 1, 2), np.float32)
    position[:, 0, 0] = speed * time
    velocity = np.zeros((steps, 1, 2), np.float32)
    velocity[:, 0, 0] = speed
    looks = dress_people("line", [5])
    track = track_gait(time, position, velocity, np.zeros((steps, 1)), np.ones((steps, 1), bool), looks)
    stride = looks.scale[0] * STRIDE * np.sqrt(speed / looks.scale[0])
    assert track.phase[-1, 0] - track.phase[0, 0] == pytest.approx(speed * time[-1] / stride, rel=1e-4)
    assert track.heading[-1, 0] == 0.0


def test_body_turns_smoothly_and_the_head_leads():
    steps = 60
    time = np.arange(steps) * 0.05
    heading = np.where(time < 1.0, 0.0, 1.5)[:, None]
    still = np.zeros((steps, 1, 2), np.float32)
    track = track_gait(time, still, still, heading, np.ones((steps, 1), bool), dress_people("turn", [1]))
    turns = np.diff(track.heading[:, 0]) / 0.05
    assert np.abs(turns).max() <= 4.0 + 1e-9
    assert track.heading[-1, 0] == pytest.approx(1.5, abs=0.05)
    assert track.state(22).head_yaw[0] > 0.3
    assert track.phase[-1, 0] > track.phase[0, 0] + 0.2, "turning on the spot takes steps"


def test_state_between_steps_lies_between():
    time, position, velocity, heading, present = episode()
    track = track_gait(time, position, velocity, heading, present, dress_people("live", range(6)))
    rows, between = track.state_at(2.525)
    assert np.array_equal(rows, track.present(50))
    low, high = track.state(50), track.state(51)
    assert np.allclose(between.position, (low.position + high.position) / 2, atol=1e-6)
    assert np.allclose(between.phase, (low.phase + high.phase) / 2)
    rows, end = track.state_at(1e9)
    assert np.array_equal(end.position, track.state(len(time) - 1).position)


def test_nobody_is_fine():
    empty = PeopleState(np.zeros((0, 2)), np.zeros(0), np.zeros(0), np.zeros(0), np.zeros(0, int))
    assert pose_people(empty).shape == (0, 17, 3, 4)


def test_bad_input_says_what_is_wrong():
    with pytest.raises(BadInput, match=r"PeopleState.speed has shape \(3,\)"):
        PeopleState(np.zeros((2, 2)), np.zeros(2), np.zeros(3), np.zeros(2), np.zeros(2, int))
    one = {"position": np.zeros((1, 2)), "heading": [0.0], "speed": [0.0], "phase": [0.0]}
    with pytest.raises(BadInput, match=r"PeopleState\.model"):
        pose_people(PeopleState(**one, model=[99]))
    with pytest.raises(BadInput, match=r"PeopleState\.gesture"):
        pose_people(PeopleState(**one, model=[0], gesture=[42]))
    with pytest.raises(BadInput, match="track_gait: heading"):
        track_gait(
            np.zeros(2), np.zeros((2, 1, 2)), np.zeros((2, 1, 2)), np.zeros((2, 2)), np.ones((2, 1), bool),
            dress_people("x", [1]),
        )  # fmt: skip
