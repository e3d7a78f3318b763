"""Many participants at once, and a server that is killed again and again: nothing is lost and nothing doubled."""

from __future__ import annotations

import asyncio
import os
import random
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from time import perf_counter
from urllib.parse import urlsplit

import httpx
import pytest
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from benchmarks.studies import Scripted, Server, _wait, free_port
from sidestep.studies.database import AnswerRow, EpisodeRow, TrialRow
from sidestep.studies.store import Store
from tests.studies.conftest import new_store, ratings_of, study_of, walking_study

PARTICIPANTS, KILLS, SLOWEST_HZ = 50, 20, 15.0
WALKERS = 20
"""Beside one who floods the server."""
FOREIGN_LOAD = 0.1
"""Share of the machine that others may use while paces are compared with ``SLOWEST_HZ``."""
MOST_CPU = 0.9
"""Of a core, for the process that serves, and of all cores, for everything, at the pace that is wanted."""


@dataclass
class Load:
    """What a time has cost, s: by the clock, of the process that serves, of it and its workers, and of others who use
    the machine."""

    wall: float = 0.0
    serving: float = 0.0
    server: float = 0.0
    others: float = 0.0

    @property
    def is_quiet(self) -> bool:
        """Whether the machine was there for this test alone, so that paces by the clock tell about the server."""
        return self.others < FOREIGN_LOAD * self.wall * (os.cpu_count() or 1)

    def check(self, walks: int, walked_s: float) -> None:
        """There is processor time for all walks at once: this holds on a busy machine, too."""
        serving, server = (walks * each / walked_s for each in (self.serving, self.server))
        print(f"{walks} walks need {serving:.2f} cores to serve and {server:.2f} in all; quiet: {self.is_quiet}")
        assert serving <= MOST_CPU
        assert server <= MOST_CPU * 2


def busy_s() -> float:
    """Processor time of everything on this machine so far, s."""
    user, nice, system, _, _, irq, soft, stolen = map(int, Path("/proc/stat").read_text().split()[1:9])
    return (user + nice + system + irq + soft + stolen) / os.sysconf("SC_CLK_TCK")


@contextmanager
def measured(server: Server) -> Iterator[Load]:
    """The load of what is done inside."""

    def now() -> tuple[float, float, float, float, float]:
        own = os.times()
        serving, every = server.serving_s(), sum(server.cpu_s())
        return perf_counter(), serving, every, own.user + own.system, busy_s()

    load, before = Load(), now()
    yield load
    wall, serving, every, own, busy = (after - first for after, first in zip(now(), before, strict=True))
    load.wall, load.serving, load.server, load.others = wall, serving, every, busy - every - own


def check_complete(store: Store, name: str, people: list[Scripted], trials: int) -> None:
    """The database holds what was confirmed, once."""
    with Session(store.engine) as session:
        answers = session.scalar(select(func.count(AnswerRow.id)))
        done = session.scalar(select(func.count(TrialRow.id)).where(TrialRow.done.is_not(None)))
    assert done == trials
    assert answers == sum(len(each.given) for each in people)
    stored = ratings_of(store, name)
    assert len(stored) == answers
    assert sorted(stored.rating.tolist()) == sorted(rating for each in people for rating in each.given.values())


async def all_take_part(server: Server, tokens: list[str], runs: int = 1000) -> list[Scripted]:
    async with httpx.AsyncClient(timeout=30.0, limits=httpx.Limits(max_connections=100)) as client:
        await server.wait(client)
        people = [Scripted(server.address, token, client) for token in tokens]
        await asyncio.gather(*(each.take_part(runs) for each in people))
    return people


def walked_s(people: list[Scripted]) -> float:
    """Seconds of walks that the participants have seen."""
    return sum(len(each.frames) for each in people) * 0.05


def check_paces(store: Store, people: list[Scripted], load: Load) -> None:
    """Everybody walked, fast enough where the machine allows to tell that."""
    with Session(store.engine) as session:
        paces = session.scalars(select(EpisodeRow.slowest_hz)).all()
    served = sorted(pace for pace in paces if pace is not None)
    seen = sorted(each.slowest_hz() for each in people)
    for where, rates in (("at the server", served), ("at the participant", seen)):
        print(f"slowest second {where}: least {rates[0]:.1f} Hz, median {rates[len(rates) // 2]:.1f} Hz")
    assert len(paces) == len(served) == len(people)
    load.check(len(people), walked_s(people))
    if load.is_quiet:
        assert served[0] >= SLOWEST_HZ
    assert not any(each.refused for each in people)


