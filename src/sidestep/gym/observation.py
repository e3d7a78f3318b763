"""What learning environments observe: the sensors and their spaces, the number of people that an observation has room
for, and the pictures of each environment's camera, drawn on several threads.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from sidestep._util.threads import WorkerThreads
from sidestep.errors import BadInput, UnknownName
from sidestep.interfaces import SensorContext, SensorView
from sidestep.kernels.observation import AGENT_FEATURES, GRID_LAYERS, ROBOT_FEATURES
from sidestep.simulation.build import World, WorldBuilder
from sidestep.simulation.observe import detector_of_everybody, view_for_sensors
from sidestep.simulation.sensors.camera import CameraSensor
from sidestep.simulation.sensors.learning import GridSettings, learning_grid, learning_lidar
from sidestep.simulation.worlds import Worlds
from sidestep.types import Scenario
from sidestep.types.base import IntArray
from sidestep.types.scenario import FlowPlacement
from sidestep.types.sensors import CameraSettings, LidarSettings

SAMPLED_WORLDS = 8
"""Number of worlds sampled for the largest number of people, where it differs from world to world."""


def room_for_people(builders: Iterable[WorldBuilder], max_people: int | None) -> int:
    """Rows of the ``people`` observation: ``max_people``, or as many as the fullest scenario has; at least 1."""
    if max_people is not None:
        if max_people < 1:
            raise BadInput(f"max_people must be at least 1, got {max_people}")
        return max_people
    return max([1, *(_most_people(builder) for builder in builders)])


def _most_people(builder: WorldBuilder) -> int:
    varies = any(isinstance(part.placement, FlowPlacement) for part in builder.scenario.crowd)
    return max(builder.build(seed).people for seed in range(SAMPLED_WORLDS if varies else 1))


LidarOption: TypeAlias = LidarSettings | Mapping[str, Any] | str | None
"""Lidar settings, some of their fields, or a preset's name."""
GridOption: TypeAlias = GridSettings | Mapping[str, Any] | None
"""Settings of the occupancy grid, or some of their fields: ``size`` in cells and ``cell_m``."""

DTYPES: dict[str, Any] = {"rgb": np.uint8, "depth": np.float32, "semantic": np.uint8}
"""Pictures."""
SENSORS = (*DTYPES, "lidar", "grid")


def check_sensors(sensors: Sequence[str]) -> tuple[str, ...]:
    """The sensors that observations have besides people, in a fixed order."""
    if isinstance(sensors, str):
        raise BadInput(f"sensors is a list of names, such as ('{sensors}',)")
    for name in sensors:
        if name not in SENSORS:
            raise UnknownName("sensor", name, SENSORS)
    return tuple(name for name in SENSORS if name in sensors)


@dataclass(frozen=True)
class SensorChoice:
    """The sensors of an environment beside the detector of people; ``lidar`` and ``grid`` are None where there are
    none."""

    pictures: tuple[str, ...]
    camera: CameraSettings
    lidar: LidarSettings | None
    grid: GridSettings | None

    def space(self, rows: int, others: int | None = None) -> spaces.Dict:
        """``robot`` (8,), ``people`` (rows, 5) padded with zeros, ``mask`` (rows,): 1 where somebody is; pictures,
        ``lidar`` (rays,) and ``grid`` (3, H, W); with ``others`` also ``robots`` (others, 5) and ``robots_mask``."""
        space: dict[str, spaces.Space[Any]] = {
            **picture_spaces(self.pictures, self.camera),
            "robot": spaces.Box(-np.inf, np.inf, (ROBOT_FEATURES,), np.float32),
            "people": spaces.Box(-np.inf, np.inf, (rows, AGENT_FEATURES), np.float32),
            "mask": spaces.MultiBinary(rows),
        }
        if self.lidar is not None:
            space["lidar"] = spaces.Box(0.0, self.lidar.max_range, (self.lidar.rays,), np.float32)
        if self.grid is not None:
            space["grid"] = spaces.Box(0, 255, (GRID_LAYERS, *self.grid.size), np.uint8)
        if others is not None:
            space["robots"] = spaces.Box(-np.inf, np.inf, (others, AGENT_FEATURES), np.float32)
            space["robots_mask"] = spaces.MultiBinary(others)
        return spaces.Dict(space)


