"""The routes of the sidewalk suites, as read from ``data/sidewalk.json`` (towns) and ``data/sidewalk_real.json`` (the
hand-made places): chosen once by ``tools/choose_sidewalk_towns.py`` and ``tools/choose_sidewalk_hand_made.py``. Also
which of them belong to the development and to the test split.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Literal

from sidestep.errors import BadInput
from sidestep.types.base import Model, Point, Positive
from sidestep.types.events import EventSpec

Split = Literal["dev", "test"]
DEV_TOWNS = 50
"""Towns 0 … 49 are for development, 50 … 99 for tests."""

TOWN_DATA = Path(__file__).parents[1] / "data" / "sidewalk.json"


class SidewalkRoute(Model):
    """A route on a sidewalk: where the robot starts, the points that it passes, and its goal."""

    points: tuple[Point, ...]
    width: Positive
    """Width of the clear sidewalk or of the crosswalk, m."""
    scene: str
    """The window of the town."""


class LongRoute(SidewalkRoute):
    """A route over several blocks, with the people that the robot meets."""

    length: Positive
    events: tuple[EventSpec, ...]


class TownRoutes(Model):
    """What the suites use of one town."""

    town: str
    straight: SidewalkRoute
    curve: SidewalkRoute
    crosswalk: SidewalkRoute
    events: dict[str, EventSpec]
    """Behaviour → its event; ``crossing`` is on the crosswalk, the others are on the straight route."""
    long: LongRoute


class TownFile(Model):
    """The file as a whole."""

    version: int
    """Version of the generator that made the towns."""
    towns: tuple[TownRoutes, ...]


@cache
def town_routes() -> TownFile:
    """The chosen routes."""
    return TownFile.model_validate_json(read_bundled_text(TOWN_DATA))


def read_bundled_text(path: Path) -> str:
    """The text of a file that comes with the package."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror}); the installation is incomplete") from error


def as_plain_data(model: Any) -> Any:
    """A model as JSON holds it, without what nobody set."""
    return model.model_dump(mode="json", exclude_unset=True)


def split_of_town(number: int) -> Split:
    """To which split town ``number`` belongs."""
    return "dev" if number < DEV_TOWNS else "test"


HAND_MADE_DATA = Path(__file__).parents[1] / "data" / "sidewalk_real.json"
UNIT_KINDS = ("straight", "curve", "crosswalk")
DEV_PLACES = frozenset({"piper-parade"})
"""The place to develop on; the other two are for tests."""


class NamedRoute(Model):
    """A short route and its name, such as ``kettlegate-1``."""

    name: str
    way: SidewalkRoute


class NamedLongRoute(Model):
    """A long route and its name."""

    name: str
    way: LongRoute


class HandMadeFile(Model):
    """The file as a whole."""

    straight: tuple[NamedRoute, ...]
    curve: tuple[NamedRoute, ...]
    crosswalk: tuple[NamedRoute, ...]
    long: tuple[NamedLongRoute, ...]


@cache
def _hand_made_file() -> HandMadeFile:
    return HandMadeFile.model_validate_json(read_bundled_text(HAND_MADE_DATA))


def hand_made_unit_routes() -> dict[str, tuple[tuple[str, SidewalkRoute], ...]]:
    """Kind → names and routes."""
    places = _hand_made_file()
    return {kind: tuple((item.name, item.way) for item in getattr(places, kind)) for kind in UNIT_KINDS}


def hand_made_long_routes() -> tuple[tuple[str, LongRoute], ...]:
    """Names and routes of more than 100 m, with the people that the robot meets."""
    return tuple((item.name, item.way) for item in _hand_made_file().long)


def split_of_place(name: str) -> Split:
    """The split of a route's place, from its name, such as ``kettlegate-1``."""
    return "dev" if name.rpartition("-")[0] in DEV_PLACES else "test"
