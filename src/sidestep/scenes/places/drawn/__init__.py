"""How the project drew its three places. ``python -m sidestep.scenes.places.drawn`` writes their files anew.

``paper``          a sheet in metres to draw on, written as ``.osm``
``kettlegate``, ``piper_parade``   two places as OpenStreetMap XML
``lantern_court``  the annotation of a scanned place; ``lantern_mesh`` its mesh
"""
