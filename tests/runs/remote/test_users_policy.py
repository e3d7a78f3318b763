"""A user's own policy file is as convenient as a script: what lies beside it, errors that name the line, settings of
every kind; and an interrupted run leaves nothing behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from sidestep import registry
from sidestep.cli.listing import list_policies
from sidestep.cli.run import parse_settings, print_failures
from sidestep.errors import BadInput
from sidestep.metrics.score import EpisodeScores
from sidestep.runs.folder import episode_path, open_folder
from sidestep.runs.plan import Plan, PolicyPlan, make_plan
from sidestep.runs.remote.guests import introduce
from sidestep.runs.runner import RunResult, run_benchmark
from tests.runs.remote.test_misbehaviour import FILE, SCENARIOS, plan_of

pytestmark = pytest.mark.skipif(os.name != "posix", reason="only on POSIX systems: signals")

POLICY = """
import os
import time
from beside_it import SPEED
from sidestep.types import Velocity


class Drives:
    needs = frozenset({"goal"})

    def __init__(self, **settings):
        self.settings = settings

    def reset(self, task):
        os.chdir("/")  # as research code does to find its weights

    def act(self, observation):
        return Velocity(SPEED, 0.0)


class Fails(Drives):
    def act(self, observation):
        return self.settings["missing"]  # line 23


class NotMade(Drives):
    def __init__(self):
        None + 1  # line 28


class Lingers(Drives):
    def reset(self, task):
        import subprocess

        child = subprocess.Popen(["sleep", "1000"])
        with open(self.settings["told"], "w") as file:
            file.write(str(child.pid))
        time.sleep(1000)
"""


class Suite:
    name = "tests"
    summary = ""

    def scenarios(self) -> Any:
        return SCENARIOS


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "own.py").write_text(POLICY)
    (tmp_path / "beside_it.py").write_text("SPEED = 1.0\n")
    (tmp_path / "broken.py").write_text("def f():\n    return undefined\n\n\nf()\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(name: str, out: Path) -> tuple[EpisodeScores, ...]:
    plan = make_plan(Suite(), [f"own.py:{name}"])
    return run_benchmark(plan, out).episodes


def test_modules_beside_the_file_are_found_and_it_may_change_its_folder(folder: Path) -> None:
    assert [each.outcome for each in run("Drives", folder / "run")] == ["success"] * 2


def test_an_error_names_file_and_line_and_where_more_is(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = make_plan(Suite(), ["own.py:Fails"])
    result = run_benchmark(plan, folder / "run")
    assert {each.error for each in result.episodes} == {"KeyError: 'missing' (own.py, line 23)"}
    print_failures(result)
    said = capsys.readouterr().err
    assert "KeyError: 'missing' (own.py, line 23)" in said
    log = episode_path(result.folder, "own.py:Fails", "bad", 0).with_suffix(".log")
    assert str(log) in said
    assert 'self.settings["missing"]  # line 23' in log.read_text()
    line = 'File "own.py", line 23, in act\n    return self.settings["missing"]'
    assert all(line in each.traceback for each in result.episodes)
    assert str(folder) not in result.episodes[0].traceback, "no folder of anybody is kept"


def test_of_an_error_of_many_lines_the_kind_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    failed = EpisodeScores("s", "a", "own", 0, "policy_error", "", {}, error="RuntimeError: first\n\nlast")
    print_failures(RunResult(tmp_path, None, (failed,), ()))  # type: ignore[arg-type]
    assert "own: RuntimeError: first last" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "place"), [("own.py:NotMade", "own.py, line 28"), ("broken.py:F", "broken.py, line 2")]
)
def test_a_policy_that_cannot_be_made_is_refused_with_the_line(name: str, place: str, folder: Path) -> None:
    with pytest.raises(BadInput, match=place):
        introduce(name, {})


@pytest.mark.parametrize("text", [".nan", "{1: 2}", "{null: [1.5]}", "[.inf, {true: x}]"])
def test_a_run_with_any_settings_can_be_resumed(text: str, folder: Path) -> None:
    name = "own.py:Drives"
    settings = parse_settings([f"speed={text}"], [name])

    def plan() -> Plan:
        return make_plan(Suite(), [name], settings=settings)

    open_folder(folder, plan())
    kept = open_folder(folder, plan()).plan
    assert json.dumps(kept.policies[0].settings) == json.dumps(plan().policies[0].settings)


@pytest.mark.parametrize(
    ("text", "value"), [("1e3", 1000.0), ('"1e3"', "1e3"), ("'nan'", "nan"), ("inf", float("inf")), ("text", "text")]
)
def test_a_quoted_number_is_text(text: str, value: Any) -> None:
    assert parse_settings([f"x={text}"], ["orca"]) == {"orca": {"x": value}}


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_what_a_guest_has_started_ends_with_the_run(how: int, folder: Path) -> None:
    told = folder / "told"
    code = (
        "from pathlib import Path\n"
        "from sidestep.runs.plan import Plan, PolicyPlan\n"
        "from sidestep.runs.runner import run_benchmark\n"
        "from sidestep.cli.run import resumable\n"
        "from tests.runs.remote.test_misbehaviour import SCENARIOS\n"
        "from sidestep.runs.remote.isolation import Isolation\n"
        "OFF = Isolation(sandbox='off')\n"  # it writes down which process it is
        "if __name__ == '__main__':\n"
        f"    policy = PolicyPlan(name='own.py:Lingers', settings={{'told': {str(told)!r}}})\n"
        "    with resumable(Path('run')):\n"
        "        plan = Plan(suite='t', scenarios=SCENARIOS, policies=(policy,), seeds=(0,), isolation=OFF)\n"
        "        run_benchmark(plan, Path('run'))\n"
    )
    (folder / "main.py").write_text(code)
    path = os.pathsep.join([str(Path(__file__).parents[3]), *sys.path])
    process = subprocess.Popen([sys.executable, "main.py"], env={**os.environ, "PYTHONPATH": path})
    try:
        assert within(60.0, lambda: told.exists() and bool(told.read_text()))
        child = int(told.read_text())
        assert is_there(child)
        process.send_signal(how)
        assert within(10.0, lambda: not is_there(child))
    finally:
        process.kill()
        process.wait()


def within(seconds: float, condition: Any) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


def is_there(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_broken_plug_in_does_not_hide_the_other_policies(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    table = {**registry.table("policies"), "theirs": f"{folder / 'broken.py'}:F", "odd": "json:loads"}
    monkeypatch.setattr(registry, "table", lambda kind: table)
    rows = {row["name"]: row for row in list_policies()}
    assert rows["orca"]["needs"]
    assert "cannot be loaded" in rows["theirs"]["summary"]
    assert "broken.py, line 2" in rows["theirs"]["summary"]
    assert "cannot be loaded" in rows["odd"]["summary"]


def test_a_run_that_serves_one_policy_keeps_the_others_in_processes_of_their_own(tmp_path: Path) -> None:
    exits = PolicyPlan(name=f"{FILE}:ExitsHard", settings={"folder": str(tmp_path)})
    result = run_benchmark(plan_of((exits, PolicyPlan(name="stop"))), tmp_path / "run", make_policy=lambda task: None)
    assert [each.outcome for each in result.episodes] == ["policy_error", "success", "timeout", "timeout"]
    assert result.episodes[0].error.endswith("exit code 7")
