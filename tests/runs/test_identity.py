"""What a run depends on is noticed when it changes: code of the simulator and of policies, helpers, maps, weights."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sidestep import registry
from sidestep.errors import BadInput
from sidestep.runs import provenance as identity
from sidestep.runs.folder import episode_path, load_run
from sidestep.runs.plan import Plan, PolicyPlan, make_plan
from sidestep.runs.runner import RunResult, run_benchmark
from sidestep.suites.files import load_suite
from tests.runs.fake import fake_episode, fake_plan, write_policies

pytestmark = pytest.mark.usefixtures("in_process", "unchanged_path")


@pytest.fixture
def unchanged_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Helpers of one test are not those of the next."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("helping", "inner", "inner.gain"):
        monkeypatch.delitem(sys.modules, name, raising=False)


def run(plan: Plan, out: Path, *replaced: str) -> RunResult:
    return run_benchmark(plan, out, run_episode=fake_episode, replaced=replaced)


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the package to edit, in place of the real one as far as hashes go."""
    package = tmp_path / "sidestep"
    shutil.copytree(identity.PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(identity, "PACKAGE", package)
    forget()
    yield package
    forget()


def forget() -> None:
    identity.simulator_version.cache_clear()
    identity.bundled_version.cache_clear()


def edited(file: Path) -> dict[str, str]:
    """Versions of all bundled policies after a comment was added to a file, which is then restored."""
    before = file.read_bytes()
    file.write_bytes(before + b"\n# changed\n")
    forget()
    versions = {name: identity.bundled_version(name) for name in registry.POLICIES}
    file.write_bytes(before)
    return versions


def test_the_version_of_a_bundled_policy_follows_all_code_that_makes_its_behaviour(copy: Path) -> None:
    before = {name: identity.bundled_version(name) for name in registry.POLICIES}
    assert all(version.startswith("sidestep ") and " sha256:" in version for version in before.values())

    def changed(file: str) -> set[str]:
        after = edited(copy / file)
        return {name for name in before if after[name] != before[name]}

    everybody = set(registry.POLICIES)
    assert changed("policies/trivial.py") == {"straight", "stop"}
    assert {"mpc", "oracle"} <= changed("policies/mpc/field.py") < everybody - {"straight", "stop", "orca"}
    assert {"orca", "cadrl", "mpc"} <= changed("policies/robot_agent.py") < everybody - {"straight", "stop"}
    assert changed("policies/cadrl/cadrl_v1.npz") == {"cadrl"}
    assert changed("policies/visual/models/nomad.yaml") == {"visual", "imitation"}  # which shares how networks load
    for part in (
        "kernels/world.py",
        "simulation/loop.py",
        "simulation/crowd/events/script.py",
        "_util/exact.py",
        "types/outcome.py",
    ):
        assert changed(part) == everybody, part
    assert changed("report/html.py") == changed("cli/run.py") == changed("metrics/score.py") == set()


def test_the_simulator_has_a_version_of_its_own(copy: Path) -> None:
    before = identity.simulator_version()
    (copy / "policies/trivial.py").write_text("# nothing")
    forget()
    assert identity.simulator_version() == before
    (copy / "simulation/robots/controllers.py").write_text("# nothing")
    forget()
    assert identity.simulator_version() != before


def own_policy(folder: Path, gain: str) -> str:
    """A policy with a helper beside it, which has a helper itself, in a package."""
    (folder / "inner").mkdir(exist_ok=True)
    (folder / "inner/__init__.py").write_text("")
    (folder / "inner/gain.py").write_text(f"GAIN = {gain}\n")
    (folder / "helping.py").write_text("def gain():\n    from inner.gain import GAIN\n    return GAIN\n")
    (folder / "unused.py").write_text(f"# {gain}")
    (folder / "own.py").write_text(
        "import helping, json\n"
        "class Own:\n    needs = frozenset()\n    def __init__(self, weights=''): pass\n"
        "    def reset(self, task): ...\n    def act(self, observation): return 1.0\n"
    )
    return f"{folder / 'own.py'}:Own"


def test_helpers_of_a_policy_are_noticed(tmp_path: Path) -> None:
    name = own_policy(tmp_path, "1.0")
    before = identity.policy_version(name)
    files = identity.imported_files(tmp_path / "own.py", [tmp_path])
    assert {file.name for file in files} == {"own.py", "helping.py", "__init__.py", "gain.py"}
    (tmp_path / "unused.py").write_text("# other")
    assert identity.policy_version(name) == before
    own_policy(tmp_path, "2.0")
    assert identity.policy_version(name) != before


def plan_of(folder: Path, gain: str, **settings: Any) -> Plan:
    name = own_policy(folder, gain)
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))  # where a person's helpers are
    policy = PolicyPlan(
        name=name,
        settings=settings,
        version=identity.policy_version(name),
        files=identity.setting_files(settings),
    )
    steady = fake_plan(folder, "Steady", settings={"folder": str(folder)})
    return steady.model_copy(update={"policies": (policy, *steady.policies), "simulator": "sidestep 1 sha256:0"})


