"""Paired comparison and re-scoring."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy.stats import rankdata, wilcoxon

from sidestep.errors import BadInput, UnknownName
from sidestep.metrics.score import HEADLINES, EpisodeScores
from sidestep.metrics.statistics import tango_interval, wilcoxon_p
from sidestep.runs.compare import Entry, _correct, compare_pair, compare_runs
from sidestep.runs.finished import FinishedRun, ScoredRun
from sidestep.runs.folder import load_results
from sidestep.runs.runner import run_benchmark
from sidestep.runs.score import score_run, summary_document
from sidestep.types.result import MetricResult
from tests.runs.fake import fake_episode, fake_plan

pytestmark = pytest.mark.usefixtures("in_process")


@pytest.fixture
def slow_and_fast(tmp_path: Path) -> list[Path]:
    """The same policy at 1 and 1.5 m/s (plus 0.1 m/s per seed): 3 scenarios × 4 seeds, 5 steps of 0.1 s."""
    folders = []
    for speed in (1.0, 1.5):
        folder = tmp_path / f"run{speed}"
        plan = fake_plan(tmp_path, "Steady", seeds=4, settings={"speed": speed})
        run_benchmark(plan, folder, run_episode=fake_episode)
        folders.append(folder)
    return folders


def test_paired_differences(slow_and_fast: list[Path]) -> None:
    """Path lengths differ by 5 × 0.1 s × 0.5 m/s = 0.25 m in every pair, though they vary between seeds."""
    document = compare_runs(slow_and_fast, metrics=None)
    [pair] = document["pairs"]
    assert pair["episodes"] == 12
    assert pair["a"].endswith("run1.0")
    length = pair["metrics"]["path_length"]
    assert length["n"] == 12
    assert length["lost"] == 0
    assert length["difference"] == pytest.approx(0.25)
    assert length["low"] == pytest.approx(0.25)
    assert length["high"] == pytest.approx(0.25)
    assert (length["clusters"], length["where"]) == (3, "both succeed")
    assert length["p"] == pytest.approx(2 / 2**3), "three scenarios under four seeds are three, not twelve"
    assert pair["metrics"]["success"]["difference"] == 0.0
    assert pair["metrics"]["success"]["p"] == 1.0
    assert pair["metrics"]["success"]["better"] is None
    json.dumps(document, allow_nan=False)


def test_failures_are_counted_and_lost_pairs_told(tmp_path: Path) -> None:
    plan = fake_plan(tmp_path, "Steady", "Raises", scenarios=12, seeds=1)
    run_benchmark(plan, tmp_path / "run", run_episode=fake_episode)
    [pair] = compare_runs([tmp_path / "run"])["pairs"]
    assert pair["outcomes_a"] == {"success": 12}
    assert pair["outcomes_b"] == {"policy_error": 12}
    assert pair["metrics"]["time_to_goal"]["n"] == 0
    assert pair["metrics"]["time_to_goal"]["lost"] == 12
    assert pair["metrics"]["time_to_goal"]["difference"] is None
    assert pair["metrics"]["success"]["difference"] == -1.0
    assert pair["metrics"]["success"]["better"] == "a"


def test_only_common_episodes_count(tmp_path: Path) -> None:
    run_benchmark(fake_plan(tmp_path, "Steady", seeds=3), tmp_path / "a", run_episode=fake_episode)
    run_benchmark(fake_plan(tmp_path, "Steady", scenarios=1), tmp_path / "b", run_episode=fake_episode)
    [pair] = compare_runs([tmp_path / "a", tmp_path / "b"])["pairs"]
    assert pair["episodes"] == 2


def scored(policy: str, k: int, outcome: str = "success", source: str = "generated", **values: float) -> EpisodeScores:
    metrics = {name: MetricResult(value, "s") for name, value in values.items()}
    metrics["success"] = MetricResult(float(outcome == "success"), "0/1")
    return EpisodeScores("suite", f"s{k}", policy, 0, outcome, "", metrics, source=source)


def test_more_knowledge_is_never_better_than_sensors_only() -> None:
    """Told wins every episode against the scanner, and is not called better; against its like it is."""

    def ran(name: str, outcome: str, observes: str) -> Entry:
        return entry(name, [replace(scored(name, k, outcome), observes=observes) for k in range(20)])

    told, scans = '{"pedestrians": ""}', '{"lidar": "90 rays, 8 m"}'
    good, poor = ran("good", "success", told), ran("poor", "timeout", told)
    scanner = ran("scans", "timeout", scans)
    pairs = [compare_pair(poor, good, ["success"]), compare_pair(scanner, good, ["success"])]
    _correct(pairs, set(), {"good": "exact", "poor": "exact", "scans": "sensors"})
    assert [pair["one_race"] for pair in pairs] == [True, False]
    assert [pair["metrics"]["success"]["better"] for pair in pairs] == ["b", None]
    assert pairs[1]["metrics"]["success"]["p_holm"] < 0.001, "the difference is told all the same"


def test_a_table_that_does_not_say_what_was_observed_is_completed_from_a_record(tmp_path: Path) -> None:
    run_benchmark(fake_plan(tmp_path, "Steady", "Raises"), tmp_path / "run", run_episode=fake_episode)
    table = pq.read_table(tmp_path / "run" / "results.parquet")
    assert set(table["observes"].to_pylist()) == {'{"goal": ""}'}
    pq.write_table(table.drop_columns(["observes"]), tmp_path / "run" / "results.parquet")
    assert [entry["observes"] for entry in compare_runs([tmp_path / "run"])["entries"]] == [["goal"]] * 2


def entry(label: str, episodes: list[EpisodeScores]) -> Entry:
    return Entry(label, "run", label, {(each.suite, each.scenario, each.seed): each for each in episodes})


def test_paths_and_times_are_compared_where_both_succeed() -> None:
    """b ends at once in half of its episodes, in "no time"; where both arrive it is slower."""
    a = entry("a", [scored("a", k, time_to_goal=10.0, jerk_avg=1.0) for k in range(20)])
    quick = [scored("b", k, "pedestrian_collision", time_to_goal=1.0, jerk_avg=1.0) for k in range(10)]
    b = entry("b", [*quick, *(scored("b", k, time_to_goal=12.0, jerk_avg=1.0) for k in range(10, 20))])
    found = compare_pair(a, b)["metrics"]
    assert (found["time_to_goal"]["n"], found["time_to_goal"]["difference"]) == (10, 2.0)
    assert (found["time_to_goal"]["where"], found["jerk_avg"]["where"]) == ("both succeed", "all")
    assert found["jerk_avg"]["n"] == 20
    success = found["success"]
    assert success["difference"] == -0.5
    assert (success["low"], success["high"]) == pytest.approx(tango_interval(0, 10, 20))
    assert success["p"] == pytest.approx(2 / 2**10)


def test_few_discordant_pairs_are_no_proof() -> None:
    """Three of 20 pairs differ, all one way: a bootstrap leaves 0 out, the exact test does not."""
    a = entry("a", [scored("a", k) for k in range(20)])
    b = entry("b", [scored("b", k, "timeout" if k < 3 else "success") for k in range(20)])
    found = compare_pair(a, b)["metrics"]["success"]
    assert found["p"] == 0.25
    assert found["low"] < -0.15 < found["high"]
    equal = compare_pair(a, a)["metrics"]["success"]
    assert equal["low"] < 0 < equal["high"]


def run_of(name: str, episodes: list[EpisodeScores]) -> FinishedRun:
    """A run with these scores, without files."""
    return FinishedRun(Path(name), table=ScoredRun(Path(name), "suite", "mixed", "paper", tuple(episodes)))


def test_recorded_and_generated_people_are_not_paired() -> None:
    runs = {
        "a": [scored("mine", k, source="recorded") for k in range(3)],
        "b": [scored("mine", k, source="generated") for k in range(3)],
    }
    with pytest.raises(BadInput, match=r"recorded people .* generated people"):
        compare_runs([run_of(name, episodes) for name, episodes in runs.items()])


def test_headlines_a_baseline_and_a_correction(tmp_path: Path) -> None:
    """Three policies: three pairs, two with a baseline; ten metrics unless all are asked for; Holm over all shown."""
    plan = fake_plan(tmp_path, "Steady", "Raises", "Chatty", scenarios=12, seeds=1)
    run_benchmark(plan, tmp_path / "run", run_episode=fake_episode)
    whole = compare_runs([tmp_path / "run"])
    assert len(whole["pairs"]) == 3
    for pair in whole["pairs"]:
        assert set(pair["metrics"]) <= set(HEADLINES)
    entries = [found for pair in whole["pairs"] for found in pair["metrics"].values()]
    tested = [found for found in entries if found["p"] is not None]
    assert whole["comparisons"] == len(tested)
    smallest = min(tested, key=lambda found: found["p"])
    assert smallest["p_holm"] == pytest.approx(min(1.0, smallest["p"] * len(tested)))
    assert len(compare_runs([tmp_path / "run"], None)["pairs"][0]["metrics"]) > 50
    name = whole["entries"][1]["policy"]
    against = compare_runs([tmp_path / "run"], ["success"], name)
    assert [pair["a"] for pair in against["pairs"]] == [name, name]
    assert against["comparisons"] == 2
    assert against["pairs"][0]["metrics"]["success"]["p_holm"] < 0.01
    with pytest.raises(UnknownName, match="unknown policy"):
        compare_runs([tmp_path / "run"], baseline="nobody")


def test_nothing_to_compare(tmp_path: Path) -> None:
    run_benchmark(fake_plan(tmp_path, "Steady"), tmp_path / "a", run_episode=fake_episode)
    with pytest.raises(BadInput, match="two policies or two runs"):
        compare_runs([tmp_path / "a"])
    with pytest.raises(BadInput, match="no such run folder"):
        compare_runs([tmp_path / "a", tmp_path / "none"])


def test_wilcoxon_without_ties_is_scipys_exact_test() -> None:
    draw = np.random.default_rng(3)
    for n in (1, 2, 5, 12, 30, 50):
        values = draw.normal(0.3, 1.0, n)
        assert wilcoxon_p(values) == pytest.approx(wilcoxon(values, method="exact").pvalue)
    assert wilcoxon_p(np.arange(1.0, 7.0)) == pytest.approx(2 / 2**6), "all six of one sign"


@pytest.mark.parametrize("values", [[1, 1, -1, 2, 2, 3, -4], [0, 0, 1, 1, 1, -1], [0.5] * 8, [0, 3, -3]])
def test_wilcoxon_with_ties_and_zeros_counts_every_sign_pattern(values: list[float]) -> None:
    """Against the definition: flip all signs in all ways, and see how often the rank sum is as extreme."""
    difference = np.array(values, dtype=float)
    ranks = rankdata(np.abs(difference))[difference != 0]
    observed = rankdata(np.abs(difference))[difference > 0].sum()
    sums = np.array([ranks[list(signs)].sum() for signs in itertools.product([True, False], repeat=len(ranks))])
    expected = min(1.0, 2 * min((sums <= observed).mean(), (sums >= observed).mean()))
    assert wilcoxon_p(difference) == pytest.approx(expected)


def test_wilcoxon_at_the_edges() -> None:
    assert wilcoxon_p(np.array([])) is None
    assert wilcoxon_p(np.zeros(5)) == 1.0
    many = np.random.default_rng(4).normal(0.2, 1.0, 51)
    assert wilcoxon_p(many) == pytest.approx(wilcoxon(many, method="exact").pvalue, rel=0.05)


def test_scoring_again_gives_what_the_run_gave(slow_and_fast: list[Path]) -> None:
    folder = slow_and_fast[0]
    before = (folder / "results.parquet").read_bytes()
    ran = summary_document(FinishedRun(folder).table)
    (folder / "results.parquet").unlink()
    scored = score_run(folder)
    assert summary_document(scored) == ran
    assert (folder / "results.parquet").read_bytes() == before


def test_chosen_metrics_do_not_replace_the_results(slow_and_fast: list[Path]) -> None:
    folder = slow_and_fast[0]
    before = (folder / "results.parquet").read_bytes()
    scored = score_run(folder, metrics=["success", "path_length"])
    assert list(scored.episodes[0].metrics) == ["success", "path_length"]
    assert (folder / "results.parquet").read_bytes() == before
    with pytest.raises(UnknownName, match="did you mean 'success'"):
        score_run(folder, metrics=["sucess"])


def test_another_dialect_is_kept_beside(slow_and_fast: list[Path]) -> None:
    from sidestep.metrics.sources import DIALECTS

    folder = slow_and_fast[0]
    other = next(name for name in DIALECTS if name != "paper")
    before = (folder / "results.parquet").read_bytes()
    assert score_run(folder, other).dialect == other
    assert (folder / "results.parquet").read_bytes() == before
    assert load_results(folder / f"results.{other}.parquet")[1] == other
    with pytest.raises(UnknownName, match="unknown dialect"):
        score_run(folder, "klingon")


def test_a_damaged_record_is_left_out_and_told(slow_and_fast: list[Path]) -> None:
    folder = slow_and_fast[0]
    victim = next(folder.rglob("s1__seed2.parquet"))
    victim.write_bytes(victim.read_bytes()[:900])
    scored = score_run(folder)
    assert len(scored.episodes) == 11
    assert "s1__seed2.parquet" in scored.unreadable[0]


def test_a_folder_of_records_without_a_run(slow_and_fast: list[Path]) -> None:
    scored = score_run(slow_and_fast[0] / "episodes")
    assert len(scored.episodes) == 12
    assert (scored.suite, scored.source) == ("test", "generated")
    one = score_run(next(slow_and_fast[0].rglob("s1__seed2.parquet")))
    assert [episode.seed for episode in one.episodes] == [2]


def driven(policy: str, k: int, failures: float, metres: float, cluster: str = "") -> EpisodeScores:
    way = MetricResult(metres, "m")
    rate = MetricResult(100 * failures / metres, "1/100 m") if metres >= 1 else MetricResult.invalid("1/100 m", "short")
    metrics = {"failures": MetricResult(failures, "count"), "distance_driven": way, "failures_per_100m": rate}
    return EpisodeScores("suite", f"s{k}", policy, 0, "timeout", "", metrics, cluster=cluster)


def test_rates_are_ratios_of_sums_as_in_tables() -> None:
    """b fails once on the first 2 m of one way, then as rarely as a: a mean of rates would be 50 / 10 + 1 per 100 m."""
    a = entry("a", [driven("a", k, 1, 100) for k in range(10)])
    b = entry("b", [driven("b", 0, 1, 2), *(driven("b", k, 1, 100) for k in range(1, 10))])
    found = compare_pair(a, b)["metrics"]["failures_per_100m"]
    assert found["mean_a"] == pytest.approx(1.0)
    assert found["mean_b"] == pytest.approx(100 * 10 / 902)
    assert found["n"] == 10
    assert found["low"] <= 0 < found["high"]
    assert found["p"] == 1.0, "one pair differs: each way to swap gives the same difference"
    stands = entry("stands", [driven("stands", k, 3, 0) for k in range(10)])
    nothing = compare_pair(a, stands)["metrics"]["failures_per_100m"]
    assert (nothing["n"], nothing["difference"], nothing["p"], nothing["lost"]) == (0, None, None, 10)


def test_the_test_of_rates_swaps_whole_clusters() -> None:
    a = entry("a", [driven("a", k, 1, 100, f"town{k // 3}") for k in range(12)])
    b = entry("b", [driven("b", k, 5, 100, f"town{k // 3}") for k in range(12)])
    found = compare_pair(a, b)["metrics"]["failures_per_100m"]
    assert (found["clusters"], found["p"]) == (4, pytest.approx(2 / 2**4))
    alone = (
        entry("a", [driven("a", k, 1, 100) for k in range(12)]),
        entry("b", [driven("b", k, 5, 100) for k in range(12)]),
    )
    assert compare_pair(*alone)["metrics"]["failures_per_100m"]["p"] == pytest.approx(2 / 2**12)


def test_suites_are_compared_each_by_itself() -> None:
    """a wins all of the first suite, b all of the second: together they would be alike. Scenarios share names."""
    episodes = [
        replace(scored(policy, k, "success" if (policy == "a") == (suite == "first") else "timeout"), suite=suite)
        for policy in "ab"
        for suite in ("first", "second")
        for k in range(10)
    ]
    pairs = compare_runs([run_of("both", episodes)], ["success"])["pairs"]
    assert [(pair["suite"], pair["episodes"], pair["metrics"]["success"]["better"]) for pair in pairs] == [
        ("first", 10, "a"),
        ("second", 10, "b"),
    ]
