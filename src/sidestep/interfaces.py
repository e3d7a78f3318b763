"""The contracts of what can be plugged in: policies, sensors, crowd models, predictors, metrics, suites and
loaders of recordings.

Each is an abstract base class: what has to be written is abstract, every other member has a default. Objects that have
the members of a policy or a predictor without deriving from it are adapted (:mod:`sidestep.registry`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Protocol, TypeAlias

import numpy as np

from sidestep.errors import BadInput
from sidestep.types.base import FloatArray, IntArray, Model
from sidestep.types.command import Command
from sidestep.types.forecast import Ego, Forecast, TrackHistory
from sidestep.types.moments import Moments
from sidestep.types.observation import PRIVILEGED, Observation, Pedestrians, RobotState, Task
from sidestep.types.record import EpisodeRecord, PolicyInfo
from sidestep.types.result import EpisodeEnd, MetricResult
from sidestep.types.robot import RobotSpec
from sidestep.types.scenario import Scenario
from sidestep.types.scene import CompiledScene
from sidestep.types.sensors import CameraSettings
from sidestep.types.tracks import Tracks


class Policy(ABC):
    """Drives the robot. A policy writes ``needs``, :meth:`reset` and :meth:`act`; every other member is optional and
    has a default here.

    A class need not derive from this one: wherever Sidestep takes a policy it takes any object that has ``needs``,
    ``reset`` and ``act`` (``sidestep.registry.as_policy``). ``sidestep.simulation.check_policy`` tries a policy out.

    After ``act`` a policy may publish what it means to do, as attributes or properties, for records and viewers:
    ``plan``, ``forecast`` and ``plan_step_s``. They are annotations: what has the wrong shape is left out, and nothing
    of them is part of a record's digest.
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    """What the policy gets to see: names of ``sidestep.registry.known_needs()``. It gets that and nothing else."""
    name: str = ""
    """For tables and records; empty: the name of the class."""
    summary: str = ""
    """One line, for ``sidestep list policies``; empty: the first line of the class's docstring."""
    citation: str = ""
    """The publication to cite, for reports."""
    version: str = ""
    """Version that the policy chooses itself; the record keeps it, before the hash of the policy's code."""
    extras: ClassVar[tuple[str, ...]] = ()
    """Optional extras of Sidestep that it cannot run without, such as ``onnx``: lists mark it, and a run says so before
    it starts."""
    settings: Mapping[str, Any] = MappingProxyType({})
    """The settings in use, as plain data (text, numbers, lists, maps): the record keeps them."""
    dynamics: ClassVar[str | None] = None
    """``holonomic``, ``unicycle`` or ``bicycle``: how it wants to move where a scenario leaves that to the policy."""
    camera: CameraSettings | Mapping[str, Any] | str | None = None
    """The camera that it was made for, laid over the scenario's: settings, some of their fields, or a preset's name."""
    sensor_settings: Mapping[str, Mapping[str, Any]] = MappingProxyType({})
    """Need → settings of the sensor that serves it, laid over the scenario's ``sensors.extra``: for plug-in sensors and
    ``learning``. Plain data: the scenario in the record holds it."""
    privileged: ClassVar[bool] = False
    """It sees what others of its suite do not (everybody, the map), so tables never rank it with them. A policy that
    needs the ``future`` is privileged anyway."""
    resources: Mapping[str, float] = MappingProxyType({})
    """What it uses on a cluster (``sidestep run --ray``): ``cpu`` (1 where it does not say) and ``gpu`` (0). An object
    may set it by its settings. Nothing of an episode depends on it."""
    first_answer_s: float = 0.0
    """Time for the first answer of an episode, s, where that is more than the run's limit."""
    plan: Any = None
    """(H, 2) world points, m, that the robot means to pass ``plan_step_s``, 2 ``plan_step_s``, … from now."""
    forecast: Any = None
    """Ids (M,) and positions (M, H, 2) of people at the same times, m."""
    plan_step_s: float | None = None
    """Time between two points of plans and forecasts, s; the same for a whole episode."""

    @abstractmethod
    def reset(self, task: Task) -> None:
        """A new episode begins. A policy that samples takes its random numbers from ``task.seed`` alone."""

    @abstractmethod
    def act(self, observation: Observation) -> Command:
        """What to do until asked again."""

    def end_episode(self, end: EpisodeEnd) -> None:  # noqa: B027
        """The episode is over; ``end`` has ``outcome``, ``error`` and ``metrics`` (name → ``MetricResult``)."""

    def check_reachable(self) -> None:  # noqa: B027
        """Raise ``BadInput`` when something outside this process is missing, before a run is planned."""

    def close(self) -> None:  # noqa: B027
        """This object is not asked again: free what it holds."""


