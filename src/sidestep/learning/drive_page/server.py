"""The server of the page: it admits one driver, paces the simulation and sends the frames.

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
from time import perf_counter
from typing import Any, TypeVar

from sidestep._util.web import (
    NO_TELEMETRY,
    POLICY_VIOLATION,
    REPLACED,
    SERVER_ERROR,
    error_text,
    is_own_host,
    is_same_origin,
    local_address,
)
from sidestep.errors import MissingExtra, SidestepError
from sidestep.learning.drive_page.episodes import STANDING, HandDriving
from sidestep.learning.drive_page.messages import (
    LONGEST,
    DriverControls,
    EpisodeRequest,
    FrameHeader,
    View,
    pack_frame,
    read_message,
)
from sidestep.learning.drive_page.pictures import DriverPictures
from sidestep.types import Drive

try:
    import uvicorn
    from fastapi import FastAPI, HTTPException, Request, Response, WebSocket, WebSocketDisconnect

    from sidestep._util.websockets import PageConnection
except ImportError as error:  # pragma: no cover
    raise MissingExtra("driving by hand in the browser", "web") from error

FRAMES_AHEAD = 2
"""Maximum number of frames that the page has not shown yet."""
PAGE_FILES = {
    "": ("page.html", "text/html"),
    "page.js": ("page.js", "text/javascript"),
    "page.css": ("page.css", "text/css"),
}
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


class DriveServer:
    """One simulation, and at most one page that drives it."""

    def __init__(self, driving: HandDriving, ended: Callable[[], None] = lambda: None) -> None:
        """``ended`` is called when driving cannot go on; :attr:`failure` is then the reason."""
        self._driving, self._ended = driving, ended
        self._thread = ThreadPoolExecutor(1, "simulation")
        self._pictures: DriverPictures | None = None
        self._frame = 0
        self._connection: _DriverConnection | None = None
        self._steps: deque[float] = deque(maxlen=21)
        self.failure: SidestepError | None = None

    async def attend(self, page: WebSocket) -> None:
        """Let a page drive until it leaves or another one takes its place."""
        connection, before = _DriverConnection(page), self._connection
        self._connection = connection
        if before is not None:
            before.replaced.set()
            await before.gone.wait()
        work = self._drive(connection), connection.listen(), connection.replaced.wait()
        tasks = [asyncio.create_task(each) for each in work]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for error in [task.exception() for task in tasks if task in done]:
                if isinstance(error, SidestepError):
                    await self._fail(connection, error)
                elif error is not None and not isinstance(error, WebSocketDisconnect):
                    raise error
            if connection.replaced.is_set():
                await connection.close(REPLACED, "another page drives now")
        finally:
            for task in tasks:
                task.cancel()
            await self._park(connection)
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _park(self, connection: _DriverConnection) -> None:
        """Stop the clock and write what is finished, because nobody drives. This is submitted before anything is
        awaited, since the server may be ending."""
        parking = self._in_thread(self._driving.park)
        if self._connection is connection:
            self._connection = None
        connection.gone.set()
        try:
            await parking
        except SidestepError as error:
            await self._fail(connection, error)

    async def _fail(self, connection: _DriverConnection, error: SidestepError) -> None:
        self.failure = error
        self._ended()
        with suppress(WebSocketDisconnect):
            await connection.send(error_text(str(error), final=True))
        await connection.close(SERVER_ERROR, "the server ends")

    async def _drive(self, connection: _DriverConnection) -> None:
        driving, due = self._driving, perf_counter()
        await self._show(connection)
        while True:
            while connection.requests:
                await self._answer(connection, connection.requests.popleft())
            if driving.phase == "loading":
                await self._in_thread(self._load)
                await self._show(connection)
            elif driving.phase == "driving" and self._frame - connection.controls.seen <= FRAMES_AHEAD:
                now = perf_counter()
                step_s = driving.session.task.step_s
                due = max(due + step_s, now)
                if due > now:
                    await asyncio.sleep(due - now)
                if connection.requests:
                    continue
                await self._step(connection)
            else:
                if driving.phase != "driving":
                    self._steps.clear()
                await connection.news.wait()
                connection.news.clear()

    async def _step(self, connection: _DriverConnection) -> None:
        controls = connection.controls
        command = Drive(controls.steer, controls.throttle, controls.brake)
        await self._in_thread(self._driving.step, command)
        self._steps.append(perf_counter())
        await self._show(connection, controls.number)
        if self._driving.phase == "over":
            await self._in_thread(self._driving.store)
            await self._show(connection, controls.number)

    async def _answer(self, connection: _DriverConnection, request: EpisodeRequest | View) -> None:
        driving = self._driving
        if isinstance(request, View):
            connection.view = request
        elif request.what == "go":
            await self._in_thread(driving.go)
        elif request.what == "pause":
            await self._in_thread(driving.pause)
        else:
            await self._in_thread(driving.leave, request.what == "again")
        await self._show(connection)

    def _load(self) -> None:
        self._pictures = None
        self._driving.load()
        self._pictures = DriverPictures(self._driving.session)

    async def _show(self, connection: _DriverConnection, follows: int = 0) -> None:
        self._frame += 1
        await connection.send(await self._in_thread(self._draw, connection.view, self._frame, follows))

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
        frame = FrameHeader(
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
        """Run ``work`` in the simulation thread after what it does already, and to its end even if the caller is
        cancelled."""
        return asyncio.shield(asyncio.get_running_loop().run_in_executor(self._thread, work, *arguments))

    async def close(self) -> None:
        """Write what is finished and end the simulation thread."""
        try:
            await self._in_thread(self._driving.finish)
        except SidestepError as error:
            self.failure = error
        self._thread.shutdown()


class _DriverConnection(PageConnection):
    """The page that drives: its newest controls, its view, and its requests."""

    def __init__(self, page: WebSocket) -> None:
        super().__init__(page)
        self.controls = DriverControls(
            type="controls", number=0, seen=0, steer=STANDING.steer, throttle=STANDING.throttle, brake=STANDING.brake
        )
        self.view = View(type="view", camera="driver", map=True)
        self.requests: deque[EpisodeRequest | View] = deque(maxlen=64)

    def take(self, text: str | None) -> None:
        """Keep controls, and line up what is asked for."""
        message = read_message(text)
        if isinstance(message, DriverControls):
            self.controls = message
        else:
            self.requests.append(message)


def make_app(drive_server: DriveServer, token: str, host: str = "127.0.0.1") -> FastAPI:
    """The application: the page under ``/TOKEN/``, its websocket under ``/TOKEN/drive``, and nothing else."""

    @asynccontextmanager
    async def until_the_end(app: FastAPI) -> AsyncIterator[None]:
        yield
        await drive_server.close()

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
            await drive_server.attend(page)

    return app


def serve_page(
    driving: HandDriving, listening: socket.socket, host: str, announce: Callable[[str], None] = lambda address: None
) -> None:
    """Serve the page until Ctrl-C on a socket that ``bind`` has opened for ``host``. ``announce`` is called with its
    address, which has a random token."""
    token = secrets.token_urlsafe(24)

    def end() -> None:
        server.should_exit = True

    drive_server = DriveServer(driving, end)
    server = uvicorn.Server(
        uvicorn.Config(
            make_app(drive_server, token, host), log_level="warning", access_log=False, server_header=False,
            lifespan="on", ws_max_size=4 * LONGEST, ws_ping_interval=5.0, ws_ping_timeout=10.0,
            timeout_graceful_shutdown=2,
        )
    )  # fmt: skip
    announce(f"{local_address(host, listening)}/{token}/")
    try:
        server.run(sockets=[listening])
    finally:
        listening.close()
    if drive_server.failure is not None:
        raise drive_server.failure
