"""Path: how long and how direct the way was."""

from __future__ import annotations

from math import isfinite

import numpy as np

from sidestep.interfaces import Metric
from sidestep.metrics import socnavbench_code
from sidestep.metrics.outcome import DRIVEN, STOP_TASK, is_completed, why_not_driven
from sidestep.metrics.series import (
    NO_STEPS,
    STANDING_MPS,
    average,
    goal_bearing_error,
    goal_distance,
    step_lengths,
    travel_direction,
    wrap_angle,
)
from sidestep.metrics.sources import ANDERSON, FRANCIS, HUNAVSIM, SEAN, SIDESTEP, SOCNAVBENCH
from sidestep.types.outcome import Outcome
from sidestep.types.record import EpisodeRecord
from sidestep.types.result import MetricResult

_STARTS_AT_GOAL = "the robot starts at its goal"
_NEVER_MOVES = "the robot is at its goal all the time, or is holonomic and never moves"


def path_length(record: EpisodeRecord) -> MetricResult:
    """L = Σ |p_k - p_(k-1)|."""
    if reason := why_not_driven(record):
        return MetricResult.invalid("m", reason)
    return MetricResult(float(step_lengths(record).sum()), "m")


def path_length_ratio(record: EpisodeRecord) -> MetricResult:
    """L / |p_0 - goal|."""
    straight = float(goal_distance(record)[0])
    if reason := why_not_driven(record):
        return MetricResult.invalid("ratio", reason)
    if straight == 0:
        return MetricResult.invalid("ratio", _STARTS_AT_GOAL)
    return MetricResult(float(step_lengths(record).sum()) / straight, "ratio")


def path_efficiency(record: EpisodeRecord) -> MetricResult:
    """|p_0 - goal| / L."""
    length = float(step_lengths(record).sum())
    if reason := why_not_driven(record):
        return MetricResult.invalid("ratio", reason)
    if length == 0:
        return MetricResult.invalid("ratio", "the robot did not move")
    return MetricResult(float(goal_distance(record)[0]) / length, "ratio")


def shortest_to_goal_circle(record: EpisodeRecord) -> float:
    """Length of the shortest path from the start to the circle of ``rules.goal_radius_m`` round the goal, m: where a
    drive ends. The one place where the radius is subtracted.

    ``shortest_path_m`` leads to the goal itself. Records of format 1 with a route on ground to stay on had the radius
    subtracted already.
    """
    rules, ego = record.scenario.rules, record.scenario.ego
    known = isfinite(record.shortest_path_m)
    length = record.shortest_path_m if known else float(goal_distance(record)[0])
    if known and record.format_version < 2 and rules.stay_on and ego.route:
        return length
    return max(length - rules.goal_radius_m, 0.0)


def spl(record: EpisodeRecord) -> MetricResult:
    """S · l / max(l, L) with l the shortest path round the walls to the goal's circle."""
    if record.scenario.rules.success != "goal":
        return MetricResult.invalid("ratio", STOP_TASK)
    shortest = shortest_to_goal_circle(record)
    if shortest == 0:
        return MetricResult.invalid("ratio", _STARTS_AT_GOAL)
    if record.outcome is not Outcome.SUCCESS or not is_completed(record):
        return MetricResult(0.0, "ratio")
    return MetricResult(shortest / max(shortest, float(step_lengths(record).sum())), "ratio")


def path_irregularity(record: EpisodeRecord) -> MetricResult:
    """Mean angle between the direction of travel and the goal's direction."""
    return average(goal_bearing_error(record), "rad", _NEVER_MOVES)


def _turned(record: EpisodeRecord) -> float:
    """Σ |wrap(θ_k - θ_(k-1))|, rad; 0 of a robot that never moves."""
    return float(np.nansum(np.abs(wrap_angle(np.diff(travel_direction(record))))))


def heading_change(record: EpisodeRecord) -> MetricResult:
    """Σ |wrap(θ_k - θ_(k-1))|."""
    if reason := why_not_driven(record):
        return MetricResult.invalid("rad", reason)
    return MetricResult(_turned(record), "rad")


def heading_change_rate(record: EpisodeRecord) -> MetricResult:
    """Total heading change over the duration."""
    if not record.steps:
        return MetricResult.invalid("rad/s", NO_STEPS)
    return MetricResult(_turned(record) / float(record.time[-1] - record.time[0]), "rad/s")


