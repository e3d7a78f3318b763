"""The stills of the contact sheet as data: ``data/contact_sheet.yaml``."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Annotated, Literal

from pydantic import Field, model_validator

from sidestep.reading import parse_mapping
from sidestep.types.base import Finite, Model, NonNegative, Point, Positive

Place = tuple[Finite, Finite, Finite]


class Posed(Model):
    """Somebody, placed by hand."""

    at: Point
    faces: Finite = 0.0
    """Heading of the body, degrees from +x."""
    does: str = "none"
    """Name of a gesture."""
    speed: NonNegative = 0.0
    head: Finite = 0.0
    """Of the head from the body, degrees, left is positive."""
    since: NonNegative = 1.1
    """How long the gesture has lasted, s."""


class Machine(Model):
    """A robot or vehicle, placed by hand."""

    robot: str
    at: Point
    faces: Finite = 0.0
    speed: NonNegative = 0.0


class Moment(Model):
    """A moment of an episode, with its people and its robot. Crowds are generated, never recorded."""

    suite: str
    scenario: str
    time: NonNegative
    policy: str = "orca"
    robot: str | None = None
    """Drives instead of the scenario's own robot."""
    seed: int = 0


class Still(Model):
    """One picture: a place with people and machines, or a moment of an episode, and where the camera is."""

    title: str
    place: str | None = None
    """Name of a floor plan."""
    moment: Moment | None = None
    people: tuple[Posed, ...] = ()
    machines: tuple[Machine, ...] = ()
    eye: Place
    look: Place
    """Where the camera is and looks at, m: in the world (z above the ground there), or ahead, left and up of the robot
    of a moment."""
    view: Annotated[float, Field(ge=10, le=120)] = 58.0
    """Horizontal field of view, degrees."""
    weather: Literal["clear", "cloudy", "wet", "rain"] = "clear"
    light: Literal["noon", "sunset", "night"] = "noon"
    picture: Literal["rgb", "depth", "semantic", "instance"] = "rgb"
    sun: Finite | None = None
    """Azimuth of the sun, degrees, if the usual one leaves faces in the dark."""
    shows: Annotated[int, Field(ge=0)] = 1
    """So many people can be seen, each larger than a thousandth of the picture."""
    scene_seed: int = 0
    dress: str = ""
    """Another word dresses people otherwise."""

    @model_validator(mode="after")
    def _check(self) -> Still:
        if (self.place is None) == (self.moment is None):
            raise ValueError("a still needs either a place or a moment")
        if self.moment is not None and (self.people or self.machines):
            raise ValueError("the people and machines of a moment are those of its episode")
        return self


class Sheet(Model):
    """The whole sheet, row by row."""

    columns: Positive
    stills: tuple[Still, ...]


@cache
def load_sheet() -> Sheet:
    """The contact sheet that comes with Sidestep."""
    text = (resources.files("sidestep.report") / "data" / "contact_sheet.yaml").read_text(encoding="utf-8")
    return Sheet.parse(parse_mapping(text, "contact_sheet.yaml"), "contact_sheet.yaml")
