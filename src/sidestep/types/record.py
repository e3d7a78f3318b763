"""The episode record: the waist of the system. Saved, versioned, self-describing, with a digest.

``Plans`` are annotations of a record: what the policy planned to do and where it expected people. They are
no part of what happened, and no part of the digest.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, fields
from functools import cached_property
from math import nan
from typing import Any, Literal, NamedTuple

import numpy as np
from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from sidestep._util.record_display import record_display
from sidestep.errors import BadInput
from sidestep.types.base import BoolArray, FloatArray, IntArray, frozen_array
from sidestep.types.outcome import Outcome
from sidestep.types.robot import Footprint, RobotSpec
from sidestep.types.scenario import Scenario, SyntheticPlacement

MOST_PLAN_POINTS = 40
"""Points of a plan or a forecast; further points that a policy publishes are cut off."""


def _nothing() -> IntArray:
    return np.zeros(0, np.int32)


def _no_points() -> FloatArray:
    return np.zeros((0, 0, 2), np.float32)


@dataclass(frozen=True, eq=False)
class Plans:
    """Plans of the robot and forecasts of people, as published at some of the steps.

    Point j of a plan or forecast is meant for (j + 1) ``step_s`` after the state ``step``, m, world frame; NaN pads
    what is shorter than the longest. A plan holds until the next; one of NaN only says that there was none any more.
    ``forecast_person`` is a column of the record's people; a person with two rows at one step may go either way.
    """

    step_s: float = nan  # s between two points; NaN where nothing was published
    step: IntArray = field(default_factory=_nothing)  # (P,) int32, rising
    robot: FloatArray = field(default_factory=_no_points)  # (P, H, 2) float32
    forecast_step: IntArray = field(default_factory=_nothing)  # (F,) int32, each one of ``step``
    forecast_person: IntArray = field(default_factory=_nothing)  # (F,) int32
    people: FloatArray = field(default_factory=_no_points)  # (F, G, 2) float32

    def __post_init__(self) -> None:
        p, f = len(self.step), len(self.forecast_step)
        shapes: dict[str, tuple[Any, tuple[int | None, ...]]] = {
            "step": (np.int32, (p,)),
            "robot": (np.float32, (p, None, 2)),
            "forecast_step": (np.int32, (f,)),
            "forecast_person": (np.int32, (f,)),
            "people": (np.float32, (f, None, 2)),
        }
        for name, (dtype, shape) in shapes.items():
            object.__setattr__(self, name, frozen_array(getattr(self, name), dtype, shape, f"plans.{name}"))
        if (np.diff(self.step) <= 0).any():
            raise BadInput("plans.step: the steps of plans must rise")
        if not np.isin(self.forecast_step, self.step).all():
            raise BadInput("plans.forecast_step: a forecast at a step without a plan")

    def __len__(self) -> int:
        return len(self.step)

    def __eq__(self, other: object) -> bool:
        """To the bit."""
        if not isinstance(other, Plans):
            return NotImplemented
        pairs = ((getattr(self, item.name), getattr(other, item.name)) for item in fields(self))
        return all(np.array_equal(mine, theirs, equal_nan=True) for mine, theirs in pairs)

    __hash__ = None  # type: ignore[assignment]

    def row_at(self, state: int) -> int:
        """The row of the plan that holds at a state; -1: none was published yet."""
        return int(np.searchsorted(self.step, state, side="right")) - 1

    def plan_at(self, state: int) -> FloatArray:
        """(K, 2) the points of the plan that holds at a state; none: (0, 2)."""
        row = self.row_at(state)
        return self.known(self.robot[row]) if row >= 0 else np.zeros((0, 2), np.float32)

    def forecasts_at(self, state: int) -> tuple[IntArray, FloatArray]:
        """(M,) columns of people and (M, G, 2) where they are expected, as published with the plan that holds."""
        row = self.row_at(state)
        rows = self.forecast_step == self.step[row] if row >= 0 else np.zeros(len(self.forecast_step), bool)
        return self.forecast_person[rows], self.people[rows]

    @staticmethod
    def known(points: FloatArray) -> FloatArray:
        """The points that are not padding."""
        found: FloatArray = points[np.isfinite(points).all(axis=-1)]
        return found


FORMAT_VERSION = 2

OPTIONAL_ARRAYS: dict[str, type[np.generic]] = {
    "person_delay": np.float32,
    "person_detour": np.float32,
    "person_gesture": np.uint8,
    "person_head_yaw": np.float32,
}
"""Arrays (T+1, N) that a record may leave empty, and their types."""

EventKind = Literal[
    "collision_start", "collision_end", "goal_reached", "timeout", "frozen", "off_route", "lane_invasion",
    "policy_error", "limit_start", "limit_end", "trigger", "group_intrusion", "disobeyed", "stopped", "reset",
    "lane_crossing", "exited", "wrong_exit",
]  # fmt: skip

Source = Literal["recorded", "generated", "mixed"]
"""Where the people of an episode come from."""
Mode = Literal["sync", "async", "latency"]
"""What the world does while the policy thinks."""

LIMIT_NAMES: dict[int, str] = {1: "speed", 2: "turn_rate", 4: "acceleration", 8: "turn_acceleration", 16: "steer"}
"""Bits of ``EpisodeRecord.limited``."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened at ``time`` (s, inside a step when a sweep found it). ``subject`` is ``person:ID``,
    ``wall``, ``robot:K``, ``vehicle:K``, the name of a limit or a trigger; ``value`` is its number, if it has one."""

    time: float  # s
    kind: EventKind  # kind of event
    subject: str = ""  # person, wall, robot, vehicle, limit or trigger
    value: float = 0.0  # number of the event, if it has one
    text: str = ""  # further description

    def __post_init__(self) -> None:
        for name in ("time", "value"):  # numpy's floats print differently, and the digest reads them
            object.__setattr__(self, name, float(getattr(self, name)))


WALLS = ("files", "processes", "network", "signals", "calls")
"""What a sandbox around a policy's process can hold: its own files only; no sight of other processes; no network; no
signals and limits for others; no system calls that lead out."""
SANDBOX_HELD = "held"


@dataclass(frozen=True, slots=True)
class PolicyInfo:
    """Which policy ran, with the settings that it really used and the sensors that it got."""

    name: str  # name or label of the policy
    settings: dict[str, Any] = field(default_factory=dict)  # settings in use
    needs: tuple[str, ...] = ()  # inputs that the policy got
    version: str = ""  # version of the policy and hash of its code
    privileged: bool = False
    """Sees what other policies of the suite do not: the future, everybody, or the map. Never ranked with the others."""
    sandbox: tuple[str, ...] | None = None
    """Walls that held around the process of a guest; None: not a guest. No part of the digest."""

    @property
    def sandbox_state(self) -> str:
        """``held``, or which walls did not hold; empty for a policy that was no guest."""
        if self.sandbox is None:
            return ""
        missing = [wall for wall in WALLS if wall not in self.sandbox]
        return f"not held: {', '.join(missing)}" if missing else SANDBOX_HELD


@dataclass(frozen=True, eq=False, repr=False)
class EpisodeRecord:
    """One episode, whole. T steps give T + 1 states; state 0 is the first observation at time 0.

    Positions in metres, world frame; angles in radians, counter-clockwise from +x. N people, W wall edges, K others.

    ``person_delay``, ``person_detour``: how far the robot has put each replayed person behind the recording by then,
    and how much farther they have walked than recorded; they keep their last value when the person has gone. Both are
    empty (0, 0) where nobody replayed reacts to the robot, and then are no part of the digest.

    ``person_gesture`` (numbers of ``GESTURES``) and ``person_head_yaw`` (rad from the heading; NaN: looks where it is
    about to go, or is absent) are empty in the same way where nobody is directed.

    ``person_group``: groups form and dissolve, so every state has its own; people with the same number ≥ 0 belong
    together.

    ``plans``: what the policy published of its intentions. Like ``planning_time`` they are no part of the digest: they
    hold what the policy planned, not what happened, and a planner that begins to publish keeps its old results valid.
    """

    scenario: Scenario  # scenario as it was run
    robot: RobotSpec  # robot that was driven
    policy: PolicyInfo  # policy that drove
    seed: int  # seed of the episode
    outcome: Outcome  # how the episode ended
    source: Source  # where the people come from
    mode: Mode  # what the world did while the policy computed
    time: FloatArray  # (T+1,) float64, s
    robot_pose: FloatArray  # (T+1, 3) float64: x, y, heading
    robot_velocity: FloatArray  # (T+1, 3) float64: vx, vy (world frame), omega
    command: FloatArray  # (T, 4) float64: kind (index in COMMAND_KINDS, -1 none yet) and up to 3 numbers, as issued
    applied: FloatArray  # (T, 2) float64: what the dynamics executed: (v, omega), (vx, vy) or (v, steer angle)
    limited: IntArray  # (T,) uint8: bits of LIMIT_NAMES
    planning_time: FloatArray  # (T,) float64, s of wall clock; NaN on steps where the policy was not asked
    person_id: IntArray  # (N,) int64
    person_radius: FloatArray  # (N,) float32
    person_group: IntArray  # (T+1, N) int32, -1 alone; (N,) is taken for every state
    person_model: tuple[str, ...]  # (N,) name of the crowd model that moves the person
    person_position: FloatArray  # (T+1, N, 2) float32; NaN when absent
    person_velocity: FloatArray  # (T+1, N, 2) float32; NaN when absent
    person_heading: FloatArray  # (T+1, N) float32; NaN when absent
    person_present: BoolArray  # (T+1, N)
    walls: FloatArray  # (W, 4) float32: x0, y0, x1, y1
    events: tuple[Event, ...] = ()  # events in order of time
    other_pose: FloatArray = field(default_factory=lambda: np.zeros((0, 0, 3)))  # (T+1, K, 3) other robots and vehicles
    other_radius: FloatArray = field(default_factory=lambda: np.zeros(0))  # (K,) enclosing circle, m
    person_delay: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))  # (T+1, N) float32, s, below
    person_detour: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))  # (T+1, N) float32, m, below
    person_gesture: IntArray = field(default_factory=lambda: np.zeros((0, 0), np.uint8))  # (T+1, N) uint8, above
    person_head_yaw: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))  # (T+1, N) float32, rad, above
    plans: Plans = field(default_factory=Plans)  # plans and forecasts that the policy published
    shortest_path_m: float = nan  # shortest path from start to goal around walls, m; NaN when not known
    error: str = ""  # error of the policy, or empty
    traceback: str = ""  # of a policy that raised: the innermost calls; like ``error`` no part of the digest
    package_version: str = ""  # version of Sidestep that wrote the record
    counterfactual: EpisodeRecord | None = None  # the episode without the robot, of another file; not in the digest
    format_version: int = FORMAT_VERSION  # version of the record format

    def __post_init__(self) -> None:
        t = len(self.time)
        n = len(self.person_id)
        shapes: dict[str, tuple[Any, tuple[int | None, ...]]] = {
            "time": (np.float64, (t,)),
            "robot_pose": (np.float64, (t, 3)),
            "robot_velocity": (np.float64, (t, 3)),
            "command": (np.float64, (t - 1, 4)),
            "applied": (np.float64, (t - 1, 2)),
            "limited": (np.uint8, (t - 1,)),
            "planning_time": (np.float64, (t - 1,)),
            "person_id": (np.int64, (n,)),
            "person_radius": (np.float32, (n,)),
            "person_group": (np.int32, (t, n)),
            "person_position": (np.float32, (t, n, 2)),
            "person_velocity": (np.float32, (t, n, 2)),
            "person_heading": (np.float32, (t, n)),
            "person_present": (np.bool_, (t, n)),
            "walls": (np.float32, (None, 4)),
            "other_radius": (np.float64, (None,)),
        }
        if np.ndim(self.person_group) == 1:  # the same all the time
            group = np.broadcast_to(np.asarray(self.person_group), (t, n))
            object.__setattr__(self, "person_group", group)
        if len(self.person_model) != n:
            raise BadInput(f"record.person_model: expected {n} names, got {len(self.person_model)}")
        for name, (dtype, shape) in shapes.items():
            object.__setattr__(self, name, frozen_array(getattr(self, name), dtype, shape, f"record.{name}"))
        for name, dtype in OPTIONAL_ARRAYS.items():
            value = getattr(self, name)
            shape = (t, n) if np.size(value) else (0, 0)
            values = value if np.size(value) else np.zeros(shape)
            object.__setattr__(self, name, frozen_array(values, dtype, shape, f"record.{name}"))
        late = len(self.plans.step) and int(self.plans.step[-1]) >= t
        unknown = (
            len(self.plans.forecast_person)
            and not 0 <= self.plans.forecast_person.min() <= int(self.plans.forecast_person.max()) < n
        )
        if late or unknown:
            raise BadInput("record.plans: a plan after the last state, or a forecast of nobody in the record")
        others = len(self.other_radius)
        pose = self.other_pose if others else np.zeros((t, 0, 3))
        object.__setattr__(self, "other_pose", frozen_array(pose, np.float64, (t, others, 3), "record.other_pose"))

    @property
    def steps(self) -> int:
        """Number of simulation steps T."""
        return len(self.time) - 1

    @property
    def step_s(self) -> float:
        """Length of a step, s."""
        return self.scenario.rules.step_s

    @property
    def duration(self) -> float:
        """Simulated time from the first observation to the end, s."""
        return float(self.time[-1])

    @cached_property
    def digest(self) -> str:
        """SHA-256 over everything that scores depend on: equal on every machine that runs the same episode.

        Without wall-clock columns, plans, the text of errors, and the policy's settings and version.
        ``docs/records.md`` lists what it covers. A record of an older format has the digest of that format.
        """
        sha = hashlib.sha256(f"sidestep-record-{self.format_version}".encode())
        for item in fields(self):
            value = getattr(self, item.name)
            if item.name == "planning_time" or not isinstance(value, np.ndarray):
                continue
            if item.name in OPTIONAL_ARRAYS and not value.size:
                continue
            if item.name == "person_group" and self.format_version == 1:
                value = value[0]  # the first format knew the groups at time 0 only
            sha.update(f"{item.name}:{value.dtype.kind}{value.dtype.itemsize}:{value.shape}".encode())
            sha.update(_canonical_bytes(value))
        if self.format_version == 1:
            for event in self.events:
                sha.update(f"{event.time!r}|{event.kind}|{event.subject}|{event.value!r}".encode())
            sha.update(f"{self.outcome.value}|{self.scenario.name}|{self.seed}|{self.policy.name}".encode())
        else:
            sha.update(json.dumps(self.meaning(), sort_keys=True, separators=(",", ":")).encode())
        return sha.hexdigest()

    def plot(self, time: float | None = None, **options: Any) -> Any:
        """A picture from above at ``time`` (s; None: the end), as a Pillow image, or drawn into ``ax``. Options:
        ``size``, ``velocities``, ``personal_space``, ``ax`` (``sidestep.report.inline.plot_record``)."""
        return record_display().plot_record(self, time, **options)

    def play(self, height: int = 640) -> Any:
        """A player in 3D and from above, which notebooks show; ``play().save("episode.html")`` writes it as a page."""
        return record_display().Player(self, height)

    def __repr__(self) -> str:
        outcome, count = str(self.outcome).replace("_", " "), len(self.person_id)
        return (
            f"EpisodeRecord({self.scenario.suite}/{self.scenario.name}, {self.policy.name}, seed {self.seed}: "
            f"{outcome} after {self.duration:.1f} s among {count} {'person' if count == 1 else 'people'})"
        )

    def _repr_html_(self) -> str:
        html: str = record_display().record_html(self)
        return html

    def meaning(self) -> dict[str, Any]:
        """What the digest covers beside the arrays, as plain data."""
        return {
            "events": [
                [event.time + 0.0, event.kind, event.subject, event.value + 0.0, _text_of(event)]  # -0.0 is 0.0
                for event in self.events
            ],
            "outcome": self.outcome.value,
            "seed": int(self.seed),
            "mode": self.mode,
            "source": self.source,
            "scenario": _canonical_model(self.scenario),
            "robot": _canonical_model(self.robot),
            "policy": [self.policy.name, sorted(self.policy.needs), self.policy.privileged],
            "person_model": list(self.person_model),
            "shortest_path_m": float(self.shortest_path_m),
        }


class RoadUser(NamedTuple):
    """One column of ``EpisodeRecord.other_pose``."""

    subject: str
    """Its name in events: ``robot:K`` or ``vehicle:K``."""
    kind: str
    """``robot``, or the kind of vehicle."""
    footprint: Footprint
    """Where the record does not hold a robot's spec, its enclosing circle."""
    spec: RobotSpec | None

    @property
    def is_vehicle(self) -> bool:
        """Whether it is traffic, not a robot."""
        return self.subject.startswith("vehicle:")

    @property
    def box(self) -> tuple[tuple[float, float], tuple[float, float, float]]:
        """Middle in the body's frame, and half of length, width and height, m. A robot whose spec is unknown is 1 m
        high."""
        radius = self.footprint.enclosing_radius
        x, y = zip(*(self.footprint.polygon or ((-radius, -radius), (radius, radius))), strict=True)
        middle = (min(x) + max(x)) / 2, (min(y) + max(y)) / 2
        return middle, (
            (max(x) - min(x)) / 2,
            (max(y) - min(y)) / 2,
            0.5 if self.spec is None else self.spec.height / 2,
        )


