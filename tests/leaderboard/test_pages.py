"""The pages in a browser: sorting, filters, light and dark, phones; with the report of a pack."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.leaderboard.conftest import Build
from tests.leaderboard.packing import make_pack
from tests.needs import CHROMIUM, in_browser

pytestmark = in_browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


def opened(browser: Any, page: Path, width: int = 1200, scheme: str = "light") -> tuple[Any, list[str]]:
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    tab = context.new_page()
    complaints: list[str] = []
    tab.on("console", lambda message: complaints.append(message.text))
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    context.route("http*://**", lambda route: route.abort())
    tab.goto(page.as_uri())
    return tab, complaints


def names(tab: Any) -> list[str]:
    found: list[str] = tab.locator("table.board tbody tr:visible th a").all_inner_texts()
    return found


def test_sorting_filters_and_themes(browser: Any, tmp_path: Path, build: Build) -> None:
    build(make_pack(tmp_path, "Raises", "Steady", scenarios=8, seeds=(0,)), reports=True)
    page = tmp_path / "site" / "suites" / "test.html"
    tab, complaints = opened(browser, page)
    assert names(tab) == ["steady", "raises"]
    tab.get_by_role("button", name="Policy").click()
    assert names(tab) == ["raises", "steady"]
    tab.get_by_role("button", name="Success rate").click()
    assert names(tab) == ["steady", "raises"], "of what should be high the highest comes first"
    tab.get_by_role("button", name="Success rate").click()
    assert names(tab) == ["raises", "steady"]
    assert tab.locator("output").inner_text() == "2 entries"
    tab.get_by_role("searchbox").fill("stea")
    assert names(tab) == ["steady"]
    assert tab.locator("output").inner_text() == "1 of 2 entries"
    tab.get_by_label("verified only").check()
    assert names(tab) == []
    paper = "getComputedStyle(document.body).backgroundColor"
    light = tab.evaluate(paper)
    tab.get_by_role("button", name="Light or dark").click()
    assert tab.evaluate(paper) != light
    tab.goto((tmp_path / "site" / "index.html").as_uri())
    tab.get_by_role("link", name="test").click()
    tab.get_by_role("link", name="steady").click()
    assert complaints == []
    tab.get_by_role("link", name="Report and players").click()
    assert tab.title() == "test · Sidestep report"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_phones_do_not_scroll_sideways(browser: Any, tmp_path: Path, build: Build, scheme: str) -> None:
    build(make_pack(tmp_path, "Raises", "Steady"), make_pack(tmp_path, seeds=(5,), name="chosen.pack", scenarios=1))
    for page in sorted((tmp_path / "site").rglob("*.html")):
        tab, complaints = opened(browser, page, 360, scheme)
        assert tab.evaluate("document.documentElement.scrollWidth") <= 360, page.name
        assert complaints == []
