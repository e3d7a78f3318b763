"""Records show themselves whatever was imported, and the data types import nothing that draws."""

from __future__ import annotations

import subprocess
import sys

import pytest

from sidestep._util import record_display

CODE = """
import sys
from sidestep.simulation import begin_episode
from sidestep.suites.files import load_suite

record = begin_episode(next(iter(load_suite("core").scenarios())), "stop")
assert "sidestep.report.inline" not in sys.modules
assert record.plot(0.0).size == (640, 640)
assert record.play(300).height == 300
assert "<table>" in record._repr_html_()
"""


def test_a_record_shows_itself_without_an_import_by_the_user() -> None:
    subprocess.run([sys.executable, "-c", CODE], check=True)


def test_what_draws_records_can_be_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_display, "_load", None)
    with pytest.raises(RuntimeError, match="show_records_with"):
        record_display.record_display()
    record_display.show_records_with(lambda: sys)
    assert record_display.record_display() is sys
