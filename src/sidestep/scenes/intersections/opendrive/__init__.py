"""Scenes from OpenDRIVE files (``.xodr``, versions 1.x): ``network`` reads a file, ``reference_line`` and ``sections``
say where its roads and lanes lie, ``lanes`` what follows on what, ``scene`` puts it all together.

Read: plan views of all five kinds, lane sections with widths and offsets, links, junctions with priorities, road marks,
crosswalks, buildings, traffic lights. Right-hand traffic only. Ignored, because scenes are flat and in the file's own
metres: heights (elevation, superelevation, shape), the header's ``offset`` and ``geoReference``; also signs, other
objects and surfaces. ``docs/scenes.md`` has the whole table.
"""

from sidestep.scenes.intersections.opendrive.scene import read_opendrive

__all__ = ["read_opendrive"]
