"""No last bit of NumPy's, libm's, GEOS's or Qhull's functions decides anything about a scene."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely

from sidestep.scenes import free_space, places
from sidestep.scenes.compile import compile_scene
from sidestep.scenes.load import resolve_scene
from sidestep.scenes.plans import load_plan, plan_names
from sidestep.scenes.towns import long_scene, make, make_town, numbered_long_route
from sidestep.suites.sidewalk.routes import town_routes
from sidestep.suites.sidewalk.scenarios import SIDEWALK_LONG, SIDEWALK_REACTIVE, SIDEWALK_UNIT
from sidestep.types.scene import SceneSpec
from tests.ulp import perturbed
from tools import choose_sidewalk_towns as choose
from tools.choose_sidewalk_hand_made import crosswalk_routes, curve_routes, straight_routes

ROOT = Path(__file__).parents[2]
TOWNS = (0, 41, 99, 7)
WINDOWS = 12
PLACES = ("kettlegate", "piper-parade", "lantern-court")
BOX = (-150.0, -100.0, 150.0, 100.0)


def digest(*parts: Any) -> str:
    """Of numbers, arrays, texts and lists of such, to the last bit."""
    found = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            found.update(repr((part.dtype.str, part.shape)).encode() + part.tobytes())
        else:
            found.update(part if isinstance(part, bytes) else json.dumps(part).encode())
    return found.hexdigest()[:16]


def graph_digest(graph: Any) -> str:
    nodes = [[node, *data["xy"]] for node, data in graph.nodes(data=True)]
    edges = [
        [a, b, data["kind"], data["width"], data["length"], data["line"].tolist()]
        for a, b, data in graph.edges(data=True)
    ]
    return digest(nodes, edges)


def spots_digest(spots: list[Any]) -> str:
    return digest([[spot.points.tolist(), spot.width, spot.kind, spot.block] for spot in spots])


def compiled_digest(spec: SceneSpec) -> str:
    """The scene and everything that is compiled from it."""
    scene = compile_scene(spec)
    arrays = (
        scene.wall_points, scene.wall_dirs, scene.wall_next, scene.wall_prev, scene.wall_convex, scene.cell_start,
        scene.cell_items, scene.grid, scene.grid_shape, scene.distance,
    )  # fmt: skip
    return digest(spec.model_dump_json(exclude={"mesh"}), *arrays, [*scene.bounds, *scene.distance_origin])


def town_digest(seed: int, spots: bool = False) -> str:
    """All polygons of a town, its graph, where people stand, one window, one long way and its scene."""
    make._make.cache_clear()
    town = make_town(seed)
    pieces = town.pieces
    parts = [
        list(pieces.kinds), list(pieces.names), pieces.heights, pieces.blocks, *shapely.to_wkb(pieces.polygons),
        graph_digest(town.graph), [[o.kind, *o.xy, o.heading, o.block] for o in town.objects],
        [[block.kind, *block.xy] for block in town.blocks],
        town.window(BOX).model_dump_json(), long_scene(town, seed).model_dump_json(),
        numbered_long_route(town, seed).points, numbered_long_route(town, seed).width,
    ]  # fmt: skip
    if spots:
        parts += [
            spots_digest(found) for found in (town.straight_routes(), town.curve_routes(), town.crosswalk_routes())
        ]
    make._make.cache_clear()
    return digest(*parts)


def windows_digest(seed: int, count: int) -> str:
    """Windows about corners, crosswalks and plazas of a town, compiled; box, route and polygon windows."""
    town = make_town(seed)
    rng = np.random.default_rng([seed, 3])
    nodes = [town.graph.nodes[int(k)]["xy"] for k in rng.integers(len(town.graph), size=count)]
    scenes = [town.window((x - 31.0, y - 24.5, x + 37.3, y + 28.0)) for x, y in nodes]
    scenes.append(town.window(shapely.Point(nodes[0]).buffer(30.0), 2.0))
    return digest([compiled_digest(scene) for scene in scenes])


def place_digest(name: str) -> str:
    for cached in (places.bundled_place, places.long_routes):
        cached.cache_clear()
    place = places.bundled_place(name)
    spots = [find(place) for find in (straight_routes, curve_routes, crosswalk_routes)]
    scenes = [places.resolve_place(f"place:{name}/long/{k}") for k in range(len(places.long_routes(name)))]
    routes = [[route.points.tolist(), route.width.tolist()] for route in places.long_routes(name)]
    return digest(
        graph_digest(place.graph), compiled_digest(place.scene), routes, [spots_digest(found) for found in spots],
        [scene.model_dump_json() for scene in scenes],
    )  # fmt: skip


def plan_digest(name: str) -> str:
    """A floor plan, compiled, with shortest ways between a few free places of it."""
    spec = load_plan(name)
    scene = compile_scene(spec)
    x0, y0, x1, y1 = scene.bounds
    places = np.random.default_rng(len(name)).random((60, 2)) * (x1 - x0, y1 - y0) + (x0, y0)
    free = places[free_space.free_mask(scene, places, 0.5)][:4]
    ways = []
    for goal in free[1:]:
        try:
            ways.append(free_space.shortest_path(scene, free[0], goal, 0.3).tolist())
        except ValueError as error:
            ways.append(str(error))
    return digest(compiled_digest(spec), ways, free_space.wall_distance(scene, places))


def scenarios_digest(every: int) -> str:
    """Scenarios of the sidewalk suites, and the choice of events on a way."""
    suites = [SIDEWALK_UNIT, SIDEWALK_REACTIVE, SIDEWALK_LONG]
    chosen = [scenario.model_dump_json() for suite in suites for scenario in suite.scenarios()[::every]]
    way = town_routes().towns[0].straight
    line = choose.Line(np.array(way.points), way.width, resolve_scene(way.scene))
    events = []
    for kind in choose.MAKERS:
        rng = np.random.default_rng([1, len(kind)])
        events += [choose.place_event(kind, line, 0.6 * line.length, rng, 2.0) for _ in range(4)]
    return digest(chosen, events)


def bits() -> dict[str, str]:
    """Of a town with windows, of places and floor plans: what must be the same on every machine."""
    found = {"town 41": town_digest(41)} | {name: place_digest(name) for name in PLACES}
    return found | {name: plan_digest(name) for name in ("room", "socnav_zara")}


BITS = {
    "town 41": "0930f7ca8554eae1",
    "kettlegate": "c67d183cc95e4126",
    "piper-parade": "1cdc33f50e4d0821",
    "lantern-court": "7565e93d2e4f0382",
    "room": "ae56d1ec72693cf0",
    "socnav_zara": "965cb4dec3533673",
}
"""Renewed with ``python -m tests.scenes.test_ulp`` when a scene changes on purpose."""


def check(make_digest: Any, *args: Any, seeds: tuple[int, ...]) -> None:
    expected = make_digest(*args)
    for seed in seeds:
        with perturbed(seed):
            assert make_digest(*args) == expected, f"{make_digest.__name__}{args} with last bits of seed {seed}"


def test_the_perturbation_moves_what_differs_between_machines():
    line = shapely.LineString([(0.0, 0.0), (0.3, 0.7)])
    with perturbed(1):
        x = np.linspace(0.1, 3.0, 200)
        moved = np.mean(np.sin(x) != _original_sine(x))
        assert 0.4 < moved < 0.9
        assert np.abs(np.sin(x) - _original_sine(x)).max() < 3e-16
        buffered = shapely.get_coordinates(line.buffer(0.1))
    assert (np.sin(x) == _original_sine(x)).all()
    plain = shapely.get_coordinates(line.buffer(0.1))
    assert (buffered != plain).any()
    assert np.abs(buffered - plain).max() < 3e-16


_original_sine = np.sin


def test_the_bits_are_those_of_every_machine():
    assert bits() == BITS


def test_numpy_without_vector_instructions_has_the_same_bits():
    """The last bits of NumPy's own functions differ then."""
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

    features = " ".join(name for name in __cpu_dispatch__ if __cpu_features__.get(name))
    if not features:
        pytest.skip("only where NumPy uses vector instructions that can be switched off")
    environment = os.environ | {"NPY_DISABLE_CPU_FEATURES": features}
    command = [sys.executable, "-m", "tests.scenes.test_ulp"]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == BITS


def test_a_town_is_the_same():
    check(town_digest, 0, seeds=(1,))


def test_windows_are_the_same():
    check(windows_digest, 41, WINDOWS, seeds=(1, 2, 3))


@pytest.mark.parametrize("name", PLACES)
def test_drawn_places_are_the_same(name):
    check(place_digest, name, seeds=(1, 2, 3))


@pytest.mark.parametrize("name", plan_names())
def test_floor_plans_are_the_same(name):
    check(plan_digest, name, seeds=(1, 2, 3))


def test_chosen_scenarios_are_the_same():
    check(scenarios_digest, 37, seeds=(1, 2, 3))


@pytest.mark.full
@pytest.mark.parametrize("seed", TOWNS)
def test_towns_with_all_their_spots_are_the_same(seed):
    check(town_digest, seed, True, seeds=(2, 3, 4))


@pytest.mark.full
def test_more_windows_and_places_are_the_same():
    check(windows_digest, 99, 40, seeds=(4, 5, 6))
    for name in PLACES:
        check(place_digest, name, seeds=tuple(range(4, 16)))


if __name__ == "__main__":
    print(json.dumps(bits(), indent=4))
