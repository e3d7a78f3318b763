"""Static worlds: where the walls are and where a body fits between them. Nothing here moves.

``plans``        bundled floor plans by name
``load``         a plan name, a scene file, a GeoJSON file or a ROS map, to a ``SceneSpec``
``scene_file``, ``geojson``, ``ros_map``   one file per format (``pgm`` and ``pixel_outline`` serve ROS maps)
``compile``      a ``SceneSpec`` to the arrays of a ``CompiledScene``: ``solids`` merges regions into walls,
                 ``wall_cells`` lists the walls near each cell, ``distance_field`` samples how far they are
``free_space``   whether a body fits at a place, and the shortest way to another

People, vehicles and robots come on top in ``crowd``, ``traffic`` and ``robots``.
"""
