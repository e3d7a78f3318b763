"""``sidestep run``: outputs, exit codes, resuming after a kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from typer.testing import Result

from sidestep.records import load_record
from sidestep.runs.folder import load_run, only_run
from sidestep.runs.ledger import Ledger
from sidestep.runs.provenance import policy_version as version
from tests.cli.conftest import WALLED, document, started

Call = Callable[..., Result]

COLD_S = 180.0
"""Kernels may have to be compiled first."""


def test_json_has_exactly_the_published_keys(suite: str, call: Call) -> None:
    result = call("run", suite, "--policy", "straight", "--policy", "stop", "--repeat", 2, "--out", "r", "--json")
    assert result.exit_code == 0, result.output
    found = document(result)
    assert set(found) == {"run", "suite", "source", "dialect", "policies", "success"}
    assert found["success"] == "goal"
    assert (found["run"], found["suite"], found["source"], found["dialect"]) == (
        "r",
        "small",
        "generated",
        "paper",
    )
    assert set(found["policies"]) == {"straight", "stop"}
    straight, stop = found["policies"]["straight"], found["policies"]["stop"]
    observed = {"observes", "observation_class", "observation_limits"}
    assert set(straight) == {"episodes", "outcomes", "metrics", "privileged", "events", "sandbox"} | observed
    assert (straight["observes"], straight["observation_class"]) == (["goal"], "nothing")
    assert straight["episodes"] == sum(straight["outcomes"].values()) == 6
    assert set(straight["metrics"]["success"]) == {"n", "mean", "sd", "low", "high", "unit", "direction"}
    assert stop["metrics"]["success"]["mean"] == 0.0
    assert stop["metrics"]["time_to_goal"]["mean"] is None
    assert stop["metrics"]["time_to_goal"]["n"] == 0


def test_a_table_for_people(suite: str, call: Call) -> None:
    result = call("run", suite, "--policy", "straight", "--limit", 1)
    assert result.exit_code == 0, result.output
    assert "straight" in result.stdout
    assert "Time" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80
    [folder] = Path("runs").iterdir()
    assert folder.name.startswith("small-20")
    assert folder.name.endswith("-1")
    call("run", suite, "--policy", "straight", "--limit", 1)
    assert len(list(Path("runs").iterdir())) == 2


def test_scenarios_seeds_and_settings(suite: str, call: Call) -> None:
    arguments = (
        "--scenario",
        "a*",
        "--seed",
        7,
        "--repeat",
        2,
        "--set",
        "orca.horizon=3",
        "--out",
        "r",
        "--json",
    )
    result = call("run", suite, "--policy", "orca", "--policy", "stop", *arguments)
    assert result.exit_code == 0, result.output
    plan = load_run(Path("r")).plan
    assert [scenario.name for scenario in plan.scenarios] == ["alone"]
    assert plan.seeds == (7, 8)
    assert [policy.settings for policy in plan.policies] == [{"horizon": 3}, {}]
    record = load_record("r/episodes/orca/alone__seed8.parquet")
    assert record.policy.settings["horizon"] == 3
    assert record.seed == 8


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("small.yaml", "--policy", "strait"), "'strait'; did you mean 'straight'"),
        (("smal.yaml", "--policy", "stop"), "no such suite file or folder"),
        (("coer", "--policy", "stop"), "did you mean 'core'"),
        (("small.yaml", "--policy", "stop", "--scenario", "non*"), "has no scenario 'non*'"),
        (("small.yaml", "--policy", "stop", "--set", "speed"), "must be key=value"),
        (("small.yaml", "--policy", "stop", "--set", "orca.horizon=3"), "no policy 'orca' in this run"),
        (("small.yaml", "--policy", "stop", "--set", "horizon=3"), "does not take these settings"),
        (("small.yaml", "--policy", "stop", "--ray", "127.0.0.1:1"), "no cluster answers there"),
        (("small.yaml", "--policy", "stop", "--out", "nowhere://x/y"), "not a place that pyarrow can open"),
        (("small.yaml", "--policy", "stop", "--out", "file://host/x"), "a file URI has no host"),
        (("small.yaml", "--policy", "none.py:Mine"), "no such file"),
        (("small.yaml", "--policy", "stop", "--latency", "0.1"), "only charged in mode latency"),
        (("small.yaml", "--policy", "stop", "--mode", "fast"), "fast"),
        (("small.yaml", "--policy", "stop", "--repeat", "0"), "repeat"),
        (("small.yaml",), "policy"),
        (("small.yaml", "--policy", "orca=mine.py:Mine"), "'orca' is the name of a bundled policy"),
        (("small.yaml", "--policy", "a=stop", "--policy", "a=straight"), "two policies are called 'a'"),
        (("small.yaml", "--policy", "a=stop", "--set", "b.x=1"), "no policy 'b' in this run"),
        (("small.yaml", "--policy", "stop", "--debug", "--video", "1"), "--debug runs in this process"),
    ],
)
def test_wrong_usage_is_told_without_a_traceback(suite: str, call: Call, arguments: Any, message: str) -> None:
    result = call("run", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


def test_a_folder_that_cannot_be_written(suite: str, call: Call, tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    out = closed / "r" if os.geteuid() else Path("/proc/r")  # the superuser may write everywhere else
    result = call("run", suite, "--policy", "stop", "--out", out)
    assert result.exit_code == 2
    assert "cannot be written to" in result.stderr
    assert "choose another --out" in result.stderr


def test_other_settings_in_the_same_folder(suite: str, call: Call) -> None:
    assert call("run", suite, "--policy", "orca", "--limit", 1, "--out", "r").exit_code == 0
    result = call("run", suite, "--policy", "orca", "--limit", 1, "--out", "r", "--set", "horizon=1")
    assert result.exit_code == 2
    assert "settings of orca: " in result.stderr
    assert call("run", suite, "--policy", "stop", "--limit", 1, "--out", "r").exit_code == 0


def test_changed_code_in_the_same_folder(suite: str, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """Told with the way out; the way out works and leaves other policies alone."""
    command = ("run", suite, "--policy", "straight", "--limit", 1, "--out", "r")
    assert call(*command, "--policy", "stop").exit_code == 0
    kept = Path("r/episodes/stop/alone__seed0.parquet").stat().st_mtime_ns
    monkeypatch.setattr(
        "sidestep.runs.plan.policy_version", lambda name: "sidestep new" if name == "straight" else version(name)
    )
    refused = call(*command)
    assert refused.exit_code == 2
    assert "code of straight: " in refused.stderr
    assert "choose another --out" in refused.stderr
    assert "--replace straight" in refused.stderr
    assert call(*command, "--replace", "straight").exit_code == 0
    assert load_record("r/episodes/straight/alone__seed0.parquet").policy.version == "sidestep new"
    assert Path("r/episodes/stop/alone__seed0.parquet").stat().st_mtime_ns == kept
    missing = call(*command, "--replace", "orca")
    assert (missing.exit_code, "name it with --policy too" in missing.stderr) == (2, True)


@pytest.mark.parametrize("name", ["", "  "])
def test_an_empty_name_of_a_folder(suite: str, call: Call, name: str) -> None:
    result = call("run", suite, "--policy", "stop", "--out", name)
    assert result.exit_code == 2
    assert "is empty" in result.stderr
    assert not Path("run.json").exists()


@pytest.mark.parametrize("arguments", [["--out", b"r\xff"], ["--policy", b"\xff.py:Mine"], ["--scenario", b"\xfe*"]])
def test_names_that_are_not_utf8(suite: str, tmp_path: Path, arguments: list[Any]) -> None:
    command = [sys.executable, "-m", "sidestep", "run", suite, "--policy", "stop", *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=COLD_S, check=False)
    assert done.returncode == 2, done.stderr
    assert b"is not UTF-8" in done.stderr
    assert b"Traceback" not in done.stderr


def test_a_folder_that_another_run_uses(suite: str, call: Call) -> None:
    with only_run(Path("r")):
        result = call("run", suite, "--policy", "stop", "--out", "r")
    assert result.exit_code == 2
    assert f"process {os.getpid()}" in result.stderr


def test_a_full_disk(suite: str, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(path: Path, data: bytes) -> None:
        if "__seed" in path.name:
            raise OSError(28, "No space left on device")
        path.write_text(data.decode())

    monkeypatch.setattr(Path, "write_bytes", no_space)
    result = call("run", suite, "--policy", "stop", "--out", "r")
    assert result.exit_code == 2
    assert "free some space" in result.stderr


def test_a_scenario_that_cannot_be_built_is_skipped_and_the_rest_runs(suite: str, call: Call) -> None:
    Path("mixed.yaml").write_text(f"name: open\nrobots: [{{start: [0, 0, 0], goal: [1, 0]}}]\n---{WALLED}")
    result = call("run", "mixed.yaml", "--policy", "straight", "--out", "r", "--json")
    assert result.exit_code == 2
    assert "skipped 1 episode of 'walled'" in result.stderr
    assert "inside a wall" in result.stderr
    assert document(result)["policies"]["straight"]["episodes"] == 1
    [skipped] = json.loads(Path("r/run.json").read_text())["skipped"]
    assert skipped["scenario"] == "walled"


def test_relative_paths_start_at_the_suites_folder(suite: str, call: Call) -> None:
    """A scene beside the suite's file is found from any working folder, and again by verify."""
    folder = Path("elsewhere")
    folder.mkdir()
    (folder / "block.yaml").write_text(
        "name: block\nregions: [{kind: obstacle, polygon: [[5, 5], [6, 5], [6, 6], [5, 6]]}]"
    )
    (folder / "s.yaml").write_text("name: a\nrobots: [{start: [0, 0, 0], goal: [1, 0]}]\nscene: block.yaml")
    assert call("run", folder / "s.yaml", "--policy", "straight", "--out", "r").exit_code == 0
    record = load_record("r/episodes/straight/a__seed0.parquet")
    assert len(record.walls) == 4
    assert call("verify", "r").exit_code == 0


