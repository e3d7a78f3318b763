"""The 2D scene of the simulation as a 3D world: ground, kerbs, buildings, rooms, furniture, one file each.

``build_scene`` is the entry point; ``ground_height`` is the height at which feet and wheels stand.
"""

from sidestep.render.scene.build import build_scene
from sidestep.render.scene.layout import GroundHeight, ground_height

__all__ = ["GroundHeight", "build_scene", "ground_height"]
