"""Every surface by name: which picture, how large on the surface, how glossy, whether it glows. ``material(name)``
makes it on first use. Pictures are pure functions in ``procedural``; to add one, write such a function and a line
in a table here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

from sidestep.errors import UnknownName
from sidestep.render.materials import procedural as draw
from sidestep.render.materials.procedural import Colour
from sidestep.render.mesh import Material
from sidestep.types.base import FloatArray

Recipe = tuple[Callable[[], FloatArray], float, float, float]
"""picture, its edge on the surface in m, gloss, glow"""

CREAM: Colour = (0.88, 0.86, 0.8)
DARK: Colour = (0.2, 0.22, 0.24)

GROUND: dict[str, Recipe] = {
    "asphalt": (draw.asphalt, 4.0, 0.05, 0.0),
    "road_paint": (draw.paint, 1.0, 0.08, 0.0),
    "slabs": (partial(draw.slabs, (0.63, 0.61, 0.58), 4, 4, 0.5, 2), 2.4, 0.03, 0.0),
    "slabs_warm": (partial(draw.slabs, (0.66, 0.6, 0.53), 4, 4, 0.5, 5), 2.4, 0.03, 0.0),
    "paving": (partial(draw.slabs, (0.66, 0.63, 0.58), 2, 4, 0.5, 3, 0.16), 2.0, 0.04, 0.0),
    "paving_grey": (partial(draw.slabs, (0.58, 0.58, 0.58), 3, 6, 0.5, 4, 0.18), 2.4, 0.04, 0.0),
    "cobbles": (draw.cobbles, 1.6, 0.05, 0.0),
    "grass": (draw.grass, 4.0, 0.0, 0.0),
    "kerb_stone": (partial(draw.stone, (0.68, 0.67, 0.65), 7), 1.0, 0.05, 0.0),
    "tactile": (draw.tactile, 0.4, 0.02, 0.0),
    "soil": (draw.soil, 1.0, 0.0, 0.0),
    "gravel": (draw.gravel, 2.0, 0.0, 0.0),
    "carpet_blue": (partial(draw.carpet, (0.3, 0.35, 0.42)), 2.0, 0.0, 0.0),
    "carpet_grey": (partial(draw.carpet, (0.43, 0.42, 0.41)), 2.0, 0.0, 0.0),
    "tiles": (partial(draw.tiles, (0.78, 0.76, 0.72), 2), 1.2, 0.25, 0.0),
    "terrazzo": (partial(draw.tiles, (0.62, 0.59, 0.54), 2, 53), 2.0, 0.3, 0.0),
    "vinyl": (partial(draw.tiles, (0.62, 0.63, 0.6), 3, 55), 1.8, 0.2, 0.0),
    "wood_floor": (partial(draw.boards, (0.6, 0.44, 0.29), 10, 57, 1), 1.5, 0.15, 0.0),
}
WALLS: dict[str, Recipe] = {
    "brick_red": (partial(draw.brick, (0.6, 0.31, 0.24), 71), 1.92, 0.0, 0.0),
    "brick_brown": (partial(draw.brick, (0.47, 0.34, 0.27), 73), 1.92, 0.0, 0.0),
    "brick_yellow": (partial(draw.brick, (0.73, 0.62, 0.44), 75), 1.92, 0.0, 0.0),
    "plaster_white": (partial(draw.plaster, (0.86, 0.85, 0.81), 81), 4.0, 0.0, 0.0),
    "plaster_ochre": (partial(draw.plaster, (0.8, 0.68, 0.47), 83), 4.0, 0.0, 0.0),
    "plaster_rose": (partial(draw.plaster, (0.75, 0.58, 0.5), 85), 4.0, 0.0, 0.0),
    "plaster_grey": (partial(draw.plaster, (0.64, 0.66, 0.67), 87), 4.0, 0.0, 0.0),
    "plaster_sage": (partial(draw.plaster, (0.63, 0.68, 0.57), 89), 4.0, 0.0, 0.0),
    "concrete": (draw.concrete, 2.4, 0.02, 0.0),
    "sandstone": (partial(draw.ashlar, (0.74, 0.66, 0.52), 3, 6, 91), 2.4, 0.0, 0.0),
    "granite": (partial(draw.ashlar, (0.55, 0.54, 0.53), 2, 4, 93), 1.6, 0.06, 0.0),
    "rubble": (partial(draw.ashlar, (0.6, 0.56, 0.5), 5, 9, 95), 1.6, 0.0, 0.0),
    "room_white": (partial(draw.plaster, (0.87, 0.86, 0.83), 97, 0.5), 3.0, 0.02, 0.0),
    "room_warm": (partial(draw.plaster, (0.84, 0.79, 0.7), 98, 0.5), 3.0, 0.02, 0.0),
    "room_green": (partial(draw.plaster, (0.71, 0.77, 0.72), 99, 0.5), 3.0, 0.02, 0.0),
    "roof_red": (partial(draw.roof_tiles, (0.55, 0.3, 0.23), 111), 2.4, 0.0, 0.0),
    "roof_slate": (partial(draw.roof_tiles, (0.34, 0.36, 0.4), 113), 2.4, 0.08, 0.0),
    "ceiling": (draw.ceiling_tiles, 1.2, 0.0, 0.0),
    "facade_far_1": (partial(draw.distant_facade, (0.74, 0.64, 0.5), CREAM, 121), 12.8, 0.0, 0.0),
    "facade_far_2": (partial(draw.distant_facade, (0.6, 0.42, 0.35), CREAM, 123), 12.8, 0.0, 0.0),
    "facade_far_3": (partial(draw.distant_facade, (0.66, 0.67, 0.67), DARK, 125), 12.8, 0.0, 0.0),
}
OPENINGS: dict[str, Recipe] = {
    "window_cream": (partial(draw.window, CREAM, 2, 2, 1), 1.0, 0.5, 0.0),
    "window_dark": (partial(draw.window, DARK, 2, 1, 2), 1.0, 0.5, 0.0),
    "window_curtain": (partial(draw.window, CREAM, 2, 1, 3, False, True), 1.0, 0.5, 0.0),
    "window_lit": (partial(draw.window, CREAM, 2, 2, 4, True), 1.0, 0.4, 1.2),
    "window_lit_dark": (partial(draw.window, DARK, 2, 1, 5, True, True), 1.0, 0.4, 1.2),
    "shop_window_1": (partial(draw.shop_window, DARK, 6), 1.0, 0.5, 0.25),
    "shop_window_2": (partial(draw.shop_window, (0.35, 0.25, 0.18), 8), 1.0, 0.5, 0.25),
    "door_oak": (partial(draw.door, (0.47, 0.33, 0.21), 9), 1.0, 0.1, 0.0),
    "door_green": (partial(draw.door, (0.16, 0.3, 0.24), 10), 1.0, 0.2, 0.0),
    "door_blue": (partial(draw.door, (0.17, 0.24, 0.36), 11, 2), 1.0, 0.2, 0.0),
    "door_office": (partial(draw.door, (0.66, 0.52, 0.36), 12, 1), 1.0, 0.15, 0.0),
    "door_glass": (partial(draw.door, (0.3, 0.31, 0.32), 13, 1, True, 2), 1.0, 0.5, 0.1),
    "door_lift": (partial(draw.door, (0.66, 0.67, 0.68), 14, 1, False, 2), 1.0, 0.5, 0.0),
}
THINGS: dict[str, Recipe] = {
    "wood": (partial(draw.boards, (0.55, 0.39, 0.25), 6, 151), 1.0, 0.1, 0.0),
    "wood_dark": (partial(draw.boards, (0.38, 0.26, 0.18), 6, 153), 1.0, 0.12, 0.0),
    "wood_pale": (partial(draw.boards, (0.74, 0.62, 0.45), 4, 155), 1.0, 0.12, 0.0),
    "leaves": (partial(draw.leaves, (0.25, 0.38, 0.15), 161), 2.0, 0.02, 0.0),
    "leaves_light": (partial(draw.leaves, (0.36, 0.46, 0.18), 163), 2.0, 0.02, 0.0),
    "leaves_dark": (partial(draw.leaves, (0.19, 0.31, 0.17), 165), 2.0, 0.02, 0.0),
    "hedge": (partial(draw.leaves, (0.23, 0.33, 0.16), 167, 32), 1.6, 0.02, 0.0),
    "flowers": (partial(draw.leaves, (0.45, 0.3, 0.25), 169, 24), 1.0, 0.02, 0.0),
    "bark": (draw.bark, 1.0, 0.0, 0.0),
    "water": (draw.water, 3.0, 0.8, 0.0),
    "books": (draw.books, 1.6, 0.05, 0.0),
    "fabric_blue": (partial(draw.fabric, (0.3, 0.38, 0.5), 171), 0.3, 0.0, 0.0),
    "fabric_grey": (partial(draw.fabric, (0.46, 0.45, 0.44), 173), 0.3, 0.0, 0.0),
    "fabric_rust": (partial(draw.fabric, (0.58, 0.36, 0.25), 175), 0.3, 0.0, 0.0),
    "metal": (partial(draw.brushed, (0.62, 0.63, 0.65), 177), 0.6, 0.45, 0.0),
    "metal_dark": (partial(draw.brushed, (0.22, 0.24, 0.25), 179), 0.6, 0.35, 0.0),
    "metal_green": (partial(draw.brushed, (0.15, 0.28, 0.22), 181), 0.6, 0.3, 0.0),
    "terracotta": (partial(draw.stone, (0.62, 0.4, 0.3), 183, 0.04), 1.0, 0.03, 0.0),
    "stone_pale": (partial(draw.stone, (0.76, 0.74, 0.7), 185, 0.05), 1.5, 0.08, 0.0),
    "stone_dark": (partial(draw.stone, (0.45, 0.45, 0.46), 187, 0.09), 1.5, 0.08, 0.0),
}
PLAIN: dict[str, tuple[Colour, float, float]] = {
    "white": ((0.9, 0.9, 0.88), 0.15, 0.0),
    "black": ((0.07, 0.07, 0.08), 0.2, 0.0),
    "skirting": ((0.45, 0.44, 0.43), 0.1, 0.0),
    "frame_grey": ((0.5, 0.5, 0.5), 0.1, 0.0),
    "red": ((0.72, 0.12, 0.1), 0.3, 0.0),
    "signal_red": ((0.95, 0.15, 0.1), 0.2, 0.8),
    "signal_off": ((0.14, 0.16, 0.13), 0.3, 0.0),
    "sign_blue": ((0.1, 0.27, 0.6), 0.2, 0.0),
    "yellow": ((0.88, 0.7, 0.15), 0.25, 0.0),
    "lamp": ((1.0, 0.96, 0.86), 0.1, 1.0),
    "glass_dark": ((0.12, 0.15, 0.17), 0.7, 0.0),
    "glass_pale": ((0.55, 0.66, 0.68), 0.6, 0.0),
    "tyre": ((0.1, 0.1, 0.1), 0.05, 0.0),
    "tail_light": ((0.6, 0.08, 0.07), 0.4, 0.0),
    "car_red": ((0.55, 0.1, 0.1), 0.55, 0.0),
    "car_blue": ((0.14, 0.24, 0.42), 0.55, 0.0),
    "car_silver": ((0.66, 0.67, 0.69), 0.55, 0.0),
    "car_white": ((0.88, 0.88, 0.87), 0.5, 0.0),
    "car_black": ((0.1, 0.1, 0.12), 0.6, 0.0),
}
PICTURES: dict[str, Recipe] = {**GROUND, **WALLS, **OPENINGS, **THINGS}


def material_names() -> tuple[str, ...]:
    """All known names, sorted."""
    return tuple(sorted([*PICTURES, *PLAIN]))


@cache
def material(name: str) -> Material:
    """The surface of that name; made once per process."""
    if name in PLAIN:
        tint, gloss, glow = PLAIN[name]
        return Material(name, draw.plain(tint), 1.0, False, gloss, glow)
    if name not in PICTURES:
        raise UnknownName("material", name, material_names())
    make, size_m, gloss, glow = PICTURES[name]
    texture = make()
    texture.setflags(write=False)
    return Material(name, texture, size_m, False, gloss, glow)
