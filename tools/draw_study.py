"""Takes the pictures of docs/studies.md in a real browser: `python -m tools.draw_study docs/images`."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx

from benchmarks.studies import CHROMIUM, Server, free_port
from sidestep.studies.creation import create_study

PASSWORD = "a long password"
STUDY = {
    "name": "corridor", "title": "Robots in the corridor", "mode": "walk", "policies": ["social_force", "ilqr"],
    "scenarios": ["frontal-f1", "narrow_doorway-n1"], "order": "fixed",
    "consent": "You will walk past a simulated robot and rate its behaviour. You may stop at any time.",
}  # fmt: skip
WALK_S = 4.4
"""After which the robot is near."""


async def _wait(server: Server) -> None:
    async with httpx.AsyncClient() as client:
        await server.wait(client)


def _agree(page: Any, address: str) -> None:
    page.goto(address)
    page.check("input[name=agree]")
    with page.expect_navigation():
        page.click("button")


def _walk(page: Any, until_s: float) -> None:
    """Walk on until a time of the simulation."""
    page.locator("#go:enabled").wait_for(timeout=120_000)
    page.keyboard.press("Space")
    page.keyboard.down("ArrowUp")
    while float(page.inner_text("#time")) < until_s:
        page.wait_for_timeout(20)
    page.keyboard.up("ArrowUp")


def _take(browser: Any, server: Server, links: list[str], out: Path) -> None:
    page = browser.new_page(viewport={"width": 1000, "height": 820})
    _agree(page, f"{server.address}/p/{links[0]}/")
    _walk(page, WALK_S)
    page.screenshot(path=out / "study_walk.png")
    phone = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True).new_page()
    _agree(phone, f"{server.address}/p/{links[1]}/")
    _walk(phone, WALK_S)
    phone.screenshot(path=out / "study_phone.png")
    page.locator("#ratings").wait_for(timeout=120_000)
    page.set_viewport_size({"width": 700, "height": 560})
    page.locator("fieldset").first.locator("input[value='4']").check()
    page.locator("text=✓ stored").first.wait_for()
    page.screenshot(path=out / "study_rate.png")
    experimenter = browser.new_page(viewport={"width": 1010, "height": 520})
    experimenter.goto(f"{server.address}/")
    experimenter.fill("#study", "corridor")
    experimenter.fill("#password", PASSWORD)
    with experimenter.expect_navigation():
        experimenter.click("button")
    experimenter.screenshot(path=out / "study_experimenter.png")


def main(out: Path) -> None:
    """Serve a study, take part in it twice, and take the pictures."""
    from playwright.sync_api import sync_playwright

    with TemporaryDirectory() as folder:
        definition, database = Path(folder) / "study.json", f"sqlite:///{folder}/studies.sqlite"
        definition.write_text(json.dumps(STUDY), "utf-8")
        store, made, _ = create_study(definition, database, PASSWORD)
        links = store.add_participants(made.study.name, 4)
        server = Server(database, free_port(), workers=1)
        server.start()
        try:
            asyncio.run(_wait(server))
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
                _take(browser, server, links, out)
                browser.close()
        finally:
            server.kill()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
