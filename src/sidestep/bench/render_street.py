"""A street for measuring the renderer: textured houses with windows, trees, lamp posts, benches, cars. Code only."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sidestep.render.mesh import Material, Mesh, Model, Scene3D, Semantic, join_meshes, vertex_normals
from sidestep.types.base import FloatArray

Point = tuple[float, float, float]
LENGTH, ROAD, WALK = 120.0, 4.0, 5.0  # m: of the street, half the road, width of a sidewalk
KERB = 0.14  # m
STOREY, BAY = 3.2, 3.0  # m between windows
PLAIN: dict[str, tuple[float, float, float]] = {
    "pole": (0.05, 0.06, 0.06), "lamp": (1.0, 0.85, 0.6), "bark": (0.09, 0.06, 0.04), "wood": (0.30, 0.17, 0.08),
    "kerb": (0.38, 0.37, 0.35), "paint": (0.75, 0.75, 0.72), "red": (0.45, 0.04, 0.03), "blue": (0.03, 0.10, 0.33),
    "white": (0.75, 0.75, 0.75), "tyre": (0.015, 0.015, 0.015), "glass": (0.03, 0.045, 0.055),
    "window": (0.04, 0.055, 0.07), "lit window": (0.10, 0.07, 0.035), "frame": (0.62, 0.60, 0.56),
    "roof": (0.12, 0.10, 0.09),
}  # fmt: skip
FACADES = ((0.62, 0.52, 0.40), (0.55, 0.30, 0.20), (0.66, 0.63, 0.56), (0.40, 0.42, 0.44), (0.60, 0.44, 0.28))


class Builder:
    """Collects boxes, posts and balls of one material each."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.materials = _materials(rng)
        self.names = {material.name: k for k, material in enumerate(self.materials)}
        self.meshes: list[Mesh] = []
        self.ids: list[int] = []

    def add(self, points: ArrayLike, faces: ArrayLike, uv: ArrayLike, name: str, semantic: int, number: int) -> None:
        """Flat-shaded: the faces in one plane share corners, so give one plane at a time, or accept soft edges."""
        points, faces = np.asarray(points, float), np.asarray(faces)
        normals, material = vertex_normals(points, faces), np.full(len(faces), self.names[name])
        self.meshes.append(Mesh(points, faces, normals, np.asarray(uv), material, np.full(len(faces), semantic)))
        self.ids += [number] * len(faces)

    def quad(self, corners: ArrayLike, name: str, semantic: int, number: int = 0) -> None:
        """Four corners, counter-clockwise from outside; the picture runs along the first edge."""
        corners = np.asarray(corners, float)
        width, height = np.linalg.norm(corners[1] - corners[0]), np.linalg.norm(corners[3] - corners[0])
        uv = np.array([[0, 0], [width, 0], [width, height], [0, height]]) + corners[0, :2].sum()
        self.add(corners, np.array([[0, 1, 2], [0, 2, 3]]), uv, name, semantic, number)

    def box(self, low: Point, high: Point, name: str, semantic: int, number: int = 0, top: str = "") -> None:
        """Sides and top of a box; it stands on something."""
        x0, y0, z0 = low
        x1, y1, z1 = high
        for a, b in (((x0, y0), (x1, y0)), ((x1, y0), (x1, y1)), ((x1, y1), (x0, y1)), ((x0, y1), (x0, y0))):
            self.quad([[*a, z0], [*b, z0], [*b, z1], [*a, z1]], name, semantic, number)
        self.quad([[x0, y0, z1], [x1, y0, z1], [x1, y1, z1], [x0, y1, z1]], top or name, semantic, number)

    def post(
        self, x: float, y: float, z: float, height: float, radius: float, name: str, semantic: int, number: int
    ) -> None:
        """A six-sided post."""
        angle = np.arange(6) * np.pi / 3
        ring = np.stack([x + radius * np.cos(angle), y + radius * np.sin(angle)], axis=1)
        for k in range(6):
            a, b = ring[k], ring[(k + 1) % 6]
            self.quad([[*a, z], [*b, z], [*b, z + height], [*a, z + height]], name, semantic, number)

    def ball(self, centre: FloatArray, radius: float, name: str, semantic: int, number: int) -> None:
        """A rough ball for a tree's crown."""
        rings, sides = 6, 9
        polar, turn = np.linspace(0, np.pi, rings + 1), np.arange(sides) * 2 * np.pi / sides
        grid = np.stack(
            [
                np.outer(np.sin(polar), np.cos(turn)),
                np.outer(np.sin(polar), np.sin(turn)),
                np.outer(np.cos(polar), np.ones(sides)),
            ],
            axis=2,
        )
        wobble = 1.0 + 0.13 * np.sin(3.7 * grid[..., :1] + 5.1 * grid[..., 1:2] + 4.3 * grid[..., 2:] + centre[0])
        points = (np.asarray(centre) + radius * grid * wobble).reshape(-1, 3)
        faces = []
        for i in range(rings):
            for j in range(sides):
                a, b = i * sides + j, i * sides + (j + 1) % sides
                faces += [[a, a + sides, b + sides], [a, b + sides, b]]
        uv = np.stack([points[:, 0] + points[:, 1], points[:, 2]], axis=1)
        self.add(points, np.array(faces), uv, name, semantic, number)

    def scene(self, models: tuple[Model, ...] = ()) -> Scene3D:
        """Everything so far."""
        return Scene3D(join_meshes(self.meshes), np.array(self.ids, np.int32), tuple(self.materials), models)


