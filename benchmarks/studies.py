"""Studies: fifty scripted participants who walk at once, and how long a key takes to the picture in a browser.

:class:`Scripted` participants consent, walk, rate with double clicks, and go on after a lost server. The tests use
them, too.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from benchmarks.measure import Case, Effort, Figure, Notify
from sidestep.errors import MissingExtra

try:
    import httpx
    from websockets.asyncio.client import connect
    from websockets.exceptions import WebSocketException
except ImportError as error:  # pragma: no cover
    raise MissingExtra("measuring studies", "dev") from error

PARTICIPANTS, KEYS = 50, 60
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
STUDY = {
    "name": "bench", "title": "Many at once", "mode": "walk", "policies": ["orca", "mpc"],
    "scenarios": ["frontal-f1", "narrow_doorway-n1"], "consent": "I take part of my own free will.", "view": "first",
}  # fmt: skip


def cases() -> list[Case]:
    """Rates of walks, and times from a key to the picture, which need a browser."""
    return [
        Case(f"study/participants={PARTICIPANTS}", _measure_walks),
        Case("study/input_to_picture", _measure_keys("delay"), missing=_missing_browser),
        Case("study/input_to_picture/p95", _measure_keys("delay95"), missing=_missing_browser),
    ]


def _missing_browser() -> str | None:
    if find_spec("playwright") is None:
        return "needs playwright: pip install playwright"
    return "needs Chromium: apt install chromium" if CHROMIUM is None else None


def _measure_walks(effort: Effort, note: Notify) -> Figure:
    """Steps in the slowest second of any of the walks, as counted by the server."""
    slowest = []
    for _ in range(effort.repeats):
        with TemporaryDirectory() as folder, _served(Path(folder), PARTICIPANTS, workers=2) as (server, links):
            asyncio.run(_walk_once(server, links))
            told = [sys.executable, "-m", "sidestep", "study", "export", "bench", "--out", folder]
            subprocess.run([*told, "--database", server.database], check=True, capture_output=True)
            document = json.loads((Path(folder) / "study.json").read_text("utf-8"))
        walks = [trial["episode"] for person in document["participants"] for trial in person["trials"]]
        slowest.append(min(walk["slowest_hz"] for walk in walks if walk is not None))
    return Figure(f"study/participants={PARTICIPANTS}", "steps in the slowest second", slowest)


async def _walk_once(server: Server, links: list[str]) -> None:
    async with httpx.AsyncClient(timeout=30.0, limits=httpx.Limits(max_connections=100)) as client:
        await server.wait(client)
        people = [Scripted(server.address, link.strip("/").split("/")[-1], client) for link in links]
        await asyncio.gather(*(each.take_part(1) for each in people))


def _measure_keys(name: str) -> Any:
    def measure(effort: Effort, note: Notify) -> Figure:
        """Milliseconds from a key to the frame of the browser that shows its effect, as the page itself counts them."""
        values = []
        for _ in range(effort.repeats):
            with TemporaryDirectory() as folder, _served(Path(folder), 1, workers=1) as (server, links):
                values.append(float(_press_keys(server.address + "/p/" + links[0].split("/p/")[1])[name]))
        return Figure("study/input_to_picture" + ("/p95" if name == "delay95" else ""), "ms", values)

    return measure


def _press_keys(link: str) -> dict[str, str]:
    """Turn to and fro in a walk; what the page has noted."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 900, "height": 700})
        page.goto(link, timeout=120_000)
        page.check("input[name=agree]")
        with page.expect_navigation():
            page.click("button")
        page.locator("#go:enabled").wait_for(timeout=120_000)
        page.keyboard.press("Space")
        for number in range(KEYS):
            page.keyboard.press(("ArrowLeft", "ArrowRight")[number % 2], delay=90 + number % 7 * 11)
            page.wait_for_timeout(70 + number % 5 * 13)
        noted: dict[str, str] = page.evaluate("({...document.body.dataset})")
        browser.close()
    return noted


@contextmanager
def _served(folder: Path, participants: int, workers: int) -> Iterator[tuple[Server, list[str]]]:
    """A server with one study, and the paths of its participants."""
    database = f"sqlite:///{folder / 'studies.sqlite'}"
    (folder / "study.json").write_text(json.dumps(STUDY), "utf-8")
    (folder / "password").write_text("a long password", "utf-8")
    made = subprocess.run(
        [
            sys.executable, "-m", "sidestep", "study", "new", str(folder / "study.json"), "--json",
            "--password-file", str(folder / "password"), "--database", database, "--participants", str(participants),
        ], check=True, capture_output=True,
    )  # fmt: skip
    server = Server(database, free_port(), workers)
    server.start()
    try:
        asyncio.run(_wait(server))
        yield server, json.loads(made.stdout)["participants"]
    finally:
        server.kill()


async def _wait(server: Server) -> None:
    async with httpx.AsyncClient() as client:
        await server.wait(client)


