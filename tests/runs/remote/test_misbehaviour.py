"""Whatever a guest does costs it that episode at most; the run, the table and the other policies stay as they are."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

import sidestep.runs.remote.guests
from sidestep.errors import BadInput
from sidestep.records import load_record
from sidestep.runs.episode import EpisodeTask, run_task
from sidestep.runs.folder import load_results
from sidestep.runs.plan import Plan, PolicyPlan, make_plan
from sidestep.runs.remote.guests import GuestProcesses
from sidestep.runs.remote.isolation import Isolation
from sidestep.runs.runner import RunResult, run_benchmark
from tests.runs.test_plan import FakeSuite
from tests.simulation.scenarios import make, room

pytestmark = pytest.mark.skipif(os.name != "posix", reason="only on POSIX systems: signals and resource limits")

FILE = Path(__file__).parent / "misbehaving.py"
FAILING = {
    "Raises": "ZeroDivisionError: on purpose",
    "RaisesAnything": "Doom: no Exception",
    "Interrupts": "KeyboardInterrupt",
    "Exits": "SystemExit: 3",
    "ExitsHard": "exit code 7",
    "Segfaults": "SIGSEGV",
    "Aborts": "SIGABRT",
    "Sleeps": "limit of 0.7 s",
    "HoldsTheInterpreter": "limit of 0.7 s",
    "StopsItself": "limit of 0.7 s",
    "FarAway": "Position.x is 1e+200",
    "TooFast": "Velocity.v is 1e+308",
    "NotFinite": "Velocity.v is nan",
    "Wordy": "ValueError: ?redxxx",
    "Speechless": "Mute",
    "NoNumber": "Velocity.v must be one number",
    "Spams": "limit of 0.7 s",
    "ClosesFiles": "the policy",
    "TakesMemory": "MemoryError",
    "Recurses": "RecursionError",
    "Forks": "exit code 5",
    "AnswersBefore": "expected 'act'",
    "Garbles": "4294967295 bytes",
}
HARMLESS = ("LowersLimits", "Chats", "HangsAtTheEnd", "Forges", "Lies", "Settled", "Vandal")
BUNDLED = ("orca", "straight")


def scenario(name: str, goal: float) -> Any:
    """A robot in a room with people; policies misbehave where the goal is far."""
    people = [{"start": [-2, 2], "waypoints": [[2, 2]], "radius": 0.2}, {"start": [2, -2], "waypoints": [[-2, 2]]}]
    return make(
        name=name,
        scene=room(8.0),
        robots=[{"spec": "point", "start": [-2.5, -2.0, 0.0], "goal": [goal, -2.0], "dynamics": "unicycle"}],
        crowd=[{"model": "orca", "people": people}],
        rules={"step_s": 0.1, "time_limit_s": 8},
    )


SCENARIOS = (scenario("bad", 1.5), scenario("good", -1.5))


def plan_of(policies: tuple[PolicyPlan, ...]) -> Plan:
    return Plan(suite="tests", scenarios=SCENARIOS, policies=policies, seeds=(0,), act_limit_s=0.7)


def guest(name: str, folder: Path) -> PolicyPlan:
    return PolicyPlan(name=f"{FILE}:{name}", settings={"folder": str(folder)})


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], str]:
    """Digests of the bundled policies that nobody has disturbed."""
    plan = plan_of(tuple(PolicyPlan(name=name) for name in BUNDLED))
    result = run_benchmark(plan, tmp_path_factory.mktemp("alone") / "run")
    return {(episode.policy, episode.scenario): episode.digest for episode in result.episodes}


@pytest.fixture(scope="module")
def together(tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    """One run of all, the bundled ones last."""
    folder = tmp_path_factory.mktemp("together")
    guests = tuple(guest(name, folder) for name in (*FAILING, *HARMLESS))
    return run_benchmark(plan_of((*guests, *(PolicyPlan(name=name) for name in BUNDLED))), folder / "run", workers=2)


def outcomes(result: RunResult, name: str) -> dict[str, str]:
    return {e.scenario: e.outcome for e in result.episodes if e.policy.endswith(f":{name}")}


@pytest.mark.parametrize("name", FAILING)
def test_it_costs_exactly_that_episode(together: RunResult, name: str) -> None:
    assert outcomes(together, name) == {"bad": "policy_error", "good": "success"}
    [failed] = [e for e in together.episodes if e.policy.endswith(f":{name}") and e.scenario == "bad"]
    assert FAILING[name] in failed.error
    assert len(failed.error) <= 2000
    assert not set(failed.error) & set("\0\x1b\x08\ud800")


@pytest.mark.parametrize("name", HARMLESS)
def test_it_does_nothing_to_anybody(together: RunResult, name: str) -> None:
    assert outcomes(together, name) == {"bad": "success", "good": "success"}


def test_the_digests_of_other_policies_stay_as_they_are(together: RunResult, alone: dict[tuple[str, str], str]) -> None:
    digests = {(e.policy, e.scenario): e.digest for e in together.episodes if e.policy in BUNDLED}
    assert digests == alone
    drives = {e.digest for e in together.episodes if e.policy.endswith(":Forges") and e.scenario == "good"}
    assert len(drives) == 1


def test_the_table_cannot_be_forged(together: RunResult) -> None:
    rows, _ = load_results(together.folder / "results.parquet")
    assert not any(result.value == 12345.0 for row in rows for result in row.metrics.values())
    assert "forged" not in {row.outcome for row in rows}
    assert json.loads((together.folder / "run.json").read_text())["complete"] is True


def test_children_end_with_their_guest(tmp_path: Path) -> None:
    """Outside a sandbox, where it can write down which they are."""
    plan = plan_of((guest("LeavesChildren", tmp_path),)).model_copy(update={"isolation": Isolation(sandbox="off")})
    result = run_benchmark(plan, tmp_path / "run")
    assert outcomes(result, "LeavesChildren") == {"bad": "policy_error", "good": "success"}
    child = int((tmp_path / "left_behind").read_text())
    stat = Path(f"/proc/{child}/stat")
    assert not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z"


def test_output_goes_into_a_file_beside_the_record(together: RunResult) -> None:
    texts = [path.read_text() for path in together.folder.rglob("*.log")]
    assert any("spam spam" in text for text in texts)
    assert any("Segmentation fault" in text for text in texts)
    assert any("on purpose" in text and "Traceback" in text for text in texts)
    assert all(len(text) <= 4096 for text in texts)
    assert not any("\x1b" in text for text in texts)
    assert not list(together.folder.rglob("good*.log"))


def test_settings_that_are_no_json_become_text(together: RunResult) -> None:
    [path] = [p for p in together.folder.rglob("good*.parquet") if "Settled" in str(p)]
    settings = load_record(path).policy.settings
    assert settings["nan"] == "nan"
    assert settings["3"] == [1]
    assert settings["object"].startswith("<object object")


def test_nothing_reaches_the_terminal(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for name in ("Chats", "Segfaults", "Wordy"):
        run_task(EpisodeTask(SCENARIOS[0], guest(name, tmp_path), 0, tmp_path / f"{name}.parquet", act_limit_s=0.7))
    said = capfd.readouterr()
    assert said.out == said.err == ""


def test_a_constructor_or_reset_that_hangs_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sidestep.runs.remote.guests, "RESET_S", 0.5)
    monkeypatch.setattr(sidestep.runs.remote.guests, "GRACE_S", 0.2)
    begun = time.monotonic()
    with GuestProcesses() as guests:
        for number, wanted in enumerate(("success", "policy_error", "success")):
            task = EpisodeTask(SCENARIOS[1], guest("HangsInConstructor", tmp_path), 0, tmp_path / f"{number}.parquet")
            scores = run_task(task, guests=guests).scores
            assert scores is not None
            assert scores.outcome == wanted
    assert time.monotonic() - begun < 15


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("raise ValueError('no weights')", "ValueError: no weights"),
        ("sys.exit(1)", "SystemExit: 1"),
        ("os._exit(4)", "exit code 4"),
        ("os.abort()", "SIGABRT"),
        ("time.sleep(100)", "limit of 3 s"),
    ],
)
def test_a_constructor_that_fails_is_told_before_anything_runs(
    tmp_path: Path, body: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sidestep.runs.remote.guests, "START_S", 3.0)
    file = tmp_path / "mine.py"
    file.write_text(
        "import os, sys, time\nclass Mine:\n    needs = frozenset()\n    def __init__(self):\n        " + body + "\n"
    )
    with pytest.raises(BadInput, match=words):
        make_plan(FakeSuite(), [f"{file}:Mine"])


def test_code_of_a_guest_never_runs_here(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "import os\nfrom pathlib import Path\nPath(__file__).with_suffix('.pid').write_text(str(os.getpid()))\n"
        "class Mine:\n    needs = frozenset()\n    def reset(self, t): ...\n    def act(self, o): ...\n"
    )
    make_plan(FakeSuite(), [f"{file}:Mine"], isolation=Isolation(sandbox="off"))  # it writes beside itself
    assert int(file.with_suffix(".pid").read_text()) != os.getpid()


def test_settings_that_cannot_be_written_down_are_refused() -> None:
    with pytest.raises(BadInput, match=r"setting 'x' .*object.*run_episode"):
        make_plan(FakeSuite(), [f"{FILE}:Raises"], settings={f"{FILE}:Raises": {"x": object()}})