@pytest.mark.full
def test_fifty_participants_walk_at_once(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'studies.sqlite'}"
    store = new_store(url, walking_study())
    server = Server(url, free_port(), workers=2)
    server.start()
    try:
        with measured(server) as load:
            people = asyncio.run(all_take_part(server, store.add_participants("walks", PARTICIPANTS), runs=1))
    finally:
        server.kill()
    check_complete(store, "walks", people, PARTICIPANTS)
    check_paces(store, people, load)


class Flooder:
    """A participant whose page sends messages as fast as the network takes them, and comes again when it is closed."""

    def __init__(self, address: str, token: str) -> None:
        parts = urlsplit(address)
        self._server = (str(parts.hostname), int(parts.port or 0))
        self._hello = (
            f"GET /p/{token}/walk HTTP/1.1\r\nHost: {parts.netloc}\r\nOrigin: {address}\r\nUpgrade: websocket\r\n"
            "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
        ).encode()
        message = b'{"type":"controls","number":1,"seen":0,"forward":0,"sideways":0,"turn":0,"wave":false}'
        self._block = 500 * (bytes([0x81, 0x80 | len(message), 0, 0, 0, 0]) + message)
        self.messages = self.connections = 0
        self._end = Event()
        self._thread = Thread(target=self._flood, daemon=True)

    def __enter__(self) -> Flooder:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join(10)

    def _flood(self) -> None:
        while not self._end.is_set():
            with suppress(OSError), socket.create_connection(self._server, 1.0) as one:
                one.sendall(self._hello)
                one.recv(4096)
                self.connections += 1
                while not self._end.is_set():
                    one.sendall(self._block)
                    self.messages += 500


@pytest.mark.full
def test_nobody_walks_more_slowly_because_somebody_floods_the_server(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'studies.sqlite'}"
    store = new_store(url, walking_study())
    flooding, *walking = store.add_participants("walks", 1 + WALKERS)
    store.consent(flooding, {})
    server = Server(url, free_port(), workers=2)
    server.start()
    try:
        asyncio.run(_wait(server))
        with Flooder(server.address, flooding) as flooder, measured(server) as load:
            people = asyncio.run(all_take_part(server, walking, runs=1))
    finally:
        server.kill()
    print(f"{flooder.messages} messages were sent in {flooder.connections} connections, in {load.wall:.0f} s")
    assert flooder.connections > 1
    check_paces(store, people, load)


async def killed_again_and_again(
    server: Server, tokens: list[str], most: int = KILLS, longest_s: float = 0.8
) -> tuple[list[Scripted], int]:
    """Take part while the server is killed at random moments; participants and the number of kills."""
    moments, kills = random.Random(1), 0
    work = asyncio.create_task(all_take_part(server, tokens))
    async with httpx.AsyncClient() as client:
        while kills < most and not work.done():
            await server.wait(client)
            await asyncio.sleep(moments.uniform(0.05, longest_s))
            server.kill()
            kills += 1
            server.start()
    return await work, kills


@pytest.mark.full
def test_a_server_that_is_killed_twenty_times(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'studies.sqlite'}"
    store = new_store(url, study_of(runs=5, sets=2))
    server = Server(url, free_port(), workers=0)
    server.start()
    try:
        people, kills = asyncio.run(killed_again_and_again(server, store.add_participants("corridor", 6)))
    finally:
        server.kill()
    assert kills == KILLS
    assert not any(each.refused for each in people)
    check_complete(store, "corridor", people, 6 * 40)


@pytest.mark.full
def test_a_server_that_is_killed_during_walks(tmp_path: Path) -> None:
    """Every walk is kept whole and once, however often it had to begin again."""
    url = f"sqlite:///{tmp_path / 'studies.sqlite'}"
    store = new_store(url, walking_study())
    server = Server(url, free_port(), workers=1)
    server.start()
    try:
        tokens = store.add_participants("walks", 3)
        people, kills = asyncio.run(killed_again_and_again(server, tokens, most=6, longest_s=20.0))
    finally:
        server.kill()
    assert kills == 6
    check_complete(store, "walks", people, 3 * 4)
    with Session(store.engine) as session:
        assert session.scalar(select(func.count(EpisodeRow.id))) == 3 * 4
