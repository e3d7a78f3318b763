"""What learning environments observe: the spaces, the number of people that an observation has room for, and the
pictures of each environment's camera, drawn on several threads.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from sidestep.errors import BadInput, UnknownName
from sidestep.interfaces import SensorContext, SensorView
from sidestep.kernels.environment import AGENT_FEATURES, ROBOT_FEATURES
from sidestep.render.target import WorkerThreads
from sidestep.sensors import PedestrianDetector
from sidestep.sensors.camera import PICTURES, CameraSensor
from sidestep.simulation.build import World, WorldBuilder
from sidestep.simulation.observe import robot_state
from sidestep.simulation.worlds import Worlds
from sidestep.types.base import IntArray
from sidestep.types.scenario import FlowPlacement
from sidestep.types.sensors import CameraSettings, PedestrianSensing

SAMPLED_WORLDS = 8
"""Where the number of people differs from world to world, there is room for the fullest of so many."""


def room_for_people(builder: WorldBuilder, max_people: int | None) -> int:
    """Rows of the ``people`` observation: ``max_people``, or as many as the scenario has; at least 1."""
    if max_people is not None:
        if max_people < 1:
            raise BadInput(f"max_people must be at least 1, got {max_people}")
        return max_people
    varies = any(isinstance(part.placement, FlowPlacement) for part in builder.scenario.crowd)
    return max(1, *(builder.build(seed).people for seed in range(SAMPLED_WORLDS if varies else 1)))


def observation_space(rows: int, pictures: dict[str, spaces.Space[Any]] | None = None) -> spaces.Dict:
    """``robot`` (8,), ``people`` (rows, 5) padded with zeros, ``mask`` (rows,): 1 where somebody is; and pictures."""
    return spaces.Dict(
        {
            **(pictures or {}),
            "robot": spaces.Box(-np.inf, np.inf, (ROBOT_FEATURES,), np.float32),
            "people": spaces.Box(-np.inf, np.inf, (rows, AGENT_FEATURES), np.float32),
            "mask": spaces.MultiBinary(rows),
        }
    )


def several_robots_space(rows: int, others: int) -> spaces.Dict:
    """The same with the other robots: ``robots`` (others, 5) and ``robots_mask`` (others,)."""
    alone = observation_space(rows).spaces
    robots = spaces.Box(-np.inf, np.inf, (others, AGENT_FEATURES), np.float32)
    return spaces.Dict({**alone, "robots": robots, "robots_mask": spaces.MultiBinary(others)})


def action_space() -> spaces.Box:
    """Two numbers in [-1, 1] that span the robot's command limits."""
    return spaces.Box(-1.0, 1.0, (2,), np.float32)


DTYPES: dict[str, Any] = {"rgb": np.uint8, "depth": np.float32, "semantic": np.uint8}


def check_sensors(sensors: Sequence[str]) -> tuple[str, ...]:
    """The pictures that observations shall have, in a fixed order."""
    if isinstance(sensors, str):
        raise BadInput(f"sensors is a list of names, such as ('{sensors}',)")
    for name in sensors:
        if name not in PICTURES:
            raise UnknownName("sensor", name, DTYPES)
    return tuple(name for name in DTYPES if name in sensors)


def picture_shape(name: str, settings: CameraSettings) -> tuple[int, ...]:
    """Of one picture."""
    width, height = settings.picture_size
    return (height, width, 3) if name == "rgb" else (height, width)


def picture_spaces(sensors: Sequence[str], settings: CameraSettings) -> dict[str, spaces.Space[Any]]:
    """``rgb`` (H, W, 3) and ``semantic`` (H, W) uint8, ``depth`` (H, W) float32, m, infinite where nothing is."""
    limits = {"rgb": 255, "depth": np.inf, "semantic": 255}
    return {name: spaces.Box(0, limits[name], picture_shape(name, settings), DTYPES[name]) for name in sensors}


class EnvironmentCameras:
    """The cameras of B environments of one scenario; pictures do not depend on B, on threads or on each other."""

    def __init__(self, worlds: Sequence[World], sensors: tuple[str, ...], threads: int | None = None) -> None:
        """``worlds``: what each environment has at first."""
        self._sensors = sensors
        settings = worlds[0].scenario.sensors.camera
        wanted = frozenset(sensors)
        self._feeds = [
            CameraSensor(SensorContext(world.scene, world.robots[0], wanted, world.scenario, world.person_id))
            for world in worlds
        ]
        self._detectors = [_everybody(world) for world in worlds]
        count = (os.cpu_count() or 1) if threads is None else threads
        self._workers = WorkerThreads(max(1, min(count, len(worlds))))
        self.pictures: dict[str, NDArray[Any]] = {
            name: np.zeros((len(worlds), *picture_shape(name, settings)), DTYPES[name]) for name in sensors
        }
        """By name, (B, …): what :meth:`look` saw last."""

    def restart(self, b: int, world: World) -> None:
        """A new episode in place ``b``."""
        self._feeds[b].restart(world.person_id)
        self._detectors[b] = _everybody(world)

    def look(self, worlds: Worlds, which: IntArray | Sequence[int]) -> None:
        """Refresh the pictures of the environments ``which``."""

        def draw(b: int) -> None:
            robot = robot_state(worlds, b)
            pose = (robot.x, robot.y, robot.heading)
            agents, flags, step = worlds.agents[b], worlds.flags[b], int(worlds.clock[b])
            time_s = step * worlds.worlds[b].scenario.rules.step_s
            view = SensorView(
                step, time_s, robot, agents, flags, worlds.people, np.zeros((0, 3)),
                lambda: self._detectors[b].sense(agents, flags, pose),
            )  # fmt: skip
            seen = self._feeds[b].sense(view)
            for name in self._sensors:
                self.pictures[name][b] = seen[name]

        self._workers.run_side_by_side(draw, [int(b) for b in which])

    def of(self, b: int) -> dict[str, Any]:
        """A copy of the pictures of one environment."""
        return {name: self.pictures[name][b].copy() for name in self._sensors}

    def all(self, copy: bool) -> dict[str, Any]:
        """The pictures of all."""
        return {name: pictures.copy() if copy else pictures for name, pictures in self.pictures.items()}


def _everybody(world: World) -> PedestrianDetector:
    return PedestrianDetector(PedestrianSensing(), world.person_id, world.scene.segments)
