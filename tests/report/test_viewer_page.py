"""The page of one record: self-contained, and served to this machine only."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest

from sidestep.errors import BadInput
from sidestep.report.viewer import make_server, viewer_page, write_viewer
from sidestep.report.viewer.page import SCRIPTS, PageServer
from sidestep.types.record import EpisodeRecord
from tests.report.conftest import EVIL, Builder


@pytest.fixture
def server() -> Iterator[PageServer]:
    with make_server("<p>é</p>") as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def get(server: PageServer, path: str = "/", host: str | None = None) -> tuple[int, bytes]:
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=5)
    connection.request("GET", path, headers={"Host": host} if host else {})
    answer = connection.getresponse()
    return answer.status, answer.read()


def test_only_the_page_is_served(server: PageServer) -> None:
    assert get(server) == (200, "<p>é</p>".encode())
    assert get(server, "/?a=b")[0] == 200
    assert get(server, "/../../etc/passwd")[0] == 404
    assert get(server, "/favicon.ico")[0] == 404
    assert get(server, host=f"localhost:{server.server_port}")[0] == 200
    assert get(server, host="evil.example")[0] == 403


def test_only_this_machine_can_ask(server: PageServer) -> None:
    assert server.server_address[0] == "127.0.0.1"
    assert server.address == f"http://127.0.0.1:{server.server_port}/"


def test_a_port_in_use_is_an_error_that_says_so(server: PageServer) -> None:
    with pytest.raises(BadInput, match=f"port {server.server_port} cannot be used.*choose another"):
        make_server("", server.server_port)
    with pytest.raises(BadInput, match="port 99999"):
        make_server("", 99_999)


def test_the_page_holds_everything_and_escapes_names(build: Builder, tmp_path: Path) -> None:
    page = viewer_page(build(name=EVIL))
    assert EVIL not in page
    assert page.count("</script>") == 2
    for word in ("http://", "https://", "innerHTML", "fetch(", "@import", "url("):
        assert word not in page
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="cannot be written"):
        write_viewer(build(), tmp_path / "file" / "page.html")


def test_the_file_is_the_page(record: EpisodeRecord, tmp_path: Path) -> None:
    write_viewer(record, tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == viewer_page(record)


def test_every_script_is_in_the_bundle() -> None:
    import sidestep.report.viewer as package

    folder = Path(package.__file__).parent / "static"
    assert sorted(path.name for path in folder.glob("*.js")) == sorted(SCRIPTS)
