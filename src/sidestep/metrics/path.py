"""Path: how long and how direct the way was."""

from __future__ import annotations

from math import isfinite

import numpy as np

from sidestep.interfaces import Metric
from sidestep.metrics.answers import NO_STEPS, average
from sidestep.metrics.dialects import socnavbench_code
from sidestep.metrics.outcome import is_completed
from sidestep.metrics.series import goal_bearing_error, goal_distance, step_lengths, wrap_angle
from sidestep.metrics.sources import ANDERSON, FRANCIS, HUNAVSIM, SEAN, SOCNAVBENCH
from sidestep.types.outcome import Outcome
from sidestep.types.record import EpisodeRecord
from sidestep.types.result import MetricResult

_NOT_COMPLETED = "the goal was not reached"
_STARTS_AT_GOAL = "the robot starts at its goal"


def path_length(record: EpisodeRecord) -> MetricResult:
    """L = Σ |p_k - p_(k-1)|."""
    return MetricResult(float(step_lengths(record).sum()), "m")


def path_length_ratio(record: EpisodeRecord) -> MetricResult:
    """L / |p_0 - goal|."""
    straight = float(goal_distance(record)[0])
    if not is_completed(record):
        return MetricResult.invalid("ratio", _NOT_COMPLETED)
    if straight == 0:
        return MetricResult.invalid("ratio", _STARTS_AT_GOAL)
    return MetricResult(float(step_lengths(record).sum()) / straight, "ratio")


def path_efficiency(record: EpisodeRecord) -> MetricResult:
    """|p_0 - goal| / L."""
    length = float(step_lengths(record).sum())
    if not is_completed(record):
        return MetricResult.invalid("ratio", _NOT_COMPLETED)
    if length == 0:
        return MetricResult.invalid("ratio", "the robot did not move")
    return MetricResult(float(goal_distance(record)[0]) / length, "ratio")


def spl(record: EpisodeRecord) -> MetricResult:
    """S · l / max(l, L) with l the shortest way round the walls."""
    straight = float(goal_distance(record)[0])
    if straight == 0:
        return MetricResult.invalid("ratio", _STARTS_AT_GOAL)
    if record.outcome is not Outcome.SUCCESS:
        return MetricResult(0.0, "ratio")
    shortest = record.shortest_path_m if isfinite(record.shortest_path_m) else straight
    return MetricResult(shortest / max(shortest, float(step_lengths(record).sum())), "ratio")


def path_irregularity(record: EpisodeRecord) -> MetricResult:
    """Mean angle between heading and goal direction."""
    return average(goal_bearing_error(record), "rad", "the robot is at its goal all the time")


def heading_change(record: EpisodeRecord) -> MetricResult:
    """Σ |wrap(θ_k - θ_(k-1))|."""
    turns = np.abs(wrap_angle(np.diff(record.robot_pose[:, 2])))
    return MetricResult(float(turns.sum()), "rad")


def heading_change_rate(record: EpisodeRecord) -> MetricResult:
    """Total heading change over the duration."""
    if not record.steps:
        return MetricResult.invalid("rad/s", NO_STEPS)
    return MetricResult(heading_change(record).value / float(record.time[-1] - record.time[0]), "rad/s")


PATH_LENGTH = Metric(
    name="path_length",
    unit="m",
    direction="lower",
    definition="L = Σ_k |p_k - p_(k-1)|, the distance travelled by the robot's reference point.",
    source=f"{SOCNAVBENCH}, path length; {FRANCIS}, PL; {HUNAVSIM}",
    distance="none",
    validity="Always.",
    function=path_length,
    dialects={},
)
PATH_LENGTH_RATIO = Metric(
    name="path_length_ratio",
    unit="ratio",
    direction="lower",
    definition="L / |p_0 - goal|, path over straight line, as the values of SocNavBench's Table 3 are. (Its "
    "text says the "
    "inverse: path_efficiency.) Can be a little below 1, because the goal is reached at the goal radius.",
    source=f"{SOCNAVBENCH}, Table 3",
    distance="none",
    validity="Episodes in which the goal was reached and that did not start at it.",
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
    distance="none",
    validity="Episodes in which the goal was reached by a robot that moved.",
    function=path_efficiency,
    dialects={},
)
SPL = Metric(
    name="spl",
    unit="ratio",
    direction="higher",
    definition="Success weighted by path length: S · l / max(l, L), with S = 1 for the outcome success and "
    "else 0, l the shortest way from start to goal round the walls (the straight line where the record does "
    "not know it) and L the path length.",
    source=f"{ANDERSON}; {FRANCIS}, SPL",
    distance="none",
    validity="Episodes that do not start at the goal; 0 when not successful.",
    function=spl,
    dialects={},
)
PATH_IRREGULARITY = Metric(
    name="path_irregularity",
    unit="rad",
    direction="lower",
    definition="Mean over the T+1 states of the angle (0 … π) between the robot's heading and the vector to "
    "the goal. "
    "States exactly at the goal are left out.",
    source=f"{SOCNAVBENCH}, path irregularity",
    distance="none",
    validity="Episodes with a state away from the goal.",
    function=path_irregularity,
    dialects={socnavbench_code.NAME: socnavbench_code.path_irregularity},
)
HEADING_CHANGE = Metric(
    name="heading_change",
    unit="rad",
    direction="lower",
    definition="Cumulative heading changes Σ_k |θ_k - θ_(k-1)|, each difference within ±π.",
    source=f"{HUNAVSIM}, cumulative heading changes; {SEAN}, path irregularity (without its planned path)",
    distance="none",
    validity="Always.",
    function=heading_change,
    dialects={},
)
HEADING_CHANGE_RATE = Metric(
    name="heading_change_rate",
    unit="rad/s",
    direction="lower",
    definition="Heading change over the episode's duration: how much the robot turns per second on average.",
    source=f"{HUNAVSIM}, cumulative heading changes, per second",
    distance="none",
    validity="Episodes with at least one step.",
    function=heading_change_rate,
    dialects={},
)
