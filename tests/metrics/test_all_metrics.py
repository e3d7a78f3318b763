"""Every registered metric on every kind of record, the catalogue, and invariances that hold for all of
them."""

from __future__ import annotations

import ast
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidestep import registry
from sidestep.errors import UnknownName
from sidestep.interfaces import Metric
from sidestep.metrics import METRICS
from sidestep.metrics.score import directions, load_metrics, score
from sidestep.metrics.sources import DIALECTS
from sidestep.types import EpisodeRecord, Event, MetricResult, Outcome, RobotPlacement
from sidestep.types.events import Leading
from tools.write_metrics_page import metrics_page

from .records import BOX, CIRCLE, Walker, make_record, straight_run
from .test_free_flow import drive as drive_freely
from .test_intersection import drive, driving_into, leaving
from .test_sidewalk import gesturing, halting

UNITS_OF_DIALECTS = {
    ("energy", "socnavbench-code"): "J",
    ("ego_jerk", "intersectnav-code"): "steps",
    ("other_jerk", "intersectnav-code"): "people",
}


def random_record(seed: int, people: int = 6, steps: int = 40, **options) -> EpisodeRecord:
    """A wandering robot among wandering people, with groups, absences, walls and events."""
    rng = np.random.default_rng(seed)
    walk = np.cumsum(rng.normal(0.08, 0.05, (steps + 1, 2)), axis=0)
    crowd = [
        Walker(
            rng.uniform(-3, 6, 2) + np.cumsum(rng.normal(0, 0.1, (steps + 1, 2)), axis=0),
            group=int(rng.integers(-1, 2)),
            radius=float(rng.uniform(0.2, 0.4)),
            present=rng.random(steps + 1) > 0.2,
        )
        for _ in range(people)
    ]
    return make_record(
        walk,
        heading=np.cumsum(rng.normal(0, 0.2, steps + 1)),
        omega=rng.normal(0, 0.5, steps + 1),
        goal=(4.0, 4.0),
        people=crowd,
        walls=rng.uniform(-4, 8, (12, 4)),
        **options,
    )


