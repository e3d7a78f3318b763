"""Passwords, sessions, proxies and headers."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from time import perf_counter

import pytest
from starlette.testclient import TestClient

from sidestep.errors import BadInput
from sidestep.studies import access
from sidestep.studies.access import Refused, check_password, hash_password, is_password
from sidestep.studies.administration import log_in
from sidestep.studies.database import StudyRow
from sidestep.studies.server import make_app
from sidestep.studies.site import Site
from sidestep.studies.store import Store
from tests.studies.conftest import PASSWORD, study_of

URL = "https://study.example.org"
REAL_COST = access.COST


def test_a_hash_costs_what_owasp_asks_at_least(monkeypatch: pytest.MonkeyPatch) -> None:
    """OWASP's Password Storage Cheat Sheet: N = 2^17, r = 8, p = 1."""
    assert REAL_COST == (2**17, 8, 1)
    monkeypatch.setattr(access, "COST", REAL_COST)
    stored = hash_password(PASSWORD)
    _, n, r, p, salt, found = stored.split("$")
    assert (int(n), int(r), int(p)) == REAL_COST
    expected = hashlib.scrypt(PASSWORD.encode(), salt=bytes.fromhex(salt), n=2**17, r=8, p=1, dklen=32, maxmem=2**28)
    assert expected.hex() == found
    assert is_password(PASSWORD, stored)
    assert not is_password(PASSWORD + "x", stored)


@pytest.mark.parametrize(
    "password", ["short", "elevenchars", "x" * 201, "abababababab", "passwordpassword", "Password1234", "qwertz123456"]
)
def test_weak_passwords_are_refused(password: str) -> None:
    with pytest.raises(Refused):
        check_password(password)
    check_password("four words that fit together")


def test_an_old_hash_is_renewed_at_the_next_login(store: Store) -> None:
    salt = b"0" * 16
    old = hashlib.scrypt(PASSWORD.encode(), salt=salt, n=2**14, r=8, p=1, dklen=32)
    with store.writing() as session:
        session.query(StudyRow).update({"password": f"scrypt${salt.hex()}${old.hex()}"})
    with pytest.raises(Refused, match="wrong"):
        log_in(store, "corridor", "another password")
    assert store.study("corridor").password.count("$") == 2
    log_in(store, "corridor", PASSWORD)
    assert store.study("corridor").password.count("$") == 5
    log_in(store, "corridor", PASSWORD)


def test_a_short_password_of_before_still_opens_its_study(store: Store) -> None:
    salt, short = b"0" * 16, "8 letter"
    old = hashlib.scrypt(short.encode(), salt=salt, n=2**14, r=8, p=1, dklen=32)
    with store.writing() as session:
        session.query(StudyRow).update({"password": f"scrypt${salt.hex()}${old.hex()}"})
    info, _ = log_in(store, "corridor", short)
    assert info.study.name == "corridor"
    assert store.study("corridor").password.count("$") == 2, "it is too short to be hashed anew"


def client_of(store: Store, host: str = "study.example.org", origin: str = URL, **options: object) -> TestClient:
    site = Site(store, url=URL, **options)  # type: ignore[arg-type]
    return TestClient(make_app(site), base_url=f"https://{host}", headers={"origin": origin}, client=("10.0.0.1", 5000))


def enter(client: TestClient, password: str = PASSWORD) -> str:
    """Log in; the token that forms carry."""
    page = client.post("/login", data={"study": "corridor", "password": password})
    return re.findall(r'name="csrf" value="([^"]+)"', page.text)[0]


def test_logging_out_ends_the_session(store: Store) -> None:
    """A cookie that somebody has kept opens nothing afterwards."""
    with client_of(store) as client:
        csrf = enter(client)
        (cookie,) = list(client.cookies.jar)
        assert (cookie.name, cookie.path, cookie.secure) == ("__Host-sidestep-study-corridor", "/", True)
        kept = {"cookie": f"{cookie.name}={cookie.value}"}
        assert client.get("/study/corridor/", headers=kept).status_code == 200
        assert client.post("/study/corridor/logout", data={"csrf": csrf}).status_code == 200
        assert client.get("/study/corridor/", headers=kept).status_code == 403


