"""Procedural towns, 2 km × 2 km each: the same name gives the same town for ever, per ``GENERATOR_VERSION``.

``network``     lines over the town, joined by splines into junctions and chains
``streets``     zones and crossings of each chain; ``rings`` joins street sides and corners round blocks of houses
``ground``      road, kerb, verge, sidewalk, crosswalk and ramp as strips; ``plazas``, ``lots``: what lies behind
``furniture``   things in each zone; ``objects`` their footprints, and where people stand for them
``walks``       the graph of walkable ways; ``routes`` smooth ways over it; ``long_routes`` ways with all others closed
``town``        ``Town`` with its windows; ``spots`` short ways for scenarios; ``make`` from a name to a town
"""

from sidestep.scenes.towns.make import GENERATOR_VERSION, make_town, town_names
from sidestep.scenes.towns.pieces import TownObject
from sidestep.scenes.towns.resolve import resolve_town
from sidestep.scenes.towns.town import Block, ShortRoute, Town, barriers, long_route, long_scene, numbered_long_route
from sidestep.scenes.walkways import Route

__all__ = [
    "GENERATOR_VERSION",
    "Block",
    "Route",
    "ShortRoute",
    "Town",
    "TownObject",
    "barriers",
    "long_route",
    "long_scene",
    "make_town",
    "numbered_long_route",
    "resolve_town",
    "town_names",
]
