"""Run folders: what is in them, resuming and extending."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from sidestep.errors import BadInput
from sidestep.records import load_record, save_record
from sidestep.runs.folder import episode_path, load_results, load_run, safe_name
from sidestep.runs.plan import Plan
from sidestep.runs.runner import RunResult, run_benchmark
from sidestep.runs.score import METRIC_KEYS, summarise_run
from tests.records.example import example_scenario
from tests.runs.fake import fake_episode, fake_plan

pytestmark = pytest.mark.usefixtures("in_process")


def run(plan: Plan, out: Path, progress: Any = None) -> RunResult:
    return run_benchmark(plan, out, 1, progress, run_episode=fake_episode)


def asked(folder: Path) -> list[str]:
    """Which episodes the policy was really asked in."""
    file = folder / "asked.txt"
    return file.read_text().split("\n")[:-1] if file.exists() else []


def test_a_run_folder_holds_plan_records_and_results(tmp_path: Path) -> None:
    out = tmp_path / "run"
    plan = fake_plan(tmp_path, "Steady")
    result = run(plan, out)
    assert len(result.episodes) == 6
    document = json.loads((out / "run.json").read_text())
    assert document["complete"] is True
    assert document["skipped"] == []
    assert str(tmp_path) not in json.dumps(document["machine"])
    assert len(document["plan"]["scenarios"]) == 3
    policy = plan.policies[0].name
    record = load_record(episode_path(out, policy, "s1", 1))
    assert (record.scenario.name, record.seed, record.policy.name) == ("s1", 1, policy)
    assert record.policy.settings == {"speed": 1.0}
    assert sorted(path.name for path in out.rglob("*.parquet")) == sorted(
        ["results.parquet"] + [f"s{i}__seed{k}.parquet" for i in range(3) for k in range(2)]
    )


def test_results_are_long_form(tmp_path: Path) -> None:
    result = run(fake_plan(tmp_path, "Steady", "Raises"), tmp_path / "run")
    table = pq.read_table(tmp_path / "run/results.parquet")
    columns = "run suite scenario policy seed outcome digest privileged observes source cluster event"
    assert table.column_names == f"{columns} sandbox error traceback metric value valid reason unit".split()
    assert len(table) == sum(len(episode.metrics) for episode in result.episodes)
    rows = table.to_pylist()
    assert {(row["run"], row["source"]) for row in rows} == {("run", "generated")}
    assert {row["error"] for row in rows} == {"", "ZeroDivisionError: on purpose"}
    success = [row for row in rows if row["metric"] == "success"]
    assert [row["value"] for row in success] == [1.0] * 6 + [0.0] * 6
    assert all(row["reason"] for row in rows if not row["valid"])
    assert all(row["value"] is None for row in rows if not row["valid"])
    episodes, dialect = load_results(tmp_path / "run/results.parquet")
    assert dialect == "paper"
    assert [(e.scenario, e.seed, e.digest, e.metrics.keys()) for e in episodes] == [
        (e.scenario, e.seed, e.digest, e.metrics.keys()) for e in result.episodes
    ]


def test_the_summary_has_the_published_shape(tmp_path: Path) -> None:
    plan = fake_plan(tmp_path, "Steady", "Raises")
    summary = summarise_run(run(plan, tmp_path / "run"))
    assert list(summary) == ["run", "suite", "source", "dialect", "policies", "success"]
    assert (summary["suite"], summary["source"], summary["dialect"]) == ("test", "generated", "paper")
    steady, raises = (summary["policies"][policy.name] for policy in plan.policies)
    told = ["observes", "observation_limits", "observation_class"]
    assert list(steady) == ["episodes", "outcomes", "metrics", "privileged", *told, "events", "sandbox"]
    assert all(tuple(entry)[: len(METRIC_KEYS)] == METRIC_KEYS for entry in steady["metrics"].values())
    assert steady["metrics"]["failures_per_100m"]["bound"].startswith("≤ ")  # none in a few metres
    assert steady["outcomes"]["success"] == steady["episodes"] == 6
    assert raises["outcomes"]["policy_error"] == raises["episodes"] == 6
    assert raises["metrics"]["success"]["mean"] == 0.0
    assert raises["metrics"]["time_to_goal"]["n"] == 0
    assert raises["metrics"]["time_to_goal"]["mean"] is None
    json.dumps(summary, allow_nan=False)


def test_a_second_run_does_nothing_and_gives_the_same(tmp_path: Path) -> None:
    plan = fake_plan(tmp_path, "Steady", settings={"folder": str(tmp_path)})
    first = run(plan, tmp_path / "run")
    before = (tmp_path / "run/results.parquet").read_bytes()
    second = run(plan, tmp_path / "run")
    assert len(asked(tmp_path)) == 6
    assert [e.digest for e in first.episodes] == [e.digest for e in second.episodes]
    assert (tmp_path / "run/results.parquet").read_bytes() == before


def test_an_interrupted_run_resumes(tmp_path: Path) -> None:
    plan = fake_plan(tmp_path, "Steady", settings={"folder": str(tmp_path)})

    def interrupt(done: int, *_: Any) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(plan, tmp_path / "run", interrupt)
    assert load_run(tmp_path / "run").complete is False
    assert len(load_results(tmp_path / "run/results.parquet")[0]) == 2
    result = run(plan, tmp_path / "run")
    assert len(result.episodes) == 6
    assert len(asked(tmp_path)) == len(set(asked(tmp_path))) == 6
    assert load_run(tmp_path / "run").complete is True


def test_a_truncated_record_runs_again(tmp_path: Path) -> None:
    plan = fake_plan(tmp_path, "Steady", settings={"folder": str(tmp_path)})
    first = run(plan, tmp_path / "run")
    path = episode_path(tmp_path / "run", plan.policies[0].name, "s2", 0)
    path.write_bytes(path.read_bytes()[:700])
    leftover = path.with_name(f".{path.name}.123.tmp")
    leftover.write_bytes(b"half")
    second = run(plan, tmp_path / "run")
    assert asked(tmp_path)[6:] == ["s2 0"]
    assert [e.digest for e in first.episodes] == [e.digest for e in second.episodes]
    assert not leftover.exists()


def test_a_record_of_another_scenario_of_that_name_runs_again(tmp_path: Path) -> None:
    """As when it was copied from a run with other options."""
    plan = fake_plan(tmp_path, "Steady", settings={"folder": str(tmp_path)})
    first = run(plan, tmp_path / "run")
    path = episode_path(tmp_path / "run", plan.policies[0].name, "s2", 0)
    record = load_record(path)
    rules = record.scenario.rules.model_copy(update={"goal_radius_m": 9.0})
    for changes in ({"rules": rules}, {"suite": "other"}):
        save_record(replace(record, scenario=record.scenario.model_copy(update=changes)), path)
        second = run(plan, tmp_path / "run")
        assert asked(tmp_path)[-1] == "s2 0"
        assert [e.digest for e in first.episodes] == [e.digest for e in second.episodes]
    assert len(asked(tmp_path)) == 8


def test_a_run_is_extended(tmp_path: Path) -> None:
    settings = {"folder": str(tmp_path)}
    run(fake_plan(tmp_path, "Steady", scenarios=2, seeds=1, settings=settings), tmp_path / "run")
    result = run(fake_plan(tmp_path, "Steady", scenarios=3, seeds=2, settings=settings), tmp_path / "run")
    assert len(result.episodes) == 6
    assert len(asked(tmp_path)) == 6
    assert load_run(tmp_path / "run").complete
    less = run(fake_plan(tmp_path, "Chatty", scenarios=1, seeds=1, settings=settings), tmp_path / "run")
    assert [(each.scenario, each.seed) for each in less.episodes] == [("s0", 0)] * 2, "of both policies"
    assert len(load_run(tmp_path / "run").plan.policies) == 2
    assert not load_run(tmp_path / "run").complete, "one policy has not run everything"
    assert len(load_results(tmp_path / "run/results.parquet")[0]) == 7, "the table holds all there is"


def test_a_command_runs_the_episodes_that_it_names(tmp_path: Path) -> None:
    """As with another --limit: fewer after an interruption, more later; nothing else is touched."""
    settings = {"folder": str(tmp_path)}
    whole = fake_plan(tmp_path, "Steady", scenarios=5, seeds=1, settings=settings)
    run(fake_plan(tmp_path, "Steady", scenarios=4, seeds=1, settings=settings), tmp_path / "run")
    for name in ("s1", "s3"):
        episode_path(tmp_path / "run", whole.policies[0].name, name, 0).unlink()
    asked_before = len(asked(tmp_path))
    few = run(whole.model_copy(update={"scenarios": whole.scenarios[:2]}), tmp_path / "run")
    assert asked(tmp_path)[asked_before:] == ["s1 0"]
    assert [each.scenario for each in few.episodes] == ["s0", "s1"]
    assert [each.scenario for each in load_results(tmp_path / "run/results.parquet")[0]] == ["s0", "s1", "s2"]
    all_of_them = run(whole, tmp_path / "run")
    assert asked(tmp_path)[asked_before + 1 :] == ["s3 0", "s4 0"]
    assert [each.scenario for each in all_of_them.episodes] == ["s0", "s1", "s2", "s3", "s4"]
    assert load_run(tmp_path / "run").complete


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mode": "async"}, "mode: 'sync' there, 'async' now"),
        ({"suite": "other"}, "suite: 'test' there, 'other' now"),
        ({"act_limit_s": 2.0}, r"act_limit_s: 10\.0 there, 2\.0 now"),
        ({"scenarios": (example_scenario("s0", summary="new"),)}, "scenario 's0': summary changed"),
    ],
)
def test_a_contradicting_plan_is_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    plan = fake_plan(tmp_path, "Steady")
    run(plan, tmp_path / "run")
    with pytest.raises(BadInput, match=message):
        run(plan.model_copy(update=changes), tmp_path / "run")


def test_other_settings_or_code_of_a_policy_are_refused(tmp_path: Path) -> None:
    run(fake_plan(tmp_path, "Steady"), tmp_path / "run")
    faster = fake_plan(tmp_path, "Steady", settings={"speed": 2.0})
    with pytest.raises(BadInput, match=r"settings of .*Steady: .*'speed': 2\.0"):
        run(faster, tmp_path / "run")
    plan = fake_plan(tmp_path, "Steady")
    edited = plan.policies[0].model_copy(update={"version": "sha256:new"})
    with pytest.raises(BadInput, match=r"code of .*Steady: .*sha256:new"):
        run(plan.model_copy(update={"policies": (edited,)}), tmp_path / "run")


def test_scenarios_that_cannot_be_built_are_skipped_and_told(tmp_path: Path) -> None:
    items = (example_scenario("good"), example_scenario("bad", tags=("impossible",)))
    plan = fake_plan(tmp_path, "Steady", items=items)
    result = run(plan, tmp_path / "run")
    assert [episode.scenario for episode in result.episodes] == ["good", "good"]
    assert {(entry.scenario, entry.seed) for entry in result.skipped} == {("bad", 0), ("bad", 1)}
    kept = json.loads((tmp_path / "run/run.json").read_text())["skipped"]
    assert [entry["scenario"] for entry in kept] == ["bad", "bad"]
    assert "inside a wall" in kept[0]["reason"]
    mended = plan.model_copy(update={"scenarios": items[:1]})
    assert run(mended, tmp_path / "run").skipped == (), "this command does not name it"
    kept = json.loads((tmp_path / "run/run.json").read_text())
    assert len(kept["skipped"]) == 2, "the folder still does"
    assert kept["complete"]


def test_an_episode_of_another_seed_in_the_place_of_a_record_is_not_taken(tmp_path: Path) -> None:
    plan = fake_plan(tmp_path, "Steady", settings={"folder": str(tmp_path)})
    first = run(plan, tmp_path / "run")
    policy = plan.policies[0].name
    wrong, right = (episode_path(tmp_path / "run", policy, "s0", seed) for seed in (0, 1))
    right.write_bytes(wrong.read_bytes())
    second = run(plan, tmp_path / "run")
    assert [e.digest for e in first.episodes] == [e.digest for e in second.episodes]


def test_no_folder_can_be_made_under_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(BadInput, match="choose another --out"):
        run(fake_plan(tmp_path, "Steady"), tmp_path / "file" / "run")


def test_a_damaged_run_file_is_told(tmp_path: Path) -> None:
    plan = fake_plan(tmp_path, "Steady")
    run(plan, tmp_path / "run")
    (tmp_path / "run/run.json").write_text('{"format": 1, "plan"')
    with pytest.raises(BadInput, match="not a run description"):
        run(plan, tmp_path / "run")
    for nonsense in ("[]", "3", "[" * 100_000, '{"format": "x"}', '{"format": 2, "plan": {}, "base": 3}', "9" * 5000):
        (tmp_path / "run/run.json").write_text(nonsense)
        with pytest.raises(BadInput, match=r"run\.json: "):
            run(plan, tmp_path / "run")
    (tmp_path / "run/run.json").write_text('{"format": 99}')
    with pytest.raises(BadInput, match="written by a newer Sidestep"):
        run(plan, tmp_path / "run")


def test_the_base_folder_is_kept_relative_to_the_run(tmp_path: Path) -> None:
    (tmp_path / "suites").mkdir()
    plan = fake_plan(tmp_path, "Steady", base=tmp_path / "suites")
    run(plan, tmp_path / "run")
    assert json.loads((tmp_path / "run/run.json").read_text())["base"] == "../suites"
    assert load_run(tmp_path / "run").plan.base == tmp_path / "suites"


@pytest.mark.parametrize(
    ("name", "safe"),
    [("orca", "orca"), ("a.b-c_1", "a.b-c_1"), ("../up", "up-"), ("ä/ö", "x-"), ("..", "x-")],
)
def test_safe_names(name: str, safe: str) -> None:
    assert safe_name(name).startswith(safe)
    assert (safe_name(name) == name) == (safe == name)


def test_safe_names_stay_apart() -> None:
    names = ["a/b", "a:b", "a b", "a-b", "x" * 200, "x" * 201]
    assert len({safe_name(name) for name in names}) == len(names)
    assert max(len(safe_name(name)) for name in names) < 100


def test_what_a_scenario_does_not_say_of_its_camera_is_left_open(tmp_path: Path) -> None:
    """The robot says it then, in a resumed run as in the first one."""
    item = example_scenario("s0", sensors={"camera": {"width": 32}})
    run(fake_plan(tmp_path, "Steady", items=(item,)), tmp_path / "run")
    [kept] = load_run(tmp_path / "run").plan.scenarios
    assert kept.sensors.camera.model_fields_set == {"width"}
    assert kept == item
