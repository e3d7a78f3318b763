"""The whole study in a real browser: created, walked, rated, resumed, analysed; by keyboard and on a phone."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from benchmarks.studies import free_port
from sidestep.studies.database import open_database
from sidestep.studies.store import Store
from tests.needs import CHROMIUM, in_browser
from tests.studies.conftest import PASSWORD, ratings_of

pytestmark = in_browser

DEFINITION = """
name: browser
title: Robots in the corridor
policies: [orca, stop]
scenarios: [frontal-f1]
consent: I take part of my own free will.
asks: [{id: age, label: Your age, choices: [18-39, 40 or more]}]
"""


@contextmanager
def server(database: str, port: int) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """``sidestep study serve`` in a process of its own, and the link for new studies."""
    command = [sys.executable, "-m", "sidestep", "study", "serve", "--port", str(port), "--workers", "1"]
    process = subprocess.Popen(
        [*command, "--database", database], stderr=subprocess.PIPE, text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"}, start_new_session=True,
    )  # fmt: skip
    try:
        assert process.stderr is not None
        for line in process.stderr:
            if found := re.search(r"http://127\.0\.0\.1:\d+/new/[\w-]{32}", line):
                yield found[0], process
                return
        raise AssertionError("the server told no address")
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        one = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield one
        one.close()


def wait(page: Any, name: str, *wanted: str, seconds: float = 120.0) -> None:
    """Until the body's ``data-NAME`` is one of ``wanted``."""
    from playwright.sync_api import Error

    value = ""
    for _ in range(round(seconds / 0.05)):
        with suppress(Error):  # the page is just changing
            value = page.evaluate("name => (document.body && document.body.dataset[name]) || ''", name)
        if value in wanted:
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"{name} is {value!r}, not {wanted}")


def create(browser: Any, address: str) -> tuple[Any, str]:
    """A study made by an experimenter, and the link of its participant."""
    page = browser.new_page()
    page.goto(address, wait_until="load", timeout=120_000)
    page.fill("#definition", DEFINITION)
    page.fill("#password", PASSWORD)
    page.fill("#again", PASSWORD)
    page.click("text=Create")
    page.click("text=Add")
    link: str = page.locator("a.link").first.get_attribute("href")
    return page, link


def rate(page: Any, level: int) -> None:
    """Answer everything by keyboard, as far as the browser's own keys go."""
    for field in page.locator("fieldset").all():
        field.locator(f"input[value='{level}']").focus()
        page.keyboard.press("Space")
        field.locator("text=✓ stored").wait_for()
    page.locator("text=Next").focus()
    with page.expect_navigation():
        page.keyboard.press("Enter")


def test_from_a_new_study_to_its_analysis(browser: Any, tmp_path: Path) -> None:
    play_a_study(browser, f"sqlite:///{tmp_path / 'studies.sqlite'}")


def play_a_study(browser: Any, database: str) -> None:
    """An experimenter makes a study, a participant walks, rates, closes the page and goes on; the analysis is read."""
    port = free_port()
    complaints: list[str] = []
    with server(database, port) as (address, _):
        experimenter, link = create(browser, address)
        page = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True).new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(link)
        page.locator("#age").focus()
        page.keyboard.press("1")
        page.locator("input[name=agree]").focus()
        page.keyboard.press("Space")
        page.keyboard.press("Enter")
        for run in range(2):
            wait(page, "phase", "ready")
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            page.keyboard.press("v")
            for _ in range(8):
                page.keyboard.press("ArrowUp", delay=150)
                page.wait_for_timeout(130)
            if run == 0:
                while float(page.inner_text("#time")) < 1.5:
                    page.wait_for_timeout(50)
                assert page.evaluate("Number(document.body.dataset.delay)") > 0
                page.keyboard.press("e", delay=200)
                page.keyboard.press("p")
                wait(page, "phase", "paused")
                page.reload()  # a closed tab
                wait(page, "phase", "ready")
                assert float(page.inner_text("#time")) > 1.0
                page.keyboard.press("Space")
            page.wait_for_selector("#ratings", timeout=90_000)
            rate(page, 4 if run == 0 else 2)
        assert "Thank you" in page.inner_text("h1")
        experimenter.locator("[data-cell=done]", has_text="2").wait_for(timeout=10_000)
        experimenter.click("text=Analysis")
        assert "orca" in experimenter.inner_text("body")
    assert complaints == []
    ratings = ratings_of(Store(open_database(database)), "browser")
    assert sorted(set(ratings.rating.tolist())) == [2, 4]
    assert len(ratings.names("episode")) == 2


def test_a_killed_server_loses_no_answer(browser: Any, tmp_path: Path) -> None:
    """Answers that are given while the server is away are sent when it is back."""
    database, port = f"sqlite:///{tmp_path / 'studies.sqlite'}", free_port()
    store = Store(open_database(database))
    from sidestep.studies.ratings.questionnaire import load_questionnaire
    from tests.studies.conftest import study_of

    store.create(study_of(), load_questionnaire("protocol"), PASSWORD)
    (token,) = store.add_participants("corridor")
    store.consent(token, {})
    store.experience(token, 0)
    page = browser.new_page()
    with server(database, port) as (address, _):
        page.goto(f"{address.partition('/new')[0]}/p/{token}/", timeout=120_000)
        fields = page.locator("fieldset").all()
        fields[0].locator("input[value='5']").check()
        fields[0].locator("text=✓ stored").wait_for()
    for field in fields[1:]:
        field.locator("input[value='3']").check()
    page.locator("text=No connection").wait_for()
    with server(database, port):
        page.click("text=Next", timeout=60_000)
        page.locator("text=Run 2 of 4").wait_for(timeout=60_000)
    ratings = ratings_of(store, "corridor")
    assert sorted(ratings.rating.tolist()) == [3] * (len(fields) - 1) + [5]
