"""Walking: pace, records, lost and second pages, wrong messages."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import httpx
import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from benchmarks.studies import Server, free_port
from sidestep._util.web import POLICY_VIOLATION, REPLACED
from sidestep._util.websockets import MOST_ERRORS
from sidestep.records import load_record
from sidestep.studies.access import RateLimit
from sidestep.studies.database import EpisodeRow
from sidestep.studies.export import MANNER_COLUMNS
from sidestep.studies.server import MOST_BYTES_AT_ONCE, bounded_websocket, make_app
from sidestep.studies.site import Site
from sidestep.studies.store import Store
from sidestep.studies.walking import MOST_AT_ONCE, STANDING, Manner, WalkControls
from tests.studies.conftest import new_store, walking_study

HOST = "127.0.0.1:8000"
ORIGIN = {"origin": f"http://{HOST}"}


class Walker:
    """What the page does: it answers every state with controls."""

    def __init__(self, socket: Any) -> None:
        self.socket, self.number, self.states = socket, 0, []
        self.want = {"forward": 0.0, "sideways": 0.0, "turn": 0.0, "wave": False}
        self.told: list[dict[str, Any]] = []

    def say(self, **message: Any) -> None:
        self.socket.send_text(json.dumps(message))

    def next(self) -> dict[str, Any]:
        received = self.socket.receive()
        if received["type"] == "websocket.close":
            raise WebSocketDisconnect(received.get("code", 1000))
        message: dict[str, Any] = json.loads(received["text"])
        if message["type"] == "state":
            self.number += 1
            self.say(type="controls", number=self.number, seen=message["frame"], **self.want)
        self.told.append(message)
        return message

    def until(self, kind: str, most: int = 2000, **wanted: Any) -> dict[str, Any]:
        for _ in range(most):
            message = self.next()
            found = message.get("state", message)
            if message["type"] == kind and all(found[k] == pytest.approx(v, abs=1e-6) for k, v in wanted.items()):
                return message
            if message["type"] == "kept":  # nothing more comes
                break
        raise AssertionError(f"no {kind} comes")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    folder: Path = tmp_path_factory.mktemp("walks")
    return Site(new_store(f"sqlite:///{folder / 'x.sqlite'}", walking_study()))


@pytest.fixture(scope="module")
def client(site: Site) -> Iterator[TestClient]:
    with TestClient(make_app(site), base_url=f"http://{HOST}") as one:
        yield one


@pytest.fixture
def token(site: Site) -> str:
    (one,) = site.store.add_participants("walks")
    site.store.consent(one, {})
    return one


@contextmanager
def walker(client: TestClient, token: str, **headers: str) -> Iterator[Walker]:
    with client.websocket_connect(f"ws://{HOST}/p/{token}/walk", headers=ORIGIN | headers) as socket:
        yield Walker(socket)


def me(message: dict[str, Any]) -> list[Any]:
    (one,) = [person for person in message["state"]["people"] if person[6]]
    return one


def test_a_walk_from_start_to_record(client: TestClient, site: Site, token: str) -> None:
    assert "walk.js" in client.get(f"/p/{token}/").text
    with walker(client, token) as page:
        scene = page.until("scene")["scene"]
        assert len(scene["walls"]) >= 4
        start = me(page.until("state"))
        page.want["forward"] = 1.0
        page.say(type="go")
        began = perf_counter()
        moved = page.until("state", time=1.0)
        assert 0.9 < perf_counter() - began < 3.0  # no faster than time
        assert ((me(moved)[1] - start[1]) ** 2 + (me(moved)[2] - start[2]) ** 2) ** 0.5 == pytest.approx(0.95, abs=0.11)
        page.want["wave"] = True
        page.until("state", done=True)
        page.until("kept")
    stage = site.store.stage(token)
    assert stage.trial is not None
    assert stage.trial.experienced is not None
    assert "How was it?" in client.get(f"/p/{token}/").text
    with Session(site.store.engine) as session:
        row = session.scalars(select(EpisodeRow).where(EpisodeRow.trial_id == stage.trial.id)).one()
    assert row.outcome == stage.outcome
    record = _loaded(row.record)
    assert record.digest == row.digest
    assert record.person_gesture[:, 0].max() > 0
    with walker(client, token) as page:
        page.until("kept", most=1)


def _loaded(data: bytes) -> Any:
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        file = Path(folder) / "episode.parquet"
        file.write_bytes(data)
        return load_record(file)


def test_a_closed_page_stops_the_clock_and_the_link_goes_on(client: TestClient, token: str) -> None:
    with walker(client, token) as page:
        page.say(type="go")
        page.until("state", time=0.5)
    sleep(0.4)
    with walker(client, token) as page:
        first = page.until("state")
        assert 0.5 <= first["state"]["time"] <= 0.8
        page.say(type="go")
        page.until("state", time=first["state"]["time"] + 0.05)


def test_a_page_that_draws_nothing_stops_the_clock(client: TestClient, token: str) -> None:
    with walker(client, token) as page:
        page.until("state")
        page.say(type="go")
        sleep(0.6)
        page.say(type="nonsense")
        times = []
        while (told := json.loads(page.socket.receive()["text"]))["type"] == "state":
            times.append(told["state"]["time"])
    assert 0.05 <= max(times) <= 0.25


def test_a_second_page_takes_over(client: TestClient, token: str) -> None:
    with walker(client, token) as first:
        first.until("state")
        with walker(client, token) as second:
            second.until("state")
            with pytest.raises(WebSocketDisconnect) as closed:
                first.until("kept")
            assert closed.value.code == REPLACED
            second.say(type="go")
            second.until("state", time=0.2)


def test_wrong_messages_change_nothing_and_then_close(client: TestClient, token: str) -> None:
    with walker(client, token) as page:
        page.until("state")
        page.say(type="controls", number=1, seen=0, forward=9, sideways=0, turn=0, wave=False)
        assert "forward" in page.until("error")["message"]
        page.say(type="controls", number=1, seen=0, forward=0, sideways=0, turn=0, wave=1)
        assert "wave" in page.until("error")["message"]
        page.socket.send_bytes(b"\x00")
        assert "JSON text" in page.until("error")["message"]
        for _ in range(MOST_ERRORS):
            page.socket.send_text("x" * 500)
        with pytest.raises(WebSocketDisconnect) as closed:
            page.until("kept")
        assert closed.value.code == POLICY_VIOLATION


def test_a_page_that_floods_is_closed_and_its_walk_goes_on(client: TestClient, token: str) -> None:
    """Twice as many messages as any page sends are too many, however well they are formed."""
    with walker(client, token) as page:
        page.until("state")
        page.say(type="go")
        page.until("state", time=0.3)
        for number in range(2 * MOST_AT_ONCE):
            page.say(type="controls", number=number, seen=0, forward=0, sideways=0, turn=0, wave=False)
        assert "too many messages" in page.until("error")["message"]
        with pytest.raises(WebSocketDisconnect) as closed:
            page.until("kept")
        assert closed.value.code == POLICY_VIOLATION
    with walker(client, token) as page:  # at once, another page may not speak either
        for number in range(MOST_AT_ONCE):
            page.say(type="controls", number=number, seen=0, forward=0, sideways=0, turn=0, wave=False)
        assert "too many messages" in page.until("error")["message"]
    sleep(0.5)
    with walker(client, token) as page:
        assert page.until("state")["state"]["time"] >= 0.3


def test_a_page_that_comes_again_and_again_has_to_wait(client: TestClient, token: str) -> None:
    told = []
    for _ in range(24):
        with walker(client, token) as page:
            told.append(page.next())
    assert told[0]["type"] == "scene"
    assert "wait a minute" in told[-1]["message"]


class Wire:
    """The connection below a websocket."""

    def __init__(self) -> None:
        self.aborted = False

    def abort(self) -> None:
        self.aborted = True


@pytest.mark.parametrize("frame", [b"\x81\x80\0\0\0\0", b"\x89\x80\0\0\0\0"], ids=["messages", "pings"])
def test_a_websocket_takes_no_more_bytes_than_a_page_sends(monkeypatch: pytest.MonkeyPatch, frame: bytes) -> None:
    """Below the level of messages: pings never become one, and what comes after the end is read, too."""
    taken: list[bytes] = []

    class Socket:
        def __init__(self, name: str) -> None:
            self.transport = Wire()

        def data_received(self, data: bytes) -> None:
            taken.append(data)

    monkeypatch.setattr("sidestep.studies.server.AutoWebSocketsProtocol", Socket)
    at = [0.0]
    monkeypatch.setattr("sidestep.studies.server.RateLimit", lambda *given: RateLimit(*given, clock=lambda: at[0]))
    page, flooder = bounded_websocket("page"), bounded_websocket("flooder")
    for _ in range(600):  # a minute of a page with a gamepad
        at[0] += 0.1
        page.data_received(bytes(600))  # type: ignore[attr-defined]
    assert not page.transport.aborted  # type: ignore[attr-defined]
    taken.clear()
    for _ in range(1000):
        flooder.data_received(frame * 100)  # type: ignore[attr-defined]
    assert flooder.transport.aborted  # type: ignore[attr-defined]
    assert sum(map(len, taken)) <= MOST_BYTES_AT_ONCE


def test_an_address_cannot_open_walks_again_and_again(
    site: Site, client: TestClient, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refused before anything is looked up: links that nobody knows cost nothing, either."""
    monkeypatch.setattr(site, "sockets", RateLimit(2, 0.0))
    for _ in range(2):
        with walker(client, "unknown") as page:
            assert "not known" in page.until("error")["message"]
    with pytest.raises(WebSocketDisconnect), walker(client, token):
        pass


