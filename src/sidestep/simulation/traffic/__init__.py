"""Traffic: kinds of road users other than people and robots under test, and who drives them.

A kind is a ``RobotSpec`` (footprint, dynamics, limits, look): a data file under ``specs/``, or an object that a plug-in
registers under ``sidestep.road_users``. A driver is a :class:`VehicleDriver`, from ``drivers`` or from a plug-in under
``sidestep.drivers``. Vehicles with the driver ``lane`` follow the scene's lanes (``lanes``), all of a world driven in
one compiled call (``lane_driving`` with ``car_following`` and ``junctions``, ``lane_traffic``); ``lane_starts`` draws
them. How vehicles move, touch and are seen is the world step's business (``kernels.world``).
"""

from sidestep.simulation.traffic.drivers import DrivingTask, RoadView, VehicleDriver, make_driver
from sidestep.simulation.traffic.kinds import Cover, cover_body, inner_radius, load_vehicle
from sidestep.simulation.traffic.lane_starts import draw_vehicles
from sidestep.simulation.traffic.lane_traffic import LANE_DRIVER, LaneVehicles
from sidestep.simulation.traffic.lanes import LaneGraph

__all__ = [
    "LANE_DRIVER",
    "Cover",
    "DrivingTask",
    "LaneGraph",
    "LaneVehicles",
    "RoadView",
    "VehicleDriver",
    "cover_body",
    "draw_vehicles",
    "inner_radius",
    "load_vehicle",
    "make_driver",
]
