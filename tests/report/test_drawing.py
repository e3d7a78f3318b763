"""The painter's tools: geometry of the view, coverage of shapes, what walls enclose."""

from __future__ import annotations

import numpy as np
import pytest

from sidestep.errors import BadInput
from sidestep.render.top_view import TopView, Viewport, palette
from sidestep.render.top_view.canvas import Canvas, bounds_around, paint_trail, text_mask
from sidestep.render.top_view.ground import crossing_stripes, ground_of
from sidestep.render.top_view.view import _hull
from sidestep.types.robot import Footprint
from sidestep.types.scene import Region, SceneSpec

NO_WALLS = np.zeros((0, 4))
DISC = Footprint(radius=0.3)


def ring(*corners: tuple[float, float]) -> np.ndarray:
    points = np.array(corners)
    return np.hstack([points, np.roll(points, -1, axis=0)])


def pixel(top: TopView, x: float, y: float) -> tuple[int, ...]:
    column, row = top.view.pixels(np.array([x, y])).astype(int)
    return tuple(int(value) for value in top.background[row, column])


def test_viewport_keeps_the_aspect_and_turns_y_up() -> None:
    view = Viewport((0.0, 0.0, 10.0, 5.0), (200, 200))
    assert view.scale == 20
    assert view.shown == (0.0, -2.5, 10.0, 7.5)
    assert view.pixels(np.array([0.0, 7.5])).tolist() == [0.0, 0.0]
    assert view.pixels(np.array([10.0, -2.5])).tolist() == [200.0, 200.0]


def test_views_without_area_are_refused() -> None:
    with pytest.raises(BadInput, match="area"):
        Viewport((0.0, 0.0, 0.0, 5.0), (200, 200))
    with pytest.raises(BadInput, match="16"):
        Viewport((0.0, 0.0, 1.0, 1.0), (8, 200))


def test_bounds_hold_all_points_with_a_margin() -> None:
    points = np.array([[0.0, 0.0], [20.0, 1.0], [np.nan, 3.0]])
    assert bounds_around(points, margin=2.0, smallest=6.0) == (-2.0, -2.5, 22.0, 3.5)
    assert bounds_around(np.full((1, 2), np.nan), smallest=6.0) == (-3.0, -3.0, 3.0, 3.0)


@pytest.mark.parametrize("radius", [4.0, 7.25, 30.0])
def test_a_disc_covers_its_area(radius: float) -> None:
    image = np.zeros((80, 80, 3), dtype=np.uint8)
    canvas = Canvas()
    canvas.disc(40.3, 39.6, radius, (255, 255, 255))
    canvas.paint(image)
    assert image[..., 0].sum() / 255 == pytest.approx(np.pi * radius**2, rel=0.02)


def test_a_polygon_and_its_outline_cover_their_areas() -> None:
    star = [
        (40 + r * np.sin(a), 40 + r * np.cos(a)) for r, a in zip([30, 12] * 5, np.arange(10) * np.pi / 5, strict=True)
    ]
    x, y = np.array(star).T
    area = abs(np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y)) / 2
    length = np.hypot(x - np.roll(x, -1), y - np.roll(y, -1)).sum()
    for stroke, expected in ((0.0, area), (2.0, 2.0 * length)):
        image = np.zeros((80, 80, 3), dtype=np.uint8)
        canvas = Canvas()
        canvas.shape(star, (255, 255, 255), stroke=stroke)
        canvas.paint(image)
        assert image[..., 0].sum() / 255 == pytest.approx(expected, rel=0.03)


def test_shapes_beyond_the_edge_are_cut() -> None:
    image = np.zeros((20, 30, 3), dtype=np.uint8)
    canvas = Canvas()
    canvas.disc(0.0, 0.0, 10.0, (200, 0, 0))
    canvas.disc(1000.0, -500.0, 10.0, (200, 0, 0))
    canvas.disc(float("nan"), 5.0, 10.0, (200, 0, 0))
    canvas.paint(image)
    assert image[0, 0, 0] == 200
    assert image[..., 0].sum() / 200 == pytest.approx(np.pi * 100 / 4, rel=0.05)


def test_joints_of_a_translucent_trail_do_not_show() -> None:
    """A straight line in two pieces looks like one in one piece, and the scratch memory is clean after."""
    scratch = np.zeros((40, 60), dtype=np.float32)
    pictures = []
    for xs in ([10.0, 50.0], [10.0, 30.0, 50.0]):
        image = np.full((40, 60, 3), 255, dtype=np.uint8)
        points = np.array([[[x, 20.0]] for x in xs])
        paint_trail(image, points, np.full(len(xs), 0.5), np.zeros((1, 1, 3)), 6.0, scratch)
        pictures.append(image.astype(int))
        assert not scratch.any()
    assert np.abs(pictures[0] - pictures[1]).max() <= 1
    assert pictures[0][20, 30, 0] == pytest.approx(128, abs=1)


def test_a_gap_breaks_a_trail() -> None:
    image = np.full((40, 90, 3), 255, dtype=np.uint8)
    points = np.array([[[10.0, 20.0]], [[30.0, 20.0]], [[np.nan, np.nan]], [[60.0, 20.0]], [[80.0, 20.0]]])
    paint_trail(image, points, np.ones(5), np.zeros((1, 1, 3)), 4.0, np.zeros((40, 90), dtype=np.float32))
    assert image[20, 20, 0] == 0
    assert image[20, 45, 0] == 255
    assert image[20, 70, 0] == 0


