"""Cost to people: delay, detour and stops of each person, compared with the same episode without the robot.

Each person of the record is compared with the person of the same id in the counterfactual, the episode without the
robot (``record.counterfactual``), over the time of the episode. A person is matched with a point of their own path
without the robot, which gives their delay.
"""

from __future__ import annotations

from functools import partial
from math import ceil, floor

import numpy as np

from sidestep.metrics import series
from sidestep.metrics.definition import NO_STEPS, NOBODY, Value, average, largest, metric
from sidestep.types.base import BoolArray, FloatArray, IntArray
from sidestep.types.behaviour import CHOOSES, BehaviourPlacement
from sidestep.types.outcome import Outcome
from sidestep.types.record import EpisodeRecord
from sidestep.types.scenario import Scenario

AFFECTED_FROM_M = 0.1
"""A person who is never farther from where they would be without the robot is not affected."""
SAME_PLACE_M = 0.01
"""Points of a path that are at most this far apart are the same place, as when a person stands."""
WINDOW_S = 2.0
"""The matched point moves along the path by at most this much of its time from one look to the next."""
TURN_M = 2.0
"""A point that is passed in the opposite direction counts as this much farther away, so that people who walk back and
forth are matched with the right leg."""
LOOK_S = 0.2
"""Longest time between two looks."""
STOPPED_MPS = 0.2
"""A person who is slower than this for ``STOP_S`` has stopped."""
STOP_S = 0.5
STRAY_M = 3.0
"""People who draw their destinations and are farther than this from their path without the robot have another one."""

NO_COUNTERFACTUAL = "no episode without the robot to compare with; `sidestep counterfactual RUN` simulates it"
SHORT_COUNTERFACTUAL = (
    "the episode without the robot is shorter than this one; `sidestep counterfactual RUN` extends it"
)
OTHER_COUNTERFACTUAL = "the counterfactual is of another scenario, seed or step"
REPLAYED = "people are replayed and do not react to the robot"
SCRIPTED = "people act on the robot, so there is no episode without it to compare with"
UNSEEING = "people do not see the robot"
FAILED_EARLY = "the robot failed before the end, so people had less time to lose any"
FIXED = ("static", "script")
"""Models of people who are not compared: they never move, or they act on the robot."""

DELAY, DETOUR, STOPS, SPEED_LOSS, AFFECTED, CLOSEST, ROWS = range(7)

_PEOPLE = (
    "Only people who react to the robot count: not the people of events, who act on it, people who stand still by "
    "their model, and recorded people who are replayed unchanged."
)
_MATCHED = (
    "The person is matched with the nearest point of their own path without the robot, which moves along that path by "
    f"at most {WINDOW_S:g} s every {LOOK_S:g} s; among the points at most "
    f"{SAME_PLACE_M:g} m farther than the nearest, the latest counts. A point passed in the opposite direction counts "
    f"as {TURN_M:g} m farther away, in another direction proportionally."
)
_DELAY = (
    "Delay: time at the end of the episode minus the time of the matched point; for a person who has left the scene, "
    "time of leaving minus that without the robot. A negative delay counts as 0. The delay is at most the time of the "
    "straight way to where the person would be, at their mean speed without the robot or at "
    f"{STOPPED_MPS:g} m/s, whichever is higher. "
    f"{_MATCHED}"
)
_cost = partial(
    metric,
    validity="Episodes with a counterfactual (`sidestep counterfactual`) and people who react to the robot, in which "
    "the robot reached its goal or used up its time: a robot that fails early must not look considerate.",
)


def compared_people(record: EpisodeRecord) -> BoolArray:
    """(N,) whether each person is present at some time, with or without the robot, and can be compared. The
    counterfactual must fit the record."""
    kinds = np.array([model not in FIXED for model in record.person_model], bool)
    if not any(part.reactivity != "none" for part in record.scenario.crowd):
        kinds &= np.array([model != "replay" for model in record.person_model], bool)
    compared: BoolArray = _is_there(record) & kinds
    return compared


