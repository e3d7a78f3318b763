"""Places that are mapped or scanned rather than made up: OpenStreetMap extracts, and meshes with an annotation.

``osm``         an extract to a ``Place``: ``osm_file`` reads XML and tags, ``osm_streets`` lays roads and crossings
``scan``        a mesh with a GeoJSON annotation to a ``Place``; solids found in the mesh
``grid``        shapes on a grid of 1 mm; overlapping areas to regions without overlaps
``walk_graph``  walking lines to a graph, and such lines found in annotated ground
``place``       ``Place``: routes, and long routes with all others closed
``bundled``     three small places that the project drew (``tools/draw_places.py`` makes their files)
"""

from sidestep.scenes.places.bundled import bundled_place, place_names, resolve_place
from sidestep.scenes.places.osm import osm_place, read_osm
from sidestep.scenes.places.place import Place
from sidestep.scenes.places.scan import read_scan

__all__ = ["Place", "bundled_place", "osm_place", "place_names", "read_osm", "read_scan", "resolve_place"]