def free_port() -> int:
    """A port that nobody uses now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@dataclass
class Scripted:
    """One participant. ``given`` is what the server has confirmed: (position, item) → rating."""

    address: str
    token: str
    client: httpx.AsyncClient
    given: dict[tuple[int, str], int] = field(default_factory=dict)
    frames: list[float] = field(default_factory=list)
    """Times at which states came, s."""
    refused: list[str] = field(default_factory=list)

    @property
    def home(self) -> str:
        """Address of the participant's page."""
        return f"{self.address}/p/{self.token}/"

    async def post(self, path: str, **content: Any) -> httpx.Response:
        """Send until the server answers, more slowly if it says so."""
        while True:
            with suppress(httpx.TransportError):
                reply = await self.client.post(self.home + path, headers={"origin": self.address}, **content)
                if reply.status_code < 500 and reply.status_code != 429:
                    if reply.status_code >= 400:
                        self.refused.append(reply.text)
                    return reply
            await asyncio.sleep(0.1)

    async def page(self) -> str:
        """The page as it is now."""
        while True:
            with suppress(httpx.TransportError):
                reply = await self.client.get(self.home)
                if reply.status_code < 500:
                    return reply.text
            await asyncio.sleep(0.1)

    async def take_part(self, most_runs: int = 1000) -> None:
        """The whole study, or some runs of it."""
        await self.post("consent", data={"agree": "yes"})
        for _ in range(most_runs):
            page = await self.page()
            if "Thank you" in page:
                return
            if 'id="ratings"' not in page:
                await self.meet(page)
                page = await self.page()
            await self.rate(page)

    async def meet(self, page: str) -> None:
        """Walk until a walk is kept, or say that the encounter is over."""
        if "data-walk" in page:
            while not await self.walk():
                await asyncio.sleep(0.2)
        else:
            position = re.findall(r'name="position" value="(\d+)"', page)[0]
            await self.post("experienced", data={"position": position})

    async def walk(self) -> bool:
        """Walk; whether the record is kept."""
        address = self.home.replace("http", "ws", 1) + "walk"
        number = 0
        try:
            async with connect(address, origin=self.address, max_queue=4, compression=None) as socket:  # type: ignore[arg-type]
                await socket.send('{"type":"go"}')
                async for text in socket:
                    message = json.loads(text)
                    if message["type"] == "kept":
                        return True
                    if message["type"] == "error":
                        return False
                    if message["type"] == "state":
                        self.frames.append(perf_counter())
                        number += 1
                        controls = {"forward": 1.0, "sideways": 0.0, "turn": 0.0, "wave": number % 40 < 8}
                        told = {"type": "controls", "number": number, "seen": message["frame"], **controls}
                        await socket.send(json.dumps(told))
        except (OSError, WebSocketException, TimeoutError):
            pass
        return False

    async def rate(self, page: str) -> None:
        """Answer every item, each with a double click."""
        position = int(re.findall(r'data-position="(\d+)"', page)[0])
        for number, item in enumerate(re.findall(r'data-item="([^"]+)"', page)):
            rating = (number + position + len(self.token)) % 6
            key = f"{self.token[:16]}-{position}-{item}"
            answer = {"position": position, "item": item, "rating": rating, "key": key}
            await asyncio.gather(*(self.post("answer", json=answer) for _ in range(2)))  # a double click
            self.given[position, item] = rating
        await asyncio.gather(*(self.post("rate", data={"position": str(position)}) for _ in range(2)))

    def slowest_hz(self, window_s: float = 1.0) -> float:
        """The least rate of states over any window."""
        frames = self.frames
        last, least, first = frames[-1], float("inf"), 0
        for index, at in enumerate(frames):
            if at + window_s > last:
                break
            first = max(first, index)
            while first < len(frames) and frames[first] <= at + window_s:
                first += 1
            least = min(least, (first - index - 1) / window_s)
        return least


class Server:
    """``sidestep study serve`` in a process of its own, which can be killed and started again."""

    def __init__(self, url: str, port: int, workers: int, *more: str) -> None:
        """``more``: further options of the command."""
        self.database, self.address = url, f"http://127.0.0.1:{port}"
        options = ["--port", str(port), "--workers", str(workers), "--database", url, *more]
        self._command = [sys.executable, "-m", "sidestep", "study", "serve", *options]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, or start it again."""
        self._process = subprocess.Popen(self._command, start_new_session=True, stderr=subprocess.DEVNULL)

    def kill(self) -> None:
        """``kill -9`` of the server and its workers."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def kill_alone(self) -> None:
        """``kill -9`` of the server only."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def cpu_s(self) -> list[float]:
        """Processor time of the server and of each worker so far, s."""
        return list(self._times().values())

    def serving_s(self) -> float:
        """Processor time of the server alone so far, s."""
        assert self._process is not None
        return self._times()[self._process.pid]

    def _times(self) -> dict[int, float]:
        assert self._process is not None
        tick, times = os.sysconf("SC_CLK_TCK"), {}
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                if int(fields[2]) == self._process.pid:
                    times[int(folder.name)] = (int(fields[11]) + int(fields[12])) / tick
        return times

    async def wait(self, client: httpx.AsyncClient, seconds: float = 120.0) -> None:
        """Until the server answers."""
        for _ in range(round(seconds / 0.1)):
            with suppress(httpx.TransportError):
                if (await client.get(self.address)).status_code == 200:
                    return
            await asyncio.sleep(0.1)
        raise AssertionError("the server does not start")
