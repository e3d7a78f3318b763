"""Surfaces made by code: each picture is a pure function of its name, made on first use and kept.

``material(name)`` is the only door. Pictures are linear RGB, repeat without a seam, and have row 0 at v = 0 (the foot
of a wall), column 0 at u = 0. To add one, write a function that returns the picture and a line in its file's table.
"""

from sidestep.render.materials.library import material, material_names

__all__ = ["material", "material_names"]
