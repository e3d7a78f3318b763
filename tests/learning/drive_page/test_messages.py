"""Messages of the page: right ones are read, all others are refused with a reason."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep._util.web import error_text
from sidestep.errors import BadInput
from sidestep.learning.drive_page.messages import (
    LONGEST,
    DriverControls,
    EpisodeRequest,
    FrameHeader,
    View,
    pack_frame,
    read_message,
    unpack_frame,
)

CONTROLS: dict[str, Any] = {"type": "controls", "number": 3, "seen": 2, "steer": -0.5, "throttle": 1, "brake": 0.0}


def test_right_messages_are_read() -> None:
    controls = read_message(json.dumps(CONTROLS))
    assert controls == DriverControls(type="controls", number=3, seen=2, steer=-0.5, throttle=1.0, brake=0.0)
    assert read_message('{"type": "wish", "what": "next"}') == EpisodeRequest(type="wish", what="next")
    seen = read_message('{"type": "view", "camera": "recorded", "map": false}')
    assert seen == View(type="view", camera="recorded", map=False)


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"steer": 1.001}, "steer"),
        ({"steer": -1.001}, "steer"),
        ({"throttle": -0.1}, "throttle"),
        ({"brake": 1.5}, "brake"),
        ({"brake": "1"}, "brake"),
        ({"steer": None}, "steer"),
        ({"steer": True}, "steer"),
        ({"number": 1.5}, "number"),
        ({"number": -1}, "number"),
        ({"seen": 2**60}, "seen"),
        ({"more": 1}, "more"),
        ({"type": "control"}, "controls"),
    ],
)
def test_wrong_numbers_name_the_place(changes: dict[str, Any], place: str) -> None:
    with pytest.raises(BadInput, match=place):
        read_message(json.dumps(CONTROLS | changes))


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_numbers_that_are_not_finite_are_refused(number: str) -> None:
    with pytest.raises(BadInput):
        read_message(json.dumps(CONTROLS).replace("-0.5", number))


@pytest.mark.parametrize("text", ["", "go", "[]", "null", "{}", '{"type": "wish", "what": "win"}', b"{}", None])
def test_other_texts_are_refused(text: Any) -> None:
    with pytest.raises(BadInput):
        read_message(text)


def test_long_messages_are_refused_before_they_are_parsed() -> None:
    with pytest.raises(BadInput, match=str(LONGEST)):
        read_message(json.dumps(CONTROLS) + " " * LONGEST)


@given(st.one_of(st.text(), st.recursive(st.none() | st.floats() | st.text(), st.lists).map(json.dumps)))
def test_whatever_comes_is_read_or_refused(text: str) -> None:
    with pytest.raises(BadInput) as caught:
        read_message(text)
    assert len(str(caught.value)) <= 300


@given(st.floats(-1, 1), st.floats(0, 1), st.floats(0, 1))
def test_everything_in_range_is_read(steer: float, throttle: float, brake: float) -> None:
    message = read_message(json.dumps(CONTROLS | {"steer": steer, "throttle": throttle, "brake": brake}))
    assert isinstance(message, DriverControls)
    assert (message.steer, message.throttle, message.brake) == (steer, throttle, brake)


def test_a_frame_comes_out_as_it_went_in() -> None:
    frame = FrameHeader(
        frame=7, follows=3, phase="driving", task="turn left", scenario="scene0-pose1-left", weather="WetNoon", seed=4,
        episode=2, time_s=1.5, time_limit_s=50.0, speed_mps=3.25, command=(1, 2), controls=(0.5, 1.0, 0.0), pace=0.97,
        kept_episodes=1, kept_frames=200,
    )  # fmt: skip
    pictures = {"main": b"\xff\xd8 one", "map": b"two"}
    header, found = unpack_frame(pack_frame(frame, pictures))
    assert header == frame.model_copy(update={"pictures": {"main": 6, "map": 3}})
    assert found == pictures


def test_errors_are_json() -> None:
    assert json.loads(error_text('a "quote"', final=True)) == {"type": "error", "message": 'a "quote"', "final": True}
