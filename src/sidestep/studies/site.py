"""What all pages share: templates, checks of requests, forms, limits, and how a refusal is told and logged.

Pages are plain HTML forms with small scripts, without a build step: they work by keyboard and on a phone, reload where
the participant was, and an answer is an ordinary request that can be sent again. Texts of participants and
experimenters reach pages through autoescaped templates, and the database through bound parameters.
"""

from __future__ import annotations

import json
import logging
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from sidestep.drive_page.server import is_own_host, is_same_origin
from sidestep.errors import MissingExtra, printable
from sidestep.studies.access import RateLimit, Refused
from sidestep.studies.store import Store

try:
    from fastapi import Request, Response
    from fastapi.responses import HTMLResponse, JSONResponse
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from starlette.requests import HTTPConnection
except ImportError as error:  # pragma: no cover
    raise MissingExtra("the study server", "web") from error

log = logging.getLogger("sidestep.studies")

MOST_BODY, MOST_FIELDS = 64_000, 1200
"""Bytes and fields of a form."""
LONGEST_ANSWER = 1000
"""Bytes of a single answer."""
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",  # a form without a referrer would have no origin, and links stay on this server
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
STATIC = {"css": "text/css", "js": "text/javascript"}


class Site:
    """The server's own things, handed to every page."""

    def __init__(self, store: Store, host: str = "127.0.0.1", url: str = "", create_token: str = "") -> None:
        """``url``: public address, where it differs from ``host``; ``create_token``: who has it may make studies."""
        self.store, self.host, self.create_token = store, host, create_token
        self.url = url.rstrip("/")
        self.logins = RateLimit(5, 1 / 12)
        self.strangers = RateLimit(30, 0.5)
        """For addresses that ask for links that do not exist."""
        self.answers = RateLimit(120, 10.0)
        self.creations = RateLimit(10, 1 / 6)
        self._templates = Environment(
            loader=PackageLoader("sidestep.studies"), autoescape=True, undefined=StrictUndefined,
            trim_blocks=True, lstrip_blocks=True,
        )  # fmt: skip
        folder = files("sidestep.studies") / "static"
        self.static = {
            each.name: (each.read_bytes(), STATIC[each.name.rpartition(".")[2]])
            for each in folder.iterdir()
            if each.name.rpartition(".")[2] in STATIC
        }

    @property
    def is_secure(self) -> bool:
        """Whether participants reach the server by HTTPS."""
        return self.url.startswith("https:")

    def link(self, request: Request, token: str) -> str:
        """The address that a participant opens."""
        base = self.url or f"{request.url.scheme}://{request.headers.get('host', self.host)}"
        return f"{base}/p/{token}/"

    def page(self, name: str, status: int = 200, **values: Any) -> HTMLResponse:
        """A page from its template."""
        return HTMLResponse(self._templates.get_template(f"{name}.html").render(**values), status)

    def knows_host(self, request: HTTPConnection) -> bool:
        """Whether a request names this server."""
        name = request.headers.get("host", "")
        return is_own_host(name, self.host) or bool(self.url and urlsplit(self.url).netloc.lower() == name.lower())

    def is_own_page(self, request: HTTPConnection) -> bool:
        """Whether a request that changes something comes from a page of this server."""
        return is_same_origin(request.headers.get("origin", ""), request.headers.get("host", ""))

    def refusal(self, request: Request, status: int, message: str) -> Response:
        """Tell why something was refused, and log it without links and passwords."""
        where = "/".join(part for part in request.url.path.split("/") if len(part) < 24)
        log.warning("refused %d %s %s: %s", status, request.method, printable(where, 80), printable(message, 300))
        if request.url.path.endswith("/answer") or request.url.path.endswith("/progress"):
            return JSONResponse({"stored": False, "message": message}, status)
        return self.page("message", status, title="That did not work", text=message, back=status in (400, 409, 413))


async def _body(request: Request, most: int) -> bytes:
    length = request.headers.get("content-length", "")
    if length and not (length.isascii() and length.isdigit() and int(length) <= most):
        raise Refused(413, f"more than {most // 1000} kB; shorten the text")
    data = bytearray()
    async for part in request.stream():
        data += part
        if len(data) > most:
            raise Refused(413, f"more than {most // 1000} kB; shorten the text")
    return bytes(data)


async def form(request: Request) -> dict[str, str]:
    """The fields of a form; files cannot be sent."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise Refused(415, "a form is sent as application/x-www-form-urlencoded")
    data = await _body(request, MOST_BODY)
    try:
        return dict(parse_qsl(data.decode("ascii"), True, True, errors="strict", max_num_fields=MOST_FIELDS))
    except ValueError:
        raise Refused(400, "the form cannot be read") from None


async def large_form(request: Request) -> dict[str, str]:
    """The fields of the form that defines a study: each byte of the text may take three."""
    data = await _body(request, 800_000)
    try:
        return dict(parse_qsl(data.decode("ascii"), True, True, errors="strict", max_num_fields=20))
    except ValueError:
        raise Refused(400, "the form cannot be read") from None


async def answer_document(request: Request) -> dict[str, Any]:
    """The JSON document of one answer."""
    data = await _body(request, LONGEST_ANSWER)
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        raise Refused(400, "an answer is a JSON document") from None
    kinds = {"position": int, "item": str, "rating": int, "key": str}
    if not isinstance(document, dict) or set(document) != set(kinds):
        raise Refused(400, "an answer has position, item, rating and key")
    for name, kind in kinds.items():
        if type(document[name]) is not kind:
            raise Refused(400, f"{name} of an answer is {'a whole number' if kind is int else 'a text'}")
    if abs(document["position"]) > 1_000_000 or abs(document["rating"]) > 1_000_000:
        raise Refused(400, "a number is out of range")
    return document


def whole(text: str, what: str, least: int = 0, most: int = 1_000_000) -> int:
    """A whole number from a form."""
    if not (text.isascii() and text.isdigit() and len(text) < 8 and least <= int(text) <= most):
        raise Refused(400, f"{what}: a whole number from {least} to {most} is needed")
    return int(text)
