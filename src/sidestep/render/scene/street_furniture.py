"""Makers of street furniture: lamp posts, signs, signals, bollards and hydrants, planters and basins, trees, and
parked cars.
"""

from __future__ import annotations

import numpy as np
import shapely

from sidestep.render.mesh import Semantic
from sidestep.render.scene.furniture import FurniturePiece
from sidestep.render.scene.solids import (
    FLUSH,
    HEAD_ROOM,
    LEAST_HEIGHT,
    MeshBuilder,
    band,
    blob,
    flat,
    polygon_parts,
    shrunk,
    sides,
    taper,
)
from sidestep.types.base import FloatArray


def add_lamp_post(builder: MeshBuilder, piece: FurniturePiece) -> None:
    """A footing, a shaft and a lantern."""
    metal = str(piece.rng.choice(["metal_dark", "metal_green"]))
    top = max(piece.height, 3.2)
    frame, radius = piece.frame, piece.frame.width / 2
    piece.body(builder, -0.1, 0.9, metal, semantic=Semantic.POLE)
    frame.post(builder, (0, 0), (0.7 * radius, 0.45 * radius), (0.9, top - 0.45), metal, Semantic.POLE)
    frame.post(builder, (0, 0), (0.09, 0.17), (top - 0.45, top - 0.12), "lamp", Semantic.POLE, bottom=True)
    frame.post(builder, (0, 0), (0.21, 0.05), (top - 0.12, top), metal, Semantic.POLE, bottom=True)


def add_signal(builder: MeshBuilder, piece: FurniturePiece) -> None:
    """A post with the head of a traffic light above it."""
    top = max(piece.height, HEAD_ROOM + 1.1)
    frame, radius = piece.frame, piece.frame.width / 2
    piece.body(builder, -0.15, 0.5, "metal_dark", semantic=Semantic.POLE)
    frame.post(builder, (0, 0), (0.75 * radius, 0.6 * radius), (0.5, top - 0.95), "metal_dark", Semantic.POLE)
    frame.box(builder, (-0.15, 0.15), (-0.15, 0.15), (top - 0.95, top), "black", Semantic.SIGN, bottom=True)
    for step, lens in enumerate(("signal_off", "signal_off", "signal_red")):
        foot = top - 0.86 + 0.29 * step
        for x, y in (((0.15, 0.165), (-0.09, 0.09)), ((-0.165, -0.15), (-0.09, 0.09))):
            frame.box(builder, x, y, (foot, foot + 0.2), lens, Semantic.SIGN, bottom=True)
        for x, y in (((-0.09, 0.09), (0.15, 0.165)), ((-0.09, 0.09), (-0.165, -0.15))):
            frame.box(builder, x, y, (foot, foot + 0.2), lens, Semantic.SIGN, bottom=True)


def add_sign(builder: MeshBuilder, piece: FurniturePiece) -> None:
    """A post with a plate above head height."""
    top = max(piece.height, HEAD_ROOM + 0.7)
    frame, radius = piece.frame, piece.frame.width / 2
    piece.body(builder, -0.1, 0.45, "metal", semantic=Semantic.POLE)
    frame.post(builder, (0, 0), (0.6 * radius, 0.6 * radius), (0.45, top - 0.55), "metal", Semantic.POLE, 6)
    frame.box(builder, (-0.35, 0.35), (-0.025, 0.025), (top - 0.55, top), "sign_blue", Semantic.SIGN, bottom=True)


def add_bollard(builder: MeshBuilder, piece: FurniturePiece) -> None:
    """A stone or metal post up to about a metre, with a pale ring."""
    top = min(max(piece.height, 0.7), 2.6)
    stone = "granite" if piece.frame.length > 0.4 else "metal_dark"
    piece.body(builder, -0.1, 0.8 * top, stone, semantic=Semantic.POLE)
    piece.body(builder, 0.8 * top, 0.88 * top, "white", semantic=Semantic.POLE, inset=0.01)
    piece.body(builder, 0.88 * top, top, stone, semantic=Semantic.POLE, bottom=True)


def add_hydrant(builder: MeshBuilder, piece: FurniturePiece) -> None:
    """A red hydrant with a bonnet."""
    top = min(max(piece.height, 0.7), 1.0)
    radius = piece.frame.width / 2
    piece.body(builder, -0.1, 0.42, "red")
    piece.frame.post(builder, (0, 0), (0.75 * radius, 0.7 * radius), (0.42, 0.72 * top), "red")
    piece.body(builder, 0.72 * top, 0.8 * top, "red", bottom=True)
    piece.frame.post(builder, (0, 0), (0.7 * radius, 0.25 * radius), (0.8 * top, top), "red")


