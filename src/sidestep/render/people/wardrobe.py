"""Outfits, and who wears which: size, body and colours of a person from the scenario's name and the person's number.
This is a hash, not a random draw: the same person looks the same in every run, camera and process.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sidestep.render.mesh import linear_rgb
from sidestep.render.people.skeleton import HEIGHTS, REST_HEIGHT
from sidestep.types.base import FloatArray, IntArray

SLOTS = ("skin", "hair", "top", "bottom", "shoes", "accessory", "face")
SKIN, HAIR, TOP, BOTTOM, SHOES, ACCESSORY, FACE = range(len(SLOTS))


@dataclass(frozen=True)
class Build:
    """Half widths in metres for a height of 1.75 m. ``limb`` scales the thickness of arms and legs."""

    shoulder: float = 0.178  # joint
    hip: float = 0.092  # joint
    chest: tuple[float, float, float] = (0.118, 0.115, 0.172)  # ahead, behind, side
    waist: tuple[float, float, float] = (0.105, 0.088, 0.148)
    seat: tuple[float, float, float] = (0.100, 0.118, 0.168)
    bust: float = 0.0
    limb: float = 1.0
    neck: float = 0.054
    jaw: float = 1.0


MAN = Build()
SLIM_MAN = Build(0.168, 0.090, (0.108, 0.105, 0.160), (0.090, 0.080, 0.132), (0.090, 0.108, 0.155), limb=0.92)
STOUT_MAN = Build(
    0.190, 0.096, (0.132, 0.125, 0.185), (0.165, 0.100, 0.180), (0.120, 0.125, 0.185), limb=1.12, neck=0.06, jaw=1.08
)
WOMAN = Build(
    0.154, 0.092, (0.100, 0.100, 0.146), (0.084, 0.074, 0.120), (0.092, 0.122, 0.168), 0.026, 0.88, 0.045, 0.92
)
SLIM_WOMAN = Build(
    0.148, 0.088, (0.094, 0.094, 0.138), (0.076, 0.070, 0.112), (0.086, 0.112, 0.156), 0.022, 0.82, 0.043, 0.9
)
STOUT_WOMAN = Build(
    0.166, 0.096, (0.116, 0.112, 0.160), (0.118, 0.092, 0.150), (0.108, 0.135, 0.188), 0.034, 1.02, 0.05, 1.0
)


@dataclass(frozen=True)
class Outfit:
    """A body and what it wears; ``make_person_model`` builds it."""

    name: str
    build: Build
    legs: Literal["trousers", "shorts", "skirt", "dress"] = "trousers"
    top: Literal["short_sleeves", "long_sleeves", "jacket", "coat"] = "short_sleeves"
    hair: Literal["short", "long", "bun", "ponytail", "bald"] = "short"
    hat: Literal["none", "cap", "brim", "scarf"] = "none"
    bag: Literal["none", "backpack", "satchel"] = "none"
    beard: bool = False


OUTFITS: tuple[Outfit, ...] = (
    Outfit("man_shirt", MAN),
    Outfit("man_coat", SLIM_MAN, top="coat", beard=True),
    Outfit("man_shorts_cap", SLIM_MAN, legs="shorts", hat="cap"),
    Outfit("man_jacket_backpack", MAN, top="jacket", bag="backpack"),
    Outfit("man_stout_hat", STOUT_MAN, top="long_sleeves", hair="bald", hat="brim", beard=True),
    Outfit("woman_trousers", SLIM_WOMAN, top="long_sleeves", hair="long"),
    Outfit("woman_dress", WOMAN, legs="dress", hair="long", bag="satchel"),
    Outfit("woman_skirt_backpack", WOMAN, legs="skirt", top="long_sleeves", hair="ponytail", bag="backpack"),
    Outfit("woman_coat", SLIM_WOMAN, top="coat", hair="bun", bag="satchel"),
    Outfit("woman_scarf", STOUT_WOMAN, legs="skirt", top="coat", hair="bald", hat="scarf"),
)
OUTFIT_NAMES = tuple(outfit.name for outfit in OUTFITS)


# sRGB, chosen to look like a street; a colour that stands twice is twice as frequent.
SKIN_COLOURS = "f1cdb0 e8b996 e0ac87 d59f78 c68a62 a9714b 8a5a3c 6b432d 51321f f4d6c0 dba582"
DARK_HAIR_COLOURS = "17120f 17120f 2a1d15 2a1d15 3d2818"
HAIR_COLOURS = DARK_HAIR_COLOURS + " 553820 7a5330 a67c46 c9a566 8b8782 b0aca6 6e2f1a"
TOP_COLOURS = (
    "f2f1ec e8e6df 2b2e35 1d1f24 3b4a63 27406b 4f6f96 8aa5c2 6d7278 9a9c9c 7a2f33 a8433c c9873f d7b46a 5d6b47 "
    "3f5a47 7f9a80 b9a58c 8c6b4f c7a3b0 6a4a6c 3f7d86 d8d3c4 b5b9bd"
)
COAT_COLOURS = "23262c 2e3a52 4a4d52 6e5a45 b09572 3d4a3a 5b2b2f 8d8a85 1b1b1d 7c6a58"
DRESS_COLOURS = "8f2f3f 2f4f7f d9c9a8 3f6f5f c06a4a 23262c b98aa6 e6ded0 5d7fa8 d3a93f"
BOTTOM_COLOURS = "27344d 27344d 33435f 4b5f80 6c83a3 22242a 22242a 3b3d42 5a5c5f 8f836c b3a488 4a4436"
SHOE_COLOURS = "1c1a19 1c1a19 3a2a1f 5b402b e9e8e4 dcdcd8 7d7d7d 2f3c55 8c2f2a"
ACCESSORY_COLOURS = "2b2d33 4a3526 7a5a3a 31456b 5f6a4a 8a3b36 c7b28c 9b9ca0 3f6f7a d8cfc0"


@dataclass(frozen=True, eq=False)
class Looks:
    """N people as the renderer needs them; arrays as in ``PeopleState``."""

    model: IntArray  # (N,) int64, index in ``person_models()``
    scale: FloatArray  # (N,) float64, height ÷ 1.75 m
    idle: FloatArray  # (N,) float64, s
    colours: FloatArray  # (N, slots, 3) float32, linear RGB

    @property
    def height(self) -> FloatArray:
        """(N,) m."""
        return self.scale * REST_HEIGHT


def _choices(scenario: str, person: int) -> list[float]:
    """Sixteen numbers in [0, 1) from a hash."""
    digest = hashlib.blake2b(f"{scenario}\0{person}".encode(), digest_size=64, person=b"wardrobe").digest()
    return [int.from_bytes(digest[4 * i : 4 * i + 4], "little") / 2.0**32 for i in range(16)]


def _pick(palette: str, choice: float, shade: float) -> FloatArray:
    """A colour of the palette, a little lighter or darker."""
    names = palette.split()
    colour = linear_rgb(names[int(choice * len(names))]) * (0.85 + 0.3 * shade)
    limited: FloatArray = np.minimum(colour, 1.0)
    return limited


def dress_people(scenario: str, person_id: Sequence[int] | IntArray) -> Looks:
    """Size, body and colours of everyone.

    Heights spread about 1.76 m for the men's and 1.63 m for the women's bodies, with a standard deviation of 7 cm (a
    sum of four hashes), within 1.50 … 1.95 m.
    """
    n = len(person_id)
    model, scale, idle = np.zeros(n, np.int64), np.zeros(n), np.zeros(n)
    colours = np.zeros((n, len(SLOTS), 3), np.float32)
    for row, person in enumerate(person_id):
        c = _choices(scenario, int(person))
        model[row] = int(c[0] * len(OUTFITS))
        outfit = OUTFITS[model[row]]
        woman = OUTFIT_NAMES[model[row]].startswith("woman")
        bell = sum(c[1:5]) - 2.0  # standard deviation 0.577
        height = (1.63 if woman else 1.76) + 0.07 * bell / 0.577
        scale[row] = min(max(height, HEIGHTS[0]), HEIGHTS[1]) / REST_HEIGHT
        idle[row] = 20.0 * c[5]
        skin = _pick(SKIN_COLOURS, c[6], 0.5)
        dark = skin.mean() < 0.2
        hair = DARK_HAIR_COLOURS if dark else HAIR_COLOURS
        tops = (
            DRESS_COLOURS
            if outfit.legs == "dress"
            else COAT_COLOURS
            if outfit.top in ("coat", "jacket")
            else TOP_COLOURS
        )
        colours[row] = (
            skin, _pick(hair, c[7], 0.5), _pick(tops, c[8], c[9]), _pick(BOTTOM_COLOURS, c[10], c[11]),
            _pick(SHOE_COLOURS, c[12], 0.5), _pick(ACCESSORY_COLOURS, c[13], c[14]), skin * 0.28,
        )  # fmt: skip
    return Looks(model, scale, idle, colours)
