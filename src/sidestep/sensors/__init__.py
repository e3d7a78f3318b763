"""What a robot can perceive of a world's arrays: people's states and a 2D lidar. Cameras live in ``render``."""

from sidestep.sensors.planar import Lidar, PedestrianDetector

__all__ = ["Lidar", "PedestrianDetector"]
