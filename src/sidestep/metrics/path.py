"""Path: length and directness of the path that the robot drove."""

from __future__ import annotations

from math import isfinite

import numpy as np

from sidestep.metrics import series
from sidestep.metrics import socnavbench_code as code
from sidestep.metrics.definition import NO_STEPS, STARTS_AT_GOAL, Value, average, metric
from sidestep.metrics.outcome import DRIVEN, EXIT_TASK, STOP_TASK, is_completed, why_not_driven
from sidestep.metrics.sources import ANDERSON, FRANCIS, HUNAVSIM, SEAN, SOCNAVBENCH
from sidestep.types.outcome import Outcome
from sidestep.types.record import EpisodeRecord

_NEVER_MOVES = "the robot is at its goal all the time, or is holonomic and never moves"
_COMPLETED = f"{DRIVEN}: a path that ends early is shorter without being better."
_TRAVEL = (
    "direction of travel (the heading; for a holonomic robot, whose heading is free, the direction of its velocity, "
    f"kept while it is slower than {series.STANDING_MPS:g} m/s)"
)


@metric("m", "lower", source=f"{SOCNAVBENCH}, path length; {FRANCIS}, PL; {HUNAVSIM}", validity=_COMPLETED)
def path_length(record: EpisodeRecord) -> Value:
    """L = Σ_k |p_k - p_(k-1)|, the distance travelled by the robot's reference point."""
    return why_not_driven(record) or series.driven_m(record)


@metric("m")
def distance_driven(record: EpisodeRecord) -> Value:
    """Σ_k |p_k - p_(k-1)| over the whole episode, whatever its outcome. Distance over which the robot was carried
    back to its route does not count. Failures per 100 m refer to this distance."""
    return series.driven_m(record)


@metric(
    "ratio",
    "lower",
    source=f"{SOCNAVBENCH}, Table 3",
    validity=f"{DRIVEN}, except those that start at the goal.",
    dialects={code.NAME: code.path_length_ratio},
)
def path_length_ratio(record: EpisodeRecord) -> Value:
    """L / |p_0 - goal|, path over straight line, as in the values of SocNavBench's Table 3. (Its text defines the
    inverse: path_efficiency.) It can be slightly below 1, because the goal is reached at the goal radius."""
    if reason := why_not_driven(record):
        return reason
    straight = float(series.goal_distance(record)[0])
    return series.driven_m(record) / straight if straight > 0 else STARTS_AT_GOAL


@metric(
    "ratio",
    "higher",
    source=f"{SOCNAVBENCH}, Table 1 and section 3.4",
    validity=f"{DRIVEN}, except those in which it did not have to move.",
)
def path_efficiency(record: EpisodeRecord) -> Value:
    """|p_0 - goal| / L, straight line over path, as SocNavBench's text defines its path length ratio. (The values of
    its Table 3 are the inverse: path_length_ratio.) It can be slightly above 1, because the goal is reached at the goal
    radius."""
    if reason := why_not_driven(record):
        return reason
    length = series.driven_m(record)
    return float(series.goal_distance(record)[0]) / length if length > 0 else "the robot did not move"


def shortest_to_goal_circle(record: EpisodeRecord) -> float:
    """Length of the shortest path from the start to the circle of ``rules.goal_radius_m`` round the goal, where a
    drive ends, m. The radius is subtracted only here.

    ``shortest_path_m`` leads to the goal itself. In records of format 1 with a route on ground to stay on, the radius
    is already subtracted.
    """
    rules, ego = record.scenario.rules, record.scenario.ego
    known = isfinite(record.shortest_path_m)
    length = record.shortest_path_m if known else float(series.goal_distance(record)[0])
    if known and record.format_version < 2 and rules.stay_on and ego.route:
        return length
    return max(length - rules.goal_radius_m, 0.0)


@metric(
    "ratio",
    "higher",
    source=f"{ANDERSON}; {FRANCIS}, SPL",
    validity="Episodes that do not start within the goal's circle and whose task is to reach the goal; 0 when not "
    "successful.",
)
def spl(record: EpisodeRecord) -> Value:
    """Success weighted by path length: S · l / max(l, L), with S = 1 if the outcome is success and the goal was
    reached, else 0, L the path length and l the length of the shortest path from the start to the goal's circle: the
    shortest path to the goal round the walls (along the route if the robot has to stay on some ground; the straight
    line if the record does not contain it) minus rules.goal_radius_m, because a drive ends at the circle. The
    definition is the same in every suite."""
    if record.scenario.rules.success != "goal":
        return STOP_TASK if record.scenario.rules.success == "stop" else EXIT_TASK
    shortest = shortest_to_goal_circle(record)
    if shortest == 0:
        return STARTS_AT_GOAL
    if record.outcome is not Outcome.SUCCESS or not is_completed(record):
        return 0.0
    return shortest / max(shortest, series.driven_m(record))


@metric(
    "rad",
    "lower",
    source=f"{SOCNAVBENCH}, path irregularity",
    validity="Episodes with a state away from the goal, in which a holonomic robot moves.",
    dialects={code.NAME: code.path_irregularity},
)
def path_irregularity(record: EpisodeRecord) -> Value:
    """Mean over the T+1 states of the angle (0 … π) between the robot's {_TRAVEL} and the vector to the goal. States
    exactly at the goal are left out."""
    return average(series.goal_bearing_error(record), _NEVER_MOVES)


def _turned(record: EpisodeRecord) -> float:
    """Σ |wrap(θ_k - θ_(k-1))|, rad; 0 for a robot that never moves."""
    return float(np.nansum(np.abs(series.wrap_angle(np.diff(series.travel_direction(record))))))


@metric(
    "rad",
    "lower",
    source=f"{HUNAVSIM}, cumulative heading changes; {SEAN}, path irregularity (without its planned path)",
    validity=_COMPLETED,
)
def heading_change(record: EpisodeRecord) -> Value:
    """Cumulative change Σ_k |θ_k - θ_(k-1)| of the {_TRAVEL}, each difference within ±π."""
    return why_not_driven(record) or _turned(record)


@metric(
    "rad/s",
    "lower",
    source=f"{HUNAVSIM}, cumulative heading changes, per second",
    validity="Episodes with at least one step.",
)
def heading_change_rate(record: EpisodeRecord) -> Value:
    """Sum of the changes of the {_TRAVEL} divided by the duration of the episode."""
    return _turned(record) / float(record.time[-1] - record.time[0]) if record.steps else NO_STEPS
