"""The server: who may drive, what is sent, what a lost page means."""

from __future__ import annotations

import io
import json
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import numpy as np
import pytest
from PIL import Image
from starlette.websockets import WebSocketDisconnect

from sidestep._util.web import POLICY_VIOLATION, REPLACED
from sidestep._util.websockets import MOST_ERRORS
from sidestep.learning.demonstrations import read_demonstrations
from tests.learning.drive_page.conftest import HOST, TOKEN, Seat, seat_at


def picture(data: bytes) -> Any:
    return np.asarray(Image.open(io.BytesIO(data)))


def test_an_episode_from_start_to_file(seat: Seat) -> None:
    with seat.page() as page:
        ready = page.until(lambda frame: frame.phase == "ready")
        assert (ready.time_s, ready.speed_mps, ready.task) == (0.0, 0.0, "go straight")
        page.controls["throttle"] = 1.0
        page.request("go")
        began = perf_counter()
        over = page.until(lambda frame: frame.phase == "over")
        assert perf_counter() - began > 0.8 * over.time_s  # no faster than time
        assert over.outcome == "success"
        kept = page.until(lambda frame: frame.kept_episodes == 1)
        with read_demonstrations(seat.file) as demos:
            assert demos.frames[0] == kept.kept_frames == round(over.time_s / 0.05)
            assert demos.column(0, "action")[-1] == pytest.approx([0.0, 1.0, 0.0])
        page.request("next")
        following = page.until(lambda frame: frame.phase == "ready")
        assert (following.episode, following.seed) == (2, 1)
        assert page.errors == []


def test_controls_move_the_car_and_frames_say_which(seat: Seat) -> None:
    with seat.page() as page:
        page.until(lambda frame: frame.phase == "ready")
        page.request("go")
        page.controls.update(throttle=0.5, steer=0.125)
        first = page.number + 1
        moved = page.until(lambda frame: frame.follows >= first)
        assert moved.controls == (0.125, 0.5, 0.0)
        page.controls.update(throttle=0.0, steer=0.0, brake=1.0)
        stop = page.number + 1
        braked = page.until(lambda frame: frame.follows >= stop)
        assert braked.controls == (0.0, 0.0, 1.0)


def test_views_are_what_was_asked_for(seat: Seat) -> None:
    with seat.page() as page:
        page.until(lambda frame: frame.phase == "ready")
        page.say(type="view", camera="recorded", map=False)
        _, pictures = page.frame()
        assert set(pictures) == {"main"}
        assert picture(pictures["main"]).shape == (88, 200, 3)
        recorded = np.asarray(seat.driving.session.observation.rgb, int)
        assert np.abs(picture(pictures["main"]) - recorded).mean() < 6  # JPEG
        page.say(type="view", camera="driver", map=True)
        _, pictures = page.frame()
        assert picture(pictures["main"]).shape == (352, 800, 3)
        assert picture(pictures["map"]).shape == (360, 360, 3)
        assert min(picture(data).std() for data in pictures.values()) > 15


def test_a_closed_page_pauses_and_the_next_goes_on(seat: Seat) -> None:
    with seat.page() as page:
        page.controls["throttle"] = 0.6
        page.request("go")
        page.until(lambda frame: frame.phase == "ready")
        page.request("go")
        page.until(lambda frame: frame.time_s >= 0.5)
    for _ in range(100):
        if seat.driving.phase == "paused":
            break
        sleep(0.02)
    stopped = seat.driving.session.time
    assert seat.driving.phase == "paused"
    assert stopped >= 0.5
    with seat.page() as page:
        frame, _ = page.frame()
        assert (frame.phase, frame.time_s) == ("paused", stopped)
        page.request("go")
        going = page.until(lambda frame: frame.phase == "driving" and frame.time_s > stopped)
        assert going.controls == (0.0, 0.0, 0.0)  # what the lost page did last is over
        page.request("pause")
        assert page.until(lambda frame: frame.phase == "paused").time_s >= going.time_s


