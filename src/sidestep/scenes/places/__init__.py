"""Places that are mapped or scanned rather than made up: OpenStreetMap extracts, and meshes with an annotation.

``osm``          an extract to a ``Place``: ``osm_file`` reads the XML, ``osm_tags`` says what tags mean, ``roads`` and
                 ``crossings`` lay streets, ``osm_ground`` the ground, ``osm_areas`` buildings, ``osm_things`` the rest
``scan``         a mesh with a GeoJSON annotation to a ``Place``: ``glb`` reads the mesh, ``slice`` finds solids in it
``partition``    overlapping areas to regions without overlaps
``graph``        walking lines to a graph; ``skeleton`` finds such lines in annotated ground
``place``        ``Place``; ``spots`` short ways for scenarios; ``closed`` long ways with all others closed
``bundled``      three small places that the project drew (``drawn`` makes their files)
"""

from sidestep.scenes.places.bundled import bundled_place, place_names, resolve_place
from sidestep.scenes.places.osm import osm_place, read_osm
from sidestep.scenes.places.place import Place
from sidestep.scenes.places.scan import read_scan

__all__ = ["Place", "bundled_place", "osm_place", "place_names", "read_osm", "read_scan", "resolve_place"]
