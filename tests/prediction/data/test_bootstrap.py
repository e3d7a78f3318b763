"""Bootstrap over tracks: BCa against SciPy, pairing, significance, optimal predictors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import bootstrap as scipy_bootstrap

from sidestep.errors import BadInput
from sidestep.prediction.bootstrap import Bootstrap, ResampledMetric, bca_interval, bootstrap_scores, roc_band
from sidestep.prediction.roc import in_roi_sensitivity
from sidestep.prediction.scores import Scores
from sidestep.types.base import FloatArray

HORIZONS = np.array([1.0, 2.0, 3.0, 4.0])


def made(name: str, error: FloatArray, p: FloatArray, truth: Any, per_track: int = 1) -> Scores:
    """Scores whose errors are all ``error (S, 4)``."""
    track = np.arange(len(error)) // per_track
    known = np.isfinite(error)
    return Scores(name, HORIZONS, track, known, np.ones(len(error)), truth.astype(bool), p, *[error] * 6)


def example(name: str = "a", noise: float = 1.0, seed: int = 0, tracks: int = 40, per_track: int = 3) -> Scores:
    """Random tracks, always the same truth; ``noise``: how bad the predictor is."""
    truth_rng, rng = np.random.default_rng(99), np.random.default_rng(seed)
    moments = tracks * per_track
    level = np.repeat(truth_rng.normal(size=(tracks, 4)), per_track, axis=0) + 0.3 * truth_rng.normal(size=(moments, 4))
    p = 1 / (1 + np.exp(-level - noise * rng.normal(size=(moments, 4))))
    return made(name, noise * rng.exponential(1.0, (moments, 4)), p, level > 0.5, per_track)


def test_intervals_of_a_mean_are_scipys() -> None:
    error = np.random.default_rng(4).exponential(1.0, (40, 4))
    scores = made("a", error, np.full((40, 4), 0.5), np.zeros((40, 4)))
    found = bootstrap_scores([scores], ["ade"], 20_000).metrics["ade"]
    low, high = found.interval(0.9)
    for h in range(4):
        expected = scipy_bootstrap(
            (error[:, h],),
            np.mean,
            n_resamples=20_000,
            confidence_level=0.9,
            method="BCa",
            rng=np.random.default_rng(1),
        ).confidence_interval
        width = expected.high - expected.low
        assert found.value[0, h] == pytest.approx(error[:, h].mean())
        assert low[0, h] == pytest.approx(expected.low, abs=0.04 * width)
        assert high[0, h] == pytest.approx(expected.high, abs=0.04 * width)


def test_intervals_of_irs_are_scipys() -> None:
    scores = example(tracks=30)

    def irs(index: FloatArray) -> float:
        rows = np.concatenate([np.flatnonzero(scores.track == k) for k in index.astype(int)])
        drawn = replace(
            scores, track=np.arange(len(rows)), known=scores.known[rows], ttc_s=scores.ttc_s[rows],
            in_zone=scores.in_zone[rows], p_zone=scores.p_zone[rows],
        )  # fmt: skip
        return in_roi_sensitivity(drawn)[3].value

    expected = scipy_bootstrap(
        (np.arange(30),), irs, n_resamples=1500, confidence_level=0.5, method="BCa", vectorized=False,
        rng=np.random.default_rng(2),
    ).confidence_interval  # fmt: skip
    found = bootstrap_scores([scores], ["irs"], 4000).metrics["irs"]
    low, high = found.interval(0.5)
    assert found.value[0].tolist() == pytest.approx([each.value for each in in_roi_sensitivity(scores)])
    assert low[0, 3] == pytest.approx(expected.low, abs=0.03)
    assert high[0, 3] == pytest.approx(expected.high, abs=0.03)


def test_moments_of_a_track_are_drawn_together() -> None:
    error = np.repeat(np.random.default_rng(4).exponential(1.0, (30, 4)), 20, axis=0)
    scores = made("a", error, np.full((600, 4), 0.5), np.zeros((600, 4)), 20)
    alone = replace(scores, track=np.arange(600))
    wide, narrow = (bootstrap_scores([each], ["ade"], 2000).metrics["ade"].interval() for each in (scores, alone))
    assert ((wide[1] - wide[0]) > 3 * (narrow[1] - narrow[0])).all()


def test_clips_are_drawn_whole() -> None:
    """Four tracks of one clip err alike: resampling clips gives the interval of their means, and of tracks far less."""
    error = np.repeat(np.random.default_rng(4).exponential(1.0, (25, 4)), 4, axis=0)
    scores = made("a", error, np.full((100, 4), 0.5), np.zeros((100, 4)))
    by_clip = bootstrap_scores([replace(scores, clip=np.arange(100) // 4)], ["ade"], 4000)
    by_hand = bootstrap_scores([made("a", error[::4], np.full((25, 4), 0.5), np.zeros((25, 4)))], ["ade"], 4000)
    assert (by_clip.clusters, by_clip.over, by_clip.described()) == (25, "clips", "25 clips")
    np.testing.assert_allclose(by_clip.metrics["ade"].interval(0.9), by_hand.metrics["ade"].interval(0.9))
    by_track = bootstrap_scores([scores], ["ade"], 4000).metrics["ade"].interval(0.9)
    wide = np.diff(by_clip.metrics["ade"].interval(0.9), axis=0)
    assert (wide > 1.6 * np.diff(by_track, axis=0)).all()  # the square root of four is 2


def test_scores_of_one_clip_fall_back_to_tracks() -> None:
    found = bootstrap_scores([replace(example(), clip=np.zeros(120, int))], ["ade"], 20)
    assert (found.clusters, found.over) == (40, "tracks")


def networks(offsets: list[float], name: str = "kind", seed: int = 0, spread: float = 1e-6) -> list[Scores]:
    """Networks of one kind whose errors are 1 m, the same in all tracks but for ``spread``, plus the offset of each."""
    error = 1.0 + spread * np.random.default_rng(seed).normal(size=(200, 4))
    return [made(name, error + each, np.full((200, 4), 0.5), np.zeros((200, 4))) for each in offsets]


def test_seeds_of_one_kind_are_drawn_as_well() -> None:
    """Five networks with a mean of 1.3 and a sample variance of s² = 0.025: the variance of their mean is s² / 5."""
    found = bootstrap_scores(networks([0.1, 0.2, 0.3, 0.4, 0.5]), ["ade"], 20_000)
    metric = found.metrics["ade"]
    assert (found.models, found.seeds, found.one_seed) == (("kind",), (5,), ())
    assert found.described() == "200 tracks and 5 training seeds of kind"
    assert metric.value[0] == pytest.approx(np.full(4, 1.3), abs=1e-5)
    assert metric.drawn[0, 0].mean() == pytest.approx(1.3, abs=0.002)
    assert metric.drawn[0, 0].var() == pytest.approx(0.025 / 5, rel=0.03)
    assert metric.without_seed[0][0] == pytest.approx([1.35, 1.325, 1.3, 1.275, 1.25], abs=1e-5)
    two = bootstrap_scores(networks([0.0, 0.2]), ["ade"], 20_000).metrics["ade"]
    assert two.drawn[0, 0].var() == pytest.approx(0.02 / 2, rel=0.03)  # unbiased even for two


def test_two_networks_of_one_kind_make_no_kind_better() -> None:
    """One network of each kind is significantly better than the other's; but seeds of a kind differ more than kinds."""
    one, other = networks([0.0, 0.3, 0.6], "one", 0, 0.2), networks([0.1, 0.35, 0.7], "other", 1, 0.2)
    alone = bootstrap_scores([replace(one[0], is_network=True), replace(other[2], is_network=True)], ["ade"], 2000)
    assert alone.better("ade")[:, 0, 1].all()
    assert alone.one_seed == ("one", "other")
    together = bootstrap_scores([*one, *other], ["ade"], 2000)
    assert not together.better("ade").any()
    worse = networks([2.0, 2.35, 2.6], "other", 1, 0.2)
    assert bootstrap_scores([*one, *worse], ["ade"], 2000).better("ade")[:, 0, 1].all()


