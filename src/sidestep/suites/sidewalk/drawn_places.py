"""Where the scenarios on the places that the project drew are: ten short ways of each kind, five long ones."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from sidestep.suites.sidewalk.places import LongWay, Split, Way, read_choice
from sidestep.types.base import Model

DATA = Path(__file__).parents[1] / "data" / "sidewalk_real.json"
KINDS = ("straight", "curve", "crosswalk")
DEV_PLACES = frozenset({"piper-parade"})
"""The place to develop on; the other two are for tests."""


class NamedWay(Model):
    """A short way and its name, such as ``kettlegate-1``."""

    name: str
    way: Way


class NamedLongWay(Model):
    """A long way and its name."""

    name: str
    way: LongWay


class DrawnPlaces(Model):
    """The file as a whole."""

    straight: tuple[NamedWay, ...]
    curve: tuple[NamedWay, ...]
    crosswalk: tuple[NamedWay, ...]
    long: tuple[NamedLongWay, ...]


@cache
def _read() -> DrawnPlaces:
    return DrawnPlaces.model_validate_json(read_choice(DATA))


def drawn_unit_ways() -> dict[str, tuple[tuple[str, Way], ...]]:
    """Kind → names and ways."""
    places = _read()
    return {kind: tuple((item.name, item.way) for item in getattr(places, kind)) for kind in KINDS}


def drawn_long_ways() -> tuple[tuple[str, LongWay], ...]:
    """Names and ways of more than 100 m, with whom the robot meets."""
    return tuple((item.name, item.way) for item in _read().long)


def split_of_place(name: str) -> Split:
    """Of a way's name, such as ``kettlegate-1``: the split of its place."""
    return "dev" if name.rpartition("-")[0] in DEV_PLACES else "test"