def test_the_manner_of_a_walk(site: Site) -> None:
    walking, standing = (WalkControls(**{**vars(STANDING), **given}) for given in (
        {"forward": 1.0, "view": "top", "input": "touch"}, {"view": "first"},
    ))  # fmt: skip
    manner = Manner()
    manner.pause(1.0)  # before the walk has begun
    for _ in range(20):
        manner.note(walking, 0.05)
    manner.pause(10.0)
    manner.pause(11.0)  # and then the page goes away
    manner.resume(14.5)
    for _ in range(10):
        manner.note(standing, 0.05)
    assert manner.document() == {
        "view": "top", "input": "touch", "first_view_s": 0.5, "top_view_s": 1.0, "keys_s": 0.0, "touch_s": 1.0,
        "gamepad_s": 0.0, "pauses": 1, "paused_s": 4.5,
    }  # fmt: skip
    assert set(manner.document()) == set(MANNER_COLUMNS)


def test_foreign_pages_and_forged_links_cannot_walk(client: TestClient, token: str) -> None:
    for headers in ({"origin": "http://evil.example"}, {"host": "evil.example"}):
        with pytest.raises(WebSocketDisconnect), walker(client, token, **headers):
            pass
    with walker(client, "forged" * 5) as page:
        assert "not known" in page.until("error")["message"]


