"""Outcome: how the episode ended. Every episode counts, whatever its outcome."""

from __future__ import annotations

from sidestep.interfaces import Metric
from sidestep.metrics import socnavbench_code as code
from sidestep.metrics.definition import Value, metric
from sidestep.metrics.series import INDICATOR_UNIT
from sidestep.metrics.sources import FRANCIS, HALL, INTERSECTNAV, PIRK, SEAN, SIDESTEP, SIDEWALKBENCH, SOCNAVBENCH
from sidestep.types.outcome import Outcome
from sidestep.types.record import EpisodeRecord

_VALIDITY = "Always, also for episodes whose policy failed."
NOT_COMPLETED = "the goal was not reached"
CARRIED = "the robot was carried over part of its way"
STOP_TASK = "success here is to stop for a person, not to reach the goal"
EXIT_TASK = "success here is to leave an area, not to reach a goal"
"""Reasons of metrics that weight success by the way to the goal, in episodes with another task."""
DRIVEN = "Episodes in which the task is to reach the goal, and the robot drove all the way there without being carried"
"""Validity of metrics of path and time to the goal, see ``why_not_driven``."""


def is_completed(record: EpisodeRecord) -> bool:
    """Whether the robot reached the goal, or left the area where it should, whatever else happened. Success can mean
    something else (``rules.success``): a robot that stops for a person succeeds without completing its way."""
    return any(event.kind in ("goal_reached", "exited") for event in record.events)


def why_not_driven(record: EpisodeRecord) -> str:
    """Why path and time to the goal have no value; empty if they have one. The robot did not reach the goal; or its
    task was not to reach a goal; or it was put back on its route after a failure (event ``reset``), which shortens
    both."""
    if not is_completed(record):
        return NOT_COMPLETED
    if record.scenario.rules.success != "goal":
        return STOP_TASK if record.scenario.rules.success == "stop" else EXIT_TASK
    return CARRIED if any(event.kind == "reset" for event in record.events) else ""


def _indicator(outcome: Outcome, condition: str, source: str) -> Metric:
    """1 in episodes with this outcome."""

    @metric(
        INDICATOR_UNIT,
        "higher" if outcome is Outcome.SUCCESS else "lower",
        source=source,
        validity=_VALIDITY,
        distance="surface" if outcome.value.endswith("collision") else "none",
        dialects={code.NAME: code.make_outcome_indicator(outcome)},
        name=outcome.value,
        definition=f"1 if {condition}, else 0. The mean over episodes is the rate.",
    )
    def indicator(record: EpisodeRecord) -> Value:
        return record.outcome is outcome

    return indicator


_FAILURE_CASES = f"{SOCNAVBENCH}, failure cases"
success = _indicator(
    Outcome.SUCCESS,
    "the outcome is success: the goal was reached (or, where rules.success is stop, the robot stopped for the "
    "person who asked it to) and nothing that outranks it happened (by the default precedence no collision with "
    "anybody or anything, no timeout, no policy error)",
    f"{SOCNAVBENCH}, overall success rate; {FRANCIS}, S",
)
pedestrian_collision = _indicator(
    Outcome.PEDESTRIAN_COLLISION, "the outcome is a collision with a person", _FAILURE_CASES
)
environment_collision = _indicator(
    Outcome.ENVIRONMENT_COLLISION, "the outcome is a collision with a wall", _FAILURE_CASES
)
vehicle_collision = _indicator(
    Outcome.VEHICLE_COLLISION, "the outcome is a collision with a vehicle or another robot", SIDESTEP
)
timeout = _indicator(
    Outcome.TIMEOUT,
    "the outcome is that the time limit passed before the goal was reached",
    f"{_FAILURE_CASES}; {FRANCIS}, TO",
)
off_route = _indicator(
    Outcome.OFF_ROUTE,
    "the outcome is that the robot's reference point left the ground of rules.stay_on",
    f"{SIDEWALKBENCH}, out of lane",
)
group_intrusion = _indicator(
    Outcome.GROUP_INTRUSION,
    "the outcome is that the robot passed between two people of one group, at most 3.6 m apart",
    f"{SIDEWALKBENCH}, appendix A, conversing and queuing; the distance is {HALL}'s social distance",
)
disobeyed = _indicator(
    Outcome.DISOBEYED,
    "the outcome is that the robot took precedence that it did not have: it reached its goal although a person asked "
    "it to stop (rules.success is stop), or, among people of the event enacting, crossed before a person for whom it "
    "had to wait, crossed before the person waved it on, went into a door at which the person was first, rushed at a "
    "person who was startled at a corner, or stood in the path until the person walked round it",
    f"{SIDEWALKBENCH}, appendix A, gesturing; {PIRK}, scenarios; the distances are {SIDESTEP}'s",
)
lane_invasion = _indicator(
    Outcome.LANE_INVASION,
    "the outcome is more lane invasions than rules.lanes allows",
    f"{INTERSECTNAV}, lane invasion",
)
wrong_exit = _indicator(
    Outcome.WRONG_EXIT,
    "the outcome is that the robot left the area of rules.exit on another side, beside its lane, or at an angle to it",
    f"{INTERSECTNAV}, wrong direction, too far and too much angle of its program",
)
frozen = _indicator(Outcome.FROZEN, "the outcome is that the robot stood still for rules.frozen_after_s", SIDESTEP)
policy_error = _indicator(
    Outcome.POLICY_ERROR, "the policy raised an error or returned something other than a command", SIDESTEP
)


@metric(INDICATOR_UNIT, "higher", source=f"{SOCNAVBENCH}, completed episodes; {SEAN}, Completed", validity=_VALIDITY)
def completed(record: EpisodeRecord) -> Value:
    """1 if the robot reached the goal (event goal_reached, or exited if the task is to leave an area), with or without
    collisions on the way, else 0. This holds also if success means something else. The mean over episodes is the
    rate."""
    return is_completed(record)
