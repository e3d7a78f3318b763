"""Outcome: how the episode ended. Every episode counts, whatever happened in it."""

from __future__ import annotations

from collections.abc import Callable

from sidestep.interfaces import Metric
from sidestep.metrics import socnavbench_code
from sidestep.metrics.series import INDICATOR_UNIT, indicator
from sidestep.metrics.sources import FRANCIS, HALL, SEAN, SIDESTEP, SIDEWALKBENCH, SOCNAVBENCH
from sidestep.types.outcome import Outcome
from sidestep.types.record import EpisodeRecord
from sidestep.types.result import MetricResult

_VALIDITY = "Always, also for episodes whose policy failed."


NOT_COMPLETED = "the goal was not reached"
CARRIED = "the robot was carried over part of its way"
STOP_TASK = "success here is to stop for a person, not to reach the goal"
"""Reason of metrics that weigh success by the way to the goal, where the task is another one."""
DRIVEN = "Episodes in which the task is to reach the goal, and the robot drove all the way there without being carried"
"""Validity of metrics of path and time to the goal, see ``why_not_driven``."""


def is_completed(record: EpisodeRecord) -> bool:
    """Whether the goal was reached, whatever else happened. Success may be another thing (``rules.success``): a robot
    that stops where it is told to has not completed its way."""
    return any(event.kind == "goal_reached" for event in record.events)


def why_not_driven(record: EpisodeRecord) -> str:
    """Why path and time to the goal say nothing, empty if they do: the robot did not get there; its task was to stop,
    and it reached the goal all the same; or it was put back on its route after a failure (event ``reset``), which
    shortens both."""
    if not is_completed(record):
        return NOT_COMPLETED
    if record.scenario.rules.success != "goal":
        return STOP_TASK
    return CARRIED if any(event.kind == "reset" for event in record.events) else ""


def completed(record: EpisodeRecord) -> MetricResult:
    """1 if the goal was reached, with collisions or without."""
    return indicator(is_completed(record))


def make_outcome_indicator(outcome: Outcome) -> Callable[[EpisodeRecord], MetricResult]:
    """The function that answers 1 if an episode's outcome is ``outcome``."""

    def outcome_indicator(record: EpisodeRecord) -> MetricResult:
        return indicator(record.outcome is outcome)

    outcome_indicator.__name__ = outcome.value
    outcome_indicator.__doc__ = f"1 if the episode's outcome is {outcome.value}."
    return outcome_indicator


def _metric(outcome: Outcome, meaning: str, source: str) -> Metric:
    return Metric(
        name=outcome.value,
        unit=INDICATOR_UNIT,
        direction="higher" if outcome is Outcome.SUCCESS else "lower",
        definition=meaning + " The mean over episodes is the rate.",
        source=source,
        distance="surface" if outcome.value.endswith("collision") else "none",
        validity=_VALIDITY,
        function=make_outcome_indicator(outcome),
        dialects={socnavbench_code.NAME: socnavbench_code.make_outcome_indicator(outcome)},
    )


SUCCESS = _metric(
    Outcome.SUCCESS,
    "1 if the outcome is success: the goal was reached (or, where rules.success is stop, the robot stopped for the "
    "person who asked it to) and nothing that outranks it happened (by the default precedence no collision with "
    "anybody or anything, no timeout, no policy error), else 0.",
    f"{SOCNAVBENCH}, overall success rate; {FRANCIS}, S",
)
PEDESTRIAN_COLLISION = _metric(
    Outcome.PEDESTRIAN_COLLISION,
    "1 if the outcome is a collision with a person, else 0.",
    f"{SOCNAVBENCH}, failure cases",
)
ENVIRONMENT_COLLISION = _metric(
    Outcome.ENVIRONMENT_COLLISION,
    "1 if the outcome is a collision with a wall, else 0.",
    f"{SOCNAVBENCH}, failure cases",
)
VEHICLE_COLLISION = _metric(
    Outcome.VEHICLE_COLLISION,
    "1 if the outcome is a collision with a vehicle or another robot, else 0.",
    SIDESTEP,
)
TIMEOUT = _metric(
    Outcome.TIMEOUT,
    "1 if the outcome is that the time limit passed before the goal was reached, else 0.",
    f"{SOCNAVBENCH}, failure cases; {FRANCIS}, TO",
)
OFF_ROUTE = _metric(
    Outcome.OFF_ROUTE,
    "1 if the outcome is that the robot's reference point left the ground of rules.stay_on, else 0.",
    f"{SIDEWALKBENCH}, out of lane",
)
GROUP_INTRUSION = _metric(
    Outcome.GROUP_INTRUSION,
    "1 if the outcome is that the robot passed between two people of one group, at most 3.6 m apart, else 0.",
    f"{SIDEWALKBENCH}, appendix A, conversing and queuing; the distance is {HALL}'s social distance",
)
DISOBEYED = _metric(
    Outcome.DISOBEYED,
    "1 if the outcome is that the robot reached its goal where it was told to stop, else 0.",
    f"{SIDEWALKBENCH}, appendix A, gesturing",
)
LANE_INVASION = _metric(
    Outcome.LANE_INVASION, "1 if the outcome is that the robot crossed lane markings, else 0.", SIDESTEP
)
FROZEN = _metric(
    Outcome.FROZEN,
    "1 if the outcome is that the robot stood still for rules.frozen_after_s, else 0.",
    SIDESTEP,
)
POLICY_ERROR = _metric(
    Outcome.POLICY_ERROR,
    "1 if the policy raised an error or answered with something that is no command, else 0.",
    SIDESTEP,
)

COMPLETED = Metric(
    name="completed",
    unit=INDICATOR_UNIT,
    direction="higher",
    definition="1 if the robot reached the goal (event goal_reached), with collisions on the way or without, else 0, "
    "also where success is another thing than reaching the goal. The mean is the rate.",
    source=f"{SOCNAVBENCH}, completed episodes; {SEAN}, Completed",
    validity=_VALIDITY,
    function=completed,
)