def test_a_page_that_shows_nothing_stops_the_clock(seat: Seat) -> None:
    """Frames that are not shown are not answered: a frozen tab does not let the car drive on."""
    with seat.page() as page:
        page.until(lambda frame: frame.phase == "ready")
        page.request("go")
        page.until(lambda frame: frame.time_s > 0.1)
        before = seat.driving.session.time
        page.socket.send_text(json.dumps({"type": "wish", "what": "go"}))
        sleep(0.6)
        assert seat.driving.session.time <= before + 4 * 0.05


def test_a_second_page_takes_the_seat(seat: Seat) -> None:
    with seat.page() as first:
        first.until(lambda frame: frame.phase == "ready")
        with seat.page() as second:
            assert second.until(lambda frame: True).phase == "ready"
            with pytest.raises((AssertionError, WebSocketDisconnect), match=str(REPLACED)):
                first.until(lambda frame: False)
            second.request("go")
            second.until(lambda frame: frame.phase == "driving")


def test_wrong_messages_get_an_error_and_change_nothing(seat: Seat) -> None:
    with seat.page() as page:
        page.until(lambda frame: frame.phase == "ready")
        page.say(type="controls", number=1, seen=0, steer=3, throttle=0, brake=0)
        page.socket.send_bytes(b"\x00")
        page.say(type="view", camera="driver", map=False)
        page.frame()
        texts = [error["message"] for error in page.errors]
        assert "steer" in texts[0]
        assert "less than or equal to 1" in texts[0]
        assert "bytes" in texts[1]
        for _ in range(MOST_ERRORS):
            page.socket.send_text("nonsense")
        with pytest.raises((AssertionError, WebSocketDisconnect, RuntimeError)):
            page.until(lambda frame: False)


@pytest.mark.parametrize(
    ("token", "headers"),
    [
        ("another-token", {}),
        (TOKEN, {"origin": "http://evil.example"}),
        (TOKEN, {"origin": "null"}),
        (TOKEN, {"origin": ""}),
        (TOKEN, {"origin": f"http://{HOST}0"}),
        (TOKEN, {"origin": "http://rebound.example:8000", "host": "rebound.example:8000"}),
    ],
)
def test_strangers_do_not_drive(seat: Seat, token: str, headers: dict[str, str]) -> None:
    with pytest.raises(WebSocketDisconnect) as caught, seat.page(token, **headers):
        pass
    assert caught.value.code == POLICY_VIOLATION
    assert seat.driving.phase == "loading"


def test_the_page_needs_nobody_else(seat: Seat) -> None:
    page = seat.client.get(f"/{TOKEN}/")
    assert page.status_code == 200
    rules = page.headers["content-security-policy"]
    assert "default-src 'none'" in rules
    assert "frame-ancestors 'none'" in rules
    assert page.headers["referrer-policy"] == "no-referrer"
    assert "http" not in page.text.replace("http-equiv", "")
    for name, kind in (("page.js", "text/javascript"), ("page.css", "text/css")):
        file = seat.client.get(f"/{TOKEN}/{name}")
        assert file.status_code == 200
        assert file.headers["content-type"].startswith(kind)
        assert "//cdn" not in file.text


def test_everything_else_is_not_found(seat: Seat) -> None:
    for path in ("/", "/docs", "/openapi.json", "/wrong/", f"/{TOKEN}/server.py", f"/{TOKEN}/..%2fserver.py"):
        assert seat.client.get(path).status_code == 404, path
    assert seat.client.get(f"/{TOKEN}/", headers={"host": "rebound.example"}).status_code == 403


def test_a_file_that_cannot_be_written_ends_the_server(tmp_path: Path) -> None:
    with seat_at(tmp_path / "demonstrations.h5", keep_failures=True) as seat:
        with seat.page() as page:
            page.until(lambda frame: frame.phase == "ready")
            seat.file.unlink()
            page.request("go")
            with pytest.raises((AssertionError, WebSocketDisconnect)):
                page.until(lambda frame: False)
            assert page.errors[-1]["final"]
            assert "demonstrations.h5" in page.errors[-1]["message"]
        assert seat.ended
        assert seat.drive_server.failure is not None