def test_cautions_name_what_intervals_leave_out() -> None:
    one = replace(networks([0.0], "one")[0], is_network=True)
    found = bootstrap_scores([one, *networks([0.0, 0.1], "two"), *networks([0.0] * 5, "five")], ["ade"], 20)
    assert [each.partition(".")[0] for each in found.cautions()] == [
        "Trained with one seed: one",
        "Fewer than 5 training seeds: two",
    ]
    few = bootstrap_scores([replace(example(), clip=np.arange(120) // 30)], ["ade"], 20)
    assert few.cautions() == ["Only 4 clips were resampled: intervals are too narrow."]


def test_intervals_hold_their_value() -> None:
    """Where a value takes few steps, the bias correction alone may pass it."""
    value, drawn = np.array([0.004]), np.repeat([0.0, 0.0041, 0.006], [6, 1, 993])[None]
    without = np.repeat([0.0, 0.004], [1, 22])[None]
    low, high = bca_interval(value, drawn, (without,), 0.9)
    assert low <= value <= high
    assert high > low


def test_unknown_outcomes_do_not_count() -> None:
    error = np.array([[1.0, 1.0, 1.0, 1.0], [3.0, 3.0, 3.0, np.nan], [5.0, 5.0, np.nan, np.nan]])
    scores = made("a", error, np.full((3, 4), 0.5), np.zeros((3, 4)))
    assert bootstrap_scores([scores], ["ade"], 50).metrics["ade"].value.tolist() == [[3.0, 3.0, 2.0, 1.0]]


def test_resamples_without_positives_are_counted() -> None:
    truth = np.zeros((6, 4))
    truth[0] = 1
    scores = made("a", np.ones((6, 4)), np.linspace(0.9, 0.1, 24).reshape(6, 4), truth)
    found = bootstrap_scores([scores], ["irs"], 3000).metrics["irs"]
    assert found.undefined[0] / 3000 == pytest.approx(np.full(4, (5 / 6) ** 6), abs=0.03)
    none = bootstrap_scores([replace(scores, in_zone=np.zeros((6, 4), bool))], ["irs"], 30).metrics["irs"]
    assert np.isnan(none.value).all()
    assert np.isnan(none.interval()[0]).all()


def test_the_same_seed_gives_the_same_numbers() -> None:
    one, again, other = (bootstrap_scores([example()], resamples=300, seed=seed) for seed in (0, 0, 1))
    for name in ("irs", "nll", "ade"):
        assert np.array_equal(one.metrics[name].drawn, again.metrics[name].drawn)
        assert not np.array_equal(one.metrics[name].drawn, other.metrics[name].drawn)


def test_blocks_do_not_change_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = bootstrap_scores([example()], resamples=100)
    monkeypatch.setattr("sidestep.prediction.bootstrap._WEIGHTS_AT_ONCE", 40 * 7)
    parts = bootstrap_scores([example()], resamples=100)
    assert np.array_equal(whole.metrics["irs"].drawn, parts.metrics["irs"].drawn)


def test_differences_are_paired() -> None:
    """Always 0.1 worse: each value is uncertain, the difference is not."""
    one = example()
    other = replace(one, name="b", ade=one.ade + 0.1)
    found = bootstrap_scores([one, other], ["ade"], 500)
    value, low, high = found.metrics["ade"].difference(1, 0)
    assert value == pytest.approx(np.full(4, 0.1))
    assert low == pytest.approx(np.full(4, 0.1))
    assert high == pytest.approx(np.full(4, 0.1))
    assert found.better("ade")[:, 0, 1].all()
    assert not found.better("ade")[:, 1, 0].any()


def test_good_predictors_are_significantly_better() -> None:
    scores = [example("good", 0.3, 1, 150), example("bad", 4.0, 2, 150), example("good too", 0.3, 3, 150)]
    found = bootstrap_scores(scores, resamples=1000)
    for metric in ("irs", "ade", "nll"):
        better = found.better(metric)
        assert better[:, 0, 1].all(), metric
        assert not better[:, 1].any(), metric
        assert not better[:, 0, 0].any()


def of_intervals(models: tuple[str, ...], values: list[float], spread: float) -> Bootstrap:
    """One horizon; resampled values differ from the value independently by ± ``spread``."""
    rng = np.random.default_rng(0)
    value = np.array(values)[:, None]
    drawn, without = (value[..., None] + rng.uniform(-spread, spread, (len(values), 1, n)) for n in (2000, 50))
    return Bootstrap(models, np.array([1.0]), 50, {"irs": ResampledMetric("irs", value, drawn, without)})


def test_optimal_is_the_simplest_of_those_that_none_beats() -> None:
    models = ("motion", "motion+map", "motion+map+egodist")
    assert of_intervals(models, [0.5, 0.8, 0.82], 0.05).optimal("irs") == ["motion+map"]
    assert of_intervals(models, [0.5, 0.8, 0.82], 0.001).optimal("irs") == ["motion+map+egodist"]
    assert of_intervals(models, [0.80, 0.8, 0.82], 0.1).optimal("irs") == ["motion"]
    assert of_intervals(models, [0.8, 0.81, 0.82], 0.1).optimal("irs", [2, 1, 1]) == ["motion+map+egodist"]


def test_bands_hold_their_curve() -> None:
    scores = example(tracks=80)
    band = roc_band([scores], 3, np.array([0.0, 0.1, 0.15, 0.5, 1.0]), 500)
    assert band.tpr[2] == in_roi_sensitivity(scores)[3].value
    assert band.tpr[-1] == band.low[-1] == band.high[-1] == 1.0
    assert (band.low <= band.tpr).all()
    assert (band.tpr <= band.high).all()
    assert (np.diff(band.tpr) >= 0).all()


def test_scores_of_different_moments_are_not_compared() -> None:
    with pytest.raises(BadInput, match="different moments"):
        bootstrap_scores([example(), example("b", tracks=39)], resamples=10)
    with pytest.raises(BadInput, match="unknown metric"):
        bootstrap_scores([example()], ["auc"], 10)
    with pytest.raises(BadInput, match="at least two"):
        bootstrap_scores([example(tracks=1)], resamples=10)