def test_policies_of_ones_own_in_processes(suite: str, tmp_path: Path) -> None:
    """Noise on stdout does not spoil the JSON; what kills its process is a policy error, not the end."""
    with started(
        "run", suite, "--policy", "mine.py:Mine", "--policy", "stop", "--set", "Mine.mood=deadly",
        "--workers", 2, "--limit", 1, "--out", "r", "--json", cwd=tmp_path,
    ) as process:  # fmt: skip
        stdout, stderr = process.communicate(timeout=COLD_S)
    assert process.returncode == 0, stderr
    found = json.loads(stdout)["policies"]
    assert found["mine.py:Mine"]["outcomes"]["policy_error"] == 1
    assert found["stop"]["episodes"] == 1
    assert "noise on stdout" not in stderr
    (log,) = tmp_path.glob("r/episodes/*/*.log")
    assert "noise on stdout" in log.read_text()
    assert "exit code 9" in stderr


def test_two_settings_of_one_policy_under_labels(suite: str, call: Call) -> None:
    policies = ("--policy", "slow=mine.py:Mine", "--policy", "fast=mine.py:Mine", "--policy", "straight")
    settings = ("--set", "slow.speed=0.2", "--set", "fast.speed=1.0", "--set", "Mine.mood=fine")
    arguments = (*policies, *settings, "--limit", 1, "--out", "r")
    result = call("run", suite, *arguments, "--json")
    assert result.exit_code == 0, result.output
    found = document(result)["policies"]
    assert list(found) == ["slow", "fast", "straight"]
    assert found["slow"]["metrics"]["speed_max"]["mean"] < found["fast"]["metrics"]["speed_max"]["mean"]
    plan = load_run(Path("r")).plan
    assert [policy.made_from for policy in plan.policies] == ["mine.py:Mine", "mine.py:Mine", "straight"]
    assert plan.policies[0].settings == {"speed": 0.2, "mood": "fine"}
    record = load_record("r/episodes/slow/alone__seed0.parquet")
    assert (record.policy.name, record.policy.settings["speed"]) == ("slow", 0.2)
    assert call("verify", "r").exit_code == 0
    again = call("run", suite, *arguments, "--json")
    assert document(again) == document(result), "resumed under the same labels"
    other = call("run", suite, "--policy", "slow=stop", "--limit", 1, "--out", "r")
    assert other.exit_code == 2
    assert "policy slow: mine.py:Mine" in other.stderr