def own_only(plan: Plan) -> Plan:
    return plan.model_copy(update={"policies": plan.policies[:1]})


def test_a_changed_helper_is_refused_and_the_policy_can_be_replaced(tmp_path: Path) -> None:
    out = tmp_path / "run"
    first = run(plan_of(tmp_path, "1.0"), out)
    own, steady = (policy.name for policy in first.plan.policies)
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*.parquet")}
    new = own_only(plan_of(tmp_path, "2.0"))
    with pytest.raises(BadInput, match=rf"(?s)code of .*own.py:Own: version sha256:.*another --out.*--replace {own}"):
        run(new, out)
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*.parquet")} == before, "nothing was touched"
    second = run(new, out, own)
    assert len(second.episodes) == 12
    assert load_run(out).plan.policies[0].version == new.policies[0].version
    for path, written in before.items():
        if path.parent.name != "run":
            is_own = path.parent == episode_path(out, own, "s0", 0).parent
            assert (path.stat().st_mtime_ns != written) == is_own
    assert len((tmp_path / "asked.txt").read_text().split("\n")) == 7, "the other policy was not run again"
    after = {path: path.stat().st_mtime_ns for path in (out / "episodes").rglob("*.parquet")}
    run(new, out, own)
    assert {path: path.stat().st_mtime_ns for path in (out / "episodes").rglob("*.parquet")} == after, "resumed"
    assert steady in {policy.name for policy in load_run(out).plan.policies}


def test_other_settings_of_a_replaced_policy(tmp_path: Path) -> None:
    out = tmp_path / "run"
    run(fake_plan(tmp_path, "Steady"), out)
    faster = fake_plan(tmp_path, "Steady", settings={"speed": 2.0})
    with pytest.raises(BadInput, match=r"(?s)settings of .*--replace"):
        run(faster, out)
    result = run(faster, out, faster.policies[0].name)
    assert result.plan.policies[0].settings == {"speed": 2.0}


def test_only_what_runs_can_be_replaced(tmp_path: Path) -> None:
    run(fake_plan(tmp_path, "Steady"), tmp_path / "run")
    with pytest.raises(BadInput, match=r"--replace orca: .*--policy"):
        run(fake_plan(tmp_path, "Steady"), tmp_path / "run", "orca")


def test_another_simulator_needs_every_policy_again(tmp_path: Path) -> None:
    out = tmp_path / "run"
    old = plan_of(tmp_path, "1.0")
    run(old, out)
    own, steady = (policy.name for policy in old.policies)
    new = old.model_copy(update={"simulator": "sidestep 1 sha256:1"})
    both = rf"(?s)code of the simulator: .*--replace {own} --replace {steady}$"
    with pytest.raises(BadInput, match=both):
        run(new, out)
    with pytest.raises(BadInput, match=rf"(?s)simulator.*--replace {steady}$"):
        run(new, out, own)
    assert len((tmp_path / "asked.txt").read_text().split()) == 12
    run(new, out, own, steady)
    assert len((tmp_path / "asked.txt").read_text().split()) == 24
    assert load_run(out).plan.simulator == new.simulator


def test_a_policy_that_a_command_does_not_name_does_not_go_on(tmp_path: Path) -> None:
    """Neither with other code nor in scenarios that the command adds; what it has done stays in the table."""
    out = tmp_path / "run"
    plan = plan_of(tmp_path, "1.0")
    run(plan.model_copy(update={"scenarios": plan.scenarios[:2]}), out)
    own, steady = plan.policies
    episode_path(out, own.name, "s1", 0).unlink()
    others = plan_of(tmp_path, "2.0").model_copy(update={"policies": (steady,)})
    found = [(each.policy, each.scenario) for each in run(others, out).episodes if each.seed == 0]
    assert found == [(own.name, "s0"), *((steady.name, scenario.name) for scenario in plan.scenarios)]
    assert not episode_path(out, own.name, "s1", 0).exists()
    with pytest.raises(BadInput, match=r"code of .*own.py:Own: version"):
        run(plan_of(tmp_path, "2.0"), out)