def add_planter(builder: MeshBuilder, piece: FurniturePiece) -> None:
    """A stone trough with soil and shrubs."""
    rim = min(piece.height, 0.65)
    _trough(builder, piece, rim, 0.08, str(piece.rng.choice(["stone_pale", "granite", "terracotta"])), "soil")
    frame, rng = piece.frame, piece.rng
    count = max(int(frame.length / 0.7), 1)
    pitch = frame.length / count
    for k in range(count):
        x = -frame.length / 2 + (k + 0.5) * pitch
        wide = 0.42 * min(frame.width, 1.2)
        tall = max(piece.height - rim, 0.35 * frame.width + 0.1) * rng.uniform(0.6, 0.9)
        cx, cy = frame.to_world([(x, 0.0)])[0]
        if not shapely.contains_xy(piece.polygon, cx, cy):
            continue
        material = str(rng.choice(["leaves", "leaves_light", "hedge", "flowers"]))
        size = (min(0.48 * pitch, 0.46 * frame.width + 0.1, wide + 0.1), wide, tall)
        room = float(piece.polygon.exterior.distance(shapely.Point(cx, cy))) + FLUSH
        across = min(size[0], wide, room)
        turned = (across, across, tall)
        blob(builder, (cx, cy, piece.z + rim + 0.25 * tall), turned, material, Semantic.FURNITURE, rng, 0.25)


def add_pot_plant(builder: MeshBuilder, piece: FurniturePiece) -> None:
    """A pot as wide as the footprint, with leaves on a short stem, as wide at most."""
    rng, frame = piece.rng, piece.frame
    rim = min(0.45, max(0.4 * piece.height, LEAST_HEIGHT))
    _trough(builder, piece, rim, 0.04, str(rng.choice(["terracotta", "white", "stone_dark"])), "soil")
    radius = 0.48 * frame.width
    frame.post(builder, (0, 0), (0.03, 0.02), (rim - 0.06, rim + 0.3), "bark", corners=5)
    tall = max((piece.height - rim) / 2, 0.15)
    leaves = str(rng.choice(["leaves", "leaves_light", "leaves_dark"]))
    middle = piece.z + rim + 0.08 + tall
    blob(builder, (frame.x, frame.y, middle), (radius, radius, tall), leaves, Semantic.FURNITURE, rng, 0.35)


def add_basin(builder: MeshBuilder, piece: FurniturePiece) -> None:
    """A basin of water with a low jet stone in the middle."""
    rim = min(max(piece.height, LEAST_HEIGHT), 0.7)
    _trough(builder, piece, rim, 0.3, "stone_pale", "water", level=0.12)
    frame = piece.frame
    if frame.width > 2.5:
        frame.post(builder, (0, 0), (0.35, 0.25), (rim - 0.12, 1.0), "stone_pale", corners=10)
        frame.post(builder, (0, 0), (0.25, 0.6), (1.0, 1.25), "stone_pale", corners=10)
        frame.post(builder, (0, 0), (0.1, 0.04), (1.25, 1.7), "stone_pale", corners=8)


def _trough(
    builder: MeshBuilder, piece: FurniturePiece, rim: float, wall: float, shell: str, fill: str, level: float = 0.06
) -> None:
    """Outer faces, rim and inner faces down to what fills it."""
    z = piece.z
    inner = shrunk(piece.polygon, wall)
    parts = polygon_parts(inner, 0.01)
    sides(builder, piece.polygon, z - 0.1, z + rim, shell, Semantic.FURNITURE, smooth=piece.round)
    if len(parts) != 1:
        flat(builder, piece.polygon, z + rim, fill, Semantic.FURNITURE)
        return
    for ring in polygon_parts(shapely.difference(piece.polygon, parts[0])):
        flat(builder, ring, z + rim, shell, Semantic.FURNITURE)
    for ring in (parts[0].exterior, *parts[0].interiors):
        inward = np.asarray(ring.coords)[:-1][::-1]
        band(builder, inward, inward, z + rim - level, z + rim, shell, Semantic.FURNITURE)
    flat(builder, parts[0], z + rim - level, fill, Semantic.FURNITURE)


