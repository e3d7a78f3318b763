"""``gymnasium.make("sidestep/…")`` without an import: what is installed, what it costs, what it leaves alone."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

import sidestep
from tests.needs import reason_missing

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
NAMES = ("sidestep_gymnasium.py", "sidestep_gymnasium.pth")


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder of packages as pip leaves it: our start-up file and a way to the package."""
    for name in NAMES:
        shutil.copy(SOURCE / name, tmp_path)
    (tmp_path / "a_sidestep.pth").write_text(f"{Path(sidestep.__file__).parents[1]}\n")
    return tmp_path


def run(folder: Path, program: str) -> Any:
    """What a fresh Python with ``folder`` among its package folders prints, as JSON."""
    opening = f"import site; site.addsitedir({str(folder)!r})\n"
    command = [sys.executable, "-P", "-c", opening + program]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
    return json.loads(done.stdout)


def test_an_id_is_known_without_an_import(installed: Path) -> None:
    program = (
        "import gymnasium, json, sys\n"
        "before = [name for name in ('numba', 'sidestep.kernels', 'sidestep.simulation') if name in sys.modules]\n"
        "spec = gymnasium.spec('sidestep/Crossing-v0')\n"
        "import gymnasium.envs as envs\n"
        "print(json.dumps([before, spec.entry_point, type(envs.__spec__.loader).__name__]))"
    )
    assert run(installed, program) == [[], "sidestep.gym.environment:CrowdEnv", "SourceFileLoader"]


def test_an_environment_is_made_without_an_import(installed: Path) -> None:
    program = (
        "import gymnasium, json\n"
        "env = gymnasium.make('sidestep/Crossing-v0', people=2)\n"
        "print(json.dumps(env.reset(seed=0)[0]['mask'].tolist()))"
    )
    assert run(installed, program) == [1, 1]


def test_a_start_of_python_imports_next_to_nothing(installed: Path) -> None:
    program = (
        "import sys\n"
        "before = set(sys.modules)\n"
        f"site.addsitedir({str(installed)!r})\n"
        "new = sorted(set(sys.modules) - before)\n"
        "import json\n"
        "print(json.dumps(new))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", "import site\n" + program], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == ["__future__", "sidestep_gymnasium"]


def test_gymnasium_that_is_there_already_gets_the_ids_at_once(installed: Path) -> None:
    program = (
        "import json, sys, gymnasium\n"
        "import sidestep_gymnasium\n"
        "for name in [name for name in gymnasium.registry if name.startswith('sidestep/')]:\n"
        "    del gymnasium.registry[name]\n"
        "sidestep_gymnasium.watch()\n"
        "watchers = [type(finder).__name__ for finder in sys.meta_path].count('_Watcher')\n"
        "print(json.dumps(['sidestep/Plaza-v0' in gymnasium.registry, watchers]))"
    )
    assert run(installed, program) == [True, 0]


def test_a_broken_installation_does_not_break_gymnasium(tmp_path: Path) -> None:
    shutil.copy(SOURCE / NAMES[0], tmp_path)
    broken = tmp_path / "sidestep"
    broken.mkdir()
    (broken / "__init__.py").touch()
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "import sidestep_gymnasium, gymnasium, json\n"
        "print(json.dumps('CartPole-v1' in gymnasium.registry))"
    )
    assert run(tmp_path, program) is True


def test_the_wheel_has_the_start_up_file(tmp_path: Path) -> None:
    pytest.importorskip("hatchling", reason=reason_missing("hatchling"))
    included = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert included["force-include"] == {f"src/{name}": name for name in NAMES}
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    package = tmp_path / "src" / "sidestep"
    package.mkdir(parents=True)
    shutil.copy(SOURCE / "sidestep" / "version.py", package)
    (package / "__init__.py").touch()
    for name in NAMES:
        shutil.copy(SOURCE / name, tmp_path / "src")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", "dist"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    [wheel] = (tmp_path / "dist").glob("*.whl")
    assert set(NAMES) <= set(zipfile.ZipFile(wheel).namelist())
