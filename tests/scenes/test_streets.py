"""Streets: what lies where, and that a car in its lane touches neither the island nor a kerb."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import shapely

from sidestep.errors import BadInput
from sidestep.prediction.ground import draw_ground
from sidestep.scenes.load import resolve_scene
from sidestep.scenes.streets import PLACES
from sidestep.types.interactions import GROUND
from sidestep.types.scene import SceneSpec

STREETS = [f"{place}-{width}" for place in PLACES for width in (60, 65, 80)]


def area(scene: SceneSpec, *kinds: str) -> shapely.Geometry:
    """The union of the regions of some kinds."""
    return shapely.union_all([shapely.Polygon(r.polygon, r.holes) for r in scene.regions if r.kind in kinds])


@pytest.mark.parametrize("name", STREETS)
def test_a_car_in_its_lane_stays_on_the_carriageway(name: str) -> None:
    scene = resolve_scene(f"street:{name}")
    assert scene.roads is not None
    road = area(scene, "road")
    for lane in scene.roads.lanes:
        car = shapely.LineString(lane.points).buffer(0.8365 + 0.4, cap_style="flat")
        assert road.buffer(1e-6).covers(car)
    assert [lane.name for lane in scene.roads.lanes] == ["east", "west"]
    east, west = (np.array(lane.points) for lane in scene.roads.lanes)
    assert (east[:, 1] < 0.0).all()  # on the right of who drives east
    assert (np.diff(east[:, 0]) > 0.0).all()
    assert (west[:, 1] > 0.0).all()
    assert (np.diff(west[:, 0]) < 0.0).all()


@pytest.mark.parametrize("name", STREETS)
def test_widths_and_what_there_is_for_those_who_cross(name: str) -> None:
    scene = resolve_scene(f"street:{name}")
    width, has_island = int(name[-2:]) / 10, "island" in name
    road, island = area(scene, "road"), area(scene, "island")
    far, near = (road.intersection(shapely.LineString([(x, -20), (x, 20)])).length for x in (60.0, 0.0))
    assert far == pytest.approx(width)
    assert near == pytest.approx(width)  # the island lies between the lanes, which keep their width
    assert island.area == pytest.approx(16.0 if has_island else 0.0)
    assert scene.roads is not None
    assert len(scene.roads.crossings) == ("zebra" in name)
    if scene.roads.crossings:
        (_, low), (_, high) = scene.roads.crossings[0].ends
        assert high - low == pytest.approx(width + (2.0 if has_island else 0.0))
    zebra = area(scene, "crosswalk")
    assert zebra.area == pytest.approx(4.0 * width if "zebra" in name else 0.0)
    assert area(scene, "sidewalk").intersection(shapely.LineString([(0, -20), (0, 20)])).length == pytest.approx(7.0)


def test_the_semantic_map_has_every_class() -> None:
    scene = resolve_scene("street:zebra+island-65")
    ground = draw_ground(scene)
    points = np.array([[0.0, 0.0], [0.0, 2.5], [0.0, -2.5], [40.0, 0.0], [40.0, 5.0], [40.0, -8.5], [72.0, 14.0]])
    found = [GROUND[k] for k in ground.at(points)]
    assert found == ["island", "zebra", "zebra", "road", "sidewalk", "grass", "building"]


def test_a_street_as_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("{street: zebra, width_m: 6.5}\n")
    assert resolve_scene(str(file)) == resolve_scene("street:zebra-65")
    file.write_text("{street: zebra, widht_m: 6.5}\n")
    with pytest.raises(BadInput, match="did you mean 'width_m'"):
        resolve_scene(str(file))


@pytest.mark.parametrize(
    ("name", "message"),
    [("zebr-65", "zebra"), ("zebra", "PLACE-DECIMETRES"), ("zebra-6.5", "decimetres"), ("none-20", "50 to 150")],
)
def test_names_that_are_none(name: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        resolve_scene(f"street:{name}")