def _is_there(record: EpisodeRecord) -> BoolArray:
    """(N,) whether each person is present at some time, with or without the robot."""
    present = record.person_present
    if record.counterfactual is not None:
        present = np.concatenate(
            [present, record.counterfactual.person_present[: len(present), _columns(record, record.counterfactual)]]
        )
    there: BoolArray = np.any(present, axis=0)
    return there


def why_no_cost(record: EpisodeRecord) -> str:
    """Why there is nothing to compare; empty if there is."""
    counterfactual = record.counterfactual
    if counterfactual is None:
        return NO_COUNTERFACTUAL
    if not fits(record, counterfactual):
        return OTHER_COUNTERFACTUAL
    if not record.steps:
        return NO_STEPS
    if counterfactual.steps < record.steps:
        return SHORT_COUNTERFACTUAL
    if record.outcome not in (Outcome.SUCCESS, Outcome.TIMEOUT) and has_ended_early(record):
        return FAILED_EARLY
    if not compared_people(record).any():
        models = {model for model, there in zip(record.person_model, _is_there(record), strict=True) if there}
        return SCRIPTED if "script" in models else REPLAYED if "replay" in models else NOBODY
    crowd = [part for part in record.scenario.crowd if part.reactivity != "none" or part.model != "replay"]
    return UNSEEING if crowd and not any(part.sees_robot for part in crowd) else ""


def has_ended_early(record: EpisodeRecord) -> bool:
    """Whether the episode is shorter than its time limit."""
    return record.duration < record.scenario.rules.time_limit_s - record.scenario.rules.step_s


def fits(record: EpisodeRecord, counterfactual: EpisodeRecord) -> bool:
    """Whether ``counterfactual`` is of the record's scenario and seed."""
    known = bool(np.isin(record.person_id, counterfactual.person_id).all())
    return known and record.seed == counterfactual.seed and fits_scenario(record.scenario, counterfactual.scenario)


def fits_scenario(a: Scenario, b: Scenario) -> bool:
    """Whether both scenarios have the same people, events and rules; settings of the policy, such as the camera, may
    differ."""
    parts = {"name", "suite", "crowd", "events", "rules"}
    return a.model_dump_json(include=parts) == b.model_dump_json(include=parts)


@series.once_per_record
def people_costs(record: EpisodeRecord) -> FloatArray:
    """(ROWS, N) losses of each person of the record: ``DELAY`` s, ``DETOUR`` m, ``STOPS``, ``SPEED_LOSS`` m/s,
    ``AFFECTED`` 0 or 1, ``CLOSEST`` surface distance of the robot in m. NaN for people who are not compared, and for
    everybody if there is nothing to compare with."""
    costs = np.full((ROWS, len(record.person_id)), np.nan)
    if why_no_cost(record) or record.counterfactual is None:
        return costs
    who = np.flatnonzero(compared_people(record))
    walk = _Walks(record, who)
    without = _Walks(record.counterfactual, _columns(record, record.counterfactual)[who], record.steps + 1)
    matching = _Matching(
        walk, without, record.step_s, _choices(record.counterfactual, without) if draws_destinations(record) else None
    )
    people, at, found = np.arange(len(who)), matching.at, np.maximum(matching.found, 0)
    late = np.where(matching.found >= 0, np.maximum(at - found, 0), 0) * record.step_s
    away = _distance(walk.position[at, people], without.position[at, people])
    pace = without.mean_speed(at, record.step_s)
    late = np.minimum(late, np.where(np.isnan(away), np.inf, away / np.maximum(pace, STOPPED_MPS)))
    there = np.minimum(at, without.last)
    offset = np.nan_to_num(walk.position[at, people] - without.position[there, people])
    ahead = (offset * without.course[there, people]).sum(axis=-1)
    rest = np.where(ahead > 0, -ahead, np.hypot(offset[:, 0], offset[:, 1]))
    more = np.where(matching.found >= 0, walk.length[at, people] + rest - without.length[at, people], 0.0)
    stops = walk.stops(record.step_s)[at, people] - without.stops(record.step_s)[at, people]
    slower = np.maximum(pace - walk.mean_speed(at, record.step_s), 0.0)
    before = np.arange(record.steps + 1)[:, None] <= at
    nearest = np.where(walk.here, series.pedestrian_distance(record)[:, who], np.inf).min(axis=0)
    costs[DELAY, who], costs[DETOUR, who], costs[STOPS, who] = late, np.maximum(more, 0.0), np.maximum(stops, 0)
    costs[SPEED_LOSS, who], costs[AFFECTED, who] = slower, (_differs(walk, without) & before).any(axis=0)
    costs[CLOSEST, who] = np.where(np.isfinite(nearest), nearest, np.nan)
    return costs


