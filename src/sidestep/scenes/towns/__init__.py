"""Procedural towns, 2 km × 2 km each: the same name gives the same town for ever, per ``GENERATOR_VERSION``.

``network``     lines over the town, joined by splines into junctions and chains
``streets``     zones and crossings of each chain; corners and rings join street sides round blocks of houses
``ground``      road, kerb, verge, sidewalk, crosswalk and ramp as strips; plazas. ``lots``: what lies behind
``furniture``   things in each zone
``roads``       lanes, crossings and parking bays, for traffic
``pieces``      the polygons of all that, where people stand for things, and the regions of a window
``walk_graph``  the graph of walkways, and the line to walk along each edge
``town``        ``Town``: windows, routes, short routes for scenarios, long routes with all others closed
``make``        from a name to a town, and from ``town:…`` in a scenario to a saved window
"""

from sidestep.scenes.towns.make import GENERATOR_VERSION, make_town, resolve_town, town_names
from sidestep.scenes.towns.pieces import StandingPoint
from sidestep.scenes.towns.town import Block, Town, barriers, long_route, long_scene, numbered_long_route
from sidestep.scenes.walkways import Route, ShortRoute

__all__ = [
    "GENERATOR_VERSION",
    "Block",
    "Route",
    "ShortRoute",
    "StandingPoint",
    "Town",
    "barriers",
    "long_route",
    "long_scene",
    "make_town",
    "numbered_long_route",
    "resolve_town",
    "town_names",
]
