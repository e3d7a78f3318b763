"""Each gesture can be told from the others by where hands and head are."""

import numpy as np
import pytest

from sidestep.errors import UnknownName
from sidestep.render.people.body import person_joints
from sidestep.render.people.pose import PeopleState, pose_people
from sidestep.render.people.skeleton import BONES, GESTURES, gesture_code


def posed(gesture="none", at=2.0, speed=0.0, **more):
    state = PeopleState(
        np.zeros((1, 2)), [0.0], [speed], [0.2], [0], gesture=[gesture_code(gesture)], gesture_time=[at], **more
    )  # fmt: skip
    bones = pose_people(state)[0].astype(float)
    rest = np.concatenate([person_joints()[0], np.ones((17, 1))], axis=1)
    return bones, dict(zip(BONES, np.einsum("bij,bj->bi", bones, rest), strict=True))


def bone(bones, name):
    return bones[BONES.index(name), :, :3]


def test_names_and_codes():
    assert list(GESTURES) == ["none", "talk", "queue", "look_around", "wave", "stop", "go_on", "phone"]
    assert list(GESTURES.values()) == list(range(8))
    with pytest.raises(UnknownName, match="wave"):
        gesture_code("wavе")


def test_stop_stretches_the_right_arm_with_the_palm_ahead():
    bones, joints = posed("stop")
    arm = joints["hand_r"] - joints["upper_arm_r"]
    assert arm[0] > 0.45
    assert abs(arm[2]) < 0.12
    palm = bone(bones, "hand_r") @ (0, 1, 0)
    fingers = bone(bones, "hand_r") @ (0, 0, -1)
    assert palm[0] > 0.85
    assert fingers[2] > 0.85
    assert joints["hand_l"][2] < 1.0, "the other arm hangs"


def test_wave_raises_the_hand_and_swings_it():
    hands = np.array([posed("wave", at)[1]["hand_r"] for at in np.arange(1.0, 2.2, 0.05)])
    shoulder = posed("wave")[1]["upper_arm_r"]
    assert (hands[:, 2] > shoulder[2] + 0.1).all()
    assert np.ptp(hands[:, 1]) > 0.08
    assert (hands[:, 1] < shoulder[1]).all()


def test_go_on_opens_the_palm_to_the_side():
    bones, joints = posed("go_on", 1.6)
    assert (bone(bones, "hand_r") @ (0, 1, 0))[2] > 0.3, "the palm is up"
    assert joints["hand_r"][0] > 0.15
    sweep = np.array([posed("go_on", at)[1]["hand_r"][1] for at in np.arange(1.0, 2.3, 0.05)])
    assert np.ptp(sweep) > 0.15


def test_talk_moves_both_hands_before_the_body():
    frames = [posed("talk", at)[1] for at in np.arange(1.0, 4.0, 0.1)]
    for side in "lr":
        hands = np.array([frame[f"hand_{side}"] for frame in frames])
        assert (hands[:, 0] > 0.1).all()
        assert (hands[:, 2] > 0.85).all()
        assert np.ptp(hands[:, 2]) > 0.05


def test_queue_folds_the_hands():
    _, joints = posed("queue")
    assert np.linalg.norm(joints["hand_l"] - joints["hand_r"]) < 0.24
    assert joints["hand_l"][0] > 0.1


def test_phone_is_held_up_and_looked_at():
    bones, joints = posed("phone")
    assert joints["hand_r"][2] > 1.05
    assert joints["hand_r"][0] > 0.15
    assert (bone(bones, "head") @ (1, 0, 0))[2] < -0.3


def test_look_around_turns_the_head_both_ways():
    yaw = [np.arctan2(*(bone(posed("look_around", at)[0], "head") @ (1, 0, 0))[1::-1]) for at in np.arange(0.5, 5, 0.1)]
    assert max(yaw) > 0.8
    assert min(yaw) < -0.8


def test_gestures_come_and_go_without_a_jump():
    calm, _ = posed("none", 0.0)
    for name in GESTURES:
        assert np.allclose(posed(name, 0.0)[0], calm, atol=1e-6)
        assert np.allclose(posed(name, 3.0, gesture_left=[0.0])[0], calm, atol=1e-6)


def test_gestures_do_not_disturb_the_legs():
    calm, _ = posed("none", speed=1.3)
    stop, _ = posed("stop", speed=1.3)
    assert np.array_equal(calm[11:], stop[11:])


def test_head_is_separate_from_the_body():
    plain, _ = posed()
    for yaw, seen in ((0.6, 0.6), (-1.2, -1.2), (2.5, np.radians(80))):
        turned, _ = posed(head_yaw=[yaw])
        ahead = bone(turned, "head") @ (1, 0, 0)
        assert np.arctan2(ahead[1], ahead[0]) == pytest.approx(seen, abs=0.02)
        assert np.array_equal(turned[:3], plain[:3])
