"""What a robot can perceive: pedestrian detector, planar lidar, and a camera's clock and settings. The 3D lidar and the
cameras that draw live in ``render``; the registry (``sensors``, ``cameras``) finds them by name."""

from sidestep.sensors.planar import Lidar, PedestrianDetector

__all__ = ["Lidar", "PedestrianDetector"]