class PolicyMembers(Protocol):
    """What an object needs to stand for a policy without deriving from :class:`Policy`."""

    @property
    def needs(self) -> Iterable[str]:
        """As of a policy."""

    def reset(self, task: Task) -> None:
        """As of a policy."""

    def act(self, observation: Observation) -> Command:
        """As of a policy."""


PolicyLike: TypeAlias = str | PolicyMembers | Callable[..., PolicyMembers]
"""A name (``"orca"``, ``"file.py:Class"``, ``"package.module:Class"``, ``"remote:ADDRESS"``, ``"sb3:FILE.zip"``,
``"onnx:SPEC.yaml"``), a policy, or a class or function that makes one."""


def describe_policy(
    policy: Policy,
    name: str = "",
    settings: Mapping[str, Any] | None = None,
    version: str | None = None,
    privileged: bool = False,
) -> PolicyInfo:
    """What a record says about a policy: under the given name and version, else its own; its own settings over those
    that it was given; privileged if it says so, if the plan did, or if it gets the future."""
    needs = tuple(sorted(str(need) for need in policy.needs))
    return PolicyInfo(
        name or policy.name or type(policy).__name__,
        {**(settings or {}), **policy.settings},
        needs,
        str(policy.version) if version is None else version,
        privileged or bool(policy.privileged) or not PRIVILEGED.isdisjoint(needs),
    )


@dataclass(frozen=True, eq=False)
class SensorContext:
    """What a sensor of one robot is made for: one episode of a scenario."""

    scene: CompiledScene  # compiled scene
    robot: RobotSpec  # robot that carries the sensor
    needs: frozenset[str]
    """The sensor's needs that the policy asked for."""
    scenario: Scenario  # scenario of the episode
    person_id: IntArray  # (N,) everybody's number
    others: tuple[RobotSpec, ...] = ()
    """The other robots, then the vehicles."""
    seed: int = 0
    """For sensors with noise: the only randomness they may use."""


@dataclass(eq=False)
class SensorView:
    """The world at one step. The arrays are the simulator's own (``kernels.layout``): read them, never write."""

    step: int  # number of the simulation step
    time_s: float  # time of the state, s
    robot: RobotState  # state of the robot that carries the sensor
    agents: FloatArray  # (AGENT_ROWS, M) float32, one column per person, then per robot
    flags: IntArray  # (FLAG_ROWS, M) int32
    own: int
    """The column of the robot that carries the sensor."""
    others: FloatArray  # (K, 3) x, y, heading of the other robots and the vehicles
    look: Callable[[], Pedestrians]  # function behind ``everybody``
    vehicles: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))  # (V, ROBOT_ROWS) states of the vehicles

    @cached_property
    def everybody(self) -> Pedestrians:
        """All people who are there, exactly."""
        return self.look()


class Sensor(ABC):
    """Serves needs of policies. The table ``sensors`` of the registry maps a need to the class that serves it; a class
    under several names is made once for all of them.

    It is made for every episode as ``Class(context, **settings)`` with what the scenario says in ``sensors.extra``
    under the need's name. What it returns reaches the policy as the field of the observation that has the need's name,
    or else as ``observation.extra[need]``.
    """

    def __init__(self, context: SensorContext) -> None:
        self.context = context

    def watch(self, view: SensorView) -> None:  # noqa: B027
        """Called at every simulation step, for sensors with a clock of their own."""

    @abstractmethod
    def sense(self, view: SensorView) -> Mapping[str, Any]:
        """Called when the policy is asked: need → value for each of ``context.needs``. Arrays, numbers, text, and lists
        and maps of those also reach policies in other processes."""


@dataclass(frozen=True, eq=False)
class CrowdView:
    """What a crowd model sees before a step: its own people who are there, and everybody else; m, s, world frame."""

    time_s: float  # time of the state, s
    step_s: float  # length of a step, s
    id: IntArray  # (M,) the same number for the same person all episode long
    position: FloatArray  # (M, 2) float64
    velocity: FloatArray  # (M, 2)
    goal: FloatArray  # (M, 2) the waypoint that each walks to; the simulator goes on to the next on arrival
    wished_speed: FloatArray  # (M,) preferred speed; 0 for people without waypoints
    max_speed: FloatArray  # (M,)
    radius: FloatArray  # (M,)
    group: IntArray  # (M,) walking group, -1 alone
    others_position: FloatArray  # (K, 2) people of other parts; where these people see robots, robots and vehicles too
    others_velocity: FloatArray  # (K, 2)
    others_radius: FloatArray  # (K,)
    walls: FloatArray  # (W, 4) x0, y0, x1, y1


class CrowdModel(ABC):
    """Moves the people of one crowd part, in Python. Made for every episode as ``Class(**parameters)``."""

    def begin(self, generator: np.random.Generator) -> None:  # noqa: B027
        """An episode begins; ``generator`` is the only randomness that a model may use."""

    @abstractmethod
    def velocities(self, view: CrowdView) -> FloatArray:
        """(M, 2) velocities of the coming step, m/s. What exceeds ``max_speed`` is scaled down; walls are hard."""


