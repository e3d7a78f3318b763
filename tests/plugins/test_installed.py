"""A real plug-in package, installed with pip into a folder of its own, adds to every table."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PLUGIN = Path(__file__).parent / "package"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a Python that has the plug-in installed."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*command, "--target", str(folder), str(PLUGIN)], check=True, capture_output=True, timeout=120)
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])}


def run_python(code: str, environment: dict[str, str]) -> str:
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_table_has_the_plug_ins_entry(installed: dict[str, str]) -> None:
    code = (
        "import json; from sidestep import registry\n"
        "kinds = ('policies', 'metrics', 'suites', 'datasets', 'sensors', 'events', 'crowd_models')\n"
        "print(json.dumps({kind: [n for n in registry.names(kind) if n.startswith('example_')] for kind in kinds}))"
    )
    assert json.loads(run_python(code, installed)) == {
        "policies": ["example_creep", "example_wary"],
        "metrics": ["example_steps"],
        "suites": ["example_empty"],
        "datasets": ["example_pairs"],
        "sensors": ["example_nearest"],
        "events": ["example_waving"],
        "crowd_models": ["example_stop_and_go"],
    }


def test_the_plug_ins_policies_run_in_its_suite_and_are_scored_by_its_metric(
    installed: dict[str, str], tmp_path: Path
) -> None:
    out = tmp_path / "run"
    command = [sys.executable, "-m", "sidestep", "run", "example_empty", "--policy", "example_creep"]
    command += ["--policy", "example_wary", "--set", "example_creep.speed=0.4", "--workers", "1"]
    done = subprocess.run([*command, "--out", str(out), "--json"], env=installed, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    policies = json.loads(done.stdout)["policies"]
    for policy in policies.values():
        assert {outcome: n for outcome, n in policy["outcomes"].items() if n} == {"success": 1, "timeout": 1}
    # 0.7 m at 0.4 m/s or 0.5 m/s in steps of 0.1 s, and 50 steps to the time limit
    assert policies["example_creep"]["metrics"]["example_steps"]["mean"] == (18 + 50) / 2
    assert policies["example_wary"]["metrics"]["example_steps"]["mean"] == (14 + 50) / 2


def test_the_plug_ins_format_is_detected(installed: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "walk.pairs").write_text("0;0\n1;0\n2;1\n")
    code = (
        "from pathlib import Path; from sidestep.datasets import load_tracks\n"
        f"print(load_tracks(Path({str(tmp_path / 'walk.pairs')!r})).position.tolist())"
    )
    assert run_python(code, installed).strip() == "[[0.0, 0.0], [1.0, 0.0], [2.0, 1.0]]"