def test_weights_that_a_setting_names_are_noticed(tmp_path: Path) -> None:
    out, weights = tmp_path / "run", tmp_path / "weights.onnx"
    weights.write_bytes(b"old")
    run(own_only(plan_of(tmp_path, "1.0", weights=str(weights))), out)
    run(own_only(plan_of(tmp_path, "1.0", weights=str(weights))), out)
    weights.write_bytes(b"new")
    with pytest.raises(BadInput, match=r"file .*weights.onnx of .*Own: changed"):
        run(own_only(plan_of(tmp_path, "1.0", weights=str(weights))), out)


def test_a_file_that_the_policy_writes_itself_is_no_weights(tmp_path: Path) -> None:
    out, log = tmp_path / "run", tmp_path / "log.txt"
    done = []
    for text in ("", "one", "two"):
        result = run(own_only(plan_of(tmp_path, "1.0", weights=str(log))), out)
        done.append([each.digest for each in result.episodes])
        log.write_text(text)
    assert done[0] == done[1] == done[2] != []


SUITE = """
name: a
robots: [{start: [0, 0, 0], goal: [1, 0]}]
scene: map.yaml
---
name: b
robots: [{start: [0, 0, 0], goal: [1, 0], spec: own.yaml}]
crowd: [{model: replay, placement: {kind: replay, path: people.csv}}]
"""


def test_files_that_scenarios_name_are_part_of_the_plan(tmp_path: Path) -> None:
    """A map and the picture that it names, a robot, a recording."""
    (tmp_path / "small.yaml").write_text(SUITE)
    named = {
        "map.yaml": "image: map.pgm\nresolution: 0.1\n",
        "map.pgm": "P5",
        "own.yaml": "name: own",
        "people.csv": "1",
    }
    for name, text in named.items():
        (tmp_path / name).write_text(text)

    def plan() -> Plan:
        return make_plan(load_suite(str(tmp_path / "small.yaml")), ["stop"])

    before = plan()
    assert sorted(before.files) == ["map.yaml", "own.yaml", "people.csv"]
    run(before, tmp_path / "run")
    for name, text in named.items():
        (tmp_path / name).write_text(text + "\n")
        told = "map.yaml" if name == "map.pgm" else name
        with pytest.raises(BadInput, match=rf"file {told}: changed"):
            run(plan(), tmp_path / "run")
        (tmp_path / name).write_text(text)
        run(plan(), tmp_path / "run")
    (tmp_path / "people.csv").unlink()
    with pytest.raises(BadInput, match=r"file people\.csv: no longer there"):
        run(plan(), tmp_path / "run")


def test_a_plan_holds_the_hash_of_installed_recordings() -> None:
    plan = make_plan(load_suite("socnav"), ["stop"], limit=2)
    assert all(name.startswith("dataset:") or "/" in name for name in plan.files)


def test_a_policy_of_a_package_has_the_hash_of_its_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "theirs"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "drive.py").write_text("from theirs import table\nfrom . import near\n")
    (package / "table.py").write_text("A = 1\n")
    (package / "near.py").write_text("B = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    before = identity.policy_version("theirs.drive:Drive")
    assert before.startswith("sha256:")
    for name in ("table.py", "near.py", "__init__.py", "drive.py"):
        text = (package / name).read_text()
        (package / name).write_text(text + "# changed\n")
        assert identity.policy_version("theirs.drive:Drive") != before
        (package / name).write_text(text)
    assert identity.policy_version("theirs.drive:Drive") == before


def test_a_policy_that_another_process_serves_has_no_code_here() -> None:
    assert identity.policy_version("remote:127.0.0.1:6000") == ""


def test_the_file_of_fake_policies_is_hashed(tmp_path: Path) -> None:
    assert identity.policy_version(f"{write_policies(tmp_path)}:Steady").startswith("sha256:")


def test_the_version_of_the_simulator_covers_whatever_an_episode_is_made_of() -> None:
    """All packages that the loop and guests import, but for those that only name or read things."""
    start = identity.PACKAGE / "simulation" / "loop.py"
    reached = {start, *(identity.PACKAGE / "runs/remote").glob("*.py"), *(identity.PACKAGE / "simulation").glob("*.py")}
    named = {
        name.removeprefix("sidestep.").replace(".", "/")
        for file in reached
        for name in re.findall(r"^\s*from (sidestep[.\w]+)", file.read_text(encoding="utf-8"), re.MULTILINE)
    }
    covered = tuple(part.removesuffix(".py") for part in identity.SIMULATOR)
    only_reads = {
        "sidestep",
        "_util",
        "_util/on_demand",
        "_util/progress",
        "errors",
        "interfaces",
        "registry",
        "version",
        "policies",
    }
    assert {name for name in named if not name.startswith(covered)} <= only_reads
