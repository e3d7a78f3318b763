"""The pictures of each environment's camera, drawn on several threads."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sidestep._util.threads import WorkerThreads
from sidestep.gym.observation import DTYPES, picture_shape
from sidestep.interfaces import SensorContext, SensorView
from sidestep.simulation.build import World
from sidestep.simulation.observe import detector_of_everybody, view_for_sensors
from sidestep.simulation.sensors.camera import CameraSensor
from sidestep.simulation.worlds import Worlds
from sidestep.types.base import IntArray


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
