"""The protocols that collaborators meet: what a policy, a metric, a loader and a crowd model are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

from sidestep.types.base import FloatArray
from sidestep.types.command import Command
from sidestep.types.forecast import Ego, Forecast, TrackHistory
from sidestep.types.observation import Observation, Pedestrians, RobotState, Task
from sidestep.types.record import EpisodeRecord
from sidestep.types.result import MetricResult
from sidestep.types.scenario import Scenario
from sidestep.types.scene import CompiledScene
from sidestep.types.tracks import Tracks


@runtime_checkable
class Policy(Protocol):
    """Drives the robot. ``needs`` names what it gets to see (``sidestep.types.observation.NEEDS``).

    A policy may also have ``summary`` and ``citation`` strings, a ``settings`` mapping, which the record keeps, and
    ``dynamics`` (``holonomic``, ``unicycle`` or ``bicycle``): how it wants to move where a scenario leaves that to it;
    and ``camera`` (``CameraSettings``, some of its fields as a mapping, or a preset's name): the camera that it was
    made for, laid over the scenario's.

    A policy that sees what others of its suite do not (everybody, the map) says ``privileged = True``, and one that
    needs the ``future`` is privileged anyway: the record keeps it, and tables never rank it with the others.

    After ``act`` it may publish what it means to do, as attributes or properties, for records and viewers: ``plan``
    (H, 2), world points that the robot means to pass ``plan_step_s``, 2 ``plan_step_s``, … from now; ``forecast``, ids
    (M,) and positions (M, H, 2) of people at the same times. None, or whatever is not of that kind, is left out.
    """

    needs: ClassVar[frozenset[str]]

    def reset(self, task: Task) -> None:
        """A new episode begins."""

    def act(self, observation: Observation) -> Command:
        """What to do until asked again."""


@runtime_checkable
class Predictor(Protocol):
    """Predicts where people will be.

    ``needs`` names what it wants besides the history: ``map`` (the scene) and ``ego`` (the robot's state and plan).
    What it does not name may be None, and what it names may be None as well where nobody knows it. ``history_s`` is
    how far back it looks (s); 0: the present alone. A predictor may also have ``summary`` and ``citation`` strings and
    a ``settings`` mapping. It keeps nothing between two calls, so that one object serves many episodes, and it returns
    the same forecast for the same input. ``sidestep.prediction.check_predictor`` tries one out.
    """

    needs: ClassVar[frozenset[str]]
    history_s: ClassVar[float]

    def predict(
        self, history: TrackHistory, horizons_s: FloatArray, scene: CompiledScene | None = None, ego: Ego | None = None
    ) -> Forecast:
        """A ``SampleForecast`` or ``MixtureForecast`` of everybody in ``history``, in its order, at the times
        ``horizons_s (H,)`` after the last one of the history, s."""
        ...


class Camera(Protocol):
    """Looks from a robot. Pictures come under the names of the needs that they serve. A camera that has to see every
    step may have ``follow`` with the same parameters, which returns nothing; one that can serve another episode of its
    scenario, ``restart(person_id)``."""

    def sense(self, robot: RobotState, people: Pedestrians, time_s: float, *others: FloatArray) -> dict[str, Any]:
        """``rgb`` (H, W, 3) uint8, ``depth`` (H, W) float32 in m, ``semantic`` (H, W) integers: those asked for."""


MakeCamera = Callable[..., Camera]
"""A camera for one episode: the scene, the robot that carries it, which pictures are needed, the settings, everybody's
number, and the scenario's name; where there are other machines, ``others``: their specs. Then ``sense`` and ``follow``
get their poses (K, 3) as well."""

Direction = Literal["higher", "lower", "none"]


@dataclass(frozen=True)
class Metric:
    """A pure function of the record, with everything a reader needs to know about it."""

    name: str
    unit: str
    direction: Direction
    definition: str
    """Formula in words and symbols."""
    source: str
    """Who defined it."""
    validity: str
    """When there is a value."""
    function: Callable[[EpisodeRecord], MetricResult]
    distance: Literal["surface", "centre", "none"] = "none"
    """Whether distances between bodies are surface to surface or centre to centre."""
    dialects: dict[str, Callable[[EpisodeRecord], MetricResult]] = field(default_factory=dict)
    """Other published definitions under their dialect's name."""

    def __call__(self, record: EpisodeRecord, dialect: str = "paper") -> MetricResult:
        """Score ``record``; a dialect that does not redefine this metric uses the default definition."""
        return self.dialects.get(dialect, self.function)(record)


@runtime_checkable
class Suite(Protocol):
    """A named, ordered set of scenarios."""

    name: str
    summary: str

    def scenarios(self) -> Iterable[Scenario]:
        """All scenarios in their published order."""


@runtime_checkable
class Configurable(Protocol):
    """A suite that can be run in several ways: ``options`` is a model, one field per choice."""

    def with_options(self, options: dict[str, Any]) -> Suite:
        """The suite with some options changed; ``BadInput`` for one that does not exist."""


@runtime_checkable
class Loader(Protocol):
    """Reads one file format of recorded people."""

    name: str
    summary: str

    def matches(self, path: Path) -> bool:
        """Whether the file looks like this format."""

    def load(self, path: Path, **options: Any) -> Tracks:
        """The people in it."""
