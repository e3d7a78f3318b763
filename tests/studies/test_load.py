"""Many participants at once, and a server that is killed again and again: nothing is lost and nothing doubled."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import httpx
import pytest
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from sidestep.bench.studies import Scripted, Server, free_port
from sidestep.studies.database import AnswerRow, EpisodeRow, TrialRow
from sidestep.studies.export import ratings_of
from sidestep.studies.store import Store
from tests.studies.conftest import new_store, study_of, walking_study

PARTICIPANTS, KILLS, SLOWEST_HZ = 50, 20, 15.0


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
        before = sum(server.cpu_s())
        people = [Scripted(server.address, token, client) for token in tokens]
        await asyncio.gather(*(each.take_part(runs) for each in people))
    walked_s = sum(len(each.frames) for each in people) * 0.05
    if walked_s:
        share = (sum(server.cpu_s()) - before) / walked_s
        print(f"processor time of the server: {1000 * share:.1f} ms for each second that somebody walks")
    return people


@pytest.mark.full
def test_fifty_participants_walk_at_once(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'studies.sqlite'}"
    store = new_store(url, walking_study())
    server = Server(url, free_port(), workers=2)
    server.start()
    try:
        people = asyncio.run(all_take_part(server, store.add_participants("walks", PARTICIPANTS), runs=1))
    finally:
        server.kill()
    check_complete(store, "walks", people, PARTICIPANTS)
    with Session(store.engine) as session:
        paces = session.scalars(select(EpisodeRow.slowest_hz)).all()
    assert len(paces) == PARTICIPANTS
    served = sorted(pace for pace in paces if pace is not None)
    seen = sorted(each.slowest_hz() for each in people)
    for where, rates in (("at the server", served), ("at the participant", seen)):
        print(f"slowest second {where}: least {rates[0]:.1f} Hz, median {rates[len(rates) // 2]:.1f} Hz")
    assert len(served) == PARTICIPANTS
    assert served[0] >= SLOWEST_HZ
    assert not any(each.refused for each in people)


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
