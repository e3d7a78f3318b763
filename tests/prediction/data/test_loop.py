"""The closed loop: what is measured of a drive, what drives are worth, and which metric tells it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from sidestep.errors import BadInput
from sidestep.policies.driving.anticipatory import AnticipatoryDriver
from sidestep.prediction.bootstrap import HEADLINES, Bootstrap, ResampledMetric
from sidestep.prediction.loop import DRIVER, HUMAN, LoopEpisode, LoopPredictor, drive_all, measure_drive
from sidestep.prediction.loop_summary import correlate, loop_document, rho_interval, spearman, summarise_drives
from sidestep.prediction.loop_tables import correlation_table, draw_loop, loop_table
from sidestep.prediction.working_points import WorkingPoint, working_points
from sidestep.report.table_writer import markdown
from sidestep.simulation import run_episode
from sidestep.suites.files import load_suite
from sidestep.types import Command, Observation
from sidestep.types import Drive as Pedals
from tests.prediction.data.test_bootstrap import example


def drive(driver: str, scenario: str, outcome: str = "success", **changes: Any) -> LoopEpisode:
    given: dict[str, Any] = {
        "driver": driver, "suite": "street", "scenario": scenario, "seed": 0, "outcome": outcome, "duration_s": 30.0,
        "empty_s": 20.0, "gaps_s": np.array([3.0]), "braking_s": 2.0, "needless_s": 1.0, "hardest": 3.0, "jerk": 1.0,
    }  # fmt: skip
    return LoopEpisode(**{**given, **changes})


def test_outcomes_by_hand() -> None:
    """b hits somebody in y: only x counts for delays, of a as well. Human gaps: 1.05 and 4; those of a: 3 and 3, so
    that the curves are one half apart between 1.05 and 3. A car that stood left an infinite gap."""
    drives = [
        drive("a", "x", gaps_s=np.array([3.0, 1.5])), drive("a", "y", duration_s=60.0, gaps_s=np.zeros(0)),
        drive("b", "x", duration_s=25.0, needless_s=0.5), drive("b", "y", "pedestrian_collision", duration_s=5.0),
        drive(HUMAN, "x", gaps_s=np.array([1.05])), drive(HUMAN, "y", "timeout", gaps_s=np.array([np.inf])),
    ]  # fmt: skip
    found = summarise_drives(drives, resamples=50)
    assert found.drivers == ("a", "b", HUMAN)
    assert found.value["failures"].tolist() == [0.0, 50.0, 50.0]
    assert found.value["collisions"].tolist() == [0.0, 50.0, 0.0]
    assert found.value["short_gaps"].tolist() == [50.0, 0.0, 50.0]
    assert found.value["delay"].tolist() == [10.0, 5.0, 10.0]
    assert found.value["needless_braking"] == pytest.approx([60 * 2 / 90, 60 * 1.5 / 30, 60 * 2 / 60])
    assert found.value["gap_distance"].tolist() == [0.5, 0.5, 0.0]
    assert found.counts[0] == {"episodes": 2, "encounters": 2, "scenarios": 2}
    low, high = found.interval("collisions")
    assert (low[1], high[1]) == (0.0, 100.0)


def test_drivers_must_have_driven_the_same() -> None:
    with pytest.raises(BadInput, match="same scenarios and seeds"):
        summarise_drives([drive("a", "x"), drive("b", "x"), drive("b", "y")])


@given(st.integers(0, 1000))
def test_rank_correlation_is_that_of_scipy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    one, other = rng.integers(0, 4, (6, 3)).astype(float), rng.random((6, 3))
    found = spearman(one, other)
    for k in range(3):
        constant = len(set(one[:, k])) == 1
        assert np.isnan(found[k]) if constant else found[k] == pytest.approx(spearmanr(one[:, k], other[:, k])[0])


def some_metrics(names: tuple[str, ...], irs: list[float]) -> Bootstrap:
    """Sensitivities at all horizons, and errors in the opposite order."""
    value = np.repeat(np.array(irs)[:, None], 4, axis=1)
    values = {"irs": value, "nll": 1.0 - value, "ade": value}
    metrics = {
        name: ResampledMetric(
            name, values[name], np.repeat(values[name][:, :, None], 20, axis=2), np.zeros((len(names), 4, 2))
        )
        for name in HEADLINES
    }
    return Bootstrap(names, np.array([1.0, 2.0, 3.0, 4.0]), 2, metrics)


FOUR = ("worst", "worse", "middling", "better")


def some_drives() -> list[LoopEpisode]:
    """The better predictor needs less time, and stops for nothing less often."""
    return [
        drive(name, scenario, duration_s=30.0 - k, needless_s=3.0 - k)
        for k, name in enumerate((*FOUR, HUMAN))
        for scenario in ("x", "y", "z")
    ]


def test_plus_one_means_the_better_the_metric_the_better_the_driving() -> None:
    outcomes = summarise_drives(some_drives(), resamples=30)
    found = correlate(some_metrics(FOUR, [0.4, 0.5, 0.6, 0.7]), outcomes)
    rho = {(each.metric, each.horizon_s, each.outcome): each for each in found}
    assert len(found) == 3 * 4 * 7
    assert rho["irs", 3.0, "delay"].rho == pytest.approx(1.0)
    assert rho["nll", 3.0, "needless_braking"].rho == pytest.approx(1.0)
    assert rho["ade", 3.0, "delay"].rho == pytest.approx(-1.0)  # the worst has the smallest error here
    # ρ = 1 counts as 0.9, half a step of four ranks below 1: artanh 0.9 = 1.472, ± 1.645 √(1.5 / 1) = 2.015
    assert (rho["irs", 1.0, "delay"].low, rho["irs", 1.0, "delay"].high) == pytest.approx((-0.495, 1.0), abs=0.001)
    assert np.isnan(rho["irs", 3.0, "collisions"].rho)  # nobody collided: there is nothing to rank
    assert correlate(some_metrics(FOUR[1:], [0.5, 0.6, 0.7]), outcomes) == []


def test_an_interval_of_a_rank_correlation() -> None:
    """ρ = 0.92 over eleven predictors: artanh 0.92 = 1.589, and √((1 + 0.4232) / 8) = 0.4218 without noise; 1.645 of
    these are 0.694. With a standard deviation of 0.3 of the resampled z: √(0.4218² + 0.3²) = 0.5176, 0.851."""
    assert rho_interval(0.92, np.full(100, 0.8), 11, 0.9) == pytest.approx((0.714, 0.979), abs=0.001)
    drawn = np.tanh(np.array([0.7, 1.3]))
    assert rho_interval(0.92, drawn, 11, 0.9) == pytest.approx((0.628, 0.985), abs=0.001)
    assert all(np.isnan(rho_interval(float("nan"), drawn, 11, 0.9)))


@given(st.floats(-1.0, 1.0), st.lists(st.floats(-1.0, 1.0) | st.just(float("nan")), max_size=9), st.integers(4, 20))
def test_it_never_excludes_its_own_value(rho: float, drawn: list[float], predictors: int) -> None:
    """Resampled values may all lie on one side of ρ, since noise disorders ranks."""
    low, high = rho_interval(rho, np.array(drawn), predictors, 0.9)
    assert -1.0 <= low <= rho <= high <= 1.0
    assert low < high


def test_two_predictors_have_tables_but_no_correlations() -> None:
    drives = [each for each in some_drives() if each.driver in ("worse", "better", HUMAN)]
    metrics, outcomes = some_metrics(("worse", "better"), [0.5, 0.7]), summarise_drives(drives, resamples=30)
    document = loop_document(metrics, outcomes, correlate(metrics, outcomes), {})
    assert document["correlations"] == []
    assert "they need 4 predictors or more, and there are 2" in document["cautions"][0]
    assert "| better |" in markdown(loop_table(document))
    assert len(draw_loop(document).axes) == 3 * 6


def test_tables_and_picture() -> None:
    outcomes = summarise_drives(some_drives(), resamples=30)
    metrics = some_metrics(FOUR, [0.4, 0.5, 0.6, 0.7])
    points = {"worse": [WorkingPoint(1.0, 0.1, 0.05, 0.3, 11, 4000, 7)]}
    document = loop_document(metrics, outcomes, correlate(metrics, outcomes), points)
    json.dumps(document)
    assert document["drivers"][1]["working_points"][0]["high"] == 0.3
    assert "1 thresholds rest on fewer than 30 false alarms (the fewest: 11)" in " ".join(document["cautions"])
    assert "Only 7 clips of the validation split were resampled: intervals are too narrow." in document["cautions"]
    assert "Only 3 scenarios were resampled: intervals are too narrow." in document["cautions"]
    text = markdown(loop_table(document))
    assert "| better | 3 | 3 | 70.00 | 0.30 | 0.70 |" in text
    assert "+1.00" in markdown(correlation_table(document))
    figure = draw_loop(document)
    assert len(figure.axes) == 3 * 6


def test_fewer_alarms_need_higher_thresholds() -> None:
    scores = example(tracks=200)
    allowed, tenth = (np.array([each.threshold for each in working_points(scores, alarms)]) for alarms in (1.0, 0.1))
    assert (tenth >= allowed).all()
    assert (tenth > allowed).any()
    for h, rate in enumerate((0.025, 0.05, 0.10, 0.15)):
        outside = np.round(scores.p_zone[~scores.in_zone[:, h], h], 9)  # all are relevant and known here
        assert (outside > allowed[h]).mean() <= rate + 1e-9 < (outside >= allowed[h]).mean()
    with pytest.raises(BadInput, match="no threshold for"):
        working_points(replace(scores, in_zone=np.zeros_like(scores.in_zone)))


class BrakesForNothing(AnticipatoryDriver):
    """Brakes in the fifth and sixth second."""

    def act(self, observation: Observation) -> Command:
        command = super().act(observation)
        assert isinstance(command, Pedals)
        return Pedals(command.steer, 0.0, 0.4) if 4.0 <= observation.time < 6.0 else command


def test_braking_for_nobody_is_needless() -> None:
    empty = load_suite("street").with_options({"people": "none"}).scenarios()[0]  # type: ignore[attr-defined]
    alone = run_episode(empty, DRIVER, seed=0)
    usual = measure_drive(alone, alone, DRIVER)
    assert (usual.braking_s, usual.needless_s, len(usual.gaps_s)) == (0.0, 0.0, 0)
    assert usual.succeeded
    braked = measure_drive(run_episode(empty, BrakesForNothing(), seed=0), alone, "brakes")
    assert braked.needless_s == braked.braking_s == pytest.approx(2.0, abs=0.3)
    assert braked.hardest > 2.0
    assert braked.duration_s > usual.duration_s + 1.0


def test_a_small_loop(tmp_path: Path) -> None:
    """Two drivers, one scenario: runs are kept, and measured again without driving."""
    drivers = {
        "careful": LoopPredictor("careful", "constant_velocity").settings(np.full(4, 0.05)),
        "social_force": LoopPredictor("social_force", "constant_velocity").settings(np.full(4, 0.95)),
    }
    told: list[str] = []
    found = drive_all("street", {}, drivers, tmp_path, 1, 1, lambda k, n, text: told.append(text), limit=1)
    assert [each.driver for each in found] == ["careful", "social_force", HUMAN]  # also the name of a policy
    assert {each.empty_s for each in found} == {found[0].empty_s}
    again = drive_all("street", {}, drivers, tmp_path, 1, 1, lambda k, n, text: None, limit=1)
    assert [each.duration_s for each in again] == [each.duration_s for each in found]
    assert found[0].duration_s >= found[1].duration_s
    network = LoopPredictor("net", "some/model.onnx").settings(np.full(4, 0.5))
    assert (network["predictor"], network["predictor_file"]) == ("cvae", "some/model.onnx")