def test_the_limit_holds_in_an_existing_folder(suite: str, call: Call) -> None:
    for limit, total in ((2, 2), (1, 2), (3, 3)):
        result = call("run", suite, "--policy", "straight", "--limit", limit, "--out", "r", "--json")
        assert document(result)["policies"]["straight"]["episodes"] == limit
        assert len(list(Path("r/episodes/straight").iterdir())) == total


def test_a_traceback_is_kept_and_shown(suite: str, call: Call) -> None:
    arguments = ("--set", "mood=broken", "--limit", 1, "--out", "r")
    result = call("run", suite, "--policy", "mine.py:Mine", *arguments)
    assert result.exit_code == 0
    assert "ZeroDivisionError: on purpose (mine.py, line 24)" in result.stderr
    line = 'File "mine.py", line 24, in act\n      raise ZeroDivisionError("on purpose")'
    assert line in result.stderr
    (path,) = Path("r/episodes").rglob("*.parquet")
    record = load_record(path)
    assert record.traceback.startswith("Traceback (most recent call last):\n  File")
    assert record.traceback.endswith("ZeroDivisionError: on purpose")
    assert replace(record, traceback="").digest == record.digest
    table = pq.read_table("r/results.parquet")
    assert set(table["traceback"].to_pylist()) == {record.traceback}
    assert call("report", "r", "--out", "page.html").exit_code == 0
    assert "raise ZeroDivisionError(" in Path("page.html").read_text()


