"""Which episodes are filmed: the worst first, then the best."""

from __future__ import annotations

from sidestep.metrics.score import EpisodeScores
from sidestep.report.selection import choose_films
from sidestep.types.result import MetricResult


def episode(name: str, outcome: str = "success", policy: str = "p", seed: int = 0, **values: float) -> EpisodeScores:
    metrics = {key: MetricResult(value, "m") for key, value in values.items()}
    metrics.setdefault("time_to_goal", MetricResult.invalid("s", "never arrived"))
    return EpisodeScores("suite", name, policy, seed, outcome, "digest", metrics)


RANKED = [
    episode("touches two", "pedestrian_collision", collisions=2, closest_pedestrian_distance=0.0),
    episode("touches one", "pedestrian_collision", collisions=1, closest_pedestrian_distance=0.0),
    episode("wall", "environment_collision", collisions=1),
    episode("broken", "policy_error"),
    episode("late and near", "timeout", closest_pedestrian_distance=0.2),
    episode("late", "timeout", closest_pedestrian_distance=0.9),
    episode("close", closest_pedestrian_distance=0.3, spl=1.0, time_to_goal=5),
    episode("roundabout", closest_pedestrian_distance=2.0, spl=0.6, time_to_goal=20),
    episode("slow", closest_pedestrian_distance=1.5, spl=0.9, time_to_goal=20),
    episode("good", closest_pedestrian_distance=1.3, spl=0.9, time_to_goal=10),
]


def names(chosen: list[EpisodeScores]) -> list[str]:
    return [each.scenario for each in chosen]


def test_worst_and_best_in_turns() -> None:
    shuffled = RANKED[::3] + RANKED[1::3] + RANKED[2::3]
    assert names(choose_films(shuffled, 1)) == ["touches two"]
    assert names(choose_films(shuffled, 2)) == ["touches two", "good"]
    worst = ["touches two", "touches one", "wall", "broken", "late and near"]
    best = ["good", "slow", "roundabout", "close", "late"]
    assert names(choose_films(shuffled, 10)) == [name for pair in zip(worst, best, strict=True) for name in pair]
    assert len(choose_films(shuffled, 99)) == 10
    assert choose_films(shuffled, 0) == []


def test_every_policy_has_its_own_and_ties_do_not_depend_on_order() -> None:
    alike = [episode("b", policy=p, seed=s) for p in "qp" for s in (1, 0)] + [episode("a", policy="p")]
    chosen = choose_films(alike, 2)
    assert [(each.policy, each.scenario, each.seed) for each in chosen] == [
        ("q", "b", 0), ("q", "b", 1), ("p", "a", 0), ("p", "b", 1),
    ]  # fmt: skip
    assert [vars(each) for each in choose_films(alike[::-1], 2)[:2]] == [vars(each) for each in chosen[2:]]
