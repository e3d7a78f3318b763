"""Films tell nothing of the policy, and are rated after they were played."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from sidestep.errors import BadInput
from sidestep.studies import participant_pages
from sidestep.studies.films import find_film
from sidestep.studies.store import Store
from tests.needs import CHROMIUM, in_browser
from tests.studies.conftest import new_store, study_of, write_films
from tests.studies.test_pages import client_of

SECONDS = 2.0


@pytest.fixture
def films(tmp_path: Path) -> Store:
    write_films(tmp_path, SECONDS)
    return new_store(f"sqlite:///{tmp_path / 'x.sqlite'}", study_of(mode="film"), str(tmp_path))


@pytest.fixture
def client(films: Store) -> Iterator[TestClient]:
    with client_of(films) as one:
        yield one


@pytest.fixture
def token(films: Store) -> str:
    (one,) = films.add_participants("corridor")
    films.consent(one, {})
    return one


def piece(client: TestClient, token: str, start: float, end: float, position: int = 0) -> Any:
    return client.post(f"/p/{token}/played", json={"position": position, "start": start, "end": end})


def rated(client: TestClient, token: str) -> bool:
    """Whether the form of the rating can be had."""
    client.post(f"/p/{token}/experienced", data={"position": 0})
    return "How was it?" in client.get(f"/p/{token}/").text


def test_a_film_is_rated_after_it_was_played_through(client: TestClient, token: str) -> None:
    assert not rated(client, token)
    assert piece(client, token, 0.0, 0.9).json() == {"played": pytest.approx(0.9)}
    assert not rated(client, token)
    assert piece(client, token, 0.9, 2.0).json() == {"played": pytest.approx(2.0, abs=0.15)}
    assert rated(client, token)


def test_the_end_alone_is_not_the_film(client: TestClient, token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cheapest cheat says that it has played the last second."""
    monkeypatch.setattr("sidestep.studies.store.FILM_END_S", 0.3)
    assert piece(client, token, 1.5, 2.0).json() == {"played": 0.0}
    assert not rated(client, token)
    assert piece(client, token, 0.0, 1.0).status_code == 200
    assert not rated(client, token)