def test_a_new_password_ends_every_session(store: Store) -> None:
    fields = {"old": PASSWORD, "password": "a new set of words", "again": "a new set of words"}
    with client_of(store) as other, client_of(store) as client:
        enter(other)
        fields["csrf"] = enter(client)
        assert client.post("/study/corridor/password", data=fields | {"old": "wrong password"}).status_code == 400
        assert client.post("/study/corridor/password", data=fields | {"again": "something else"}).status_code == 400
        short = fields | {"password": "short", "again": "short"}
        assert client.post("/study/corridor/password", data=short).status_code == 400
        assert other.get("/study/corridor/").status_code == 200
        assert client.post("/study/corridor/password", data=fields).status_code == 200
        assert other.get("/study/corridor/").status_code == 403
        assert other.post("/login", data={"study": "corridor", "password": PASSWORD}).status_code == 403
        assert enter(other, "a new set of words")


def test_forms_work_behind_a_proxy_that_changes_the_host(store: Store) -> None:
    """nginx sends its own name of the server as Host unless told otherwise."""
    (token,) = store.add_participants("corridor")
    with client_of(store, host="127.0.0.1:8000") as client:
        assert client.post(f"/p/{token}/consent", data={"agree": "yes"}).status_code == 200
        assert store.stage(token).consented
        for origin in ("https://evil.example", "http://study.example.org", "https://study.example.org.evil.example"):
            reply = client.post(f"/p/{token}/experienced", data={"position": 0}, headers={"origin": origin})
            assert reply.status_code == 403


def test_a_trusted_proxy_may_call_the_server_by_any_name(store: Store) -> None:
    """With `upstream studies {…}` and `proxy_pass http://studies`, nginx sends that name; in a container, the name of
    the container."""
    (token,) = store.add_participants("corridor")
    with client_of(store, host="studies", proxies=["10.0.0.0/8"]) as client:
        assert client.get(f"/p/{token}/").status_code == 200
        for origin in ("http://studies", "https://studies", "https://evil.example"):
            foreign = client.post(f"/p/{token}/consent", data={"agree": "yes"}, headers={"origin": origin})
            assert foreign.status_code == 403, origin
        assert client.post(f"/p/{token}/consent", data={"agree": "yes"}).status_code == 200
    for proxies in (["192.0.2.1"], []):
        with client_of(store, host="studies", proxies=proxies) as client:
            assert client.get(f"/p/{token}/").status_code == 403


def tries(client: TestClient, *clients: str) -> list[int]:
    """Six wrong logins from each address; the last status of each."""
    last = []
    for each in clients:
        for _ in range(6):
            reply = client.post(
                "/login", data={"study": "corridor", "password": "wrong"}, headers={"x-forwarded-for": each}
            )
        last.append(reply.status_code)
    return last


