"""Clusters, zero counts, pairs and rates: what the statistics promise, against definitions and simulation."""

from __future__ import annotations

import itertools
from math import comb, log

import numpy as np
import pytest
import scipy.optimize
import scipy.stats

from sidestep.metrics.aggregate import aggregate
from sidestep.metrics.rates import pooled_rate
from sidestep.metrics.score import EpisodeScores, cluster_of
from sidestep.metrics.statistics import (
    bootstrap_means,
    effective_number,
    holm,
    number_clusters,
    paired_proportion,
    poisson_limits,
    proportion,
    sign_flip_p,
    tango_interval,
    wilcoxon_p,
    wilson,
)
from sidestep.suites.files import load_suite
from sidestep.types import MetricResult, Outcome
from sidestep.types.scenario import CrowdPart, ReplayPlacement


def episode(k: int, cluster: str = "", **results: tuple[float, str]) -> EpisodeScores:
    scores = {name: MetricResult(value, unit) for name, (value, unit) in results.items()}
    return EpisodeScores("suite", f"s{k}", "a", 0, Outcome.SUCCESS, "", scores, cluster=cluster)


def test_clusters_are_numbered_only_where_they_repeat() -> None:
    assert number_clusters(["a", "b", "a"]).tolist() == [0, 1, 0]
    assert number_clusters(["a", "b", "c"]) is None
    assert number_clusters(["", "", ""]) is None
    assert number_clusters(["a", "a", "a"]) is None
    assert number_clusters(["", "a", "", "a"]).tolist() == [0, 1, 2, 1]


def test_what_episodes_share() -> None:
    def clusters(name: str, **options: str) -> dict[str, str]:
        suite = load_suite(name)
        suite = suite.with_options(options) if options else suite
        return {scenario.name: cluster_of(scenario) for scenario in suite.scenarios()}

    socnav = clusters("socnav", source="generated")
    assert socnav["t_ETH1"] == socnav["t_ETH2"] != socnav["t_eth_follow"]
    assert len(set(socnav.values())) == 15  # windows of 33 episodes
    reactive = clusters("sidewalk-reactive")
    assert reactive["static-yarrowby"] == reactive["gesturing-yarrowby"] == "town:Yarrowby"
    assert clusters("sidewalk-long")["long-yarrowby"] == "town:Yarrowby"
    core = clusters("core")
    assert len(set(core.values())) == len(core)


def test_windows_that_begin_in_the_same_minute_of_a_recording_are_a_cluster() -> None:
    scenario = load_suite("core").scenarios()[0]

    def cluster(dataset: str, start_s: float) -> str:
        placement = ReplayPlacement(dataset=dataset, start_s=start_s)
        return cluster_of(scenario.model_copy(update={"crowd": (CrowdPart(model="replay", placement=placement),)}))

    assert cluster("eth", 60.0) == cluster("eth", 110.0) != cluster("eth", 120.0)
    assert cluster("eth", 60.0) != cluster("hotel", 60.0)


def test_copies_of_the_same_episodes_add_no_certainty() -> None:
    """Ten episodes, and the same ten five times over under other seeds: the interval must not shrink."""
    values = np.array([1, 1, 1, 0, 1, 0, 1, 1, 1, 0], dtype=float)
    copies, clusters = np.tile(values, 5), np.tile(np.arange(10), 5)
    alone = wilson(values.sum(), 10)
    together = proportion(copies, clusters=clusters)
    assert together[0] <= alone[0] + 1e-9
    assert together[1] >= alone[1] - 0.02
    assert proportion(copies)[0] > alone[0] + 0.1  # what independence would claim
    assert effective_number(copies, clusters=clusters) < 10
    times = np.random.default_rng(0).exponential(1.0, (1, 30))
    one = bootstrap_means(times)
    five = bootstrap_means(np.tile(times, 5), clusters=np.tile(np.arange(30), 5))
    assert np.ravel(five) == pytest.approx(np.ravel(one), rel=1e-9)


def test_the_clustered_intervals_cover_as_often_as_they_say() -> None:
    """Towns differ: 30 towns of six episodes each. The independent interval covers far too seldom."""
    draw = np.random.default_rng(5)
    clusters = np.repeat(np.arange(30), 6)
    covered = {"shares": 0, "naive": 0, "means": 0}
    rounds = 400
    for _ in range(rounds):
        difficulty = draw.beta(1.5, 1.5, 30)
        values = (draw.random(180) < difficulty[clusters]).astype(float)
        low, high = proportion(values, clusters=clusters)
        covered["shares"] += low <= 0.5 <= high
        low, high = proportion(values)
        covered["naive"] += low <= 0.5 <= high
        times = (draw.normal(0, 1, 30)[clusters] + draw.normal(0, 1, 180))[None]
        low, high = bootstrap_means(times, clusters=clusters, resamples=400)
        covered["means"] += bool(low[0] <= 0 <= high[0])
    assert 0.92 <= covered["shares"] / rounds <= 0.985
    assert 0.90 <= covered["means"] / rounds <= 0.98
    assert covered["naive"] / rounds < 0.85


