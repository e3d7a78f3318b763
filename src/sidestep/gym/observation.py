"""What learning environments observe: the sensors and the spaces of their observations.

Trained policies import this in processes of their own, so nothing here simulates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from gymnasium import spaces

from sidestep.errors import BadInput, UnknownName
from sidestep.kernels.observation import AGENT_FEATURES, GRID_LAYERS, ROBOT_FEATURES
from sidestep.simulation.sensors.learning import GridSettings, learning_grid, learning_lidar
from sidestep.types import Scenario
from sidestep.types.sensors import CameraSettings, LidarSettings

LidarOption: TypeAlias = LidarSettings | Mapping[str, Any] | str | None
"""Lidar settings, some of their fields, or a preset's name."""
CameraOption: TypeAlias = CameraSettings | Mapping[str, Any] | str | None
"""Camera settings, some of their fields, or a preset's name."""
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