def choose_sensors(
    scenarios: Sequence[Scenario], sensors: Sequence[str], lidar: LidarOption = None, grid: GridOption = None
) -> SensorChoice:
    """The sensors called ``sensors`` under the scenarios' settings, over which ``lidar`` and ``grid`` are laid. They
    must come out the same for all scenarios, as an observation has one shape."""
    wanted = check_sensors(sensors)
    for name, settings in (("lidar", lidar), ("grid", grid)):
        if settings is not None and name not in wanted:
            raise BadInput(
                f"{name}={settings!r:.60} configures a sensor that is not in sensors; add it: sensors=({name!r}, …)"
            )
    pictures = tuple(name for name in wanted if name in DTYPES)
    choices = [
        SensorChoice(
            pictures,
            scenario.sensors.camera,
            learning_lidar(scenario, lidar, "lidar") if "lidar" in wanted else None,
            learning_grid(grid, "grid") if "grid" in wanted else None,
        )
        for scenario in scenarios
    ]
    for scenario, choice in zip(scenarios, choices, strict=True):
        same = choice.lidar == choices[0].lidar
        if not same or (pictures and choice.camera.picture_size != choices[0].camera.picture_size):
            raise BadInput(
                f"scenarios {scenarios[0].name!r} and {scenario.name!r} have different settings of the "
                f"{'camera' if same else 'lidar'}; set it for all: {'camera' if same else 'lidar'}={{…}}"
            )
    return choices[0]


def action_space() -> spaces.Box:
    """Two numbers in [-1, 1] that span the robot's command limits."""
    return spaces.Box(-1.0, 1.0, (2,), np.float32)


def picture_shape(name: str, settings: CameraSettings) -> tuple[int, ...]:
    """Shape of one picture."""
    width, height = settings.picture_size
    return (height, width, 3) if name == "rgb" else (height, width)


def picture_spaces(sensors: Sequence[str], settings: CameraSettings) -> dict[str, spaces.Space[Any]]:
    """``rgb`` (H, W, 3) and ``semantic`` (H, W) uint8, ``depth`` (H, W) float32, m, infinite where nothing is."""
    limits = {"rgb": 255, "depth": np.inf, "semantic": 255}
    return {name: spaces.Box(0, limits[name], picture_shape(name, settings), DTYPES[name]) for name in sensors}


class EnvironmentCameras:
    """The cameras of B environments; pictures do not depend on B, on threads or on each other."""

    def __init__(self, worlds: Sequence[World], sensors: tuple[str, ...], threads: int | None = None) -> None:
        """``worlds``: what each environment has at first."""
        self._sensors = sensors
        settings = worlds[0].scenario.sensors.camera
        self._worlds = list(worlds)
        self._feeds = [self._feed(world) for world in worlds]
        self._detectors = [detector_of_everybody(world) for world in worlds]
        count = (os.cpu_count() or 1) if threads is None else threads
        self._workers = WorkerThreads(max(1, min(count, len(worlds))))
        self.pictures: dict[str, NDArray[Any]] = {
            name: np.zeros((len(worlds), *picture_shape(name, settings)), DTYPES[name]) for name in sensors
        }
        """By name, (B, …): what :meth:`look` saw last."""

    def _feed(self, world: World) -> CameraSensor:
        wanted = frozenset(self._sensors)
        return CameraSensor(
            SensorContext(world.scene, world.robots[0], wanted, world.scenario, world.person_id, world.robots[1:])
        )

    def restart(self, b: int, world: World) -> None:
        """A new episode in place ``b``."""
        if self._feeds[b].context.scenario is world.scenario:
            self._feeds[b].restart(world.person_id)
        else:
            self._feeds[b] = self._feed(world)
        self._worlds[b], self._detectors[b] = world, detector_of_everybody(world)

    def watch(self, worlds: Worlds) -> None:
        """Let all cameras see a simulation step within a held action, at which a picture may be due."""
        self._workers.run_side_by_side(lambda b: self._feeds[b].watch(self._view(worlds, b)), range(len(self._feeds)))

    def _view(self, worlds: Worlds, b: int) -> SensorView:
        return view_for_sensors(worlds, b, self._worlds[b], self._detectors[b])

    def look(self, worlds: Worlds, which: IntArray | Sequence[int]) -> None:
        """Refresh the pictures of the environments ``which``."""

        def draw(b: int) -> None:
            seen = self._feeds[b].sense(self._view(worlds, b))
            for name in self._sensors:
                self.pictures[name][b] = seen[name]

        self._workers.run_side_by_side(draw, [int(b) for b in which])

    def of(self, b: int) -> dict[str, Any]:
        """A copy of the pictures of one environment."""
        return {name: self.pictures[name][b].copy() for name in self._sensors}

    def all(self, copy: bool) -> dict[str, Any]:
        """The pictures of all."""
        return {name: pictures.copy() if copy else pictures for name, pictures in self.pictures.items()}