def others(record: EpisodeRecord) -> tuple[RoadUser, ...]:
    """The columns of ``other_pose`` and ``other_radius``: the scenario's other robots, then its vehicles."""
    scenario, radii = record.scenario, record.other_radius.tolist()
    robots = max(len(radii) - len(scenario.traffic), 0)
    specs = [placement.spec if isinstance(placement.spec, RobotSpec) else None for placement in scenario.robots[1:]]
    found = []
    for k, radius in enumerate(radii):
        if k < robots:
            spec = specs[k] if k < len(specs) else None
            name, kind = f"robot:{k + 1}", "robot"
        else:
            spec = scenario.traffic[k - robots].spec
            name, kind = f"vehicle:{k - robots}", scenario.traffic[k - robots].kind
        found.append(RoadUser(name, kind, Footprint(radius=radius) if spec is None else spec.footprint, spec))
    return tuple(found)


def _text_of(event: Event) -> str:
    """An error's text may hold addresses of memory."""
    return "" if event.kind == "policy_error" else event.text


def _canonical_bytes(array: Any) -> bytes:
    little = array.astype(array.dtype.newbyteorder("<"), copy=True)
    if little.dtype.kind == "f":
        little[np.isnan(little)] = np.nan
        little += 0.0  # -0.0 and 0.0 are one value
    return bytes(little.tobytes(order="C"))


def _canonical_model(model: BaseModel) -> Any:
    """The model as plain data, as it comes back from its own JSON. Fields with their default are left out, so that a
    new field leaves old digests as they are; a changed default needs a new format version."""
    return _without_defaults(type(model).model_validate_json(model.model_dump_json()))


def _without_defaults(value: Any) -> Any:
    if isinstance(value, SyntheticPlacement):
        return {"kind": "twin", "twin": value.statistics}  # the words of older versions, so that digests stay
    if isinstance(value, BaseModel):
        given = ((name, getattr(value, name), field) for name, field in type(value).model_fields.items())
        return {
            name: _without_defaults(held)
            for name, held, field in given
            if name == "kind" or held != field.get_default(call_default_factory=True)
        }
    if isinstance(value, tuple) and value and isinstance(value[0], BaseModel):
        return [_without_defaults(item) for item in value]
    return to_jsonable_python(value, inf_nan_mode="constants")
