"""The scanner with several channels against the exact ray caster, and in a world worked out by hand."""

from __future__ import annotations

from math import pi, radians
from typing import Any

import numpy as np
import pytest

from sidestep.errors import BadInput
from sidestep.render.lidar3d import DepthScanner, turned
from sidestep.render.mesh import Instance, Scene3D, Semantic
from sidestep.render.people.body import person_models
from sidestep.simulation import Worlds, build_world
from sidestep.simulation.observe import Observer
from sidestep.types import Observation, PointScan
from sidestep.types.sensors import Lidar3DSettings
from tests.render.exact import make_scene, world_triangles
from tests.render.test_raster_exact import GROUND, box, coarsest, people
from tests.simulation.scenarios import make

STREET = [GROUND, box((12, -9, 0), (14, 7, 6)), box((-16, -3, 0), (-15, 3, 3)), box((4, 5, 0), (9, 6, 2)),
          box((-3, -19.9, 0), (3, -19, 4)), box((5, -4, 0), (5.6, -3.4, 1))]  # fmt: skip


def directions(settings: Lidar3DSettings, heading: float) -> np.ndarray:
    """(C, K, 3) unit vectors in the world."""
    e = np.array(settings.channel_elevations)[:, None]
    a = np.array(settings.azimuths)[None]
    own = np.stack(np.broadcast_arrays(np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)), axis=-1)
    return own @ (turned(heading + settings.yaw, -settings.pitch)).T


def exact_ranges(scene: Scene3D, instances: list[Instance], eye: np.ndarray, rays: np.ndarray) -> np.ndarray:
    """Möller and Trumbore for every ray and triangle; inf: none."""
    triangles, _, both = world_triangles(scene, instances)
    flat = rays.reshape(-1, 3)
    least = np.full(len(flat), np.inf)
    for corners, two_sided in zip(triangles - eye, both, strict=True):
        a, e1, e2 = corners[0], corners[1] - corners[0], corners[2] - corners[0]
        p = np.cross(flat, e2)
        det = p @ e1
        with np.errstate(divide="ignore", invalid="ignore"):
            s, q = (p @ -a) / det, np.cross(-a, e1)
            t, far = flat @ q / det, e2 @ q / det
            hit = (s >= 0) & (t >= 0) & (s + t <= 1) & (far > 0.05)
        if not two_sided:
            hit &= det > 0
        least[hit] = np.minimum(least, far)[hit]
    return least.reshape(rays.shape[:-1])


def near_an_edge(scene: Scene3D, instances: list[Instance], eye: np.ndarray, settings: Any, heading: float) -> Any:
    """Whether the range changes abruptly, or bends, within a pixel or so of a ray: by rays beside it."""
    shift = radians(0.3)
    rays = directions(settings, heading)
    side = np.stack([-rays[..., 1], rays[..., 0], np.zeros(rays.shape[:-1])], axis=-1)
    middle = exact_ranges(scene, instances, eye, rays)
    rough = np.zeros(middle.shape, bool)
    for axis in (side, np.cross(rays, side)):
        step = shift * axis
        values = [exact_ranges(scene, instances, eye, rays + k * step) for k in (-2, -1, 1, 2)]
        with np.errstate(invalid="ignore", divide="ignore"):
            inverse = [1 / values[0], 1 / values[1], 1 / middle, 1 / values[2], 1 / values[3]]
            for k in (1, 2, 3):  # rays + step cross a plane at even distances, so 1/range is linear there
                bend = np.abs(inverse[k - 1] - 2 * inverse[k] + inverse[k + 1])
                rough |= ~(bend <= 1e-6)
    return rough


@pytest.mark.parametrize("pitch", [0.0, 0.1])
def test_within_a_centimetre_of_the_exact_ranges(pitch: float) -> None:
    settings = Lidar3DSettings(channels=8, rays=300, max_range=40.0, yaw=0.3, pitch=pitch)
    scene = make_scene(np.concatenate(STREET))
    eye, heading = np.array([0.3, -0.2, 1.1]), 0.7
    scanner = DepthScanner(settings)
    ranges, _ = scanner.scan(scanner.renderer(scene), (), tuple(eye), heading)
    exact = exact_ranges(scene, [], eye, directions(settings, heading))
    clear = ~near_an_edge(scene, [], eye, settings, heading)
    within = clear & (exact < 22.0)
    assert within.mean() > 0.35
    assert np.abs(ranges - exact)[within].max() < 0.01
    far = exact > 40.0
    assert (ranges[far & clear] == 40.0).all()
    wrong = np.abs(ranges - np.minimum(exact, 40.0)) > 0.05
    assert wrong.mean() < 0.06  # rays at outlines


