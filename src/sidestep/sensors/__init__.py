"""What a robot can perceive of a world's arrays: people, vehicles and a 2D lidar. Cameras live in ``render``."""

from sidestep.sensors.planar import Lidar, PedestrianDetector
from sidestep.sensors.vehicles import VehicleDetector, outline_edges

__all__ = ["Lidar", "PedestrianDetector", "VehicleDetector", "outline_edges"]
