"""The ids of the environments: what registers them, and what that costs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import pytest

import sidestep
import sidestep.gym

ROOT = Path(__file__).parents[2]


def run(program: str) -> Any:
    """What a fresh Python that runs no start-up files prints, as JSON."""
    folders = [str(Path(sidestep.__file__).parents[1]), *filter(None, sys.path)]
    command = [sys.executable, "-S", "-P", "-c", program]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return json.loads(done.stdout)


def test_an_id_with_the_module_needs_no_import() -> None:
    program = (
        "import gymnasium, json\n"
        "env = gymnasium.make('sidestep.gym:sidestep/Crossing-v0', people=2)\n"
        "envs = gymnasium.make_vec('sidestep.gym:sidestep/Crossing-v0', num_envs=2, people=3, pool=2)\n"
        "print(json.dumps([env.reset(seed=0)[0]['mask'].tolist(), envs.reset(seed=0)[0]['mask'].tolist()]))"
    )
    assert run(program) == [[1, 1], [[1, 1, 1], [1, 1, 1]]]


def test_an_import_registers_the_ids_and_nothing_heavy() -> None:
    program = (
        "import gymnasium, json, sys\n"
        "before = [name for name in gymnasium.registry if name.startswith('sidestep/')]\n"
        "import sidestep.gym\n"
        "heavy = [name for name in ('numba', 'sidestep.kernels', 'sidestep.simulation') if name in sys.modules]\n"
        "print(json.dumps([before, heavy, gymnasium.spec('sidestep/Crossing-v0').entry_point]))"
    )
    assert run(program) == [[], [], "sidestep.gym.environment:CrowdEnv"]


def test_a_start_of_python_runs_nothing_of_ours() -> None:
    assert not list((ROOT / "src").glob("*.pth"))
    assert "force-include" not in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [*(f"sidestep/{name}-v0" for name in sidestep.gym.IDS), sidestep.gym.INTERSECTION])
def test_every_id_is_registered(name: str) -> None:
    module, _, attribute = str(gymnasium.spec(name).entry_point).partition(":")
    assert module.startswith("sidestep.gym.")
    assert attribute
