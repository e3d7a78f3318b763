"""The bodies of the crowd: build and silhouette of clothing. Colours come from the wardrobe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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
