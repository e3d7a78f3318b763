"""What a robot can perceive of a world's arrays: people's states and a 2D lidar. Cameras live in ``render``."""

from sidestep.sensors.lidar import Lidar
from sidestep.sensors.pedestrians import PedestrianDetector

__all__ = ["Lidar", "PedestrianDetector"]
