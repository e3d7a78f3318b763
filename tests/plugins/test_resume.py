"""A run is not resumed with other code of a plug-in than it began with."""

from __future__ import annotations

import shutil
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from sidestep import registry
from sidestep.errors import BadInput
from sidestep.runs import make_plan, run_benchmark
from sidestep.runs.plan import Plan, extend
from sidestep.runs.provenance import sensor_files
from sidestep.suites.files import FileSuite, load_suite
from sidestep.types import Scenario
from tests.plugins.conftest import PACKAGE, Announce
from tests.runs.fake import fake_episode

NAME = "sidestep_example_plugin"


@pytest.fixture
def code(tmp_path: Path, announce: Announce, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The code of the example package, in a copy that a test may change."""
    shutil.copytree(PACKAGE / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.syspath_prepend(tmp_path / "src")
    announce(tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]["entry-points"])
    yield tmp_path / "src" / NAME
    for name in [name for name in sys.modules if name.startswith(NAME)]:
        del sys.modules[name]


def plan_of(policy: str) -> Plan:
    """Everything that the example package adds, in one scenario."""
    [everything] = [each for each in load_suite("example_empty").scenarios() if each.name == "everything"]
    bike = {"kind": "example_cargo_bike", "start": [6, -4, 1.57], "driver": "example_stop_and_go"}
    document = everything.model_dump(exclude_unset=True) | {"traffic": [bike, {"kind": "car", "start": [9, 9, 0]}]}
    suite = FileSuite("everything", "", Path(), (Scenario.parse(document, "test"),))
    return make_plan(suite, [policy], in_process=True)


def test_only_plug_ins_are_listed(code: Path) -> None:
    plan = plan_of("example_wary")
    assert sorted(plan.files) == [
        "plug-in crowd model example_stop_and_go",
        "plug-in driver example_stop_and_go",
        "plug-in event example_waving",
        "plug-in kind of road user example_cargo_bike",
        "plug-in look example_cargo_bike",
    ]
    assert list(plan.policies[0].files) == ["plug-in sensor example_nearest"]
    assert all(each.startswith("sha256:") for each in (*plan.files.values(), *plan.policies[0].files.values()))
    assert sensor_files({"lidar", "goal", "rgb"}) == {}


@pytest.mark.parametrize(
    ("file", "told"),
    [
        ("crowd_model.py", ["plug-in crowd model example_stop_and_go: changed"]),
        ("event.py", ["plug-in event example_waving: changed"]),
        ("sensor.py", ["plug-in sensor example_nearest of example_wary: changed"]),
        (
            "road_user.py",
            [
                "plug-in driver example_stop_and_go: changed",
                "plug-in kind of road user example_cargo_bike: changed",
                "plug-in look example_cargo_bike: changed",
            ],
        ),
        ("metric.py", []),
    ],
)
def test_changed_code_is_refused(code: Path, file: str, told: list[str]) -> None:
    before = plan_of("example_wary")
    with (code / file).open("a") as source:
        source.write("\n# changed\n")
    after = plan_of("example_wary")
    if not told:
        assert extend(before, after)[0].files == before.files
        return
    with pytest.raises(BadInput) as refused:
        extend(before, after)
    assert [line.strip() for line in str(refused.value).splitlines()[1:-1]] == told


def test_a_run_is_resumed_with_the_same_plug_ins_only(code: Path, tmp_path: Path) -> None:
    plan = plan_of("example_wary")
    run_benchmark(plan, tmp_path / "run", run_episode=fake_episode)
    run_benchmark(plan_of("example_wary"), tmp_path / "run", run_episode=fake_episode)
    (code / "sensor.py").write_text((code / "sensor.py").read_text() + "\n# changed\n")
    with pytest.raises(BadInput, match=r"plug-in sensor example_nearest of example_wary: changed.*\n.*--replace"):
        run_benchmark(plan_of("example_wary"), tmp_path / "run", run_episode=fake_episode)
    run_benchmark(plan_of("example_wary"), tmp_path / "run", run_episode=fake_episode, replaced=["example_wary"])


def test_a_plug_in_that_is_gone_is_told(code: Path, tmp_path: Path) -> None:
    before = plan_of("stop")
    shutil.rmtree(tmp_path / "announced-0.dist-info")
    registry.table.cache_clear()
    with pytest.raises(BadInput, match="plug-in event example_waving: no longer there"):
        extend(before, before.model_copy(update={"files": {}}))
