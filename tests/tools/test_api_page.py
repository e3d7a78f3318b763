"""The page of the Python API is what the source says, and says something about every field."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from tools.write_api_page import Field, api_page, fields_of, undescribed

PAGE = Path(__file__).resolve().parents[2] / "docs" / "api.md"
SOURCE = '''
from __future__ import annotations
from typing import ClassVar

class Lamp:
    """Gives light."""

    limit: ClassVar[int] = 3
    """Largest number of lamps."""
    power: Positive | None = None  # W
    colour: str
    _hidden: int = 0
    parts: list[str] = field(default_factory=lambda: [1])  # (K,) names

    @property
    def heat(self) -> float:
        """Heat, W."""

    @classmethod
    def make(cls):
        """Not listed."""

    def switch(self, on):
        """Switch it."""

    def undocumented(self):
        pass
'''


def test_the_page_is_up_to_date() -> None:
    advice = "run python -m tools.write_api_page > docs/api.md"
    assert PAGE.read_text(encoding="utf-8") == api_page(), advice


def test_every_field_is_described() -> None:
    assert undescribed() == [], "describe the field at its place in the source, in a docstring or a comment"


def test_fields_are_read_from_the_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "lamp.py"
    file.write_text(SOURCE)
    module = ModuleType("lamp")
    module.__file__ = str(file)
    module.Lamp = type("Lamp", (), {})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "lamp", module)
    assert fields_of(module, "Lamp") == [
        Field("limit", "`int`", "3", "Largest number of lamps."),
        Field("power", "`float > 0` or `None`", "None", "W"),
        Field("colour", "`str`", None, ""),
        Field("parts", "`list[str]`", "empty", "(K,) names"),
        Field("heat", "`float`", None, "Heat, W."),
        Field("switch(on)", "method", None, "Switch it."),
    ]


def test_the_fields_that_policies_use_are_there() -> None:
    page = api_page()
    assert "| `step_s` | `float` |  | Time between two calls of `act`, s |" in page
    assert "| `velocity` | `float array` |  | (N, 2) m/s |" in page
    assert "| `max_speed` | `float > 0` |  | Largest speed, m/s |" in page
    assert "### `EpisodeRecord`" in page
