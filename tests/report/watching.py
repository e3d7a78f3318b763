"""A page in a real browser, and everything that it complains about or asks for."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

GL = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]


class Watched:
    """A page, everything that it complained about, and every address that it asked for."""

    def __init__(self, browser: Any, path: Path, moment: str = "", **options: Any) -> None:
        self.context = browser.new_context(viewport={"width": 800, "height": 600}, **options)
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.context.route("http*://**", lambda route: route.abort())
        self.address = path.as_uri()
        self.page.goto(self.address + (f"#{moment}" if moment else ""))

    def part(self, name: str) -> Any:
        return self.page.locator(f"#player [data-part='{name}']")

    def state(self, name: str) -> str:
        value: str = self.page.locator("#player").get_attribute(f"data-{name}")
        return value

    def time(self) -> float:
        return float(self.state("time"))

    def wait(self, condition: str, element: str = "#player") -> None:
        """Until the data ``d`` of an element make ``condition`` true.

        Asked again and again, for the page's own rules forbid to evaluate text.
        """
        for _ in range(250):
            if self.page.evaluate(
                f"(() => {{ const d = document.querySelector('{element}').dataset; return {condition} }})()"
            ):
                return
            self.page.wait_for_timeout(40)
        raise AssertionError(f"{condition} does not come true")

    def colours(self, name: str) -> int:
        """How many colours a canvas shows: a blank one has one."""
        return len(self.picture(name).getcolors(1 << 24) or [])

    def picture(self, name: str) -> Any:
        """A canvas as it is seen."""
        from PIL import Image

        return Image.open(io.BytesIO(self.part(name).screenshot())).convert("RGB")

    def close(self) -> None:
        try:
            assert self.complaints == []
            assert {address.partition("#")[0] for address in self.asked} == {self.address}
        finally:
            self.context.close()
