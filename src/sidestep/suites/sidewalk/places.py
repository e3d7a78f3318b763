"""Where the scenarios of the sidewalk suites are: one entry per town, chosen once and kept."""

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

DATA = Path(__file__).parents[1] / "data" / "sidewalk.json"


class Way(Model):
    """A way on a sidewalk: where the robot starts, the points that it passes, and its goal."""

    points: tuple[Point, ...]
    width: Positive
    """Of the clear sidewalk or of the crosswalk, m."""
    scene: str
    """The window of the town."""


class LongWay(Way):
    """A way over several blocks, with whom the robot meets."""

    length: Positive
    events: tuple[EventSpec, ...]


class TownWays(Model):
    """What the suites use of one town."""

    town: str
    straight: Way
    curve: Way
    crosswalk: Way
    events: dict[str, EventSpec]
    """Behaviour → its event; ``crossing`` is on the crosswalk, the others are on the straight way."""
    long: LongWay


class Places(Model):
    """The file as a whole."""

    version: int
    """Of the generator that made the towns."""
    towns: tuple[TownWays, ...]


@cache
def sidewalk_places() -> Places:
    """The chosen ways."""
    return Places.model_validate_json(read_choice(DATA))


def read_choice(path: Path) -> str:
    """The text of a file that comes with the package."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror}); the installation is incomplete") from error


def plain(model: Any) -> Any:
    """A model as JSON holds it, without what nobody set."""
    return model.model_dump(mode="json", exclude_unset=True)


def split_of_town(number: int) -> Split:
    """To which split town ``number`` belongs."""
    return "dev" if number < DEV_TOWNS else "test"
