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
    paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def run_python(code: str, environment: dict[str, str]) -> str:
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_table_has_the_plug_ins_entry(installed: dict[str, str]) -> None:
    code = (
        "import json; from sidestep import registry\n"
        "kinds = ('policies', 'metrics', 'suites', 'datasets', 'sensors', 'events', 'crowd_models', 'road_users',"
        " 'drivers', 'looks', 'report_sections', 'predictors')\n"
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
        "predictors": ["example_stopping"],
        "road_users": ["example_cargo_bike"],
        "drivers": ["example_stop_and_go"],
        "looks": ["example_cargo_bike"],
        "report_sections": ["example_section"],
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
    page = tmp_path / "report.html"
    command = [sys.executable, "-m", "sidestep", "report", str(out), "--out", str(page)]
    done = subprocess.run(command, env=installed, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    for part in ('<a href="#example">Example</a>', "As in the example", 'id="example-summary"'):
        assert part in page.read_text(encoding="utf-8")


def test_the_plug_ins_format_is_detected(installed: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "walk.pairs").write_text("0;0\n1;0\n2;1\n")
    code = (
        "from pathlib import Path; from sidestep.datasets import load_tracks\n"
        f"print(load_tracks(Path({str(tmp_path / 'walk.pairs')!r})).position.tolist())"
    )
    assert run_python(code, installed).strip() == "[[0.0, 0.0], [1.0, 0.0], [2.0, 1.0]]"


ROAD_USER = """
import json
from sidestep.policies.trivial import Stop
from sidestep.render.record_view import RecordView
from sidestep.render.films.cameras import other_robots
from sidestep.simulation import run_episode
from sidestep.types import Scenario
from sidestep.types.sensors import CameraSettings
bike = {"kind": "example_cargo_bike", "start": [6, -4, 1.5708], "speed": 2, "driver": "example_stop_and_go"}
scenario = Scenario.parse({
    "name": "cargo", "robots": [{"spec": "point", "start": [0, 0, 0], "goal": [9, 0]}],
    "traffic": [{**bike, "parameters": {"ride_s": 1.0}}], "rules": {"step_s": 0.1, "time_limit_s": 3},
}, "cargo")
record = run_episode(scenario, Stop())
picture = RecordView(record, CameraSettings(width=80, height=60), others=other_robots(record)).images(29, ("semantic",))
print(json.dumps([record.other_pose[[9, 19, 29], 0, 1].round(2).tolist(), int((picture.semantic == 18).sum())]))
"""


def test_the_plug_ins_road_user_is_driven_by_its_driver_and_drawn_by_its_look(installed: dict[str, str]) -> None:
    """2 m/s for a second; then it brakes at 3 m/s², (1.7 + 1.4 + … + 0.2) m/s × 0.1 s = 0.57 m; then it speeds up at
    0.8 m/s², for nine steps (0.08 + 0.16 + … + 0.72) m/s × 0.1 s = 0.36 m."""
    places, pixels = json.loads(run_python(ROAD_USER, installed))
    assert places == pytest.approx([-4 + 1.8, -4 + 2.0 + 0.57, -4 + 2.57 + 0.36], abs=0.02)
    assert pixels > 20
