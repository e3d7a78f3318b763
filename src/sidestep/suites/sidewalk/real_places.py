"""Where the scenarios on mapped and scanned places are, for the suites: ten short ways of each kind, five long ones."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from sidestep.errors import BadInput
from sidestep.suites.sidewalk.places import LongWay, Way
from sidestep.types.base import Model

DATA = Path(__file__).parents[1] / "data" / "sidewalk_real.json"
KINDS = ("straight", "curve", "crosswalk")


class NamedWay(Model):
    """A short way and its name, such as ``kettlegate-1``."""

    name: str
    way: Way


class NamedLongWay(Model):
    """A long way and its name."""

    name: str
    way: LongWay


class RealPlaces(Model):
    """The file as a whole."""

    straight: tuple[NamedWay, ...]
    curve: tuple[NamedWay, ...]
    crosswalk: tuple[NamedWay, ...]
    long: tuple[NamedLongWay, ...]


@cache
def _read() -> RealPlaces:
    try:
        text = DATA.read_text(encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{DATA}: cannot be read ({error.strerror}); the installation is incomplete") from error
    return RealPlaces.model_validate_json(text)


def real_unit_ways() -> dict[str, tuple[tuple[str, Way], ...]]:
    """Kind → names and ways."""
    places = _read()
    return {kind: tuple((item.name, item.way) for item in getattr(places, kind)) for kind in KINDS}


def real_long_ways() -> tuple[tuple[str, LongWay], ...]:
    """Names and ways of more than 100 m, with whom the robot meets."""
    return tuple((item.name, item.way) for item in _read().long)