def make_street(models: tuple[Model, ...] = (), seed: int = 0) -> Scene3D:
    """A straight street along x from 0 to 120 m, the road about y = 0."""
    rng = np.random.default_rng(seed)
    street = Builder(rng)
    _ground(street)
    number = 1000
    for side in (-1, 1):
        x = -10.0
        while x < LENGTH + 10.0:
            width = BAY * rng.integers(3, 6)
            height = STOREY * rng.integers(2, 6) + 1.0
            number += 1
            _house(street, x, width, side, height, int(rng.integers(len(FACADES))), number, rng)
            x += width + (2.5 if rng.random() < 0.15 else 0.0)
        for k in range(12):
            number += 1
            _lamp_post(street, 5.0 + 10.0 * k, side * (ROAD + 0.5), number)
        for k in range(9):
            number += 1
            _tree(street, 10.0 + 13.0 * k, side * (ROAD + 1.0), number, rng)
            number += 1
            _bench(street, 13.5 + 13.0 * k, side * (ROAD + WALK - 1.2), number)
        for k in range(5):
            number += 1
            _car(street, 16.0 + 20.0 * k + 6.0 * side, side * (ROAD - 1.1), ("red", "blue", "white")[k % 3], number)
    return street.scene(models)


def _ground(street: Builder) -> None:
    x0, x1 = -12.0, LENGTH + 12.0
    for a in np.arange(x0, x1, 12.0):
        street.quad([[a, -ROAD, 0], [a + 12, -ROAD, 0], [a + 12, ROAD, 0], [a, ROAD, 0]], "asphalt", Semantic.ROAD)
        for side in (-1, 1):
            near, far = side * (ROAD + 0.2), side * (ROAD + WALK + 0.5)
            low, high = min(near, far), max(near, far)
            corners = [[a, low, KERB], [a + 12, low, KERB], [a + 12, high, KERB], [a, high, KERB]]
            street.quad(corners, "paving", Semantic.SIDEWALK)
    for side in (-1, 1):
        low, high = sorted((side * ROAD, side * (ROAD + 0.2)))
        street.box((x0, low, 0.0), (x1, high, KERB + 0.01), "kerb", Semantic.KERB)
    for a in np.arange(0.0, LENGTH, 4.0):
        street.quad(
            [[a, -0.08, 0.006], [a + 2, -0.08, 0.006], [a + 2, 0.08, 0.006], [a, 0.08, 0.006]],
            "paint",
            Semantic.LANE_MARKING,
        )
    for k in range(8):
        y = -ROAD + 0.25 + k
        street.quad(
            [[30, y, 0.008], [33, y, 0.008], [33, y + 0.5, 0.008], [30, y + 0.5, 0.008]], "paint", Semantic.CROSSWALK
        )


def _house(
    street: Builder, x: float, width: float, side: int, height: float, look: int, number: int, rng: np.random.Generator
) -> None:
    front = side * (ROAD + WALK)
    low, high = sorted((front, side * (ROAD + WALK + 10.0)))
    street.box((x, low, 0.0), (x + width, high, height), f"facade {look}", Semantic.BUILDING, number, top="roof")
    street.box(
        (x - 0.05, low - 0.12, height),
        (x + width + 0.05, high + 0.12, height + 0.3),
        "frame",
        Semantic.BUILDING,
        number,
    )
    y = front - side * 0.04
    for z in np.arange(0.9, height - 2.0, STOREY):
        for a in np.arange(x + 0.8, x + width - 1.5, BAY):
            name = "lit window" if rng.random() < 0.4 else "window"
            kind, wide, tall = Semantic.WINDOW, 1.4, 1.6
            if z < 1.0 and rng.random() < 0.25:
                _pane(street, a, a + 1.1, KERB, 2.3, y, side, "wood", Semantic.DOOR, number)
                continue
            _pane(
                street,
                a - 0.12,
                a + wide + 0.12,
                z - 0.12,
                z + tall + 0.12,
                y,
                side,
                "frame",
                Semantic.BUILDING,
                number,
            )
            _pane(street, a, a + wide, z, z + tall, y - side * 0.02, side, name, kind, number)