def test_no_film_is_faster_than_time(client: TestClient, token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next cheat says at once that it has played everything."""
    monkeypatch.setattr(participant_pages, "SLACK_S", 0.5)
    at = [100.0]
    monkeypatch.setattr("sidestep.studies.site.monotonic", lambda: at[0])
    client.get(f"/p/{token}/film/0")
    assert piece(client, token, 0.0, 2.0).status_code == 429
    assert not rated(client, token)
    at[0] += 1.0
    assert piece(client, token, 0.0, 1.2).status_code == 200
    assert piece(client, token, 1.2, 2.0).status_code == 429
    at[0] += 0.8
    assert piece(client, token, 1.2, 2.0).status_code == 200
    assert rated(client, token)


def test_many_short_pieces_are_no_faster(client: TestClient, token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cheat says again and again that it has played as much as a page may tell at once."""
    monkeypatch.setattr(participant_pages, "SLACK_S", 0.5)
    monkeypatch.setattr("sidestep.studies.site.monotonic", lambda: 100.0)
    replies = [piece(client, token, 0.4 * k, 0.4 * (k + 1)).status_code for k in range(5)]
    assert replies == [200, 429, 429, 429, 429]
    assert not rated(client, token)


def test_a_film_goes_on_after_the_server_has_started_again(
    films: Store, client: TestClient, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(participant_pages, "SLACK_S", 0.5)
    films.play(token, 0, 0.0, 1.5, SECONDS)
    assert piece(client, token, 1.5, 2.0).status_code == 200
    assert rated(client, token)


@pytest.mark.parametrize(
    "document",
    [
        {}, [], {"position": 0, "start": 0, "end": "2"}, {"position": 0, "start": 1, "end": 0},
        {"position": 0, "start": -1, "end": 2}, {"position": True, "start": 0, "end": 2},
        {"position": 0, "start": 0, "end": float("inf")},
    ],
)  # fmt: skip
def test_pieces_that_are_none(client: TestClient, token: str, document: Any) -> None:
    import json

    assert client.post(f"/p/{token}/played", content=json.dumps(document)).status_code == 400
    assert not rated(client, token)


def test_metadata_that_tell_the_policy_are_refused(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_films(tmp_path, 1.0, comment="polite__frontal-f1 success")
    study = study_of(mode="film")
    with pytest.raises(BadInput, match=r"comment: polite__frontal-f1 success.*--blind"):
        find_film(study, tmp_path / "study.yaml", "polite", "frontal-f1", 1)
    store = new_store(f"sqlite:///{tmp_path / 'x.sqlite'}", study, str(tmp_path))
    (token,) = store.add_participants("corridor")
    store.consent(token, {})
    with client_of(store) as client:
        reply = client.get(f"/p/{token}/film/0")
        assert reply.status_code == 409
        assert "polite" not in reply.text


def test_chapters_that_tell_the_policy_are_refused(tmp_path: Path) -> None:
    write_films(tmp_path, 1.0)
    import av

    told = tmp_path / "films/polite/frontal-f1.mp4"
    plain = told.rename(told.with_name("plain.mp4"))
    with av.open(str(plain)) as source, av.open(str(told), "w") as film:
        if not hasattr(film, "set_chapters"):
            pytest.skip("PyAV reads no chapters; pip install 'av>=14'")
        chapter = {"id": 1, "start": 0, "end": 1000, "time_base": Fraction(1, 1000), "metadata": {"title": "polite"}}
        film.set_chapters([chapter])  # type: ignore[list-item]
        stream = film.add_stream_from_template(source.streams.video[0])
        for packet in source.demux(video=0):
            if packet.dts is not None:
                packet.stream = stream
                film.mux(packet)
    with pytest.raises(BadInput, match=r"its metadata contain chapter .*: polite"):
        find_film(study_of(mode="film"), tmp_path / "study.yaml", "polite", "frontal-f1", 1)


def test_films_of_the_same_policy_have_different_tags(films: Store, client: TestClient, token: str) -> None:
    (other,) = films.add_participants("corridor")
    films.consent(other, {})
    tags = {client.get(f"/p/{each}/film/0").headers["etag"] for each in (token, other)}
    assert len(tags) == 2


def test_a_blind_film_of_a_record_shows_neither_policy_nor_outcome(tmp_path: Path) -> None:
    """Two policies that did the same make the same film, byte for byte, however the record calls them and its end."""
    from dataclasses import replace

    pytest.importorskip("av", reason="pip install 'sidestep[video]'")
    import av

    from sidestep.render.films.cameras import draw_film
    from sidestep.simulation.live import LiveEpisode
    from sidestep.suites.files import load_suite
    from sidestep.types import Outcome

    scenario = next(each for each in load_suite("protocol").scenarios() if each.name == "frontal-f1")
    episode = LiveEpisode(scenario, "straight", seed=1)
    for _ in range(40):
        episode.step()
    record = episode.record
    other = replace(record, policy=replace(record.policy, name="telltale"), outcome=Outcome.SUCCESS)
    assert record.outcome != other.outcome
    pictures = []
    for number, each in enumerate((record, other)):
        draw_film(each, tmp_path / f"{number}.mp4", cameras=("top",), blind=True)
        with av.open(str(tmp_path / f"{number}.mp4")) as film:
            assert "comment" not in film.metadata
            pictures.append([frame.to_ndarray(format="gray") for frame in film.decode(video=0)])
    assert all((a == b).all() for a, b in zip(*pictures, strict=True))
    assert find_film(
        study_of(films="{run}.mp4", mode="film"), tmp_path / "study.yaml", "polite", "frontal-f1", 1
    ).duration_s == pytest.approx(2.5, abs=0.3)


@in_browser[0]
@in_browser[1]
def test_a_film_in_a_browser(films: Store, token: str) -> None:
    """Played through, the button opens; jumping ahead does not."""
    from playwright.sync_api import sync_playwright

    from benchmarks.studies import Server, _wait, free_port

    server = Server(films.engine.url.render_as_string(), free_port(), workers=0)
    server.start()
    try:
        asyncio.run(_wait(server))
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=CHROMIUM, args=["--no-sandbox", "--autoplay-policy=no-user-gesture-required"]
            )
            page = browser.new_page()
            page.goto(f"{server.address}/p/{token}/")
            page.locator("#rate:disabled").wait_for()
            page.evaluate("document.getElementById('film').currentTime = 1.9")
            page.wait_for_timeout(300)
            assert page.evaluate("document.getElementById('film').currentTime") < 1.0
            page.evaluate("document.getElementById('film').play()")
            page.locator("#rate:enabled").wait_for(timeout=30_000)
            page.click("#rate")
            page.locator("#ratings").wait_for()
            browser.close()
    finally:
        server.kill()
