"""The observation of learning environments: its settings, its arrays, and the sensor that gives the same observation,
to the bit, to a learned policy in the benchmark (need ``learning``). ``kernels.observation`` fills it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import pi
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from sidestep.errors import BadInput
from sidestep.interfaces import Sensor, SensorContext, SensorView
from sidestep.kernels import layout, observation
from sidestep.kernels.dynamics import (
    ROBOT_HEADING,
    ROBOT_OMEGA,
    ROBOT_ROWS,
    ROBOT_VX,
    ROBOT_VY,
    ROBOT_X,
    ROBOT_Y,
)
from sidestep.kernels.jit import compile_for
from sidestep.kernels.observation import Place, Senses, SenseScratch, Views
from sidestep.kernels.rays import Beams, make_ray_table, make_scratch
from sidestep.types import RobotSpec, Scenario
from sidestep.types.base import FloatArray, Model, Positive
from sidestep.types.sensors import LidarSettings, PedestrianSensing

DEFAULT_RAYS = 180
"""Rays of the learning lidar unless the scenario's ``sensors.lidar`` sets them."""
SPARE_M = 0.01
"""Added to the distance up to which walls are looked at: rounding must not lose one."""
MOST_CORNERS = 8

Cells = Annotated[int, Field(ge=1, le=1024)]


class GridSettings(Model):
    """An occupancy grid about the robot: ``size`` cells ahead and to the side, of ``cell_m`` m."""

    size: tuple[Cells, Cells] = (64, 64)
    cell_m: Positive = 0.125


@dataclass(frozen=True)
class LearningView:
    """What an observation has: room for ``rows`` people, and a lidar and a grid where they are not None."""

    rows: int
    lidar: LidarSettings | None = None
    grid: GridSettings | None = None

    def check(self, scenario: Scenario, robot: RobotSpec) -> None:
        """``BadInput`` where the scenario does not allow this observation."""
        turns = self.lidar is not None and self.lidar.field_of_view < 2 * pi - 1e-9
        if turns and robot.dynamics == "holonomic":
            raise BadInput(
                f"scenario {scenario.name!r}: a holonomic robot observes along the world's axes, so its lidar must see "
                "all round; set lidar={'field_of_view': 6.283185307179586, 'angle_min': -3.141592653589793}"
            )
        if self.grid is not None and scenario.traffic and scenario.sensors.vehicles != PedestrianSensing():
            raise BadInput(
                f"scenario {scenario.name!r} limits which vehicles are seen (sensors.vehicles), which a grid cannot "
                "follow; use the lidar, or remove the limits"
            )


def learning_lidar(scenario: Scenario, changes: Any, where: str) -> LidarSettings:
    """``changes`` (settings of a lidar, or a preset's name) over the scenario's ``sensors.lidar``. The range is rounded
    to float32, as a model's observation space keeps it."""
    base = {"rays": DEFAULT_RAYS, **scenario.sensors.lidar.model_dump(exclude_unset=True)}
    if isinstance(changes, LidarSettings):
        changes = changes.model_dump(exclude_unset=True)
    elif changes is not None:
        changes = LidarSettings.parse(changes, where).model_dump(exclude_unset=True)
    merged = LidarSettings.parse({**base, **(changes or {})}, where)
    return merged.model_copy(update={"max_range": float(np.float32(merged.max_range))})


def learning_grid(changes: Any, where: str) -> GridSettings:
    """``changes`` over the default grid; a single ``size`` means a square."""
    if isinstance(changes, GridSettings):
        return changes
    settings = dict(changes or {})
    if isinstance(settings.get("size"), int):
        settings["size"] = (settings["size"], settings["size"])
    return GridSettings.parse(settings, where)


def pack_sight(scenarios: Sequence[Scenario]) -> FloatArray:
    """(B, SIGHT_ROWS) float64: the limits of each scenario's pedestrian detector."""
    packed = np.zeros((len(scenarios), observation.SIGHT_ROWS))
    for row, scenario in zip(packed, scenarios, strict=True):
        limits = scenario.sensors.pedestrians
        row[observation.SIGHT_RANGE] = np.inf if limits.range_m is None else limits.range_m
        row[observation.SIGHT_ANGLE] = 2 * pi if limits.field_of_view is None else limits.field_of_view
        row[observation.SIGHT_OCCLUSION] = limits.occlusion
    return packed


def make_views(view: LearningView, size: int, tested: int = 1) -> Views:
    """Arrays for the observations of ``tested`` robots in each of ``size`` environments."""
    b, a, others = size, tested, max(tested - 1, 1)
    rays = 0 if view.lidar is None else view.lidar.rays
    cells = (0, 0, 0) if view.grid is None else (observation.GRID_LAYERS, *view.grid.size)
    return Views(
        np.zeros((b, a, observation.ROBOT_FEATURES), np.float32),
        np.zeros((b, a, view.rows, observation.AGENT_FEATURES), np.float32),
        np.zeros((b, a, view.rows), np.int8),
        np.zeros((b, a, others, observation.AGENT_FEATURES), np.float32),
        np.zeros((b, a, others), np.int8),
        np.zeros((b, a, rays), np.float32),
        np.zeros((b, a, *cells), np.uint8),
    )


