"""The document that ``sidestep bench`` prints."""

from __future__ import annotations

import json
from importlib.util import find_spec
from math import isfinite

import pytest

from benchmarks import bench_table, run_bench
from benchmarks.figures import LARGE, SMALL, SUITES, TARGETS, choose_cases
from benchmarks.measure import seconds_to_run
from sidestep.errors import BadInput, SidestepError, UnknownName

SIZES, PEOPLE = (10, 50, 200, 1000, 5000), (5, 10, 20, 50)
MODELS = ("orca", "social_force_moussaid", "social_force_helbing")
IDS = [
    *(f"{model}/n={n}/threads={threads}" for model in MODELS for n in SIZES for threads in (1, 2)),
    *(f"{kind}/people={people}" for kind in ("env", "batch256") for people in PEOPLE),
    *(f"walls256/sensors={sensors}" for sensors in ("none", "lidar180", "grid64")),
    "lidar/rays=720",
    "start/warm",
    "start/cold",
    "memory/batch256/people=50",
]

RENDER_IDS = [
    *(f"render/{size}/people=50" for size in ("96x96", "256x256", "512x288", "640x480", "1500x650")),
    "render_batch10/96x96/people=50",
    "video/640x480",
    "video60/640x480",
    "render_start/warm",
    "render_start/cold",
    "render_start/command",
    "gym_camera10/96x96",
]

QUICK = {
    "orca/n=50/threads=1": ("agent-steps/s", "pyrvo", "pyrvo"),
    "social_force_moussaid/n=50/threads=1": ("agent-steps/s", "pysocialforce", "pysocialforce"),
    "social_force_helbing/n=50/threads=1": ("agent-steps/s", "jupedsim", "jupedsim"),
    "env/people=20": ("env-steps/s", "ir-sim", "irsim"),
    "walls256/sensors=lidar180": ("env-steps/s", None, None),
    "lidar/rays=720": ("rays/s", None, None),
}


def test_core_has_exactly_the_ids_that_other_programs_know() -> None:
    assert [case.id for case in choose_cases("core")] == IDS
    every = {case.id for suite in SUITES for case in choose_cases(suite)}
    assert {*TARGETS, SMALL, LARGE} <= every


def test_render_has_exactly_the_ids_that_other_programs_know() -> None:
    assert [case.id for case in choose_cases("render")] == RENDER_IDS


def test_what_is_not_installed_is_listed_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks import studies

    monkeypatch.setattr(studies, "CHROMIUM", None)
    monkeypatch.setattr(studies, "find_spec", lambda name: object())
    document = run_bench("study", only="study/input_to_picture*")
    reason = "needs Chromium: apt install chromium"
    assert document["results"] == []
    assert document["not_measured"] == [
        {"id": "study/input_to_picture", "reason": reason},
        {"id": "study/input_to_picture/p95", "reason": reason},
    ]
    assert f"study/input_to_picture: not measured, {reason}" in bench_table(document)


def test_quick_town_figure() -> None:
    (entry,) = run_bench("town", quick=True, repeats=1)["results"]
    assert (entry["id"], entry["unit"]) == ("town/people=100", "s/s")
    assert entry["value"] > 0


def test_quick_render_figure() -> None:
    (entry,) = run_bench("render", quick=True, repeats=1)["results"]
    assert (entry["id"], entry["unit"]) == ("render/96x96/people=50", "frames/s")
    assert entry["value"] > 0


def test_quick_leaves_out_what_takes_long() -> None:
    quick = {case.id for case in choose_cases("core", quick=True)}
    assert set(QUICK) | {"start/warm", "batch256/people=5"} <= quick
    assert not any("5000" in name or name in ("start/cold", "memory/batch256/people=50") for name in quick)


@pytest.mark.parametrize("name", QUICK)
def test_quick_figure(name: str) -> None:
    unit, peer, module = QUICK[name]
    told: list[tuple[int, int, str]] = []
    document = run_bench(quick=True, only=name, progress=lambda *event: told.append(event))
    assert set(document) == {"machine", "results"}
    assert set(document["machine"]) == {"cpu", "cores", "versions"}
    assert {"sidestep", "python", "numpy", "numba"} <= set(document["machine"]["versions"])
    (entry,) = document["results"]
    assert list(entry) == ["id", "value", "unit", "repeats", "spread", "peer"]
    assert (entry["id"], entry["unit"], entry["repeats"]) == (name, unit, 2)
    assert isfinite(entry["value"])
    assert entry["value"] > 0
    assert 0 <= entry["spread"] < 10
    if module is None or find_spec(module) is None:
        assert entry["peer"] is None
    else:
        assert set(entry["peer"]) == {"name", "value", "ratio"}
        assert entry["peer"]["name"] == peer
        assert entry["peer"]["value"] > 0
        assert entry["peer"]["ratio"] == pytest.approx(entry["value"] / entry["peer"]["value"])
    assert told[0] == (0, 1, f"{name}: measuring")
    assert told[-1] == (1, 1, "done")
    assert json.loads(json.dumps(document, allow_nan=False)) == document


def test_start_is_timed_in_a_new_process() -> None:
    (entry,) = run_bench(quick=True, repeats=1, only="start/warm")["results"]
    assert (entry["unit"], entry["repeats"], entry["spread"], entry["peer"]) == ("s", 1, 0.0, None)
    assert entry["value"] > 0.05


def test_a_process_that_cannot_step_is_an_error() -> None:
    with pytest.raises(SidestepError, match="no such thing"):
        seconds_to_run("raise SystemExit('no such thing')", {})


def test_unknown_suite_names_the_known_ones() -> None:
    with pytest.raises(UnknownName, match=r"'cor'.*did you mean 'core'"):
        run_bench("cor")


def test_pattern_without_a_match() -> None:
    with pytest.raises(BadInput, match="lidar/rays=720"):
        run_bench(only="radar*")


def test_no_repeats() -> None:
    with pytest.raises(BadInput, match="at least 1"):
        run_bench(repeats=0)


def test_runs_are_measured() -> None:
    [result] = run_bench(suite="run", quick=True)["results"]
    assert result["id"] == "run/overhead"
    assert result["value"] > 0
    assert {"run/socnav/workers=2", "run/workers=2", "run/ray", "plan/mpc"} <= {case.id for case in choose_cases("run")}
