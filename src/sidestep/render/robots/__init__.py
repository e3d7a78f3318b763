"""Robots as models: :func:`robot_figure` gives the model of a robot by its spec. ``wheeled`` holds robots on wheels
and the plain one that stands for any other footprint, ``legged`` the robot dog and the humanoid.
"""

from __future__ import annotations

from collections.abc import Callable

from sidestep import registry
from sidestep.render.figure import Figure
from sidestep.render.mesh import Semantic
from sidestep.render.robots.legged import make_humanoid, make_robot_dog
from sidestep.render.robots.wheeled import make_delivery_robot, make_generic, make_pioneer
from sidestep.render.vehicles import box_of, vehicle_figure
from sidestep.types.robot import RobotSpec


def _make_car(spec: RobotSpec) -> Figure:
    """A car in the box about the footprint; its reference point stays where the spec has it."""
    return vehicle_figure("car", "blue", *box_of(spec), Semantic.ROBOT)


_SHAPES: dict[str, Callable[[RobotSpec], Figure]] = {
    "pioneer_3dx": make_pioneer,
    "pioneer_3dx_real": make_pioneer,
    "delivery_robot": make_delivery_robot,
    "robot_dog": make_robot_dog,
    "humanoid": make_humanoid,
    "car": _make_car,
}


def robot_figure(spec: RobotSpec, number: int = 0) -> Figure:
    """The figure of a robot or vehicle, as large as its footprint and as tall as its spec says. ``number`` varies the
    paint of vehicles. One whose look is not installed here is drawn as a plain body."""
    if spec.look:
        is_known = spec.look in registry.names("looks")
        figure: Figure = registry.load("looks", spec.look)(spec, number) if is_known else make_generic(spec)
        return figure
    return _SHAPES.get(spec.name, make_generic)(spec)


__all__ = ["robot_figure"]
