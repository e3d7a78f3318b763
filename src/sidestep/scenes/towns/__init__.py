"""Procedural towns, 2 km × 2 km each: the same name gives the same town for ever, per ``GENERATOR_VERSION``.

``network``     lines over the town, joined by splines into junctions and chains
``streets``     zones and crossings of each chain; ``rings`` joins street sides and corners round blocks of houses
``ground``      road, kerb, verge, sidewalk, crosswalk and ramp as strips; ``plazas``, ``lots``: what lies behind
``furniture``   things in each zone; ``objects`` their footprints, and where people stand for them
``walks``       the graph of walkable ways; ``routes`` smooth ways over it; ``long_routes`` ways with all others closed
``town``        ``Town`` with its windows; ``spots`` short ways for scenarios; ``make`` from a name to a town
"""

from sidestep.scenes.towns.long_routes import barriers, long_route
from sidestep.scenes.towns.make import GENERATOR_VERSION, make_town, town_names
from sidestep.scenes.towns.objects import TownObject
from sidestep.scenes.towns.resolve import resolve_town
from sidestep.scenes.towns.routes import Route
from sidestep.scenes.towns.town import Block, Spot, Town

__all__ = [
    "GENERATOR_VERSION",
    "Block",
    "Route",
    "Spot",
    "Town",
    "TownObject",
    "barriers",
    "long_route",
    "make_town",
    "resolve_town",
    "town_names",
]