def _choices(counterfactual: EpisodeRecord, without: _Walks) -> IntArray:
    """(N,) the state in which each person without the robot first draws what to do next, or stops to talk; the last
    state if none."""
    last = len(without.here) - 1
    drawn = {
        event.subject: round(event.time / counterfactual.step_s)
        for event in counterfactual.events
        if event.text == CHOOSES
    }
    chosen = np.array([min(drawn.get(f"person:{number}", last), last) for number in without.ids], int)
    stands = np.where(without.stands.any(axis=0), without.stands.argmax(axis=0), last)
    first: IntArray = np.minimum(chosen, stands)
    return first


def draws_destinations(record: EpisodeRecord) -> bool:
    """Whether people draw their next destinations from one random generator. Once a person is late, everybody draws
    other destinations than without the robot, so people are compared only on their way to the first destination."""
    return any(isinstance(part.placement, BehaviourPlacement) for part in record.scenario.crowd)


class _Walks:
    """Paths of some people: ``position (T+1, N, 2)``, ``here (T+1, N)`` and ``length (T+1, N)`` walked so far, m."""

    def __init__(self, record: EpisodeRecord, columns: IntArray, states: int | None = None) -> None:
        self.here = series.present(record)[:states, columns]
        self.position = record.person_position[:states, columns].astype(np.float64)
        steps = np.diff(self.position, axis=0)
        moved = np.nan_to_num(np.hypot(steps[..., 0], steps[..., 1]))
        self.length = np.concatenate([np.zeros((1, len(columns))), np.cumsum(moved, axis=0)])
        walks = np.nan_to_num(steps) / np.maximum(moved, 1e-9)[..., None]
        walks[moved < STOPPED_MPS * record.step_s] = 0.0
        self.course = np.concatenate([walks[:1], walks]) if len(walks) else np.zeros_like(self.position)
        self.moved = moved
        self.ids = record.person_id[columns]
        yaw, group = record.person_head_yaw, record.person_group[:states, columns]
        self.stands = group != group[0]  # somebody who stops to talk joins a group
        if yaw.size:
            self.stands |= np.isfinite(yaw[:states, columns])

    @property
    def first(self) -> IntArray:
        """(N,) first state in which each person is present; -1 if never."""
        return np.where(self.here.any(axis=0), self.here.argmax(axis=0), -1)

    @property
    def last(self) -> IntArray:
        """(N,) last state in which each person is present; -1 if never."""
        return np.where(self.here.any(axis=0), len(self.here) - 1 - self.here[::-1].argmax(axis=0), -1)

    def mean_speed(self, until: IntArray, step_s: float) -> FloatArray:
        """(N,) path length divided by time in the scene up to the states ``until (N,)``, m/s; 0 for a single state."""
        people = np.arange(len(until))
        steps = np.concatenate([np.zeros((1, len(until))), np.cumsum(self.here[1:] & self.here[:-1], axis=0)])
        speed: FloatArray = self.length[until, people] / np.maximum(steps[until, people] * step_s, step_s)
        return speed

    def stops(self, step_s: float) -> IntArray:
        """(T+1, N) number of stops so far. A stop: a person who walked is slower than ``STOPPED_MPS`` for
        ``STOP_S``."""
        slow = (self.moved < STOPPED_MPS * step_s) & self.here[1:] & self.here[:-1]
        enough = max(1, ceil(STOP_S / step_s - 1e-9))
        count = np.zeros(slow.shape[1], int)
        since, walked = np.zeros_like(count), np.zeros(len(count), bool)
        stops = np.zeros(self.here.shape, int)
        for k, now in enumerate(slow):
            since = np.where(now, since + 1, 0)
            count = count + (walked & (since == enough))
            walked = np.where(since >= enough, False, walked | (~now & self.here[k + 1]))
            stops[k + 1] = count
        return stops


