"""Traffic: kinds of road users other than people and robots under test, and who drives them.

A kind is a ``RobotSpec`` (footprint, dynamics, limits, look): a data file under ``specs/``, or an object that a plug-in
registers under ``sidestep.road_users``. A driver is a :class:`VehicleDriver`, from ``drivers`` or from a plug-in under
``sidestep.drivers``. How vehicles move, touch and are seen is the world step's business (``kernels.world``).
"""

from sidestep.traffic.drivers import DrivingTask, RoadView, VehicleDriver, make_driver
from sidestep.traffic.kinds import Cover, cover_body, inner_radius, load_vehicle

__all__ = [
    "Cover",
    "DrivingTask",
    "RoadView",
    "VehicleDriver",
    "cover_body",
    "inner_radius",
    "load_vehicle",
    "make_driver",
]