def test_few_clusters_take_students_t() -> None:
    values = np.array([[1.0, 2.0, 4.0, 5.0, 6.0, 9.0]])
    low, high = bootstrap_means(values, clusters=np.array([0, 0, 1, 1, 2, 2]))
    means = np.array([1.5, 4.5, 7.5])
    half = scipy.stats.t.ppf(0.975, 2) * means.std(ddof=1) / np.sqrt(3)
    assert (low[0], high[0]) == pytest.approx((4.5 - half, 4.5 + half))


@pytest.mark.parametrize("count", [0, 1, 4, 30])
def test_poisson_limits_are_garwoods(count: int) -> None:
    low, high = poisson_limits(count)
    assert low == pytest.approx(scipy.stats.chi2.ppf(0.025, 2 * count) / 2 if count else 0.0)
    assert high == pytest.approx(scipy.stats.chi2.ppf(0.975, 2 * count + 2) / 2)
    assert poisson_limits(0)[1] == pytest.approx(-log(0.025))


def test_nothing_counted_is_not_nothing_possible() -> None:
    """Zero of n: an upper limit, never [0, 0]; all shares 1: a lower limit; a time has no largest value and no
    limit."""
    rows = [
        episode(
            k, ones=(1.0, "count"), collisions=(0.0, "count"), within=(0.0, "ratio"), spl=(1.0, "ratio"),
            waited=(0.0, "s"), hit=(0.0, "0/1"),
        )
        for k in range(20)
    ]  # fmt: skip
    table = aggregate(rows).policies["a"].metrics
    assert (table["collisions"].low, table["collisions"].high) == pytest.approx((0, -log(0.025) / 20))
    assert (table["ones"].low, table["ones"].high) == pytest.approx(tuple(x / 20 for x in poisson_limits(20)))
    assert (table["within"].low, table["within"].high) == pytest.approx(wilson(0, 20))
    assert (table["hit"].low, table["hit"].high) == pytest.approx(wilson(0, 20))
    assert (table["spl"].low, table["spl"].high) == pytest.approx(wilson(20, 20))
    assert (table["waited"].low, table["waited"].high) == (None, None)
    towns = [episode(k, f"town{k % 4}", collisions=(0.0, "count"), hit=(0.0, "0/1")) for k in range(20)]
    four = aggregate(towns).policies["a"].metrics
    assert four["collisions"].high == pytest.approx(-log(0.025) / 4)  # four towns, not twenty episodes
    assert four["hit"].high == pytest.approx(wilson(0, 4)[1])


def test_rates_divide_sums_and_are_bounds_over_few_metres() -> None:
    def rates(*drives: tuple[float, float]):
        rows = [
            episode(k, failures=(count, "count"), distance_driven=(way, "m"), failures_per_100m=(0.0, "1/100 m"))
            for k, (count, way) in enumerate(drives)
        ]
        return aggregate(rows).policies["a"].metrics["failures_per_100m"]

    far = rates((1, 300.0), (5, 100.0))
    assert (far.mean, far.bound, far.count, far.metres) == (pytest.approx(1.5), "", 6, 400)
    assert far.low <= 1.5 <= far.high
    stands = rates((4, 0.0), (8, 0.0))
    assert (stands.mean, stands.bound, stands.n) == (None, "12 in 0 m", 2)
    little = rates((4, 10.0))
    assert little.mean is None
    assert little.bound == "≥ 10.9 (4 in 10 m)"  # the lower limit of 4 is 1.09
    assert rates((0, 10.0)).bound == "≤ 36.9 (0 in 10 m)"
    assert (rates((0, 400.0)).mean, rates((0, 400.0)).high) == (0, pytest.approx(-log(0.025) / 4))


def test_the_rate_of_many_towns_resamples_towns() -> None:
    draw = np.random.default_rng(1)
    ways = draw.uniform(80, 120, 60)
    counts = np.repeat(draw.poisson(3, 12), 5).astype(float)
    towns = [f"town{k // 5}" for k in range(60)]
    alone, together = pooled_rate(counts, ways), pooled_rate(counts, ways, towns)
    assert alone.value == together.value
    assert together.high - together.low > 1.5 * (alone.high - alone.low)