def add_tree(builder: MeshBuilder, piece: FurniturePiece) -> None:
    rng, frame = piece.rng, piece.frame
    height = max(piece.height, 4.0) * rng.uniform(0.95, 1.2)
    fork = HEAD_ROOM + 0.1
    sides(builder, piece.polygon, piece.z - 0.1, piece.z + fork, "bark", Semantic.TREE, smooth=True)
    low = np.asarray(shapely.geometry.polygon.orient(piece.polygon, 1.0).exterior.coords)[:-1]
    middle = low.mean(axis=0)
    high = middle + 0.45 * (low - middle)
    taper(builder, low, high, piece.z + fork, piece.z + 0.75 * height, "bark", Semantic.TREE)
    leaves = str(rng.choice(["leaves", "leaves_light", "leaves_dark"]))
    room = height - fork
    spread = min(max(0.33 * height, 1.0), 2.2) * rng.uniform(0.85, 1.1)
    turn = rng.uniform(0, 2 * np.pi)
    for k in range(3):
        angle = turn + 2.1 * k
        radius = spread * rng.uniform(0.6, 0.75)
        tall = min(radius, 0.42 * room)
        x = frame.x + 0.45 * spread * np.cos(angle)
        y = frame.y + 0.45 * spread * np.sin(angle)
        z = piece.z + fork + tall + 0.1 * room * k
        blob(builder, (x, y, z), (radius, radius, tall), leaves, Semantic.TREE, rng, 0.3, 1)
    tall = 0.36 * room
    crown = (spread * 0.7, spread * 0.7, tall)
    blob(builder, (frame.x, frame.y, piece.z + height - 0.8 * tall), crown, leaves, Semantic.TREE, rng, 0.28, 1)


CAR = Semantic.VEHICLE
LAMPS_PROUD_M = 0.012
"""Distance by which the lamps of a car stand out of its ends."""


def add_parked_car(builder: MeshBuilder, piece: FurniturePiece) -> None:
    frame, z = piece.frame, piece.z
    half, wide = frame.length / 2, frame.width / 2
    paint = str(piece.rng.choice(["car_red", "car_blue", "car_silver", "car_white", "car_black"]))
    head = 1.0 if piece.rng.random() < 0.5 else -1.0
    low, waist, roof = 0.12, 0.8, min(max(piece.height, 1.35), 1.75)
    side = wide - 0.015
    if not piece.is_frame_within(FLUSH - LAMPS_PROUD_M):  # cut off by the border of the scene
        piece.body(builder, -0.1, waist, paint, semantic=CAR)
        piece.body(builder, waist, roof, "glass_dark", semantic=CAR, inset=0.15, top=paint)
        return

    def ring(x0: float, x1: float, y: float, cut: float) -> FloatArray:
        points = [(x0 + cut, -y), (x1 - cut, -y), (x1, -y + cut), (x1, y - cut), (x1 - cut, y), (x0 + cut, y)]
        points += [(x0, y - cut), (x0, -y + cut)]
        world = frame.to_world(np.array(points) * (head, 1.0))
        return world if head > 0 else world[::-1]

    body = ring(-half, half, side, 0.025)
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
    sides(builder, under, z + 0.08, z + low, "tyre", CAR)
    for x in (-0.6 * half, 0.6 * half):
        for y in (-1.0, 1.0):
            _add_wheel(builder, piece, x, y * wide, y)
    for end, lens in ((head, "white"), (-head, "tail_light")):
        for y in (-wide + 0.16, wide - 0.46):
            back, front = sorted((end * half, end * (half + LAMPS_PROUD_M)))
            frame.box(builder, (back, front), (y, y + 0.3), (0.5, 0.61), lens, CAR, bottom=True)


def _add_wheel(builder: MeshBuilder, piece: FurniturePiece, x: float, y: float, side: float) -> None:
    """A disc of 14 corners that stands 1.5 cm proud of the body, with a hub."""
    frame, radius = piece.frame, 0.32
    angle = np.pi / 2 + np.arange(14) * 2 * np.pi / 14  # one corner touches the ground
    for r, offset, material in ((radius, 0.0, "tyre"), (0.58 * radius, 0.004, "metal")):
        local_x, height = x + r * np.cos(angle) * side, radius + r * np.sin(angle)
        outer = frame.to_world(np.column_stack([local_x, np.full(14, y + offset * side)]))
        inner = frame.to_world(np.column_stack([local_x, np.full(14, y - 0.2 * side)]))
        face = np.column_stack([outer, piece.z + height])
        back = np.column_stack([inner, piece.z + height])
        # seen from outside the circle runs clockwise in (x, z), so it is turned round
        fan = np.array([[0, k + 1, k] for k in range(1, 13)])
        normal = np.array([-np.sin(frame.angle), np.cos(frame.angle), 0.0]) * side
        builder.triangles(face, fan, normal, np.column_stack([local_x, height]), material, CAR)
        if material == "tyre":
            following = np.roll(np.arange(14), -1)
            quads = np.stack([face, face[following], back[following], back], axis=1)
            builder.quads(quads, np.zeros((14, 4, 2)), material, CAR)