_COMPLETED = f"{DRIVEN}: another path is short, but no better."
_TRAVEL = (
    "direction of travel (the heading; of a holonomic robot, whose heading is free, the direction of its velocity, "
    f"kept while it is slower than {STANDING_MPS:g} m/s)"
)
PATH_LENGTH = Metric(
    name="path_length",
    unit="m",
    direction="lower",
    definition="L = Σ_k |p_k - p_(k-1)|, the distance travelled by the robot's reference point.",
    source=f"{SOCNAVBENCH}, path length; {FRANCIS}, PL; {HUNAVSIM}",
    validity=_COMPLETED,
    function=path_length,
)
DISTANCE_DRIVEN = Metric(
    name="distance_driven",
    unit="m",
    direction="none",
    definition="Σ_k |p_k - p_(k-1)| over the whole episode, however it ended. Where the robot was carried back to its "
    "route, it did not drive. The way over which failures per 100 m are counted.",
    source=SIDESTEP,
    validity="Always.",
    function=lambda record: MetricResult(float(step_lengths(record).sum()), "m"),
)
PATH_LENGTH_RATIO = Metric(
    name="path_length_ratio",
    unit="ratio",
    direction="lower",
    definition="L / |p_0 - goal|, path over straight line, as the values of SocNavBench's Table 3 are. (Its "
    "text says the "
    "inverse: path_efficiency.) Can be a little below 1, because the goal is reached at the goal radius.",
    source=f"{SOCNAVBENCH}, Table 3",
    validity=f"{DRIVEN}; not those that start at the goal.",
    function=path_length_ratio,
    dialects={socnavbench_code.NAME: socnavbench_code.path_length_ratio},
)
PATH_EFFICIENCY = Metric(
    name="path_efficiency",
    unit="ratio",
    direction="higher",
    definition="|p_0 - goal| / L, straight line over path, as SocNavBench's text defines its path length "
    "ratio. (The values "
    "of its Table 3 are the inverse: path_length_ratio.) Can be a little above 1, because the goal is "
    "reached at the goal radius.",
    source=f"{SOCNAVBENCH}, Table 1 and section 3.4",
    validity=f"{DRIVEN}; not those in which it did not have to move.",
    function=path_efficiency,
)
SPL = Metric(
    name="spl",
    unit="ratio",
    direction="higher",
    definition="Success weighted by path length: S · l / max(l, L), with S = 1 if the outcome is success and the goal "
    "was reached, else 0, L the path length and l the length of the shortest path from the start to the goal's circle: "
    "the shortest path to the goal round the walls (along the route where the robot has to stay on some ground; the "
    "straight line where the record does not know it) less rules.goal_radius_m, because a drive ends at the circle. "
    "The same in every suite.",
    source=f"{ANDERSON}; {FRANCIS}, SPL",
    validity="Episodes that do not start within the goal's circle and whose task is to reach the goal; 0 when not "
    "successful.",
    function=spl,
)
PATH_IRREGULARITY = Metric(
    name="path_irregularity",
    unit="rad",
    direction="lower",
    definition=f"Mean over the T+1 states of the angle (0 … π) between the robot's {_TRAVEL} and the vector to the "
    "goal. States exactly at the goal are left out.",
    source=f"{SOCNAVBENCH}, path irregularity",
    validity="Episodes with a state away from the goal, in which a holonomic robot moves.",
    function=path_irregularity,
    dialects={socnavbench_code.NAME: socnavbench_code.path_irregularity},
)
HEADING_CHANGE = Metric(
    name="heading_change",
    unit="rad",
    direction="lower",
    definition=f"Cumulative changes Σ_k |θ_k - θ_(k-1)| of the {_TRAVEL}, each difference within ±π.",
    source=f"{HUNAVSIM}, cumulative heading changes; {SEAN}, path irregularity (without its planned path)",
    validity=_COMPLETED,
    function=heading_change,
)
HEADING_CHANGE_RATE = Metric(
    name="heading_change_rate",
    unit="rad/s",
    direction="lower",
    definition=f"Sum of the changes of the {_TRAVEL} over the episode's duration: how much the robot turns per second.",
    source=f"{HUNAVSIM}, cumulative heading changes, per second",
    validity="Episodes with at least one step.",
    function=heading_change_rate,
)
