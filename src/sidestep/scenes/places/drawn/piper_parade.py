"""Piper Parade: a main street with two crossings, side streets and a park. Its sidewalks are drawn as ways."""

from __future__ import annotations

import numpy as np
import shapely

from sidestep.scenes.places.drawn.paper import Paper, Points, arc

HALF = 80.0  # m
PARADE: Points = [(-90, 0), (-30, 0), (-14, 0), (35, 0), (50, 0), (90, 0)]
ANCHOR: Points = [(-30, 0), (-30, 10.5), (-30, 40), (-30, 55), (-30, 90)]
BELL_NORTH: Points = [(35, 0), (35, 10.5), (35, 42), (35, 55), (35, 90)]
CHANDLER: Points = [(-30, 55), (2, 55), (35, 55)]
BELL_SOUTH: Points = [(35, 0), (35, -10.5), *arc((7, -33), 28, 0, -90, 20), (-15, -61), (-90, -61)]
SIDE_STREETS = (ANCHOR, BELL_NORTH, CHANDLER, BELL_SOUTH)
SIDE_HALF, SIDE_WALK = 3.0, 2.6  # m
MAIN_HALF, MAIN_WALK, VERGE = 4.5, 3.4, 1.3  # m
MIDDLE = MAIN_HALF + VERGE + MAIN_WALK / 2
PATH: Points = [
    (-56, -MIDDLE),
    (-56, -14),
    *arc((-44, -26), 12, 180, 255, 8),
    *arc((-50.5, -50), 13, 72, 0, 8),
    (-37.5, -56.7),
]
PARK: Points = [(-72, -11.5), (-22, -11.5), (-22, -54.5), (-72, -54.5)]
NODE_CROSSINGS = ((-30, 40), (35, 42), (2, 55), (-15, -61))


def draw_piper_parade() -> Paper:
    """The whole sheet."""
    paper = Paper("Piper Parade", HALF)
    rng = np.random.default_rng(11)
    paper.way(PARADE, highway="secondary", lanes="3", sidewalk="separate")
    for points in SIDE_STREETS:
        width = f"{SIDE_WALK:g}"
        paper.way(
            points, highway="residential", width=f"{2 * SIDE_HALF:g}", sidewalk="both", sidewalk__both__width=width
        )
    _draw_sidewalks(paper)
    for x, y in NODE_CROSSINGS:
        paper.node(x, y, highway="crossing", width="3")
    paper.way(PARK, closed=True, leisure="park", name="Reed Green")
    paper.way(PATH, highway="footway", width="2.6")
    _draw_houses(paper, rng)
    _furnish(paper)
    return paper


def _draw_sidewalks(paper: Paper) -> None:
    """Both sides of the Parade, with crossings over it and over the side streets' mouths."""
    edge, width = SIDE_HALF + SIDE_WALK / 2, f"{MAIN_WALK:g}"
    north: list[Points] = [
        [(-90, MIDDLE), (-30 - edge, MIDDLE)],
        [(-30 + edge, MIDDLE), (-14, MIDDLE), (35 - edge, MIDDLE)],
        [(35 + edge, MIDDLE), (50, MIDDLE), (90, MIDDLE)],
    ]
    south: list[Points] = [
        [(-90, -MIDDLE), (-56, -MIDDLE), (-14, -MIDDLE), (35 - edge, -MIDDLE)],
        [(35 + edge, -MIDDLE), (50, -MIDDLE), (90, -MIDDLE)],
    ]
    for points in north + south:
        paper.way(points, highway="footway", footway="sidewalk", width=width)
    for x in (-14, 50):
        paper.way([(x, -MIDDLE), (x, 0), (x, MIDDLE)], highway="footway", footway="crossing", width="3.6")
        paper.node(x, 0, highway="crossing", crossing="marked")
    for x, y in ((-30, 10.5), (35, 10.5), (35, -10.5)):
        reach = edge if y > 0 else edge + 0.3
        paper.way([(x - reach, y), (x, y), (x + reach, y)], highway="footway", footway="crossing", width="3.6")
    for side in (1, -1):
        low, high = sorted((side * MAIN_HALF, side * (MAIN_HALF + VERGE)))
        for x0, x1 in ((-79, -40), (-20, -17), (-11, 25), (53.5, 79)):
            paper.way([(x0, low), (x1, low), (x1, high), (x0, high)], closed=True, landuse="grass")


def _draw_houses(paper: Paper, rng: np.random.Generator) -> None:
    kept = [shapely.LineString(points).buffer(SIDE_HALF + SIDE_WALK + 0.35) for points in SIDE_STREETS]
    kept += [shapely.LineString(PARADE).buffer(MIDDLE + MAIN_WALK / 2 + 0.35), shapely.Polygon(PARK).buffer(1.0)]
    paper.ring_building([(-14, 18), (20, 18), (20, 46), (-14, 46)], [(-4, 26), (11, 26), (11, 38), (-4, 38)],
                        building="retail", building__levels="4")  # fmt: skip
    kept.append(shapely.box(-15, 17, 21, 47))
    for side in (1, -1):
        paper.terrace(PARADE, side * (MIDDLE + MAIN_WALK / 2 + 0.4), kept, rng, (9.0, 14.0))
    for points in SIDE_STREETS:
        for side in (1, -1):
            paper.terrace(points, side * (SIDE_HALF + SIDE_WALK + 0.4), kept, rng)


def _furnish(paper: Paper) -> None:
    crossings = [(-14, 0), (50, 0), (-30, 10.5), (35, 10.5), (35, -10.5), *NODE_CROSSINGS]
    clear = [shapely.Point(place).buffer(8.5) for place in crossings]
    clear += [shapely.Point(place).buffer(12.0) for place in ((-30, 0), (35, 0), (-30, 55), (35, 55))]
    for side, start in ((1, 10.0), (-1, 16.0)):
        paper.along(PARADE, side * (MAIN_HALF + 0.65), 12.0, start, clear, natural="tree")
        paper.along(PARADE, side * (MAIN_HALF + 0.5), 24.0, start + 6, clear, highway="street_lamp")
        paper.along(PARADE, side * (MIDDLE + MAIN_WALK / 2 - 0.35), 37.0, start + 3, clear, amenity="bench")
        paper.along(PARADE, side * (MIDDLE - MAIN_WALK / 2 + 0.35), 43.0, start + 12, clear, amenity="waste_basket")
    for points in SIDE_STREETS:
        paper.along(points, SIDE_HALF + 0.35, 24.0, 18.0, clear, highway="street_lamp")
        paper.along(points, -(SIDE_HALF + 0.35), 45.0, 26.0, clear, barrier="bollard")
    for x, y in ((-66, -18), (-30, -20), (-48, -40), (-66, -46), (-28, -48), (-62, -30)):
        paper.node(x, y, natural="tree", height="8")
    paper.node(-52.2, -22, amenity="bench")
    paper.node(16, MAIN_HALF + 0.6, highway="bus_stop")
