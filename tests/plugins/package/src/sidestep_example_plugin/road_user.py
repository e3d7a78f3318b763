"""A kind of road user: what it is, how it looks and who drives it."""

from __future__ import annotations

from sidestep.render.figure import Figure
from sidestep.render.vehicles import bicycle_look
from sidestep.simulation.traffic import DrivingTask, RoadView, VehicleDriver
from sidestep.types import Footprint, RobotLimits, RobotSpec, Velocity

CARGO_BIKE = RobotSpec(
    name="example_cargo_bike",
    summary="A cargo bike, reference point in the rear axle",
    dynamics="bicycle",
    footprint=Footprint(polygon=((2.1, -0.35), (2.1, 0.35), (-0.35, 0.35), (-0.35, -0.35))),
    limits=RobotLimits(max_speed=7.0, max_acceleration=0.8, max_deceleration=3.0, max_steer=0.7),
    wheelbase=1.8,
    height=1.8,
    look="example_cargo_bike",
)


def look(spec: RobotSpec, number: int) -> Figure:
    """As a bicycle that is as long as its wheelbase."""
    return bicycle_look(spec, number)


class StopAndGo(VehicleDriver):
    """Rides straight on for ``ride_s`` seconds, then stands for as long, and so on."""

    def __init__(self, ride_s: float = 2.0) -> None:
        self._ride_s = ride_s

    def reset(self, task: DrivingTask) -> None:
        """Take the placement's speed."""
        self._speed = task.placement.speed

    def drive(self, view: RoadView) -> Velocity:
        """Ride or stand."""
        return Velocity(self._speed if view.time % (2 * self._ride_s) < self._ride_s else 0.0, 0.0)
