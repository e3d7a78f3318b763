"""Robots as models: :func:`robot_figure` gives the model of a robot by its spec. ``wheeled`` holds robots on wheels
and the plain one that stands for any other footprint, ``legged`` the robot dog and the humanoid.
"""

from __future__ import annotations

from collections.abc import Callable

from sidestep.render.figure import Figure
from sidestep.render.mesh import Semantic
from sidestep.render.robots.legged import make_humanoid, make_robot_dog
from sidestep.render.robots.wheeled import make_delivery_robot, make_generic, make_pioneer, outline
from sidestep.render.vehicles import vehicle_figure
from sidestep.types.robot import RobotSpec


def _make_car(spec: RobotSpec) -> Figure:
    """A car in the box about the footprint; its reference point stays where the spec has it."""
    low, high = outline(spec.footprint).min(axis=0), outline(spec.footprint).max(axis=0)
    size = (float(high[0] - low[0]), float(high[1] - low[1]), spec.height)
    return vehicle_figure("car", "blue", size, float(low[0]), Semantic.ROBOT)


_SHAPES: dict[str, Callable[[RobotSpec], Figure]] = {
    "pioneer_3dx": make_pioneer,
    "pioneer_3dx_real": make_pioneer,
    "delivery_robot": make_delivery_robot,
    "robot_dog": make_robot_dog,
    "humanoid": make_humanoid,
    "car": _make_car,
}


def robot_figure(spec: RobotSpec) -> Figure:
    """The figure of a robot, as large as its footprint and as tall as its spec says."""
    return _SHAPES.get(spec.name, make_generic)(spec)


__all__ = ["robot_figure"]
