"""Static worlds: where the walls are and where a body fits between them. Nothing here moves.

``load``        what a scenario says about its scene (a plan, a town, a place, a file) to a ``SceneSpec``
``plans``       scene files, and the bundled floor plans by name
``geojson``, ``ros_map``   importers, one file per format
``places``      imported sites: OpenStreetMap extracts, scanned meshes with an annotation
``towns``       procedural towns
``walkways``    lines, routes, barriers and footprints, shared by towns and places
``compile``     a ``SceneSpec`` to the arrays of a ``CompiledScene``; ``distance_field`` samples how far walls are
``free_space``  whether a body fits at a point, and the shortest path to another

People, vehicles and robots come on top in ``sidestep.simulation``.
"""