def make_senses(view: LearningView, sight: FloatArray) -> Senses:
    """How robots with this view observe where people are seen as far as ``sight`` (B, SIGHT_ROWS) says."""
    reach = 0.0
    hides = sight[:, observation.SIGHT_OCCLUSION] == 1.0
    if hides.any():
        reach = float(sight[hides, observation.SIGHT_RANGE].max())
    lidar = view.lidar or LidarSettings(rays=1)
    if view.lidar is not None:
        reach = max(reach, lidar.max_range + abs(lidar.mount[0]) + abs(lidar.mount[1]))
    cell = 1.0
    if view.grid is not None:
        cell = float(view.grid.cell_m)
        reach = max(reach, (view.grid.size[0] + view.grid.size[1]) / 2 * cell)
    directions = make_ray_table(lidar.angle_min, lidar.angle_increment, 0 if view.lidar is None else lidar.rays)
    beams = Beams(float(lidar.angle_min), float(lidar.angle_increment), directions, float(lidar.max_range))
    return Senses(sight, beams, np.array(lidar.mount, np.float64), cell, reach + SPARE_M)


def make_sense_scratch(view: LearningView, walls: int, columns: int, vehicles: int) -> SenseScratch:
    """Working memory of one thread, for worlds of up to this many walls, columns of agents and vehicles."""
    edges = walls + MOST_CORNERS * vehicles
    return SenseScratch(
        np.zeros((edges, 4), np.float32),
        make_scratch(edges, columns),
        np.zeros(0 if view.lidar is None else view.lidar.rays, np.int32),
        np.zeros(columns, np.int32),
        np.zeros(columns, np.uint8),
    )


class LearningSensor(Sensor):
    """Serves ``learning``: what a learning environment of this scenario observes, as a map of arrays.

    Its settings are the policy's (``Policy.sensor_settings``): ``rows``, and ``lidar`` and ``grid`` with all their
    fields, or None.
    """

    def __init__(
        self,
        context: SensorContext,
        rows: int = 1,
        lidar: Mapping[str, Any] | None = None,
        grid: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(context)
        scenario = context.scenario
        view = LearningView(
            rows,
            None if lidar is None else learning_lidar(scenario, lidar, "learning.lidar"),
            None if grid is None else learning_grid(grid, "learning.grid"),
        )
        view.check(scenario, context.robot)
        self._goal = np.array(scenario.robots[0].goal, np.float64)
        self._step_s, self._time_limit_s = scenario.rules.step_s, scenario.rules.time_limit_s
        self._is_turned = context.robot.dynamics != "holonomic"
        self._tested = len(scenario.robots)
        vehicles = context.others[len(context.others) - len(scenario.traffic) :] if scenario.traffic else ()
        self._bodies = pack_outlines(vehicles)
        self._walls = layout.copy_walls(context.scene)
        self._view = view
        self._senses = make_senses(view, pack_sight([scenario]))
        self._views = make_views(view, 1, self._tested)
        self._scratch: SenseScratch | None = None

    def sense(self, view: SensorView) -> dict[str, Any]:
        """The observation of this moment."""
        if self._scratch is None:
            walls, vehicles = len(self._walls.points), len(self._bodies)
            self._scratch = make_sense_scratch(self._view, walls, view.agents.shape[1], vehicles)
            self._observe = compile_for(
                observation.observe_alone, self._place(view), self._senses, self._views, self._scratch
            )
        self._observe(self._place(view), self._senses, self._views, self._scratch)
        return {"learning": {name: array[0, 0].copy() for name, array in entries(self._views).items()}}

    def _place(self, view: SensorView) -> Place:
        state, robot = view.robot, np.zeros(ROBOT_ROWS)
        robot[[ROBOT_X, ROBOT_Y, ROBOT_HEADING]] = state.x, state.y, state.heading
        robot[[ROBOT_VX, ROBOT_VY, ROBOT_OMEGA]] = state.vx, state.vy, state.omega
        time_share = view.step * self._step_s / self._time_limit_s
        return Place(
            view.agents, view.flags, view.own, self._tested, 0, robot, self._goal, self._is_turned, time_share,
            np.ascontiguousarray(view.vehicles).reshape(-1, ROBOT_ROWS), self._bodies, self._walls,
        )  # fmt: skip


def pack_outlines(vehicles: Sequence[RobotSpec]) -> FloatArray:
    """(V, BODY_ROWS, 2) float64: number of corners and radius of each vehicle, then its corners."""
    bodies = np.zeros((len(vehicles), layout.BODY_ROWS, 2))
    for body, spec in zip(bodies, vehicles, strict=True):
        corners = spec.footprint.polygon or ()
        body[0] = len(corners), spec.footprint.enclosing_radius
        body[1 : 1 + len(corners)] = np.reshape(corners, (-1, 2))
    return bodies


def entries(views: Views) -> dict[str, Any]:
    """The arrays of an observation by their names in it: what was not asked for is not there."""
    named: dict[str, Any] = {"robot": views.robot, "people": views.people, "mask": views.people_mask}
    if views.lidar.shape[2]:
        named["lidar"] = views.lidar
    if views.grid.shape[2]:
        named["grid"] = views.grid
    return named
