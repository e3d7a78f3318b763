"""The tools that made bundled data make the same data again."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest
import shapely
import yaml

from sidestep._util.reading import read_json, read_yaml
from sidestep.scenes.geojson import read_geojson
from sidestep.scenes.places import DATA, LONG_ROUTES, bundled_place, place_names
from sidestep.suites import socnav
from sidestep.types.scene import SceneSpec
from tests.needs import skip_without_recording
from tools import choose_socnav_windows
from tools.draw_places import draw_lantern_court, draw_long_route
from tools.lantern_court_mesh import model_place, write_glb

RUNNABLE = ("choose_sidewalk_hand_made", "choose_sidewalk_towns", "choose_socnav_windows", "compare_synthetic",
            "draw_places", "film_to_webp", "fit_synthetic", "results", "scenario_schema", "write_api_page",
            "write_metrics_page")  # fmt: skip


@pytest.mark.parametrize("name", RUNNABLE)
def test_every_tool_says_how_it_is_run_and_has_a_main(name: str) -> None:
    module = importlib.import_module(f"tools.{name}")
    assert callable(module.main)
    assert f"python -m tools.{name}" in (module.__doc__ or "")


def ground(scene: SceneSpec) -> dict[str, Any]:
    """Kind of region → all ground of that kind."""
    found: dict[str, list[Any]] = {}
    for region in scene.regions:
        found.setdefault(region.kind, []).append(shapely.Polygon(region.polygon, region.holes))
    return {kind: shapely.union_all(polygons) for kind, polygons in found.items()}


def test_the_annotation_and_mesh_of_lantern_court(tmp_path: Path) -> None:
    """The same ground, up to corners on straight edges; the same mesh, byte for byte."""
    annotated = read_geojson(DATA / "lantern-court.geojson")
    kept, drawn = ground(annotated), ground(draw_lantern_court())
    assert kept.keys() == drawn.keys()
    assert max(kept[kind].symmetric_difference(drawn[kind]).area for kind in kept) < 0.1
    write_glb(tmp_path / "a.glb", model_place(annotated).parts())
    assert (tmp_path / "a.glb").read_bytes() == (DATA / "lantern-court.glb").read_bytes()


@pytest.mark.parametrize("name", place_names())
def test_the_first_long_route_of_bundled_places(name: str) -> None:
    place = bundled_place(name)
    route = draw_long_route(place, 0, [])
    assert [list(place.graph.nodes[node]["xy"]) for node in route.nodes] == read_json(LONG_ROUTES)[name][0]


@skip_without_recording("socnavbench-eth")
def test_the_windows_of_the_test_split() -> None:
    file = Path(socnav.__file__).parent / "data" / "socnav_test.yaml"
    [document] = read_yaml(file)
    windows = list(choose_socnav_windows.windows_of("eth"))
    assert yaml.safe_load(yaml.safe_dump(windows)) == [w for w in document["windows"] if w["recording"] == "eth"]
