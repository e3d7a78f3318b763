"""Packs that ask for too much, or for files that are not theirs, are refused before anything is opened."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sidestep.errors import BadInput
from sidestep.leaderboard import limits
from sidestep.leaderboard.limits import reason_refused
from sidestep.leaderboard.unpack import unpacked
from tests.leaderboard.packing import make_pack, make_run, members_of, tampered

pytestmark = pytest.mark.usefixtures("in_process")
REPLAY = {"model": "replay", "placement": {"kind": "replay", "path": "/proc/kmsg"}}


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        from sidestep.runs.executors import Serial

        patch.setattr("sidestep.runs.runner.choose_executor", lambda *_: Serial())
        return make_pack(tmp_path_factory.mktemp("pack"))


def planned(pack: Path, change: Callable[[dict[str, Any]], Any]) -> Path:
    document = json.loads(members_of(pack)["run.json"])
    change(document["plan"])
    return tampered(pack, {"run.json": json.dumps(document).encode()})


def scenario(**fields: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda plan: plan["scenarios"][0].update(fields)


REFUSED: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "scene is a device": (scenario(scene="/dev/zero"), "scene: '/dev/zero' is an absolute path"),
    "scene of another user": (scenario(scene="~root/map.yaml"), "absolute path"),
    "scene of another drive": (scenario(scene="C:\\map.yaml"), "absolute path"),
    "scene above the pack": (scenario(scene="maps/../../map.yaml"), "leads outside the pack"),
    "mesh of a scene": (scenario(scene={"name": "x", "mesh": "/etc/mesh.glb"}), "mesh: .* absolute path"),
    "robot": (lambda plan: plan["scenarios"][0]["robots"][0].update(spec="/etc/robot.yaml"), "robot: .* absolute"),
    "recording": (scenario(crowd=[REPLAY]), "crowd: path: '/proc/kmsg' is an absolute path"),
    "option of the suite": (scenario(notes={"options": {"robot": "/dev/zero"}}), "options robot: .* absolute"),
    "setting": (lambda plan: plan["policies"][0].update(settings={"weights": "/etc/x.pt"}), "setting weights: .* abs"),
    "setting inside": (lambda plan: plan["policies"][0].update(settings={"a": [{"b": "../x"}]}), "outside the pack"),
    "scenarios": (lambda plan: plan.update(scenarios=[{}] * 10_001), "10,001 scenarios"),
    "seeds": (lambda plan: plan.update(seeds=list(range(10_001))), "10,001 seeds"),
    "policies": (lambda plan: plan.update(policies=plan["policies"] * 201), "201 policies"),
    "episodes": (
        lambda plan: plan.update(policies=plan["policies"] * 100, seeds=list(range(1000))), "300,000 episodes",
    ),
    "bytes": (lambda plan: plan.update(suite="x" * 16_000_001), "16,0.*bytes"),
    "many files": (
        lambda plan: plan["policies"][0].update(settings={str(k): f"file{k}" for k in range(1001)}), "1,000 files",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_plans_that_are_refused(name: str, pack: Path) -> None:
    change, message = REFUSED[name]
    path = planned(pack, change)
    start = time.monotonic()
    with pytest.raises(BadInput, match=message) as raised, unpacked(path):
        pass
    assert time.monotonic() - start < 5
    assert "tampered.pack: member 'run.json'" in str(raised.value)


@pytest.mark.parametrize("base", ["/etc", "../..", "sidestep:../../etc", "sidestep:/etc", 3])
def test_bases_outside(pack: Path, base: Any) -> None:
    document = json.loads(members_of(pack)["run.json"]) | {"base": base}
    path = tampered(pack, {"run.json": json.dumps(document).encode()})
    with pytest.raises(BadInput, match=r"base .* outside the pack"), unpacked(path):
        pass


def test_names_that_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("open", "maps/office.yaml", "town:Honeywell@-170,324", "", "recorded:eth", "3.5", "with ~ inside"):
        assert reason_refused(name) == ""
    os.mkfifo("pipe")
    Path("link").symlink_to("/dev/zero")
    Path("far").symlink_to("/proc/self/environ")
    assert "pipe" in reason_refused("pipe")
    assert reason_refused("link")
    assert reason_refused("far")


def test_a_table_of_too_many_rows(pack: Path, tmp_path: Path) -> None:
    """A few kB that would be millions of rows of Python objects."""
    few = pq.read_table(pa.BufferReader(members_of(pack)["results.parquet"]))
    row = few.slice(0, 1)
    many = pa.concat_tables([row] * 5000).combine_chunks()
    pq.write_table(many, tmp_path / "results.parquet", compression="zstd")
    path = tampered(pack, {"results.parquet": (tmp_path / "results.parquet").read_bytes()})
    with pytest.raises(BadInput, match=r"'results.parquet': 5,000 rows; 6 episodes"), unpacked(path):
        pass


def test_the_plan_of_every_suite_is_within_the_limits() -> None:
    from sidestep import registry
    from sidestep.suites.files import choose_options, load_suite, option_names

    for name in registry.SUITES:
        suite = load_suite(name)
        if "split" in option_names(suite) and name != "socnav":
            suite = choose_options(suite, {"split": "all"})
        scenarios = [scenario.model_dump(mode="json") for scenario in suite.scenarios()]
        assert len(scenarios) < limits.MOST_SCENARIOS / 2
        assert len(json.dumps(scenarios, indent=1)) < limits.MOST_PLAN_BYTES / 1.5
        for place, text in limits._names({"scenarios": scenarios}):
            assert reason_refused(text) == "", (name, place)


def test_packing_says_that_nobody_will_read_it(tmp_path: Path) -> None:
    from sidestep.leaderboard.pack import write_pack

    run = make_run(tmp_path)
    document = json.loads((run / "run.json").read_text())
    document["plan"]["policies"][0]["settings"] = {"weights": "/etc/x.pt"}
    (run / "run.json").write_text(json.dumps(document))
    [said] = write_pack(run, tmp_path / "p.pack").left_out
    assert "setting weights: '/etc/x.pt' is an absolute path" in said
    assert "relative" in said
