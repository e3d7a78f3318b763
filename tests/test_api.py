"""The way in from Python: runs, records and episodes that the caller drives."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import sidestep
from sidestep.api import Document
from sidestep.cli.app import app
from sidestep.errors import BadInput, UnknownName
from sidestep.types import HolonomicVelocity


class Ahead:
    """Straight to the goal."""

    needs = frozenset({"goal"})
    made = 0

    def __init__(self, speed: float = 1.0) -> None:
        type(self).made += 1
        self.settings = {"speed": speed}

    def reset(self, task: Any) -> None:
        self.speed = self.settings["speed"]

    def act(self, observation: Any) -> HolonomicVelocity:
        x, y = observation.goal[0] - observation.robot.x, observation.goal[1] - observation.robot.y
        length = max((x * x + y * y) ** 0.5, 1e-9)
        return HolonomicVelocity(self.speed * x / length, self.speed * y / length)


class Broken(Ahead):
    def act(self, observation: Any) -> HolonomicVelocity:
        raise RuntimeError("no idea")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> sidestep.Run:
    return sidestep.run(
        "core", ["stop", Ahead, Broken()], out=tmp_path_factory.mktemp("runs") / "first", limit=2, repeat=2
    )


def test_names_classes_and_objects_run_side_by_side(run: sidestep.Run) -> None:
    assert run.suite == "core"
    assert run.policies == ("stop", "Ahead", "Broken")
    assert len(run) == 3 * 2 * 2
    assert {each.outcome for each in run.episodes if each.policy == "Broken"} == {"policy_error"}
    assert "no idea" in next(each.error for each in run.failures if each.policy == "Broken")
    assert repr(run).startswith("Run(core: 3 policies × 2 scenarios × 2 seeds; ")


def test_a_class_scores_as_the_same_class_by_file(run: sidestep.Run, tmp_path: Path) -> None:
    """In this process and in a process of its own."""
    file = tmp_path / "ahead.py"
    source = Path(__file__).read_text().partition("class Ahead")[2].partition("class Broken")[0]
    file.write_text(f"from typing import Any\nfrom sidestep.types import HolonomicVelocity\nclass Ahead{source}")
    other = sidestep.run("core", {"Ahead": f"{file}:Ahead"}, out=tmp_path / "run", limit=2, repeat=2)
    ours = [each.digest for each in run.episodes if each.policy == "Ahead"]
    assert [each.digest for each in other.episodes] == ours


def test_results_are_arrow_with_and_without_pandas(run: sidestep.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pq.read_table(run.folder / "results.parquet")
    assert {"run", "source", "policy", "metric", "value"} <= set(table.column_names)
    assert run.results.equals(table)
    frame = run.to_pandas()
    assert list(frame.columns) == table.column_names
    assert len(frame) == len(table)
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert run.results.equals(table)
    with pytest.raises(sidestep.SidestepError, match="pip install pandas"):
        run.to_pandas()


def test_the_documents_are_those_of_the_commands(run: sidestep.Run) -> None:
    summary = run.summary()
    command = CliRunner().invoke(app, ["score", str(run.folder), "--json"])
    assert json.loads(json.dumps(summary)) == json.loads(command.stdout)
    assert "Ahead" in repr(summary)
    assert max(map(len, repr(summary).splitlines())) <= 80
    assert summary._repr_html_().startswith("<pre")
    compared = run.compare(baseline="stop")
    assert {pair["a"] for pair in compared["pairs"]} | {pair["b"] for pair in compared["pairs"]} == set(run.policies)
    assert "Difference" in repr(compared)
    assert isinstance(compared, Document)
    with pytest.raises(UnknownName, match="metric"):
        run.compare(metrics=["sucess"])


def test_report_and_records(run: sidestep.Run, tmp_path: Path) -> None:
    file = run.report(tmp_path / "report.html")
    assert "<script" in file.read_text()
    record = run.record("Ahead", seed=1)
    assert (record.policy.name, record.seed) == ("Ahead", 1)
    assert record.policy.settings == {"speed": 1.0}
    assert [each.seed for each in run.records("stop", scenario=record.scenario.name)] == [0, 1]
    assert all(str(each.outcome) == "policy_error" for each in run.records("Broken"))
    with pytest.raises(UnknownName, match="did you mean 'Ahead'"):
        run.record("ahead")
    with pytest.raises(BadInput, match="no such episode"):
        run.record(seed=99)


def test_a_run_is_read_again_resumed_and_extended(run: sidestep.Run) -> None:
    again = sidestep.load_run(run.folder)
    assert again.episodes == run.episodes
    before = Ahead.made
    longer = sidestep.run("core", [Ahead], out=run.folder, limit=3, repeat=2)
    assert Ahead.made - before == 3, "one to plan with, and one for each new episode"
    assert {each.scenario for each in longer.episodes if each.policy == "Ahead"} > {
        each.scenario for each in run.episodes
    }


def test_what_cannot_be_run_is_said_at_once(tmp_path: Path) -> None:
    class orca(Ahead):
        pass

    with pytest.raises(BadInput, match="is the name of a bundled policy; give yours a label"):
        sidestep.run("core", [orca], out=tmp_path / "a")
    with pytest.raises(BadInput, match="two policies are called 'Ahead'"):
        sidestep.run("core", [Ahead, Ahead(2.0)], out=tmp_path / "a")
    with pytest.raises(BadInput, match="has no method 'reset'"):
        sidestep.run("core", [object()], out=tmp_path / "a")
    with pytest.raises(BadInput, match="a name, a path, a Suite"):
        sidestep.run([], "stop", out=tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_labels_settings_and_scenarios(tmp_path: Path) -> None:
    driven = sidestep.open_episode("core/circle-crossing")
    several = sidestep.run(
        driven.scenario, {"slow": Ahead(0.5), "quick": Ahead(1.2), "calm": "orca"}, out=tmp_path / "run",
        settings={"calm": {"horizon": 2.0}},
    )  # fmt: skip
    assert several.policies == ("calm", "slow", "quick")
    assert several.record("slow").policy.settings == {"speed": 0.5}
    assert several.record("calm").policy.settings["horizon"] == 2.0


def test_an_episode_in_four_lines() -> None:
    env = sidestep.open_episode("plaza")
    observation = env.reset(seed=3)
    terminated = truncated = False
    while not (terminated or truncated):
        observation, terminated, truncated, info = env.step(HolonomicVelocity(0.7, 0.7))
    assert info["termination_reason"] == env.outcome
    assert observation.time == env.time > 0
    assert env.record.outcome is env.outcome
    assert max(env.render().size) == 640
    assert max(env.render(320).size) == 320
    assert "core/plaza, seed 3" in repr(env)


def test_scenarios_by_name_file_and_suite(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("name: mine\nrobots: [{spec: point, start: [0, 0, 0], goal: [3, 0]}]\n")
    assert sidestep.open_episode(file).scenario.name == "mine"
    assert sidestep.open_episode("catalogue/frontal-approach").scenario.suite == "catalogue"
    with pytest.raises(UnknownName, match="did you mean 'plaza'"):
        sidestep.open_episode("plasa")
    with pytest.raises(UnknownName, match="doorway"):
        sidestep.open_episode("core/dorway")


def test_importing_sidestep_imports_nothing_heavy() -> None:
    code = "import sys, sidestep; print(sorted({'numpy', 'numba', 'scipy', 'rich', 'pydantic'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"
    assert set(sidestep.__all__) <= set(dir(sidestep))
    for name in sidestep.__all__:
        assert getattr(sidestep, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'runn'"):
        sidestep.runn  # noqa: B018
