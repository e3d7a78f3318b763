"""Pages of participants and experimenters, and what they refuse."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event
from starlette.testclient import TestClient

from sidestep.studies.server import make_app
from sidestep.studies.site import HEADERS, Site
from sidestep.studies.store import Store
from tests.studies.conftest import PASSWORD, new_store, ratings_of, study_of, write_films

HOST = "127.0.0.1:8000"
ORIGIN = {"origin": f"http://{HOST}"}
CREATE = "the-token-of-creation"


def client_of(store: Store) -> TestClient:
    return TestClient(make_app(Site(store, create_token=CREATE)), base_url=f"http://{HOST}", headers=ORIGIN)


@pytest.fixture
def client(store: Store) -> Iterator[TestClient]:
    with client_of(store) as one:
        yield one


def answers_on(page: str, rating: int = 4) -> dict[str, str]:
    """The fields of a rating page, filled in."""
    keys = dict(re.findall(r'name="(k-[^"]+)" value="([^"]+)"', page))
    return keys | {name.replace("k-", "r-", 1): str(rating) for name in keys}


def log_in(client: TestClient, password: str = PASSWORD) -> Any:
    return client.post("/login", data={"study": "corridor", "password": password})


def test_a_participant_without_scripts(client: TestClient, store: Store) -> None:
    (token,) = store.add_participants("corridor")
    home = f"/p/{token}/"
    assert "free will" in client.get(home).text
    assert client.post(f"{home}consent", data={"agree": "no"}).status_code == 400
    page = client.post(f"{home}consent", data={"agree": "yes"}).text
    for position in range(4):
        assert f"Run {position + 1} of 4" in page
        assert "polite" not in page
        assert "blunt" not in page
        page = client.post(f"{home}experienced", data={"position": position}).text
        fields = answers_on(page) | {"position": str(position)}
        assert len(fields) > 4
        incomplete = {name: value for name, value in fields.items() if not name.startswith("r-")}
        assert client.post(f"{home}rate", data=incomplete).status_code == 409
        page = client.post(f"{home}rate", data=fields).text
        assert client.post(f"{home}rate", data=fields).text == page or position == 3  # a double click
    assert "Thank you" in page
    ratings = ratings_of(store, "corridor")
    assert set(ratings.rating.tolist()) == {4}
    assert len(set(zip(ratings.run_numbers().tolist(), ratings.item.tolist(), strict=True))) == len(ratings)


def test_answers_are_stored_when_given_and_shown_on_return(client: TestClient, store: Store) -> None:
    (token,) = store.add_participants("corridor")
    store.consent(token, {})
    store.experience(token, 0)
    item = re.findall(r'data-item="([^"]+)"', client.get(f"/p/{token}/").text)[0]
    answer = {"position": 0, "item": item, "rating": 2, "key": "a-key-of-the-page"}
    for _ in range(3):
        assert client.post(f"/p/{token}/answer", json=answer).json() == {"stored": True}
    assert re.search(rf'name="r-{item}" value="2" required checked', client.get(f"/p/{token}/").text)


@pytest.mark.parametrize(
    "change",
    [
        {"rating": 6}, {"rating": -1}, {"rating": "4"}, {"rating": True}, {"rating": 4.0}, {"rating": None},
        {"rating": 10**30}, {"item": "q99"}, {"item": "' OR 1=1 --"}, {"key": "short"}, {"key": "x" * 65},
        {"key": "<script>alert(1)</script>"}, {"position": 1}, {"position": -1}, {"extra": 1}, {"item": "x" * 2000},
    ],
)  # fmt: skip
def test_wrong_answers_are_refused_and_logged(
    client: TestClient, store: Store, change: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    (token,) = store.add_participants("corridor")
    store.consent(token, {})
    store.experience(token, 0)
    stage = store.stage(token)
    assert stage.trial is not None
    right = {"position": 0, "item": stage.info.items(stage.trial.scenario)[0].id, "rating": 4, "key": "a-good-key-here"}
    reply = client.post(f"/p/{token}/answer", json=right | change)
    assert reply.status_code in (400, 409, 413)
    assert reply.json()["stored"] is False
    assert store.stage(token).answers == {}
    assert "refused" in caplog.text
    assert token not in caplog.text


def test_bodies_that_are_no_answers(client: TestClient, store: Store) -> None:
    (token,) = store.add_participants("corridor")
    for body in (b"", b"[]", b"{", b"[" * 900, b"\xff\xfe", b"null"):
        assert client.post(f"/p/{token}/answer", content=body).status_code == 400
    form = {"content-type": "application/x-www-form-urlencoded"}
    assert client.post(f"/p/{token}/consent", content=b"a=" + b"x" * 70_000, headers=form).status_code == 413
    assert client.post(f"/p/{token}/consent", content=b"&a=1" * 2000, headers=form).status_code == 400
    assert client.post(f"/p/{token}/consent", content=b"a=%ff", headers=form).status_code == 400
    upload = client.post(f"/p/{token}/consent", files={"agree": b"yes"})
    assert upload.status_code == 415


def test_forged_links_other_hosts_and_foreign_pages(client: TestClient, store: Store) -> None:
    (token,) = store.add_participants("corridor")
    assert client.get("/p/forged-forged-forged-forged/").status_code == 404
    assert client.get(f"/p/{token}/", headers={"host": "evil.example"}).status_code == 403
    for origin in ("http://evil.example", "null", ""):
        reply = client.post(f"/p/{token}/consent", data={"agree": "yes"}, headers={"origin": origin})
        assert reply.status_code == 403
    assert not store.stage(token).consented
    for _ in range(40):
        reply = client.get("/p/guess/")
    assert reply.status_code == 429
    assert client.get(f"/p/{token}/").status_code == 200


def test_headers_are_on_every_page(client: TestClient, store: Store) -> None:
    (token,) = store.add_participants("corridor")
    for address in ("/", f"/p/{token}/", "/nothing", "/static/study.css", "/study/corridor/"):
        headers = client.get(address).headers
        assert all(headers[name] == value for name, value in HEADERS.items())
    assert client.get("/docs").status_code == client.get("/openapi.json").status_code == 404
    assert client.get("/static/..%2fserver.py").status_code == 404


def test_texts_are_shown_as_texts(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>"
    study = study_of(title=evil, consent=evil, comments=True, asks=[{"id": "note", "label": evil}])
    store = new_store(f"sqlite:///{tmp_path / 'x.sqlite'}", study)
    (token,) = store.add_participants("corridor")
    with client_of(store) as client:
        page = client.get(f"/p/{token}/").text
        assert evil not in page
        assert "&lt;script&gt;" in page
        client.post(f"/p/{token}/consent", data={"agree": "yes", "note": evil})
        page = client.post(f"/p/{token}/experienced", data={"position": 0}).text
        client.post(f"/p/{token}/rate", data=answers_on(page) | {"position": "0", "comment": evil})
        log_in(client)
        assert evil not in client.get("/study/corridor/").text
        (person,) = client.get("/study/corridor/study.json").json()["participants"]
        assert (person["details"]["note"], person["trials"][0]["comment"]) == (evil, evil)


def test_a_film_is_served_without_its_name(tmp_path: Path) -> None:
    write_films(tmp_path)
    store = new_store(f"sqlite:///{tmp_path / 'x.sqlite'}", study_of(mode="film"), str(tmp_path))
    (token,) = store.add_participants("corridor")
    store.consent(token, {})
    with client_of(store) as client:
        address = re.findall(r'src="(/p/[^"]+)"', client.get(f"/p/{token}/").text)[0]
        film = client.get(address)
        stage = store.stage(token)
        assert stage.trial is not None
        assert film.content == (tmp_path / f"films/{stage.trial.policy}/{stage.trial.scenario}.mp4").read_bytes()
        assert stage.trial.policy not in str(film.headers) + address
        assert stage.trial.policy.encode() not in film.content
        assert film.headers["last-modified"] == "Thu, 01 Jan 1970 00:00:00 GMT"
        assert client.get(f"/p/{token}/film/1").status_code == 404


def test_experimenters_log_in(client: TestClient, store: Store) -> None:
    assert client.get("/study/corridor/").status_code == 403
    assert log_in(client, "wrong password").status_code == 403
    assert client.post("/login", data={"study": "nothing", "password": PASSWORD}).status_code == 403
    page = log_in(client)
    assert page.status_code == 200
    assert "Robots in a corridor" in page.text
    for _ in range(6):
        last = log_in(client, "wrong password")
    assert last.status_code == 429


def test_experimenters_add_watch_export_and_delete(client: TestClient, store: Store) -> None:
    csrf = re.findall(r'name="csrf" value="([^"]+)"', log_in(client).text)[0]
    assert client.post("/study/corridor/participants", data={"count": "2"}).status_code == 403
    assert store.progress("corridor") == []
    page = client.post("/study/corridor/participants", data={"count": "2", "csrf": csrf}).text
    links = re.findall(r'href="(http://127[^"]+/p/[^"]+)"', page)
    assert len(set(links)) == 2
    assert client.get(links[0]).status_code == 200
    assert client.get("/study/corridor/qr/1").text.startswith("<?xml")
    assert [each["done"] for each in client.get("/study/corridor/progress").json()] == [0, 0]
    assert client.get("/study/corridor/participants/1").json()["participants"][0]["participant"] == "p001"
    wrong = {"number": "1", "confirm": "p002", "csrf": csrf}
    assert client.post("/study/corridor/delete", data=wrong).status_code == 400
    client.post("/study/corridor/delete", data=wrong | {"confirm": "p001"})
    assert client.get(links[0]).status_code == 404
    assert [each["number"] for each in client.get("/study/corridor/progress").json()] == [2]
    assert client.get("/study/corridor/ratings.csv").text.startswith("study,participant,")
    client.post("/study/corridor/logout", data={"csrf": csrf})
    assert client.get("/study/corridor/").status_code == 403


def test_a_cookie_is_good_for_its_study_only(client: TestClient, store: Store) -> None:
    store.create(study_of(name="other"), store.study("corridor").questionnaire, "another password")
    log_in(client)
    cookie = next(iter(client.cookies.jar))
    assert cookie.path == "/study/corridor/"
    forged = {"cookie": f"{cookie.name}={cookie.value}"}
    assert client.get("/study/other/", headers=forged).status_code == 403
    assert client.get("/study/corridor/", headers=forged).status_code == 200


def test_a_study_made_in_the_browser(client: TestClient, store: Store) -> None:
    fields = {"password": PASSWORD, "again": PASSWORD}
    text = study_of(name="fresh").model_dump_json()
    assert client.get("/new/guess").status_code == 404
    assert client.post("/new/guess", data=fields | {"definition": text}).status_code == 404
    assert client.get(f"/new/{CREATE}").status_code == 200
    wrong = client.post(f"/new/{CREATE}", data=fields | {"definition": text, "again": "different one"})
    assert "passwords differ" in wrong.text
    file = study_of(name="fresh", questionnaire="/etc/passwd").model_dump_json()
    assert "not installed" in client.post(f"/new/{CREATE}", data=fields | {"definition": file}).text
    assert "unknown key" in client.post(f"/new/{CREATE}", data=fields | {"definition": "nmae: x"}).text
    assert [each.study.name for each in store.studies()] == ["corridor"]
    made = client.post(f"/new/{CREATE}", data=fields | {"definition": text})
    assert made.status_code == 200
    assert made.url.path == "/study/fresh/"


def statements_of(store: Store) -> list[str]:
    """The list to which every statement that the database gets is added from now on."""
    statements: list[str] = []

    def note(connection: Any, cursor: Any, statement: str, *_: Any) -> None:
        if not statement.startswith("BEGIN"):
            statements.append(statement)

    event.listen(store.engine, "before_cursor_execute", note)
    return statements


def test_ratings_take_few_queries_however_many_there_are(client: TestClient, store: Store) -> None:
    """Participant with study, present trial, answers, keys, new answers, end of the trial: six for a whole page."""
    (token,) = store.add_participants("corridor")
    store.consent(token, {})
    store.experience(token, 0)
    fields = answers_on(client.get(f"/p/{token}/").text) | {"position": "0"}
    item = next(name for name in fields if name.startswith("r-")).removeprefix("r-")
    one = {"position": 0, "item": item, "rating": 2, "key": "a-key-of-the-page"}
    statements = statements_of(store)
    assert client.post(f"/p/{token}/answer", json=one).json() == {"stored": True}
    assert len(statements) <= 5, statements
    statements.clear()
    assert len(fields) == 1 + 2 * 5  # five items, each with a key
    assert client.post(f"/p/{token}/rate", data=fields, follow_redirects=False).status_code == 303
    assert len(statements) <= 6, statements
    assert sum("FROM participants" in each for each in statements) == 1
    assert store.stage(token).done == 1


def test_a_page_without_some_answers_keeps_the_others(client: TestClient, store: Store) -> None:
    (token,) = store.add_participants("corridor")
    store.consent(token, {})
    store.experience(token, 0)
    fields = answers_on(client.get(f"/p/{token}/").text) | {"position": "0"}
    left_out = next(name for name in fields if name.startswith("r-"))
    rest = {name: value for name, value in fields.items() if name != left_out}
    assert client.post(f"/p/{token}/rate", data=rest).status_code == 409
    assert len(store.stage(token).answers) == sum(name.startswith("r-") for name in rest)
    one_key = fields["k-" + left_out.removeprefix("r-")]
    changed = {name: {"r-": "2", "k-": one_key}.get(name[:2], value) for name, value in fields.items()}
    assert client.post(f"/p/{token}/rate", data=changed).status_code == 409  # one key for all
    assert client.post(f"/p/{token}/rate", data=fields, follow_redirects=False).status_code == 303
