"""The programs in docs/gym.md run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.needs import reason_missing

PAGE = Path(__file__).parents[2] / "docs" / "gym.md"
PROGRAMS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_program(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    program = PROGRAMS[number].replace("1_000_000", "4_096").replace("pool=2000", "pool=64")
    if "stable_baselines3" in program:
        pytest.importorskip("stable_baselines3", reason=reason_missing("stable_baselines3"))
    if "parallel" in program:
        pytest.importorskip("pettingzoo", reason=reason_missing("pettingzoo"))
    exec(compile(program, f"{PAGE.name}:{number}", "exec"), {})


def test_there_are_programs() -> None:
    assert len(PROGRAMS) == 7
    longest = next(program for program in PROGRAMS if "CrowdVecEnv" in program)
    assert len([line for line in longest.splitlines() if line.strip()]) <= 10
