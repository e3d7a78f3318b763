"""What all pages share: templates, checks of requests, forms, rate limits, and pages and log entries of refusals.

Pages are plain HTML forms with small scripts, without a build step: they work by keyboard and on a phone, reload where
the participant was, and an answer is an ordinary request that can be sent again. Texts of participants and
experimenters reach pages through autoescaped templates, and the database through bound parameters.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from importlib.resources import files
from ipaddress import IPv6Address, ip_address, ip_network
from time import monotonic
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from sqlalchemy.exc import SQLAlchemyError

from sidestep._util.web import is_own_host, is_same_origin
from sidestep.errors import BadInput, MissingExtra, printable
from sidestep.studies.access import RateLimit, Refused
from sidestep.studies.store import Store
from sidestep.studies.texts import error_in, say_in, script_texts

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
MOST_FILMS = 10_000
"""Number of films whose start the server remembers."""
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",  # a form without a referrer would have no origin, and links stay on this server
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
HTTPS_ONLY = {"Strict-Transport-Security": "max-age=31536000"}
"""Headers that are added if the public address is https."""
STATIC = {"css": "text/css", "js": "text/javascript"}


class Site:
    """Settings and state of the server that all pages need."""

    def __init__(
        self,
        store: Store,
        host: str = "127.0.0.1",
        url: str = "",
        create_token: str = "",
        proxies: Sequence[str] = (),
    ) -> None:
        """``url``: public address, where it differs from ``host``; ``create_token``: token of the page that creates
        studies; ``proxies``: addresses or networks of trusted servers in front of this one."""
        self.store, self.host, self.create_token = store, host, create_token
        self.url = checked_url(url)
        self._proxies = [_network(each) for each in proxies]
        self.logins = RateLimit(5, 1 / 12)
        self.strangers = RateLimit(30, 0.5)
        """Limit for addresses that request links that do not exist."""
        self.answers = RateLimit(120, 10.0)
        self.sockets = RateLimit(200, 10.0)
        """Walks that an address opens: a laboratory may have one for everybody."""
        self.creations = RateLimit(10, 1 / 6)
        self.analyses = RateLimit(6, 1 / 20)
        self.fresh_links: dict[tuple[int, int], str] = {}
        """(study, number of a participant) → token, of links that were made since the server began: shown to the
        experimenter, stored nowhere."""
        self._films: dict[tuple[str, int], tuple[float, float]] = {}
        """(token, position) → when the server first served the film, and how far it was played then, s."""
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

    @property
    def headers(self) -> dict[str, str]:
        """Headers of every reply."""
        return HEADERS | (HTTPS_ONLY if self.is_secure else {})

    def link(self, request: Request, token: str) -> str:
        """The address that a participant opens."""
        base = self.url or f"{request.url.scheme}://{request.headers.get('host', self.host)}"
        return f"{base}/p/{token}/"

    def page(self, name: str, status: int = 200, **values: Any) -> HTMLResponse:
        """A page from its template, in ``language``."""
        language = str(values.get("language", "en"))
        about = {"_": say_in(language), "script_texts": script_texts(language)}
        return HTMLResponse(self._templates.get_template(f"{name}.html").render(**about, **values), status)

    def client(self, request: HTTPConnection) -> str:
        """The client of a request, for rate limits: the address of the peer, or the one that a trusted proxy names. An
        IPv6 network of a household is one client."""
        peer = request.client.host if request.client else ""
        named = ",".join(request.headers.getlist("x-forwarded-for")).split(",")
        while self._is_proxy(peer) and named and named[-1].strip():
            peer = named.pop().strip()
        return _client_network(peer)

    def _is_proxy(self, address: str) -> bool:
        try:
            return any(ip_address(address) in network for network in self._proxies)
        except ValueError:
            return False

    def knows_host(self, request: HTTPConnection) -> bool:
        """Whether a request names this server, or comes from a trusted proxy, which may call it by any name."""
        peer = request.client.host if request.client else ""
        return self._is_own_name(request) or bool(self.url and self._is_proxy(peer))

    def _is_own_name(self, request: HTTPConnection) -> bool:
        name = request.headers.get("host", "")
        return is_own_host(name, self.host) or bool(self.url and urlsplit(self.url).netloc.lower() == name.lower())

    def is_own_page(self, request: HTTPConnection) -> bool:
        """Whether a request that changes something comes from a page of this server, by its public address or by the
        name that the request gives it, if that is the server's own."""
        origin = request.headers.get("origin", "")
        if self.url and origin.lower() == self.url.lower():
            return True
        return self._is_own_name(request) and is_same_origin(origin, request.headers.get("host", ""))

    def film_limit_s(self, token: str, position: int, played_s: float) -> float:
        """Seconds of the film of a trial that can have been played by now: those that were played when the server first
        served it, and the time since then."""
        while len(self._films) > MOST_FILMS:
            self._films.pop(next(iter(self._films)))
        begun, before_s = self._films.setdefault((token, position), (monotonic(), played_s))
        return before_s + monotonic() - begun

    def language(self, request: HTTPConnection) -> str:
        """Language of the study of a participant's link; for an unknown link, the language that the browser prefers."""
        parts = request.url.path.split("/")
        if len(parts) < 3 or parts[1] != "p":
            return "en"
        wanted = request.headers.get("accept-language", "")[:2].lower()
        return self.store.language(parts[2]) or (wanted if wanted.isalpha() else "en")

    def refusal(self, request: Request, status: int, error: BaseException) -> Response:
        """A page or document with the reason of a refusal, which is logged without links and passwords."""
        where = "/".join(part for part in request.url.path.split("/") if len(part) < 24)
        log.warning("refused %d %s %s: %s", status, request.method, printable(where, 80), log_text(error))
        try:
            language = self.language(request)
        except SQLAlchemyError:  # the database is away
            language = "en"
        message = error_in(language, error)
        if request.url.path.endswith(("/answer", "/progress", "/played")):
            return JSONResponse({"stored": False, "message": message}, status)
        title = say_in(language)("That did not work")
        back = status in (400, 409, 413)
        return self.page("message", status, title=title, text=message, back=back, language=language)


