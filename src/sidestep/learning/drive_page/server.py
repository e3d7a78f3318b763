"""The server of the page: who may drive, how fast the simulation runs, and what is sent when.

One simulation thread does everything that touches the world, because a step takes most of its time in compiled code
and a renderer belongs to one thread. The event loop paces it at the rate of the simulation and never lets it run more
than a few frames ahead of what the page has shown: a page that is slow, frozen or gone stops the clock.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections import deque
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from importlib.resources import files
from ipaddress import ip_address
from time import perf_counter
from typing import Any, TypeVar
from urllib.parse import urlsplit

from sidestep.errors import BadInput, MissingExtra, SidestepError
from sidestep.learning.drive_page.episodes import STANDING, HandDriving
from sidestep.learning.drive_page.messages import (
    LONGEST,
    Controls,
    Frame,
    View,
    Wish,
    error_text,
    pack_frame,
    read_message,
)
from sidestep.learning.drive_page.pictures import DriverPictures
from sidestep.types import Drive

try:
    import uvicorn
    from fastapi import FastAPI, HTTPException, Request, Response, WebSocket, WebSocketDisconnect
except ImportError as error:  # pragma: no cover
    raise MissingExtra("driving by hand in the browser", "web") from error

FRAMES_AHEAD = 2
"""Frames on their way to the page, at most."""
MOST_ERRORS = 20
"""Wrong messages after which a connection is closed."""
REPLACED, POLICY_VIOLATION, SERVER_ERROR = 4001, 1008, 1011
"""Codes of closed websockets; with 4001 a page knows that another one drives."""
PAGE_FILES = {
    "": ("page.html", "text/html"),
    "page.js": ("page.js", "text/javascript"),
    "page.css": ("page.css", "text/css"),
}
NO_TELEMETRY: Any = dict.fromkeys(("tracing", "metrics", "logs", "operation_spans", "auto_configure"), False)
"""Newer versions of FastAPI report to an OpenTelemetry collector where one is set up."""
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}

T = TypeVar("T")


class Desk:
    """The driving seat: one simulation, and at most one page that drives it."""

    def __init__(self, driving: HandDriving, ended: Callable[[], None] = lambda: None) -> None:
        """``ended`` is called when driving cannot go on; :attr:`failure` then says why."""
        self._driving, self._ended = driving, ended
        self._thread = ThreadPoolExecutor(1, "simulation")
        self._pictures: DriverPictures | None = None
        self._frame = 0
        self._link: _Link | None = None
        self._steps: deque[float] = deque(maxlen=21)
        self.failure: SidestepError | None = None

    async def sit_down(self, page: WebSocket) -> None:
        """Let a page drive until it leaves or another one takes its place."""
        link, before = _Link(page), self._link
        self._link = link
        if before is not None:
            before.replaced.set()
            await before.gone.wait()
        tasks = [asyncio.create_task(work) for work in (self._drive(link), link.listen(), link.replaced.wait())]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for error in [task.exception() for task in tasks if task in done]:
                if isinstance(error, SidestepError):
                    await self._fail(link, error)
                elif error is not None and not isinstance(error, WebSocketDisconnect):
                    raise error
            if link.replaced.is_set():
                await link.close(REPLACED, "another page drives now")
        finally:
            for task in tasks:
                task.cancel()
            await self._leave_alone(link)
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _leave_alone(self, link: _Link) -> None:
        """Nobody drives: the clock stops, and what is finished is written. That is asked for before anything is waited
        for, since the server may be ending."""
        parking = self._in_thread(self._driving.park)
        if self._link is link:
            self._link = None
        link.gone.set()
        try:
            await parking
        except SidestepError as error:
            await self._fail(link, error)

    async def _fail(self, link: _Link, error: SidestepError) -> None:
        self.failure = error
        self._ended()
        with suppress(WebSocketDisconnect):
            await link.send(error_text(str(error), final=True))
        await link.close(SERVER_ERROR, "the server ends")

    async def _drive(self, link: _Link) -> None:
        driving, due = self._driving, perf_counter()
        await self._show(link)
        while True:
            while link.wishes:
                await self._fulfil(link, link.wishes.popleft())
            if driving.phase == "loading":
                await self._in_thread(self._load)
                await self._show(link)
            elif driving.phase == "driving" and self._frame - link.controls.seen <= FRAMES_AHEAD:
                now = perf_counter()
                step_s = driving.session.task.step_s
                due = max(due + step_s, now)
                if due > now:
                    await asyncio.sleep(due - now)
                if link.wishes:
                    continue
                await self._step(link)
            else:
                if driving.phase != "driving":
                    self._steps.clear()
                await link.news.wait()
                link.news.clear()

    async def _step(self, link: _Link) -> None:
        controls = link.controls
        command = Drive(controls.steer, controls.throttle, controls.brake)
        await self._in_thread(self._driving.step, command)
        self._steps.append(perf_counter())
        await self._show(link, controls.number)
        if self._driving.phase == "over":
            await self._in_thread(self._driving.store)
            await self._show(link, controls.number)

    async def _fulfil(self, link: _Link, wish: Wish | View) -> None:
        driving = self._driving
        if isinstance(wish, View):
            link.view = wish
        elif wish.what == "go":
            await self._in_thread(driving.go)
        elif wish.what == "pause":
            await self._in_thread(driving.pause)
        else:
            await self._in_thread(driving.leave, wish.what == "again")
        await self._show(link)

    def _load(self) -> None:
        self._pictures = None
        self._driving.load()
        self._pictures = DriverPictures(self._driving.session)

    async def _show(self, link: _Link, follows: int = 0) -> None:
        self._frame += 1
        await link.send(await self._in_thread(self._draw, link.view, self._frame, follows))

    def _draw(self, view: View, number: int, follows: int) -> bytes:
        driving, episode = self._driving, self._driving.episode
        loading = driving.phase == "loading"
        about: dict[str, Any] = {"time_s": 0.0, "time_limit_s": episode.scenario.rules.time_limit_s, "speed_mps": 0.0}
        command, pictures = (0, 1), {}
        if not loading and self._pictures is not None:
            session = driving.session
            seen = session.observation
            assert seen.extra is not None
            about |= {"time_s": session.time, "speed_mps": seen.robot.speed}
            lateral, longitudinal = seen.extra["high_level_command"]
            command = (int(lateral), int(longitudinal))
            pictures = self._pictures.draw(view.camera, view.map)
        frame = Frame(
            frame=number,
            follows=follows,
            phase=driving.phase,
            task=episode.task,
            scenario=episode.scenario.name,
            weather=episode.weather,
            seed=episode.seed,
            episode=driving.number + 1,
            command=command,
            controls=(driving.last.steer, driving.last.throttle, driving.last.brake),
            pace=self._pace(episode.scenario.rules.step_s),
            outcome=driving.outcome,
            kept_episodes=driving.kept_episodes,
            kept_frames=driving.kept_frames,
            **about,
        )
        return pack_frame(frame, pictures)

    def _pace(self, step_s: float) -> float:
        steps = list(self._steps)
        return 1.0 if len(steps) < 2 else step_s * (len(steps) - 1) / max(steps[-1] - steps[0], 1e-6)

    def _in_thread(self, work: Callable[..., T], *arguments: Any) -> asyncio.Future[T]:
        """In the simulation thread, after what it does already and to its end even if the waiting is given up."""
        return asyncio.shield(asyncio.get_running_loop().run_in_executor(self._thread, work, *arguments))

    async def close(self) -> None:
        """Write what is finished and end the simulation thread."""
        try:
            await self._in_thread(self._driving.finish)
        except SidestepError as error:
            self.failure = error
        self._thread.shutdown()


class _Link:
    """A connected page and the newest that it said."""

    def __init__(self, page: WebSocket) -> None:
        self.page = page
        self.controls = Controls(
            type="controls", number=0, seen=0, steer=STANDING.steer, throttle=STANDING.throttle, brake=STANDING.brake
        )
        self.view = View(type="view", camera="driver", map=True)
        self.wishes: deque[Wish | View] = deque(maxlen=64)
        self.news, self.replaced, self.gone = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def listen(self) -> None:
        """Take messages until the page leaves."""
        errors = 0
        while errors < MOST_ERRORS:
            received = await self.page.receive()
            if received["type"] == "websocket.disconnect":
                raise WebSocketDisconnect(received.get("code", 1000))
            try:
                message = read_message(received.get("text"))
            except BadInput as error:
                errors += 1
                await self.send(error_text(str(error)))
                continue
            if isinstance(message, Controls):
                self.controls = message
            else:
                self.wishes.append(message)
            self.news.set()
        await self.close(POLICY_VIOLATION, "too many wrong messages")

    async def send(self, message: str | bytes) -> None:
        """Send; ``WebSocketDisconnect`` if the page has gone."""
        try:
            if isinstance(message, str):
                await self.page.send_text(message)
            else:
                await self.page.send_bytes(message)
        except RuntimeError as error:  # closed by us
            raise WebSocketDisconnect(1000) from error

    async def close(self, code: int, reason: str) -> None:
        """Close the connection, unless the page has gone."""
        with suppress(RuntimeError, WebSocketDisconnect):
            await self.page.close(code, reason)


def make_app(desk: Desk, token: str, host: str = "127.0.0.1") -> FastAPI:
    """The application: the page under ``/TOKEN/``, its websocket under ``/TOKEN/drive``, and nothing else."""

    @asynccontextmanager
    async def until_the_end(app: FastAPI) -> AsyncIterator[None]:
        yield
        await desk.close()

    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, lifespan=until_the_end, telemetry=NO_TELEMETRY)
    texts = {name: (files(__package__) / "static" / file).read_bytes() for name, (file, _) in PAGE_FILES.items()}

    @app.get("/{given}/{name}")
    @app.get("/{given}/")
    def page(request: Request, given: str, name: str = "") -> Response:
        if not is_own_host(request.headers.get("host", ""), host):
            raise HTTPException(403, "this server is known by another name")
        if not secrets.compare_digest(given.encode(), token.encode()) or name not in texts:
            raise HTTPException(404)
        return Response(texts[name], media_type=PAGE_FILES[name][1], headers=HEADERS)

    @app.websocket("/{given}/drive")
    async def drive(page: WebSocket, given: str) -> None:
        name, origin = page.headers.get("host", ""), page.headers.get("origin", "")
        allowed = is_own_host(name, host) and is_same_origin(origin, name)
        if not allowed or not secrets.compare_digest(given.encode(), token.encode()):
            await page.close(POLICY_VIOLATION)
            return
        await page.accept()
        with suppress(asyncio.CancelledError):  # the server ends
            await desk.sit_down(page)

    return app


def is_own_host(header: str, host: str) -> bool:
    """Whether a request names this server. A name that another site has pointed at this machine is refused; a server
    that listens on all addresses cannot know its names."""
    name = urlsplit(f"//{header}").hostname or ""
    if is_loopback(host):
        return is_loopback(name)
    return _is_any(host) or name == host.lower().strip("[]")


def is_same_origin(origin: str, header: str) -> bool:
    """Whether the page that opens a websocket came from this server."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(header) and parts.netloc.lower() == header.lower()


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach ``host``."""
    try:
        return host.lower() == "localhost" or ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _is_any(host: str) -> bool:
    try:
        return ip_address(host.strip("[]")).is_unspecified
    except ValueError:
        return False


def serve_page(
    driving: HandDriving, listening: socket.socket, host: str, tell: Callable[[str], None] = lambda address: None
) -> None:
    """Serve the page until Ctrl-C on what :func:`bind` has opened for ``host``. ``tell`` gets its address, with a token
    that nobody can guess."""
    token = secrets.token_urlsafe(24)

    def end() -> None:
        server.should_exit = True

    desk = Desk(driving, end)
    server = uvicorn.Server(
        uvicorn.Config(
            make_app(desk, token, host), log_level="warning", access_log=False, server_header=False, lifespan="on",
            ws_max_size=4 * LONGEST, ws_ping_interval=5.0, ws_ping_timeout=10.0, timeout_graceful_shutdown=2,
        )
    )  # fmt: skip
    shown = "127.0.0.1" if _is_any(host) else f"[{host}]" if ":" in host else host
    tell(f"http://{shown}:{listening.getsockname()[1]}/{token}/")
    try:
        server.run(sockets=[listening])
    finally:
        listening.close()
    if desk.failure is not None:
        raise desk.failure


def bind(host: str = "127.0.0.1", port: int = 0) -> socket.socket:
    """A listening socket for the server; ``port`` 0 is any free one. Who comes early waits."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen()
    except (OSError, OverflowError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise BadInput(f"{host}:{port} cannot be used: {reason}; choose another --host or --port (0: any)") from error
    return listening