def test_bodies_are_hit_where_they_are() -> None:
    scene = make_scene(np.concatenate(STREET), models=(coarsest(person_models()[0]),))
    crowd = people([(3.0, 0.5), (-4.0, -2.0), (0.5, 6.0)])
    settings = Lidar3DSettings(channels=12, rays=720, max_range=30.0)
    scanner = DepthScanner(settings)
    eye = np.array([0.0, 0.0, 1.2])
    ranges, _ = scanner.scan(scanner.renderer(scene), crowd, tuple(eye), 0.0)
    rays = directions(settings, 0.0)
    exact, empty = exact_ranges(scene, crowd, eye, rays), exact_ranges(scene, [], eye, rays)
    body = exact < empty - 0.3
    assert body.sum() > 80
    error = np.abs(ranges - exact)[body]
    assert np.median(error) < 0.003
    assert np.mean(error < 0.02) > 0.85  # the others are at outlines, where one ray in seven of a body is


WALL = {"kind": "obstacle", "polygon": [[8, -5], [9, -5], [9, 5], [8, 5]], "height": 3.0}


def look(**settings: Any) -> Observation:
    described = make(
        scene={"name": "wall", "regions": [WALL]},
        robots=[{"spec": "point", "start": [0, 0, 0], "goal": [5, 3]}],
        crowd=[{"model": "static", "people": [{"start": [0.0, 3.0], "heading": -pi / 2}]}],
        sensors={"lidar3d": settings},
    )
    world = build_world(described, 0)
    return Observer(world, frozenset({"points"})).observe(Worlds([world]), 0)


def scan_of(observation: Observation) -> PointScan:
    assert observation.points is not None
    return observation.points


def test_a_wall_ahead_and_the_ground_below() -> None:
    mount = [0.5, 0.0, 1.0]
    scan = scan_of(look(elevations=[-0.2, 0.0, 0.1, 1.0], rays=4, mount=mount, semantic=True, max_range=25.0))
    ahead = 2  # azimuths -π, -π/2, 0, π/2
    assert scan.azimuth[ahead] == pytest.approx(0.0)
    assert scan.ranges[1, ahead] == pytest.approx(7.5, abs=0.005)
    assert scan.ranges[2, ahead] == pytest.approx(7.5 / np.cos(0.1), abs=0.005)
    assert scan.ranges[0, ahead] == pytest.approx(1.0 / np.sin(0.2), abs=0.005)
    assert scan.ranges[3, 0] == 25.0  # sky
    assert scan.semantic is not None
    assert scan.semantic[3, 0] == 0
    assert scan.semantic[0, ahead] != scan.semantic[1, ahead] != Semantic.SKY
    points = scan.xyz
    assert len(points) == (scan.ranges < 25.0).sum()
    np.testing.assert_allclose(points[np.abs(points[:, 0] - 8.0) < 0.1][:, 0], 8.0, atol=0.01)


def test_a_person_beside_is_hit_and_named() -> None:
    scan = scan_of(look(elevations=[0.0], rays=360, mount=[0.0, 0.0, 1.2], semantic=True))
    assert scan.semantic is not None
    body = scan.semantic[0] == Semantic.PERSON
    assert body.any()
    assert np.degrees(scan.azimuth[body]).mean() == pytest.approx(90.0, abs=3.0)
    assert scan.ranges[0, body].min() == pytest.approx(2.85, abs=0.12)


def test_a_scanner_on_its_side_turns_the_points_back() -> None:
    front = {"angle_min": -pi / 4, "field_of_view": pi / 2, "rays": 9, "mount": [0.0, 0.0, 1.0]}
    level = scan_of(look(elevations=[-0.3], **front))
    tilted = scan_of(look(elevations=[-0.1], pitch=-0.2, **front))
    assert level.xyz[:, 2] == pytest.approx(0.0, abs=0.01)
    assert tilted.xyz[:, 2] == pytest.approx(0.0, abs=0.01)
    ahead = np.argmin(np.abs(tilted.azimuth))
    assert tilted.ranges[0, ahead] == pytest.approx(1.0 / np.sin(0.3), abs=0.01)


def test_noise_is_stated_and_repeats() -> None:
    exact = scan_of(look(range_noise=0.0)).ranges
    rough, again = (scan_of(look(range_noise=0.05, noise_seed=3)).ranges for _ in range(2))
    other = scan_of(look(range_noise=0.05, noise_seed=4)).ranges
    hit = (exact > 1.0) & (exact < 25.0)
    assert np.array_equal(rough, again)
    assert not np.array_equal(rough, other)
    assert (rough - exact)[hit].std() == pytest.approx(0.05, rel=0.05)
    assert (rough[exact == 30.0] == 30.0).all()


def test_bad_settings_are_refused() -> None:
    with pytest.raises(BadInput, match="elevation_max"):
        look(elevation_min=0.3, elevation_max=0.1)
    with pytest.raises(BadInput, match="elevations"):
        look(elevations=[1.5])