def tango_statistic(delta: float, gained: int, lost: int, n: int) -> float:
    """By the definition: the nuisance parameter is found by maximising the likelihood."""

    def unlikely(q: float) -> float:
        cells = (q + delta, q, 1 - 2 * q - delta)
        if min(cells) <= 0:
            return np.inf
        return -float(np.dot((gained, lost, n - gained - lost), np.log(cells)))

    low, high = max(0.0, -delta), (1 - delta) / 2
    q = scipy.optimize.minimize_scalar(unlikely, bounds=(low, high), method="bounded", options={"xatol": 1e-12}).x
    return (gained - lost - n * delta) / np.sqrt(n * (2 * q + delta - delta**2))


@pytest.mark.parametrize(("gained", "lost", "n"), [(12, 2, 50), (1, 3, 20), (5, 5, 30), (9, 1, 12)])
def test_tango_is_the_score_interval(gained: int, lost: int, n: int) -> None:
    low, high = tango_interval(gained, lost, n)
    assert low < (gained - lost) / n < high
    assert tango_statistic(low, gained, lost, n) == pytest.approx(1.96, abs=1e-3)
    assert tango_statistic(high, gained, lost, n) == pytest.approx(-1.96, abs=1e-3)
    assert tango_interval(lost, gained, n) == pytest.approx((-high, -low))


def test_equal_pairs_leave_room_for_a_difference() -> None:
    """No discordant pair of 20: a bootstrap would say [0, 0]."""
    low, high = tango_interval(0, 0, 20)
    assert low == pytest.approx(-high)
    assert high == pytest.approx(1.96**2 / (20 + 1.96**2), abs=1e-3)
    assert tango_interval(20, 0, 20)[1] == pytest.approx(1)
    assert 0.6 < tango_interval(20, 0, 20)[0] < 1


def test_the_paired_interval_widens_in_clusters() -> None:
    difference = np.array([1.0] * 8 + [-1.0] * 2 + [0.0] * 30)
    clusters = np.arange(40) // 4
    low, high = paired_proportion(difference)
    wide_low, wide_high = paired_proportion(difference, clusters=clusters)
    assert wide_low < low < high < wide_high


@pytest.mark.parametrize(("gained", "lost"), [(5, 1), (3, 3), (8, 0), (0, 0)])
def test_without_clusters_the_test_is_mcnemars(gained: int, lost: int) -> None:
    n = gained + lost
    tail = sum(comb(n, k) for k in range(min(gained, lost) + 1)) / 2**n
    difference = np.array([1.0] * gained + [-1.0] * lost + [0.0] * 7)
    assert sign_flip_p(difference) == pytest.approx(min(1.0, 2 * tail))


def test_clusters_turn_their_signs_together() -> None:
    """Against the definition: all patterns of the clusters' signs."""
    difference = np.array([1, 1, 0, 1, -1, 1, 1, -1, -1, 0, 1, 1], dtype=float)
    clusters = np.repeat(np.arange(4), 3)
    sums = np.bincount(clusters, difference)
    patterns = np.array([np.dot(signs, sums) for signs in itertools.product([1, -1], repeat=4)])
    expected = float((np.abs(patterns) >= abs(sums.sum())).mean())
    assert sign_flip_p(difference, clusters) == pytest.approx(expected)
    one_town = np.array([1.0] * 10 + [0.0] * 4)
    assert sign_flip_p(one_town) < 0.01
    assert sign_flip_p(one_town, np.array([0] * 10 + [1, 2, 3, 4])) == 1.0
    assert wilcoxon_p(one_town, np.array([0] * 10 + [1, 2, 3, 4])) == 1.0


def test_holm() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([None, 0.02, None]) == [None, 0.02, None]
    assert holm([0.9, 0.6]) == [1.0, 1.0]
    assert holm([]) == []


def test_two_equal_policies_are_seldom_told_apart() -> None:
    """Sixty comparisons of equals: uncorrected about three would be called better, by Holm hardly ever one."""
    draw = np.random.default_rng(2)
    wrong = 0
    for _ in range(60):
        p = [wilcoxon_p(draw.normal(0, 1, 20)) for _ in range(10)]
        wrong += any(value is not None and value < 0.05 for value in holm(p))
    assert wrong <= 8  # 5 % of 60 is 3


def test_intervals_of_few_clusters_stay_within_what_is_possible() -> None:
    """Two towns: m ± 12.7 s would be far below 0 and above 1."""
    rows = [
        episode(k, f"town{k % 2}", spl=(share, "ratio"), path_length_ratio=(1 + share, "ratio"),
                jerk_avg=(share, "m/s³"), closest_pedestrian_distance=(share, "m"))
        for k, share in enumerate([0.9, 0.2, 1.0, 0.0])
    ]  # fmt: skip
    found = aggregate(rows).policies["a"].metrics
    assert (found["spl"].low, found["spl"].high) == (0.0, 1.0)
    assert found["jerk_avg"].low == 0.0
    assert found["jerk_avg"].high > 1
    assert found["path_length_ratio"].high > 2
    assert found["closest_pedestrian_distance"].low < 0, "bodies can overlap"
