"""Compiling ahead: for the types that episodes have, and with a line that says so."""

from __future__ import annotations

import pytest

from sidestep._util.progress import compile_progress
from sidestep.kernels.jit import typeof
from sidestep.simulation import prepare
from sidestep.simulation.build import WorldBuilder
from sidestep.simulation.worlds import Worlds
from sidestep.suites.files import load_suite


def test_examples_have_the_types_of_worlds() -> None:
    """Else everything would be compiled twice."""
    scenario = next(scenario for scenario in load_suite("core").scenarios() if scenario.name == "circle-crossing")
    worlds = Worlds([WorldBuilder(scenario).build(0)])
    assert typeof(prepare.example_batch()) == typeof(worlds.batch)
    assert typeof(prepare.example_scratch()) == typeof(worlds.new_scratch())


def test_progress_says_what_and_how_long(capsys: pytest.CaptureFixture[str]) -> None:
    with compile_progress("the simulator", seconds=12.0) as progress:
        progress("robots", 0.0)
        progress("contacts", 0.5)  # at once: no second line
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "compiling the simulator, once on this machine: robots (0% done, about 12 s left)\n"


def test_nothing_is_said_when_all_is_compiled(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prepare, "needs_compiling", lambda: False)
    monkeypatch.setattr(prepare, "needs_parts", lambda: False)
    prepare.prepare_kernels()
    prepare.prepare_parts()
    assert capsys.readouterr() == ("", "")