class _Matching:
    """Progress of each person on their own path without the robot: ``at (N,)`` the last state that is compared and
    ``found (N,)`` the state of the path without the robot that it is matched with; -1 if the person is never present
    without the robot."""

    def __init__(self, walk: _Walks, without: _Walks, step_s: float, ends: IntArray | None) -> None:
        """``ends (N,)``: for people who draw their destinations, the state in which the first one is reached; else
        None."""
        end = len(walk.here) - 1
        self._walk, self._without, self._ends = walk, without, ends
        self.at = np.full(walk.here.shape[1], end)
        self.found = np.maximum(without.first, 0)
        self._goes_on = np.ones(len(self.at), bool)
        reach = np.arange(-ceil(WINDOW_S / step_s), ceil(WINDOW_S / step_s) + 1)[:, None]
        self._stride = max(1, floor(LOOK_S / step_s + 1e-9))
        for state in sorted({*range(0, end, self._stride), end}):
            self._look(state, reach)
        came, left = walk.last >= 0, (walk.last >= 0) & (walk.last < end) & self._goes_on
        self.at = np.where(left, walk.last, self.at)
        self.found = np.where(left, without.last, np.where(came, self.found, without.first))
        self.found = np.where(without.last >= 0, self.found, -1)

    def _look(self, state: int, reach: IntArray) -> None:
        """Move the matched points on to those of ``state``."""
        walk, without, people = self._walk, self._without, np.arange(len(self.at))
        latest = np.full(len(self.at), len(walk.here) - 1) if self._ends is None else self._ends
        states = np.clip(self.found + reach, 0, latest)
        gap = _distance(without.position[states, people], walk.position[state])
        gap[np.isnan(gap)] = np.inf
        nearest = gap.min(axis=0)
        gap += _turn(without.course[states, people], walk.course[state])
        same = gap <= gap.min(axis=0) + SAME_PLACE_M
        found = states[len(states) - 1 - same[::-1].argmax(axis=0), people]
        now = _distance(without.position[state], walk.position[state])
        now += _turn(without.course[state], walk.course[state])
        found = np.where(now <= SAME_PLACE_M, np.minimum(state, latest), found)
        known = np.isfinite(nearest) & self._goes_on
        if self._ends is not None:
            strays = known & (nearest > STRAY_M)
            self.at[strays], known = state, known & ~strays
            self._goes_on &= ~strays
        self.found = np.where(known, found, self.found)
        if self._ends is not None:
            arrived = known & (self.found >= self._ends)
            done = arrived | (known & walk.stands[state])
            self.at[done] = state
            for n in np.flatnonzero(arrived).tolist():
                self.at[n] = self._arrival(n, state)
            self._goes_on &= ~done

    def _arrival(self, n: int, state: int) -> int:
        """The first state since the look before in which person ``n`` was at the end of what is compared."""
        since = max(state + 1 - self._stride, int(self._ends[n])) if self._ends is not None else state
        states = np.arange(min(since, state), state + 1)
        gap = _distance(self._walk.position[states, n], self._without.position[self.found[n], n])
        known = np.where(np.isnan(gap), np.inf, gap)
        return int(states[(known <= known.min() + SAME_PLACE_M).argmax()])