def _pane(
    street: Builder, a: float, b: float, z0: float, z1: float, y: float, side: int, name: str, kind: int, number: int
) -> None:
    if side > 0:  # looks along -y
        corners = [[a, y, z0], [b, y, z0], [b, y, z1], [a, y, z1]]
    else:
        corners = [[b, y, z0], [a, y, z0], [a, y, z1], [b, y, z1]]
    street.quad(corners, name, kind, number)


def _lamp_post(street: Builder, x: float, y: float, number: int) -> None:
    street.post(x, y, KERB, 4.4, 0.06, "pole", Semantic.POLE, number)
    street.post(x, y, 4.5, 0.32, 0.17, "lamp", Semantic.POLE, number)
    street.box((x - 0.22, y - 0.22, 4.82), (x + 0.22, y + 0.22, 4.9), "pole", Semantic.POLE, number)


def _tree(street: Builder, x: float, y: float, number: int, rng: np.random.Generator) -> None:
    street.post(x, y, KERB, 2.6, 0.13, "bark", Semantic.TREE, number)
    for k in range(4):
        shift = rng.uniform(-0.7, 0.7, 3)
        street.ball(
            np.array([x, y, 3.4 + 0.35 * k]) + shift * [1, 1, 0.5],
            float(rng.uniform(0.8, 1.3)),
            "leaves",
            Semantic.TREE,
            number,
        )


def _bench(street: Builder, x: float, y: float, number: int) -> None:
    street.box((x, y - 0.2, 0.52), (x + 1.6, y + 0.2, 0.58), "wood", Semantic.FURNITURE, number)
    for a in (x + 0.1, x + 1.4):
        street.box((a, y - 0.18, KERB), (a + 0.08, y + 0.18, 0.52), "pole", Semantic.FURNITURE, number)


def _car(street: Builder, x: float, y: float, name: str, number: int) -> None:
    street.box((x, y - 0.85, 0.3), (x + 4.2, y + 0.85, 0.85), name, Semantic.VEHICLE, number)
    street.box((x + 0.9, y - 0.75, 0.85), (x + 3.4, y + 0.75, 1.35), "glass", Semantic.VEHICLE, number, top=name)
    for a in (x + 0.5, x + 3.1):
        street.box((a, y - 0.87, 0.0), (a + 0.6, y + 0.87, 0.6), "tyre", Semantic.VEHICLE, number)


def _materials(rng: np.random.Generator) -> list[Material]:
    gloss = {"window": 0.9, "lit window": 0.9, "glass": 0.9, "red": 0.5, "blue": 0.5, "white": 0.4}
    glow = {"lamp": 3.0, "lit window": 9.0}
    made = [
        Material(name, np.array(rgb, np.float32).reshape(1, 1, 3), gloss=gloss.get(name, 0.0), glow=glow.get(name, 0.0))
        for name, rgb in PLAIN.items()
    ]
    made.append(Material("asphalt", _grain(rng, (0.115, 0.113, 0.112), 0.22), size_m=1.5))
    paving = _grain(rng, (0.36, 0.34, 0.31), 0.10)
    slabs = rng.uniform(0.88, 1.1, (4, 4)).repeat(32, axis=0).repeat(32, axis=1)[..., None]
    joints = np.ones((128, 128, 1))
    joints[::32], joints[:, ::32] = 0.6, 0.6
    made.append(Material("paving", (paving * slabs * joints).astype(np.float32), size_m=2.4))
    made.append(Material("leaves", _grain(rng, (0.07, 0.15, 0.035), 0.7), size_m=1.6))
    for k, colour in enumerate(FACADES):
        wall = _grain(rng, colour, 0.08)
        if k % 2 == 1:  # bricks
            rows = np.ones((128, 128, 1))
            rows[::8] = 0.72
            bond = np.arange(128)[None, :] + 8 * (np.arange(128)[:, None] // 8 % 2)
            rows[(bond % 16 == 0)] = 0.72
            tint = rng.uniform(0.85, 1.1, (16, 9)).repeat(8, axis=0).repeat(16, axis=1)
            shifted = np.stack([np.roll(tint[r], 8 * (r // 8 % 2))[:128] for r in range(128)])
            wall = wall * rows * shifted[..., None]
        made.append(Material(f"facade {k}", wall.astype(np.float32), size_m=2.0))
    return made


def _grain(rng: np.random.Generator, colour: tuple[float, float, float], amount: float) -> FloatArray:
    """(128, 128, 3) of a colour with speckles of several sizes."""
    value = np.ones((128, 128))
    for cells in (32, 64, 128):
        value += amount / 3 * rng.normal(size=(cells, cells)).repeat(128 // cells, axis=0).repeat(128 // cells, axis=1)
    return np.clip(np.array(colour) * value[..., None], 0.0, 1.0).astype(np.float32)
