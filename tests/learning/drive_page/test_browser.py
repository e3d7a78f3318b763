"""The page in a real browser: somebody drives with keys, and the frames are in the file, even after a kill."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sidestep.cli.drive import BATCH
from sidestep.learning.demonstrations import read_demonstrations
from tests.needs import CHROMIUM, in_browser

pytestmark = in_browser
COMMAND = [sys.executable, "-m", "sidestep", "drive", "intersection", "--no-open", "--people", "none"]


@contextmanager
def server(file: Path, *options: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """``sidestep drive`` in a process of its own, and the address that it tells."""
    command = [*COMMAND, "--scene", "0", "--branch", "0", "--out", str(file), *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"})
    try:
        assert process.stderr is not None
        for line in process.stderr:
            if found := re.search(r"http://127\.0\.0\.1:\d+/[\w-]{32}/", line):
                yield found[0], process
                return
        raise AssertionError("the server told no address")
    finally:
        process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


class Driver:
    """A page and everything that it complained about or asked for."""

    def __init__(self, browser: Any, address: str) -> None:
        self.page = browser.new_page()
        self.complaints: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(address)

    def data(self, name: str) -> str:
        value: str = self.page.evaluate("name => document.body.dataset[name] || ''", name)
        return value

    def wait(self, name: str, *wanted: str, seconds: float = 60.0) -> str:
        for _ in range(round(seconds / 0.04)):
            if (value := self.data(name)) in wanted:
                return value
            self.page.wait_for_timeout(40)
        raise AssertionError(f"{name} is {self.data(name)!r}, not {wanted}")

    def seconds(self) -> float:
        return float(self.page.inner_text("#time"))


def test_keys_drive_and_a_killed_server_loses_one_batch(browser: Any, tmp_path: Path) -> None:
    file = tmp_path / "demonstrations.h5"
    with server(file, "--failures") as (address, process):
        driver = Driver(browser, address)
        keys = driver.page.keyboard
        driver.wait("phase", "ready", seconds=240)
        keys.down("w")
        driver.wait("phase", "driving")
        for _ in range(12):
            keys.press("ArrowLeft", delay=90)
            driver.page.wait_for_timeout(60)
        keys.up("w")
        assert int(driver.page.inner_text("#kmh")) > 3
        assert float(driver.data("delay")) < 250  # about 50 ms where nothing else runs
        keys.press("Space")
        driver.wait("phase", "paused")
        frames = round(driver.seconds() / 0.05)
        process.send_signal(signal.SIGKILL)
        process.wait()
        driver.wait("link", "lost")
        assert driver.page.inner_text("#panel-title") == "Connection lost"
        origin = address.split("/")[2]
        assert all(origin in url for url in driver.asked)
    with read_demonstrations(file) as demos:
        assert frames - BATCH <= demos.frames[0] <= frames
        assert demos.frames[0] > 16
        action = demos.column(0, "action")
        assert action[:, 1].max() == pytest.approx(0.65)
        assert action[:, 0].min() < -0.05  # to the left, in the published frame
        assert action[:, 0].max() <= 0.0
        assert demos.column(0, "measurements")[-1, 0] > 0.1


def test_a_success_by_keyboard_alone_is_kept(browser: Any, tmp_path: Path) -> None:
    """The page is left and loaded again on the way; the whole way is one demonstration."""
    file = tmp_path / "demonstrations.h5"
    with server(file, "--pose", "2") as (address, process):
        driver = Driver(browser, address)
        driver.wait("phase", "ready", seconds=240)
        driver.page.keyboard.press("Space")
        driver.page.keyboard.down("ArrowUp")
        driver.page.wait_for_timeout(1500)
        driver.page.reload()
        driver.wait("phase", "paused")
        assert driver.seconds() > 0.5
        driver.page.keyboard.down("ArrowUp")
        driver.wait("phase", "over")
        driver.page.keyboard.up("ArrowUp")
        assert driver.data("outcome") == "success"
        driver.wait("kept", "1")
        driver.page.keyboard.press("Enter")
        driver.wait("phase", "ready")
        assert driver.page.inner_text("#panel-over") == "Episode 2"
        assert driver.complaints == []
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
    with read_demonstrations(file) as demos:
        (episode,) = demos.episodes
        assert episode.finished


GAMEPAD = """
const button = (value) => ({ value, pressed: value > 0.5 });
window.pad = null;
navigator.getGamepads = () => [window.pad];
window.holdPad = (steer, throttle) => {
  const buttons = Array.from({ length: 17 }, () => button(0));
  buttons[7] = button(throttle);
  window.pad = { index: 0, connected: true, axes: [steer, 0, 0, 0], buttons };
};
"""


def test_touch_and_gamepad_drive(browser: Any, tmp_path: Path) -> None:
    file = tmp_path / "demonstrations.h5"
    with server(file, "--failures") as (address, process):
        context = browser.new_context(viewport={"width": 900, "height": 500}, has_touch=True)
        context.add_init_script(GAMEPAD)
        driver = Driver(context, address)
        driver.wait("phase", "ready", seconds=240)
        gas = driver.page.locator("[data-pad=up]")
        gas.hover()
        driver.page.mouse.down()
        driver.wait("phase", "driving")
        driver.page.wait_for_timeout(800)
        driver.page.mouse.up()
        driver.page.wait_for_timeout(300)
        driver.page.evaluate("holdPad(1.0, 0.25)")
        driver.page.wait_for_timeout(500)
        driver.page.keyboard.press("p")
        driver.wait("phase", "paused")
        context.close()
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
    with read_demonstrations(file) as demos:
        steer, throttle, _ = demos.column(0, "action").T
        assert throttle.max() == pytest.approx(0.65)  # the pad of the page
        assert (throttle[-5:] == 0.25).all()
        assert (steer[-5:] == 1.0).all()  # to the right, in the published frame