def test_nobody_walks_without_consent(client: TestClient, site: Site) -> None:
    (token,) = site.store.add_participants("walks")
    with walker(client, token) as page:
        assert "no walk to start" in page.until("error")["message"]


def test_workers_end_with_a_killed_server(site: Site) -> None:
    server = Server(site.store.engine.url.render_as_string(), free_port(), workers=1)
    server.start()
    try:
        with httpx.Client() as client:
            asyncio.run(_up(server))
            assert client.get(server.address).status_code == 200
        assert len(server.cpu_s()) >= 2
        server.kill_alone()
        for _ in range(100):
            if not server.cpu_s():
                break
            sleep(0.1)
        assert server.cpu_s() == []
    finally:
        server.kill()


async def _up(server: Server) -> None:
    async with httpx.AsyncClient() as client:
        await server.wait(client)


def test_walks_in_a_worker_process(site: Site) -> None:
    """The worker dies: its walk begins again, nothing else is lost."""
    import os
    import signal

    store: Store = site.store
    (token,) = store.add_participants("walks")
    store.consent(token, {})
    app = make_app(Site(store), processes=1)
    with TestClient(app, base_url=f"http://{HOST}") as client:
        with walker(client, token) as page:
            page.say(type="go")
            page.until("state", time=0.5)
            (worker,) = app.state.walks.workers.pids()
            os.kill(worker, signal.SIGKILL)
            assert "starts over" in page.until("error")["message"]
        with walker(client, token) as page:
            assert page.until("state")["state"]["time"] == 0.0
            page.say(type="go")
            page.until("state", time=0.2)
