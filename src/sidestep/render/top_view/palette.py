"""The colours of Sidestep, as 8-bit sRGB. Red is for contact and blue for the robot: no person wears them."""

from __future__ import annotations

from sidestep.types.outcome import Outcome

Colour = tuple[int, int, int]


def rgb(hexadecimal: str) -> Colour:
    """``#rrggbb`` → (r, g, b)."""
    digits = hexadecimal.removeprefix("#")
    return int(digits[0:2], 16), int(digits[2:4], 16), int(digits[4:6], 16)


def hexadecimal(colour: Colour) -> str:
    """(r, g, b) → ``#rrggbb``."""
    return "#{:02x}{:02x}{:02x}".format(*colour)


def mix(one: Colour, other: Colour, share: float) -> Colour:
    """``share`` of ``other`` in ``one``, 0 to 1."""
    r, g, b = (round(a + (c - a) * share) for a, c in zip(one, other, strict=True))
    return r, g, b


WHITE: Colour = (255, 255, 255)
INK = rgb("#1f2633")
QUIET_INK = rgb("#6b7383")
FLOOR = rgb("#f7f5f0")
GRID = rgb("#ebe7de")
WALL_EDGE = rgb("#737c8e")

GROUND: dict[str, Colour] = {
    "grass": rgb("#cfe2bf"),
    "verge": rgb("#dce6cc"),
    "frontage": rgb("#eadfce"),
    "road": rgb("#cdd1d7"),
    "walkable": FLOOR,
    "sidewalk": rgb("#eeebe4"),
    "kerb": rgb("#bab8b2"),
    "ramp": rgb("#e2dcef"),
    "island": rgb("#dcd8cf"),
    "crosswalk": rgb("#bcc1c9"),
    "furniture": rgb("#cdb698"),
    "obstacle": rgb("#a9b1bf"),
    "building": rgb("#b7becb"),
    "solid": rgb("#b7becb"),
}
"""Fill of every kind of region. ``solid`` is the outside of a floor plan."""

STROKES: dict[str, Colour] = {"white": WHITE, "yellow": rgb("#e8b93c"), "kerb": rgb("#a09d95")}
"""Lines on roads."""

PEOPLE: tuple[Colour, ...] = tuple(
    rgb(code)
    for code in (
        "#e8a33d", "#7fb685", "#b48ead", "#5aa9a3", "#d4a373",
        "#9a8fd1", "#a3b94d", "#d58bb5", "#6f9e6f", "#c9a227",
    )
)  # fmt: skip
"""One soft colour per person, round and round."""

ROBOT = rgb("#2450e6")
ROBOT_SLOW = rgb("#93aef7")
OTHER_MACHINE = rgb("#5d6678")
GOAL = rgb("#10a667")
COLLISION = rgb("#e5243f")

OUTCOMES: dict[str, Colour] = {
    Outcome.SUCCESS: rgb("#22a06b"),
    Outcome.PEDESTRIAN_COLLISION: rgb("#e5243f"),
    Outcome.ENVIRONMENT_COLLISION: rgb("#b3213f"),
    Outcome.VEHICLE_COLLISION: rgb("#7f1734"),
    Outcome.TIMEOUT: rgb("#dd8f1d"),
    Outcome.GROUP_INTRUSION: rgb("#c2569b"),
    Outcome.DISOBEYED: rgb("#8f4bb3"),
    Outcome.OFF_ROUTE: rgb("#b8791f"),
    Outcome.LANE_INVASION: rgb("#8a5a1c"),
    Outcome.WRONG_EXIT: rgb("#a0522d"),
    Outcome.FROZEN: rgb("#6c8ebf"),
    Outcome.POLICY_ERROR: rgb("#5b5f6b"),
}

POLICIES: tuple[Colour, ...] = tuple(
    rgb(code) for code in ("#4169f0", "#e8833a", "#12a594", "#9b51e0", "#c2911b", "#d6409f", "#5a7d2b", "#4b5872")
)
"""One colour per policy in plots."""


def person_colour(index: int) -> Colour:
    """The colour of the ``index``-th person."""
    return PEOPLE[index % len(PEOPLE)]