class Predictor(ABC):
    """Predicts where people will be. A predictor writes :meth:`predict`; every other member has a default here.

    A class need not derive from this one: wherever Sidestep takes a predictor it takes any object that has ``needs``,
    ``history_s`` and ``predict`` (``sidestep.registry.as_predictor``). A predictor keeps nothing between two calls, so
    that one object serves many episodes, and it returns the same forecast for the same input.
    ``sidestep.prediction.check_predictor`` tries one out.
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    """What it wants besides the history: ``map`` (the scene), ``ego`` (the robot's state and plan), ``body`` and
    ``head`` (where people's bodies and heads point, in the history). What it does not name may be None, and what it
    names may be None as well where nobody knows it."""
    history_s: ClassVar[float] = 0.0
    """How far back it looks, s; 0: the present alone."""
    name: str = ""
    """For messages and tables; empty: the name of the class."""
    summary: str = ""
    """One line, for ``sidestep list predictors``; empty: the first line of the class's docstring."""
    citation: str = ""
    """The publication to cite."""
    extras: ClassVar[tuple[str, ...]] = ()
    """Optional extras of Sidestep that it cannot run without."""
    settings: Mapping[str, Any] = MappingProxyType({})
    """The settings in use, as plain data."""

    @abstractmethod
    def predict(
        self, history: TrackHistory, horizons_s: FloatArray, scene: CompiledScene | None = None, ego: Ego | None = None
    ) -> Forecast:
        """A ``SampleForecast`` or ``MixtureForecast`` of everybody in ``history``, in its order, at the times
        ``horizons_s (H,)`` after the last one of the history, s."""


class PredictorMembers(Protocol):
    """What an object needs to stand for a predictor without deriving from :class:`Predictor`."""

    @property
    def needs(self) -> Collection[str]:
        """As of a predictor."""

    @property
    def history_s(self) -> float:
        """As of a predictor."""

    def predict(
        self, history: TrackHistory, horizons_s: FloatArray, scene: CompiledScene | None = None, ego: Ego | None = None
    ) -> Forecast:
        """As of a predictor."""


class MomentPredictor(Predictor):
    """A predictor that forecasts many independent moments of a data set at once. Others are asked for one scene after
    another."""

    looks_at_others: ClassVar[bool] = False
    """Whether it reads ``Moments.crowd``."""

    @abstractmethod
    def predict_moments(self, moments: Moments) -> Forecast:
        """A forecast of the S pedestrians of ``moments`` at its horizons."""


Direction = Literal["higher", "lower", "none"]


@dataclass(frozen=True)
class Metric:
    """A pure function of the record, with everything a reader needs to know about it."""

    name: str  # name
    unit: str  # unit of the value
    direction: Direction  # which values are better
    definition: str
    """Formula in words and symbols."""
    source: str
    """Publication that defines it."""
    validity: str
    """When there is a value."""
    function: Callable[[EpisodeRecord], MetricResult]  # computes the value
    distance: Literal["surface", "centre", "none"] = "none"
    """Whether distances between bodies are surface to surface or centre to centre."""
    dialects: dict[str, Callable[[EpisodeRecord], MetricResult]] = field(default_factory=dict)
    """Other published definitions under their dialect's name."""

    def __call__(self, record: EpisodeRecord, dialect: str = "paper") -> MetricResult:
        """Score ``record``; a dialect that does not redefine this metric uses the default definition."""
        return self.dialects.get(dialect, self.function)(record)


class Suite(ABC):
    """A named, ordered set of scenarios."""

    name: str
    """Name, for tables, records and files."""
    summary: str
    """One line, for ``sidestep list suites``."""
    options: Model | None = None
    """The choices made, one field each, of a suite that can be run in several ways."""

    @abstractmethod
    def scenarios(self) -> Iterable[Scenario]:
        """All scenarios in their published order."""

    def with_options(self, options: dict[str, Any]) -> Suite:
        """The suite with some options changed; ``BadInput`` for one that does not exist."""
        raise BadInput(f"suite {self.name!r} has no options; leave out {', '.join(f'suite.{key}' for key in options)}")


class Loader(ABC):
    """Reads one file format of recorded people."""

    name: str
    """Name of the format."""
    summary: str
    """One line, for ``sidestep list datasets``."""
    companions: tuple[str, ...] = ()
    """Names of files that it reads beside the recording, where they are there."""

    @abstractmethod
    def matches(self, path: Path) -> bool:
        """Whether the file looks like this format."""

    @abstractmethod
    def load(self, path: Path) -> Tracks:
        """The people in it. Options of a format, such as ``rate_hz``, are further parameters with defaults."""
