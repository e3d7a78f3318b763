"""A car on an empty straight road, and a program that drives it over the page's websocket."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.needs import reason_missing

pytest.importorskip("fastapi", reason=reason_missing("fastapi"))
pytest.importorskip("httpx", reason=reason_missing("httpx"))

from starlette.testclient import TestClient

from sidestep.learning.demonstrations import DemonstrationWriter
from sidestep.learning.drive_page.episodes import HandDriving, HandPlan
from sidestep.learning.drive_page.messages import FrameHeader, unpack_frame
from sidestep.learning.drive_page.server import DriveServer, make_app

TOKEN = "a-token-of-the-tests"
HOST = "127.0.0.1:8000"
ORIGIN = {"origin": f"http://{HOST}"}


def straight_on(**options: Any) -> HandPlan:
    """An empty road on which nobody has to steer."""
    return HandPlan(**{"scene": 0, "branch": 0, "pose": 2, "people": "none", **options})


class Page:
    """What a page does: it answers every frame with controls."""

    def __init__(self, socket: Any) -> None:
        self.socket = socket
        self.number = 0
        self.controls = {"steer": 0.0, "throttle": 0.0, "brake": 0.0}
        self.errors: list[dict[str, Any]] = []

    def say(self, **message: Any) -> None:
        self.socket.send_text(json.dumps(message))

    def request(self, what: str) -> None:
        self.say(type="wish", what=what)

    def frame(self) -> tuple[FrameHeader, dict[str, bytes]]:
        """The next frame, shown and answered."""
        while True:
            received = self.socket.receive()
            if received["type"] == "websocket.close":
                raise AssertionError(f"closed: {received}")
            if received.get("text") is not None:
                self.errors.append(json.loads(received["text"]))
                continue
            frame, pictures = unpack_frame(received["bytes"])
            self.number += 1
            self.say(type="controls", number=self.number, seen=frame.frame, **self.controls)
            return frame, pictures

    def until(self, wanted: Callable[[FrameHeader], bool]) -> FrameHeader:
        """Go on until a frame is wanted."""
        for _ in range(2000):
            frame, _ = self.frame()
            if wanted(frame):
                return frame
        raise AssertionError("such a frame does not come")


class Seat:
    """A server in this process."""

    def __init__(self, driving: HandDriving, file: Path) -> None:
        self.driving, self.file = driving, file
        self.ended = False
        self.drive_server = DriveServer(driving, self._end)
        self.client = TestClient(make_app(self.drive_server, TOKEN), base_url=f"http://{HOST}")

    def _end(self) -> None:
        self.ended = True

    @contextmanager
    def page(self, token: str = TOKEN, **headers: str) -> Iterator[Page]:
        with self.client.websocket_connect(f"ws://{HOST}/{token}/drive", headers=ORIGIN | headers) as socket:
            yield Page(socket)


@contextmanager
def seat_at(file: Path, **options: Any) -> Iterator[Seat]:
    keep_failures = options.pop("keep_failures", False)
    with DemonstrationWriter(file, batch=16) as writer:
        driving = HandDriving(straight_on(**options), writer, keep_failures=keep_failures)
        one = Seat(driving, file)
        with one.client:
            yield one


@pytest.fixture
def seat(tmp_path: Path) -> Iterator[Seat]:
    with seat_at(tmp_path / "demonstrations.h5") as one:
        yield one
