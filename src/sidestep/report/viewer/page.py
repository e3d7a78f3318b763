"""The page that plays a record: scripts and style sheets joined so that it needs no other file, the page as text or
file, and a server on 127.0.0.1 that serves this one page to a browser on the same machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from sidestep._util.writing import whole_file
from sidestep.errors import BadInput
from sidestep.report.viewer.pack import pack_replays
from sidestep.types.record import EpisodeRecord
from sidestep.version import __version__

SCRIPTS = (
    "camera.js", "theme.js", "data.js", "lidar.js", "labels.js", "legend.js", "ground.js", "topview.js", "gl.js",
    "shaders.js", "shapes.js", "people.js", "orbitview.js", "timeline.js", "player.js", "gallery.js", "start.js",
)  # fmt: skip
"""In this order: each uses names of those before it. All live in one function of their own."""


@cache
def script() -> Markup:
    """All scripts as one, for a ``<script>`` element."""
    return Markup('(() => {\n"use strict";\n' + "\n".join(map(_text, SCRIPTS)) + "})();\n")


def style(extra: Sequence[str] = ()) -> Markup:
    """Theme, player and ``extra`` sheets, for a ``<style>`` element.

    Dark is what the system prefers unless the page's ``data-theme`` says otherwise; paper is always light.
    """
    dark = _text("theme_dark.css")
    themes = f"@media screen and (prefers-color-scheme: dark) {{ :root:not([data-theme=light]) {{\n{dark}}} }}\n"
    themes += f"@media screen {{ :root[data-theme=dark] {{\n{dark}}} }}\n"
    return Markup("\n".join([_text("theme.css"), themes, *map(_text, extra), _text("player.css")]))


def templates(*packages: str) -> Environment:
    """Templates of reports and of further ``packages``: everything that is put into them is escaped, and nothing may be
    missing."""
    return Environment(
        loader=ChoiceLoader([PackageLoader(package, "templates") for package in (*packages, "sidestep.report")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _text(name: str) -> str:
    return (files("sidestep.report.viewer") / "static" / name).read_text(encoding="utf-8")


RATE_HZ = 20.0
"""Frames a second of a page about one record; the player draws what lies between."""


def viewer_page(record: EpisodeRecord) -> str:
    """The page as text."""
    about = f"{record.policy.name} · seed {record.seed} · {record.robot.name} · people {record.source}"
    return (
        templates()
        .get_template("viewer.html.j2")
        .render(
            title=record.scenario.name,
            about=about,
            version=__version__,
            style=style(["viewer.css"]),
            script=script(),
            replays=pack_replays([(record.policy.name, record)], rate_hz=RATE_HZ),
        )
    )


def write_viewer(record: EpisodeRecord, path: Path) -> None:
    """The page as a file."""
    with whole_file(path) as temporary:
        temporary.write_text(viewer_page(record), encoding="utf-8")


HOST = "127.0.0.1"


class PageServer(ThreadingHTTPServer):
    """Answers GET / with one page."""

    daemon_threads = True

    def __init__(self, page: str, port: int) -> None:
        self.page = page.encode()
        super().__init__((HOST, port), _PageHandler)

    @property
    def address(self) -> str:
        """Where the page is."""
        return f"http://{HOST}:{self.server_port}/"


class _PageHandler(BaseHTTPRequestHandler):
    server: PageServer

    def do_GET(self) -> None:
        """The page; 404 for any other path, 403 for a name that is not this machine's (a rebound foreign site)."""
        name = self.headers.get("Host", "").rpartition(":")[0] or self.headers.get("Host", "")
        if name not in {HOST, "localhost"}:
            self.send_error(403)
        elif self.path.partition("?")[0] != "/":
            self.send_error(404)
        else:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(self.server.page)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(self.server.page)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the terminal belongs to the person."""


def make_server(page: str, port: int = 0) -> PageServer:
    """A server bound to 127.0.0.1, at any free port if ``port`` is 0; call ``serve_forever``."""
    try:
        return PageServer(page, port)
    except (OSError, OverflowError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise BadInput(f"port {port} cannot be used: {reason}; choose another, or 0 for any free one") from error
