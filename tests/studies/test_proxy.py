"""The recipes of docs/studies.md for servers in front, as they stand there: forms, walks and limits of rate."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import sleep

import httpx
import pytest
from websockets.sync.client import connect

from benchmarks.studies import Server, _wait, free_port
from sidestep.studies.database import close_database
from tests.studies.conftest import new_store, study_of

ROOT = Path(__file__).resolve().parents[2]
NGINX = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
CADDY, OPENSSL = shutil.which("caddy"), shutil.which("openssl")


def recipe(kind: str) -> str:
    (found,) = re.findall(rf"```{kind}\n(.*?)```", (ROOT / "docs/studies.md").read_text("utf-8"), re.DOTALL)
    return str(found)


def replaced(text: str, *changes: tuple[str, str]) -> str:
    for old, new in changes:
        assert old in text, f"the recipe has no {old!r} any more"
        text = text.replace(old, new)
    return text


@contextmanager
def running(command: list[str], address: str, environment: dict[str, str] | None = None) -> Iterator[None]:
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment)
    try:
        for _ in range(200):
            try:
                httpx.get(address, verify=False)
                break
            except httpx.TransportError:
                assert process.poll() is None, process.communicate()[0]
                sleep(0.1)
        yield
    finally:
        process.terminate()
        process.wait(20)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Server, str, str, int]]:
    """A server of studies behind ``https://localhost:PORT``, and a participant."""
    database, port, front = f"sqlite:///{tmp_path / 'x.sqlite'}", free_port(), free_port()
    store = new_store(database, study_of())
    (token,) = store.add_participants("corridor")
    close_database(store.engine)
    server = Server(database, port, 0, "--url", f"https://localhost:{front}", "--proxy", "127.0.0.1")
    server.start()
    try:
        asyncio.run(_wait(server))
        yield server, token, f"https://localhost:{front}", front
    finally:
        server.kill()


def take_part(address: str, token: str) -> None:
    """A form, a websocket, and limits of rate by the address of the client."""

    def client(source: str) -> httpx.Client:
        transport = httpx.HTTPTransport(verify=False, local_address=source)
        return httpx.Client(transport=transport, base_url=address, headers={"origin": address}, follow_redirects=True)

    with client("127.0.0.2") as one, client("127.0.0.3") as other:
        page = one.post(f"/p/{token}/consent", data={"agree": "yes"})
        assert page.status_code == 200, page.text
        assert "Run 1 of 4" in page.text
        assert "strict-transport-security" in page.headers
        guesses = [one.get(f"/p/guess-{number}/").status_code for number in range(45)]
        assert guesses[0] == 404
        assert guesses[-1] == 429
        assert other.get("/p/guess/").status_code == 404
        foreign = other.post(
            f"/p/{token}/experienced", data={"position": 0}, headers={"origin": "https://evil.example"}
        )
        assert foreign.status_code == 403
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with connect(f"{address.replace('https', 'wss')}/p/{token}/walk", origin=address, ssl=context) as page:  # type: ignore[arg-type]
        assert "no walk to start" in str(page.recv(10))  # this study has no walks, but the page is heard


@pytest.mark.skipif(NGINX is None, reason="nginx is not installed: apt-get install nginx-light")
@pytest.mark.skipif(OPENSSL is None, reason="openssl is not installed: apt-get install openssl")
def test_nginx(served: tuple[Server, str, str, int], tmp_path: Path) -> None:
    server, token, address, front = served
    names = ["-keyout", str(tmp_path / "study.key"), "-out", str(tmp_path / "study.pem"), "-subj", "/CN=localhost"]
    make = [str(OPENSSL), "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *names]
    subprocess.run(make, check=True, capture_output=True)
    site = replaced(
        recipe("nginx"),
        ("listen 443 ssl", f"listen 127.0.0.1:{front} ssl"),
        ("server_name study.example.org", "server_name localhost"),
        ("/etc/ssl/", f"{tmp_path}/"),
        ("http://127.0.0.1:8000", server.address),
    )
    paths = "\n".join(
        f"{kind}_temp_path {tmp_path}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    user = "" if os.geteuid() else "user root;"
    file = tmp_path / "nginx.conf"
    file.write_text(
        f"{user} pid {tmp_path}/nginx.pid; error_log {tmp_path}/error.log; events {{}}\n"
        f"http {{ access_log off; {paths}\n{site} }}"
    )
    with running([str(NGINX), "-p", str(tmp_path), "-c", str(file), "-g", "daemon off;"], address):
        take_part(address, token)


@pytest.mark.skipif(CADDY is None, reason="Caddy is not installed: apt-get install caddy")
def test_caddy(served: tuple[Server, str, str, int], tmp_path: Path) -> None:
    server, token, address, _ = served
    site = replaced(
        recipe("caddy"),
        ("study.example.org {", f"{address} {{\n    tls internal"),
        ("127.0.0.1:8000", server.address.removeprefix("http://")),
    )
    file = tmp_path / "Caddyfile"
    file.write_text("{\n    admin off\n    skip_install_trust\n    auto_https disable_redirects\n}\n" + site)
    folders = {"XDG_DATA_HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path), "HOME": str(tmp_path)}
    command = [str(CADDY), "run", "--config", str(file), "--adapter", "caddyfile"]
    with running(command, address, os.environ | folders):
        take_part(address, token)