def log_text(error: BaseException) -> str:
    """The message of a refusal for the log: without the values of its fields, which may be a participant's."""
    return printable(error.text if isinstance(error, Refused) else str(error), 300)


def checked_url(url: str) -> str:
    """The public address without a final slash; ``BadInput`` for one that is no address of a server."""
    parts = urlsplit(url)
    if url and (parts.scheme not in ("http", "https") or not parts.netloc or parts.path.strip("/") or parts.query):
        raise BadInput(
            f"{url!r:.100}: not the address of a server; give one such as https://study.example.org, without a path"
        )
    return url.rstrip("/")


def _network(text: str) -> Any:
    try:
        return ip_network(text, strict=False)
    except ValueError:
        raise BadInput(f"{text!r:.60}: not the address of a proxy; give one such as 127.0.0.1 or 10.0.0.0/8") from None


def _client_network(address: str) -> str:
    try:
        found = ip_address(address)
    except ValueError:
        return address[:60]
    return str(ip_network(f"{found}/64", strict=False)) if isinstance(found, IPv6Address) else str(found)


async def _body(request: Request, most: int) -> bytes:
    length = request.headers.get("content-length", "")
    if length and not (length.isascii() and length.isdigit() and int(length) <= most):
        raise Refused(413, "more than {most} kB; shorten the text", most=most // 1000)
    data = bytearray()
    async for part in request.stream():
        data += part
        if len(data) > most:
            raise Refused(413, "more than {most} kB; shorten the text", most=most // 1000)
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


async def played_document(request: Request) -> tuple[int, float, float]:
    """Position, begin and end, s, of a piece of a film that a page has played."""
    data = await _body(request, LONGEST_ANSWER)
    try:
        document = json.loads(data)
        position, start, end = (document[name] for name in ("position", "start", "end"))
        good = type(position) is int and all(type(each) in (int, float) for each in (start, end))
    except (ValueError, RecursionError, KeyError, TypeError):
        good = False
    if not good or not (0 <= position <= 1_000_000 and 0.0 <= start <= end <= 1e6):
        raise Refused(400, "a piece of a film has position, start and end")
    return position, float(start), float(end)


def device_of(request: Request) -> str:
    """Kind of device: ``phone``, ``tablet`` or ``computer``, as the browser names it. Nothing else of that is kept."""
    agent = request.headers.get("user-agent", "")
    if any(each in agent for each in ("iPad", "Tablet")) or ("Android" in agent and "Mobile" not in agent):
        return "tablet"
    return "phone" if "Mobi" in agent else "computer"
