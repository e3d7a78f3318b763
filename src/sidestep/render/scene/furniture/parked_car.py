"""A parked car that fills its footprint: body, cabin, wheels, lamps."""

from __future__ import annotations

import numpy as np

from sidestep.render.mesh import Semantic
from sidestep.render.scene.builder import MeshBuilder
from sidestep.render.scene.furniture.thing import Thing
from sidestep.render.scene.solids import flat, sides, taper
from sidestep.types.base import FloatArray

CAR = Semantic.VEHICLE


def add_parked_car(builder: MeshBuilder, thing: Thing) -> None:
    frame, z = thing.frame, thing.z
    half, wide = frame.length / 2, frame.width / 2
    paint = str(thing.rng.choice(["car_red", "car_blue", "car_silver", "car_white", "car_black"]))
    head = 1.0 if thing.rng.random() < 0.5 else -1.0
    low, waist, roof = 0.2, 0.8, min(max(thing.height, 1.35), 1.75)
    side = wide - 0.015

    def ring(x0: float, x1: float, y: float, cut: float) -> FloatArray:
        points = [(x0 + cut, -y), (x1 - cut, -y), (x1, -y + cut), (x1, y - cut), (x1 - cut, y), (x0 + cut, y)]
        points += [(x0, y - cut), (x0, -y + cut)]
        world = frame.to_world(np.array(points) * (head, 1.0))
        return world if head > 0 else world[::-1]

    body = ring(-half, half, side, 0.06)
    taper(builder, body, body, z + low, z + 0.62, paint, CAR, smooth=False, top=False)
    taper(
        builder, body, ring(-half + 0.06, half - 0.1, side - 0.03, 0.1), z + 0.62, z + waist, paint, CAR, smooth=False
    )
    cabin0, cabin1 = -0.86 * half, 0.42 * half
    foot = ring(cabin0, cabin1, side - 0.06, 0.08)
    top = ring(cabin0 + 0.16 * half, cabin1 - 0.3 * half, side - 0.2, 0.08)
    taper(builder, foot, top, z + waist, z + roof - 0.06, "glass_dark", CAR, smooth=False, top=False)
    taper(builder, top, top, z + roof - 0.06, z + roof, paint, CAR, smooth=False)
    under = frame.rectangle(-half + 0.08, half - 0.08, -side + 0.1, side - 0.1)
    flat(builder, under, z + low, "tyre", CAR, down=True)
    sides(builder, under, z + 0.12, z + low, "tyre", CAR)
    for x in (-0.6 * half, 0.6 * half):
        for y in (-1.0, 1.0):
            _add_wheel(builder, thing, x, y * wide, y)
    for end, lens in ((head, "white"), (-head, "tail_light")):
        for y in (-wide + 0.16, wide - 0.46):
            back, front = sorted((end * half, end * (half + 0.012)))
            frame.box(builder, (back, front), (y, y + 0.3), (0.5, 0.61), lens, CAR, bottom=True)


def _add_wheel(builder: MeshBuilder, thing: Thing, x: float, y: float, side: float) -> None:
    """A disc of 14 corners that stands 1.5 cm proud of the body, with a hub."""
    frame, radius = thing.frame, 0.32
    angle = np.pi / 2 + np.arange(14) * 2 * np.pi / 14  # one corner touches the ground
    for r, offset, material in ((radius, 0.0, "tyre"), (0.58 * radius, 0.004, "metal")):
        local_x, height = x + r * np.cos(angle) * side, radius + r * np.sin(angle)
        outer = frame.to_world(np.column_stack([local_x, np.full(14, y + offset * side)]))
        inner = frame.to_world(np.column_stack([local_x, np.full(14, y - 0.2 * side)]))
        face = np.column_stack([outer, thing.z + height])
        back = np.column_stack([inner, thing.z + height])
        # seen from outside the circle runs clockwise in (x, z), so it is turned round
        fan = np.array([[0, k + 1, k] for k in range(1, 13)])
        normal = np.array([-np.sin(frame.angle), np.cos(frame.angle), 0.0]) * side
        builder.triangles(face, fan, normal, np.column_stack([local_x, height]), material, CAR)
        if material == "tyre":
            following = np.roll(np.arange(14), -1)
            quads = np.stack([face, face[following], back[following], back], axis=1)
            builder.quads(quads, np.zeros((14, 4, 2)), material, CAR)