def test_clients_behind_a_trusted_proxy_have_limits_of_their_own(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sidestep.studies.administration.NO_STUDY_PASSWORD", hash_password(PASSWORD))
    with client_of(store, proxies=["10.0.0.0/8"]) as client:
        assert tries(client, "198.51.100.1") == [429]
        one = {"study": "corridor", "password": PASSWORD}
        assert client.post("/login", data=one, headers={"x-forwarded-for": "198.51.100.2"}).status_code == 200
        assert client.post("/login", data=one, headers={"x-forwarded-for": "6.6.6.6, 198.51.100.1"}).status_code == 429
        assert tries(client, "2001:db8::1") == [429]  # a household has a whole network of addresses
        assert client.post("/login", data=one, headers={"x-forwarded-for": "2001:db8::2"}).status_code == 429
        assert client.post("/login", data=one, headers={"x-forwarded-for": "2001:db8:0:1::2"}).status_code == 200
    with client_of(store) as client:  # nobody is trusted: the header says nothing
        assert tries(client, "198.51.100.1") == [429]
        assert client.post("/login", data=one, headers={"x-forwarded-for": "198.51.100.2"}).status_code == 429


def test_https_is_asked_for_where_the_address_has_it(store: Store) -> None:
    with client_of(store) as client:
        assert "max-age=31536000" in client.get("/").headers["strict-transport-security"]
    plain = TestClient(make_app(Site(store)), base_url="http://127.0.0.1:8000")
    with plain as client:
        assert "strict-transport-security" not in client.get("/").headers


@pytest.mark.parametrize("url", ["study.example.org", "https://study.example.org/below", "ftp://x", "https://"])
def test_a_public_address_that_is_none(store: Store, url: str) -> None:
    with pytest.raises(BadInput, match="not the address of a server"):
        Site(store, url=url)
    with pytest.raises(BadInput, match="not the address of a proxy"):
        Site(store, proxies=["localhost"])


def test_ending_a_study_asks_and_can_be_undone(store: Store) -> None:
    (token,) = store.add_participants("corridor")
    with client_of(store) as client:
        csrf = enter(client)
        assert client.post("/study/corridor/close", data={"csrf": csrf}).status_code == 400
        assert client.get(f"/p/{token}/").status_code == 200
        client.post("/study/corridor/close", data={"csrf": csrf, "confirm": "corridor"})
        assert client.get(f"/p/{token}/").status_code == 410
        assert "Open it again" in client.get("/study/corridor/").text
        client.post("/study/corridor/reopen", data={"csrf": csrf})
        assert client.get(f"/p/{token}/").status_code == 200


def test_links_are_shown_once_and_can_be_made_anew(store: Store) -> None:
    (before,) = store.add_participants("corridor")
    with client_of(store) as client:
        csrf = enter(client)
        page = client.get("/study/corridor/").text
        assert "/p/" not in page
        assert client.get("/study/corridor/qr/1").status_code == 404
        page = client.post("/study/corridor/link", data={"csrf": csrf, "number": "1"}).text
        (link,) = re.findall(r'href="(https://study\.example\.org/p/[^"]+)"', page)
        assert client.get(link).status_code == 200
        assert client.get(f"/p/{before}/").status_code == 404
        assert client.get("/study/corridor/qr/1").text.startswith("<?xml")
        assert client.get("/study/corridor/links.csv").text == f"participant,link\np001,{link}\n"


def test_the_analysis_runs_in_another_process(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    from sidestep.studies import analysis_process
    from tests.studies.test_database import take_part

    take_part(store)
    monkeypatch.setattr("sidestep.studies.analysis.report_of", lambda *_: pytest.fail("made in the server"))
    assert "<html" in analysis_process.report_in_process(store, "corridor")
    store.create(study_of(name="empty"), store.study("corridor").questionnaire, PASSWORD)
    with pytest.raises(Refused, match="is rated yet") as error:
        analysis_process.report_in_process(store, "empty")
    assert error.value.status == 409


def test_a_wrong_study_takes_as_long_as_a_wrong_password(tmp_path: Path) -> None:
    """So names of studies cannot be found out by time."""
    from tests.studies.conftest import new_store

    store = new_store(f"sqlite:///{tmp_path / 'x.sqlite'}", study_of())
    with store.writing() as session:
        session.query(StudyRow).update({"password": "scrypt$131072$8$1$" + "00" * 16 + "$" + "00" * 32})
    times = []
    for name in ("corridor", "nothing"):
        begun = perf_counter()
        with pytest.raises(Refused, match="wrong"):
            log_in(store, name, "wrong password")
        times.append(perf_counter() - begun)
    assert min(times) > 0.05
