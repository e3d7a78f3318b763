"""Scripted participants, many at once: they consent, walk, rate with double clicks, and go on after a lost server."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import httpx
from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException


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

    def __init__(self, url: str, port: int, workers: int) -> None:
        self.address = f"http://127.0.0.1:{port}"
        options = ["--port", str(port), "--workers", str(workers), "--database", url]
        self._command = [sys.executable, "-m", "sidestep", "study", "serve", *options]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
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
        assert self._process is not None
        tick, times = os.sysconf("SC_CLK_TCK"), []
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                if int(fields[2]) == self._process.pid:
                    times.append((int(fields[11]) + int(fields[12])) / tick)
        return times

    async def wait(self, client: httpx.AsyncClient, seconds: float = 120.0) -> None:
        for _ in range(round(seconds / 0.1)):
            with suppress(httpx.TransportError):
                if (await client.get(self.address)).status_code == 200:
                    return
            await asyncio.sleep(0.1)
        raise AssertionError("the server does not start")