def test_debugging_stops_at_the_first_error(suite: str, call: Call) -> None:
    arguments = ("--set", "Mine.mood=broken", "--workers", 2, "--out", "r", "--debug")
    result = call("run", suite, "--policy", "straight", "--policy", "mine.py:Mine", *arguments)
    assert result.exit_code == 1
    assert "mine.py:Mine · alone · seed 0: ZeroDivisionError" in result.stderr
    assert 'File "mine.py", line 24, in act' in result.stderr
    assert "noise on stdout" in result.stdout, "it runs in this process"
    assert not Path("r").exists()
    fine = call("run", suite, "--policy", "mine.py:Mine", "--limit", 1, "--debug", "--json")
    assert fine.exit_code == 0
    assert json.loads(fine.stdout.splitlines()[-1])["policies"]["mine.py:Mine"]["episodes"] == 1
    assert not Path("runs").exists()


def test_a_breakpoint_works_when_debugging(suite: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(file.read_text().replace("return Velocity", "breakpoint()\n        return Velocity"))
    arguments = ("--policy", "mine=mine.py:Mine", "--limit", 1, "--debug")
    with started("run", suite, *arguments, cwd=tmp_path, stdin=subprocess.PIPE) as process:
        stdout, stderr = process.communicate("p 6 * self.speed\nq\n", timeout=COLD_S)
    assert "3.0" in stdout
    assert process.returncode == 1, "leaving the debugger ends the run"
    assert "BdbQuit" in stderr


def test_generated_people_are_announced(suite: str, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sidestep.suites.socnav.find_dataset", lambda name: None)
    arguments = ("socnav", "--policy", "straight", "--limit", 1)
    said = call("run", *arguments, "--json").stderr
    assert "generated in 1 of 1 scenarios" in said
    assert "sidestep data get NAME" in said
    assert "sidestep data add FILE" in said
    assert "socnavbench-eth" in said
    assert "note:" not in call("run", *arguments, "--set", "source=generated", "--json").stderr


def wait_for(condition: Callable[[], bool], process: Any = None, limit_s: float = COLD_S) -> None:
    end = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end, "took too long"
        assert process is None or process.poll() is None, process.stderr.read()
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    """Running, and not merely waiting to be reaped."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGKILL, -9), (signal.SIGINT, 3), pytest.param(signal.SIGTERM, 3, marks=pytest.mark.full)],
)
def test_a_killed_run_resumes(suite: str, tmp_path: Path, call: Call, number: signal.Signals, code: int) -> None:
    log, out = tmp_path / "log.txt", tmp_path / "r"
    settings = ("--set", f"log={log}", "--set", "delay=0.25", "--limit", 1, "--repeat", 6, "--out", out)
    settings += ("--sandbox", "off")  # it writes a log
    with started("run", suite, "--policy", "mine.py:Mine", *settings, cwd=tmp_path) as process:
        wait_for(lambda: len(Ledger.load(out).digests) >= 2, process)
        process.send_signal(number)
        _, stderr = process.communicate(timeout=20)
    assert process.returncode == code, stderr
    if code == 3:
        assert f"--out {out}" in stderr
    worker = int(log.read_text().split()[0])
    wait_for(lambda: not is_alive(worker), limit_s=10)
    scored = Ledger.load(out).digests
    done = {Path(name).name: (out / name).stat().st_mtime_ns for name in scored}
    assert 2 <= len(done) < 6
    assert not load_run(out).complete

    result = call("run", suite, "--policy", "mine.py:Mine", *settings, "--json")
    assert result.exit_code == 0, result.output
    assert document(result)["policies"]["mine.py:Mine"]["episodes"] == 6
    after = {path.name: path.stat().st_mtime_ns for path in out.rglob("alone__*.parquet")}
    assert len(after) == 6
    assert {name: after[name] for name in done} == done, "what was done is not done again"
    assert not list(out.rglob("*.tmp"))
    assert load_run(out).complete
