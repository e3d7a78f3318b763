"""What a robot can perceive: detectors of people and vehicles, a planar lidar, and a camera's clock and settings. The
3D lidar and the cameras that draw live in ``render``, the signals of driving rules in ``simulation.road_judge``, the
measurements of a car in ``policies.driving``; the registry (``sensors``) finds them by name."""

from sidestep.simulation.sensors.planar import Lidar, PedestrianDetector
from sidestep.simulation.sensors.vehicles import VehicleDetector, outline_edges

__all__ = ["Lidar", "PedestrianDetector", "VehicleDetector", "outline_edges"]