def _turn(a: FloatArray, b: FloatArray) -> FloatArray:
    """``TURN_M`` for two opposite courses, 0 for equal ones or if the person stands, m."""
    both = (np.abs(a).sum(axis=-1) > 0) & (np.abs(b).sum(axis=-1) > 0)
    turn: FloatArray = np.where(both, TURN_M * (1.0 - (a * b).sum(axis=-1)) / 2, 0.0)
    return turn


def _distance(a: FloatArray, b: FloatArray) -> FloatArray:
    gap: FloatArray = np.hypot(a[..., 0] - b[..., 0], a[..., 1] - b[..., 1])
    return gap


def _differs(walk: _Walks, without: _Walks) -> BoolArray:
    """(T+1, N) whether each person is elsewhere than without the robot, or present in only one of the two."""
    apart = np.nan_to_num(_distance(walk.position, without.position)) > AFFECTED_FROM_M
    differs: BoolArray = apart | (walk.here != without.here)
    return differs


def _columns(record: EpisodeRecord, counterfactual: EpisodeRecord) -> IntArray:
    """(N,) the column of each person of the record in the counterfactual."""
    order = np.argsort(counterfactual.person_id, kind="stable")
    found: IntArray = order[np.searchsorted(counterfactual.person_id, record.person_id, sorter=order)]
    return found


@_cost("s", "lower")
def delay_mean_s(record: EpisodeRecord) -> Value:
    """Mean delay that the robot caused. {_PEOPLE} {_DELAY}"""
    return why_no_cost(record) or average(people_costs(record)[DELAY], NOBODY)


@_cost("s", "lower")
def delay_max_s(record: EpisodeRecord) -> Value:
    """Largest delay of one person. {_DELAY}"""
    return why_no_cost(record) or largest(people_costs(record)[DELAY], NOBODY)


@_cost("m", "lower")
def detour_mean_m(record: EpisodeRecord) -> Value:
    """Mean detour: length of the path walked, plus the straight way from its end to where the person would be without
    the robot (for a person who is ahead of that place, minus the way ahead), minus the length of the path without the
    robot up to there. A negative detour counts as 0. {_PEOPLE}"""
    return why_no_cost(record) or average(people_costs(record)[DETOUR], NOBODY)


@_cost("count", "lower")
def extra_stops(record: EpisodeRecord) -> Value:
    """Number of stops in addition to those without the robot in the same time, summed over people. A stop: a person who
    walked is slower than {STOPPED_MPS:g} m/s for {STOP_S:g} s."""
    return why_no_cost(record) or float(np.nansum(people_costs(record)[STOPS]))


@_cost("m/s", "lower")
def speed_loss(record: EpisodeRecord) -> Value:
    """Mean loss of speed: path length divided by time in the scene up to the end of the episode, without the robot
    minus with it. A negative loss counts as 0. {_PEOPLE}"""
    return why_no_cost(record) or average(people_costs(record)[SPEED_LOSS], NOBODY)


@_cost("ratio", "lower")
def affected_people(record: EpisodeRecord) -> Value:
    """Share of people who at some time are more than {AFFECTED_FROM_M:g} m from where they would be without the robot,
    or are in the scene in only one of the two. Indirect effects count. {_PEOPLE}"""
    return why_no_cost(record) or average(people_costs(record)[AFFECTED], NOBODY)


@_cost("m", "higher", distance="surface")
def closest_approach(record: EpisodeRecord) -> Value:
    """Mean over people of the smallest distance between the robot's surface and the person's over the states.
    {_PEOPLE}"""
    return why_no_cost(record) or average(people_costs(record)[CLOSEST], NOBODY)