def test_walls_alone_are_filled_on_their_solid_side() -> None:
    """Solid is on the left: a counter-clockwise ring is a body, a clockwise one a room."""
    body = ring((-1, -1), (1, -1), (1, 1), (-1, 1))
    top = TopView(None, body, (-4, -4, 4, 4), (160, 160))
    assert pixel(top, 0.03, 0.53) == palette.GROUND["obstacle"]
    assert min(pixel(top, 3.5, 3.5)) > 225
    room = ring((-3, -3), (-3, 3), (3, 3), (3, -3))
    top = TopView(None, np.vstack([room, body]), (-4, -4, 4, 4), (160, 160))
    assert pixel(top, 3.5, 3.5) == palette.GROUND["solid"]
    assert min(pixel(top, 2.05, 0.55)) > 225
    assert pixel(top, 0.03, 0.53) == palette.GROUND["obstacle"]


def test_open_walls_enclose_nothing() -> None:
    assert ground_of(None, np.array([[0.0, 0.0, 1.0, 0.0], [1.0, 0.0, 1.0, 1.0]])).layers == ()


def test_regions_cover_each_other_as_written_and_solids_cover_all() -> None:
    square = ((-3.0, -3.0), (3.0, -3.0), (3.0, 3.0), (-3.0, 3.0))
    inner = tuple((x / 3, y / 3) for x, y in square)
    scene = SceneSpec(
        regions=(
            Region(kind="building", polygon=inner),
            Region(kind="grass", polygon=square),
            Region(kind="road", polygon=tuple((x * 2 / 3, y * 2 / 3) for x, y in square)),
        ),
        enclosed=True,
    )
    top = TopView(scene, NO_WALLS, (-4, -4, 4, 4), (160, 160))
    assert pixel(top, 0.03, 0.53) == palette.GROUND["building"]
    assert pixel(top, 3.5, 3.5) == palette.GROUND["solid"]
    road, grass = np.array(pixel(top, 1.55, 1.55)), np.array(pixel(top, 2.55, 2.55))
    assert np.abs(road - palette.GROUND["road"]).max() < 30
    assert grass[1] > grass[2] + 15


def test_a_hole_shows_what_is_below() -> None:
    outer, inner = (
        ((-3.0, -3.0), (3.0, -3.0), (3.0, 3.0), (-3.0, 3.0)),
        ((-1.0, -1.0), (1.0, -1.0), (0.0, 1.0)),
    )
    scene = SceneSpec(regions=(Region(kind="building", polygon=outer, holes=(inner,)),))
    top = TopView(scene, NO_WALLS, (-4, -4, 4, 4), (160, 160))
    assert pixel(top, 2.05, 2.05) == palette.GROUND["building"]
    assert pixel(top, 0.03, -0.53) != palette.GROUND["building"]


def test_zebra_bars_lie_across_the_longer_side() -> None:
    bars = crossing_stripes(np.array([(0.0, 0.0), (6.0, 0.0), (6.0, 3.0), (0.0, 3.0)]))
    assert len(bars) == 6
    assert np.ptp(bars[0][:, 0]) == pytest.approx(0.5)
    assert np.ptp(bars[0][:, 1]) == pytest.approx(3.0)


def test_nobody_is_drawn_where_a_position_is_missing() -> None:
    top = TopView(None, NO_WALLS, (-4, -4, 4, 4), (160, 160))
    alone = top.frame((0.0, 0.0, 0.0), DISC)
    absent = top.frame((0.0, 0.0, 0.0), DISC, people=np.full((2, 2), np.nan), groups=np.array([0, 0]))
    there = top.frame((0.0, 0.0, 0.0), DISC, people=np.array([[2.0, 2.0]]))
    assert np.array_equal(alone, absent)
    assert not np.array_equal(alone, there)


@pytest.mark.parametrize("places", [[(0, 2), (1, 2)], [(0, 2), (1, 2), (2, 2)], [(0, 2), (1, 2), (0.5, 3)]])
def test_a_group_has_a_hull_even_in_a_row(places: list[tuple[float, float]]) -> None:
    top = TopView(None, NO_WALLS, (-4, -4, 4, 4), (320, 320))
    people = np.array(places, dtype=float)
    apart = top.frame((0.0, -2.0, 0.0), DISC, people=people, groups=np.full(len(people), -1))
    together = top.frame((0.0, -2.0, 0.0), DISC, people=people, groups=np.zeros(len(people), dtype=int))
    column, row = top.view.pixels(np.array([0.5, 2.0])).astype(int)
    assert not np.array_equal(apart[row, column], together[row, column])


def test_the_hull_leaves_out_inner_and_straight_points() -> None:
    square = [(0.0, 0.0), (2.0, 0.0), (2.0, 2.0), (0.0, 2.0)]
    hull = _hull(np.array([*square, (1.0, 1.0), (1.0, 0.0)]))
    assert hull in ([*square[k:], *square[:k]][::way] for k in range(4) for way in (1, -1))
    assert _hull(np.array([(0.0, 0.0), (1.0, 1.0), (2.0, 2.0)])) == [(0.0, 0.0), (2.0, 2.0)]
    assert _hull(np.array([(1.0, 1.0), (1.0, 1.0), (1.0, 1.0)])) == [(1.0, 1.0)]


def test_long_labels_stay_inside_the_picture() -> None:
    top = TopView(None, NO_WALLS, (-4, -4, 4, 4), (160, 160))
    picture = top.frame((0.0, 0.0, 0.0), DISC, time=12.3, label="a very long name of a scenario " * 20)
    assert np.array_equal(picture[:40, -3:], top.background[:40, -3:])


def test_letters_beyond_ascii_are_not_boxes() -> None:
    """Pillow's own font prints the same box for every letter that it does not know."""
    assert not np.array_equal(text_mask("ö", 20), text_mask("ü", 20))
    assert not np.array_equal(text_mask("中", 20), text_mask("a", 20))