RECORDS = {
    "straight": straight_run(),
    "one person": straight_run(people=[Walker((4, 1))]),
    "crowd": random_record(1),
    "polygon": random_record(2, footprint=BOX),
    "nobody": random_record(3, people=0),
    "one state": make_record(
        [(0, 0)], goal=(5, 0), people=[Walker((1, 0))], walls=[(0, 2, 5, 2)], outcome=Outcome.POLICY_ERROR,
        events=[Event(0, "policy_error", text="boom")],
    ),
    "one empty state": make_record([(0, 0)], goal=(5, 0), outcome=Outcome.POLICY_ERROR),
    "one step": make_record([(0, 0), (0.1, 0)], goal=(5, 0), outcome=Outcome.TIMEOUT),
    "two steps": make_record([(0, 0), (0.1, 0), (0.1, 0)], goal=(5, 0), outcome=Outcome.TIMEOUT),
    "never moves": make_record([(0, 0)] * 50, goal=(5, 0), people=[Walker((0, 0))], outcome=Outcome.FROZEN),
    "at the goal": make_record([(0, 0)], goal=(0, 0)),
    "collision": straight_run(
        people=[Walker((4.5, 0))], outcome=Outcome.PEDESTRIAN_COLLISION,
        events=[Event(4, "collision_start", "person:10"), Event(8, "goal_reached")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", RECORDS)
@pytest.mark.filterwarnings("error")
def test_every_metric_is_finite_or_says_why_not(name: str, dialect: str) -> None:
    results = score(RECORDS[name], dialect=dialect)
    assert list(results) == registry.names("metrics")
    for metric in load_metrics():
        found = results[metric.name]
        assert isinstance(found, MetricResult)
        assert math.isfinite(found.value) if found.valid else (math.isnan(found.value) and found.reason)
        assert found.unit == UNITS_OF_DIALECTS.get((metric.name, dialect), metric.unit), metric.name


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_is_documented(name: str) -> None:
    metric = registry.load("metrics", name)
    assert isinstance(metric, Metric)
    assert metric.name == name
    assert len(metric.definition) > 20
    assert metric.definition.endswith(".")
    assert metric.validity.endswith(".")
    assert metric.unit
    assert metric.source
    assert metric.function.__name__ == name
    assert metric.function.__doc__ == metric.definition
    assert "{" not in metric.definition
    for dialect, function in metric.dialects.items():
        assert dialect in DIALECTS
        assert function.__doc__


@pytest.mark.parametrize("name", METRICS)
def test_every_definition_is_a_whole_sentence(name: str) -> None:
    metric = registry.load("metrics", name)
    for text in (metric.definition, metric.validity):
        assert text.endswith("."), text
        assert text.count("(") == text.count(")"), text
        assert text[-2] not in " ,;(", text


def test_no_string_of_a_definition_is_lost() -> None:
    """An unparenthesised second line of a string is a statement of its own, and the sentence ends in the middle."""
    folder = Path(registry.__file__).parent / "metrics"
    lost = []
    for path in sorted(folder.rglob("*.py")):
        lines = path.read_text(encoding="utf-8").splitlines()
        for node in ast.walk(ast.parse("\n".join(lines))):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant | ast.JoinedStr):
                line = lines[node.lineno - 1].strip()
                if not line.startswith('"""') and line != "...":
                    lost.append(f"{path.name}:{node.lineno}: {line}")
    assert lost == []


EFFORTS = (
    "path_length", "path_traversal_time", "time_to_goal", "aggregated_time", "energy", "heading_change", "oscillations",
    "direction_reversals", "stalled_time", "time_not_moving", "failure_to_progress", "social_force_on_people",
    "social_force_on_robot", "obstacle_force_on_robot", "social_work", "intimate_space_violations",
    "personal_space_violations", "people_delayed", "total_delay_caused", "total_detour_caused", "distance_driven",
)  # fmt: skip


@pytest.mark.parametrize("name", EFFORTS)
def test_failing_early_is_not_rewarded(name: str) -> None:
    """A robot that drives the first quarter of the way into a wall has a shorter path than one that arrives. What grows
    with the length of an episode has a value only where the goal was reached, or no better side."""
    wall = [(-9, 3, 19, 3)]
    people = [Walker((7, 0.9))]
    whole = straight_run(people=people, walls=wall, omega=[1.0, -1.0] * 32 + [1.0])
    early = straight_run(
        16, people=people, walls=wall, goal=(8, 0), outcome=Outcome.ENVIRONMENT_COLLISION,
        events=[Event(2, "collision_start", "wall")], omega=[1.0, -1.0] * 8 + [1.0],
    )  # fmt: skip
    direction = directions()[name]
    failed, arrived = score(early, [name])[name], score(whole, [name])[name]
    if direction == "lower":
        assert arrived.valid
        assert not failed.valid
    else:
        assert direction == "none"


def with_counterfactuals() -> list[EpisodeRecord]:
    """Records with counterfactuals: somebody who passes, waits, and walks round."""
    from .test_people_cost import WALK, compared, path

    near = WALK + np.array([0.0, 1.0])
    waits, round_it = path((1, 0, 8), (0, 0, 16), (1, 0, 40)), path((0, 1, 8), (0, -1, 8), (1, 0, 48))
    return [compared([near], [near]), compared([waits], [WALK]), compared([round_it], [WALK])]


def test_every_metric_is_valid_and_somewhere_different() -> None:
    """A metric that never has a value, or always the same, is one that nobody has tried."""
    eventful = straight_run(
        events=[Event(t, "collision_start", s) for t, s in ((1, "wall"), (2, "vehicle:0"), (3, "person:10"))],
        people=[Walker((4, 1)), Walker((4.5, -1), velocity=(-3, 0), group=2), Walker((3, -1), group=2)],
        other_position=(2, 3), limited=3, planning_time=0.5, omega=[0.5, -0.5] * 32 + [0.5],
        velocity=np.column_stack([[1, -1] * 32 + [1], np.zeros(65)]), outcome=Outcome.OFF_ROUTE,
    )  # fmt: skip
    pushed = straight_run(people=[Walker((6, 0), velocity=(-3, 0))], events=[Event(5, "collision_start", "person:10")])
    vehicle = straight_run(other_position=(1, 1))
    hindered = [
        replace(
            straight_run(people=[Walker((4, 1))]), person_delay=np.full((65, 1), s), person_detour=np.full((65, 1), s)
        )
        for s in (0.0, 1.0, 2.0)
    ]
    endings = [straight_run(outcome=outcome) for outcome in Outcome]
    failing = straight_run(events=[Event(1, "off_route"), Event(2, "frozen")])
    gestures = [
        gesturing(halting(at), gesture, 8, 64, np.pi) for gesture in ("stop", "go_on") for at in (1.5, 4.0)
    ]  # fmt: skip
    led = [
        straight_run(people=[Walker((at, 1))], events=[Event(0, "trigger", "person:10", text="leading")])
        for at in (2.0, 8.0)
    ]
    staged = [
        replace(record, scenario=record.scenario.model_copy(update={"events": (Leading(at=(2.0, 1.0)),)}))
        for record in (led[0], straight_run())
    ]
    on_the_road = [leaving((101.0, -1.75), 0.0, "exited"), leaving((101.0, -1.15), 0.1, "exited")]
    on_the_road += [driving_into(np.full((61, 2), [28.2, -1.75]))]
    on_the_road += [drive([[10, 0], [11, 0]], events=[Event(0.1, "lane_crossing", "solid")])]
    records = [*RECORDS.values(), eventful, pushed, vehicle, failing, *gestures, *hindered, *endings, *led, *staged]
    records += on_the_road
    records += [drive_freely(), drive_freely(400)]
    records += with_counterfactuals()
    seen: dict[str, set[float]] = {name: set() for name in METRICS}
    for record in records:
        for name, found in score(record).items():
            if found.valid:
                seen[name].add(round(found.value, 9))
    assert [name for name, values in seen.items() if len(values) < 2] == []


def test_the_page_is_up_to_date() -> None:
    page = Path(__file__).parents[2] / "docs" / "metrics.md"
    advice = "run python -m tools.write_metrics_page > docs/metrics.md"
    assert page.read_text(encoding="utf-8") == metrics_page(), advice


def test_the_page_names_every_metric_and_dialect() -> None:
    page = metrics_page()
    assert all(f"### `{name}`" in page for name in METRICS)
    assert all(f"`{name}`" in page for name in DIALECTS)


def test_unknown_names_are_errors_with_advice() -> None:
    with pytest.raises(UnknownName, match="did you mean 'path_length'"):
        score(straight_run(), ["path_lenght"])
    with pytest.raises(UnknownName, match="did you mean 'socnavbench-code'"):
        score(straight_run(), dialect="socnavbench_code")


def test_a_metric_that_breaks_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(record: EpisodeRecord) -> MetricResult:
        raise ZeroDivisionError("a bug")

    metric = replace(registry.load("metrics", "path_length"), function=broken)
    monkeypatch.setattr("sidestep.metrics.path.path_length", metric)
    with pytest.raises(ZeroDivisionError, match="a bug"):
        score(straight_run(), ["path_length"])


def test_only_the_metrics_asked_for_in_their_order() -> None:
    assert list(score(straight_run(), ["spl", "path_length"])) == ["spl", "path_length"]
    assert directions()["spl"] == "higher"
    assert directions()["path_length"] == "lower"


def test_scoring_twice_gives_the_same() -> None:
    first, second = score(RECORDS["crowd"]), score(random_record(1))
    assert repr(first) == repr(second)


THRESHOLDED = {"oscillations", "backward_motion", "direction_reversals", "space_compliance"}
CONTINUOUS = [n for n in METRICS if n not in THRESHOLDED and "_space_" not in n]


def moved(record: EpisodeRecord, turn: float, shift: tuple[float, float], mirror: bool) -> EpisodeRecord:
    """The same episode elsewhere: mirrored at the x axis, turned, then shifted."""
    flip = np.diag([1.0, -1.0]) if mirror else np.eye(2)
    rotation = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]]) @ flip
    sign = -1.0 if mirror else 1.0

    def place(points):
        return np.asarray(points, dtype=float) @ rotation.T + shift

    pose = np.column_stack([place(record.robot_pose[:, :2]), sign * record.robot_pose[:, 2] + turn])
    velocity = np.column_stack([record.robot_velocity[:, :2] @ rotation.T, sign * record.robot_velocity[:, 2]])
    ego = record.scenario.ego
    robot = RobotPlacement(start=tuple(pose[0]), goal=tuple(place(ego.goal)))
    return replace(
        record,
        scenario=record.scenario.model_copy(update={"robots": (robot,)}),
        robot_pose=pose,
        robot_velocity=velocity,
        person_position=place(record.person_position),
        person_velocity=record.person_velocity.astype(float) @ rotation.T,
        walls=np.concatenate([place(record.walls[:, :2]), place(record.walls[:, 2:])], axis=1),
    )


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    turn=st.floats(-math.pi, math.pi),
    shift=st.tuples(st.floats(-20, 20), st.floats(-20, 20)),
    mirror=st.booleans(),
    footprint=st.sampled_from([CIRCLE, BOX]),
)
def test_where_an_episode_happens_does_not_matter(seed, turn, shift, mirror, footprint) -> None:
    record = random_record(seed, steps=20, footprint=footprint, outcome=Outcome.TIMEOUT)
    there = moved(record, turn, shift, mirror)
    before, after = score(record, CONTINUOUS), score(there, CONTINUOUS)
    for name in CONTINUOUS:
        assert before[name].valid == after[name].valid, name
        if before[name].valid:
            assert after[name].value == pytest.approx(before[name].value, rel=1e-3, abs=2e-4), name


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    people=st.integers(0, 4),
    steps=st.integers(0, 30),
    outcome=st.sampled_from(Outcome),
)
def test_bounds(seed: int, people: int, steps: int, outcome: Outcome) -> None:
    results = score(random_record(seed, people=people, steps=steps, outcome=outcome))
    units = {metric.name: metric.unit for metric in load_metrics()}
    for name, found in results.items():
        if found.valid and (units[name] in ("0/1", "count") or "intrusion" in name):
            assert found.value >= 0, name
        if found.valid and (units[name] == "0/1" or "intrusion" in name or name in ("spl", "route_completion")):
            assert 0 <= found.value <= 1, name
    for family in ("speed", "acceleration", "jerk"):
        low, middle, high = (results[f"{family}_{which}"] for which in ("min", "avg", "max"))
        assert not middle.valid or low.value <= middle.value <= high.value
    for low_name, high_name in (
        ("closest_pedestrian_distance", "average_closest_pedestrian_distance"),
        ("minimum_pedestrian_distance", "average_pedestrian_distance"),
        ("average_pedestrian_distance", "maximum_pedestrian_distance"),
        ("time_to_collision_min", "time_to_collision_avg"),
        ("obstacle_clearance_min", "obstacle_clearance_avg"),
        ("social_force_on_robot", "social_work"),
    ):
        low, high = results[low_name], results[high_name]
        assert low.valid == high.valid
        assert not low.valid or low.value <= high.value
