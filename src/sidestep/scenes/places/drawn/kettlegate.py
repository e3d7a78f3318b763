"""Kettlegate: the corner of an old town. A lane winds past a square; sidewalks are told by the roads' tags."""

from __future__ import annotations

import numpy as np
import shapely

from sidestep.scenes.places.drawn.paper import Paper, Points, arc

HALF = 82.0  # m
COOPER: Points = [(-90, 44), (-50, 46.2), (-28, 47), (0, 48), (20, 48), (40, 47.6), (60, 46.6), (90, 43.5)]
KETTLE: Points = [
    (20, 48), (20, 37), *arc((-10, 30), 30, 0, -90, 20), (-25, 0), (-34, 0), (-40, 0),
    *arc((-45, -25), 25, 90, 180, 18), (-70, -50), (-70, -90),
]  # fmt: skip
LOCK: Points = [(-25, 0), (-25, -13), *arc((0, -35), 25, 180, 270, 18), (20, -60), (60, -60), (90, -60)]
WEIR: Points = [(60, 46.6), (60, 35), (60, -8), (60, -48), (60, -60)]
SQUARE: Points = [(-44, 5), (-13, 5), (-13, 20), (-17, 33), (-44, 33)]
ALLEY: Points = [(-28, 33), (-28, 47)]
ROADS = ((COOPER, 3.5, 2.8), (KETTLE, 2.75, 2.6), (LOCK, 2.75, 2.5), (WEIR, 3.0, 2.4))
CROSSINGS = (
    (-50, 46.2),
    (0, 48),
    (40, 47.6),
    (20, 37),
    (-40, 0),
    (-70, -50),
    (-25, -13),
    (20, -60),
    (60, 35),
    (60, -8),
    (60, -48),
)


def draw_kettlegate() -> Paper:
    """The whole sheet."""
    paper = Paper("Kettlegate", HALF)
    rng = np.random.default_rng(7)
    for points, half, walk in ROADS:
        kind = "tertiary" if points is COOPER else "residential"
        paper.way(points, highway=kind, width=f"{2 * half:g}", sidewalk="both", sidewalk__both__width=f"{walk:g}")
    for x, y in CROSSINGS:
        paper.node(x, y, highway="crossing", crossing="marked", width="3.2")
    _draw_square(paper)
    streets = [shapely.LineString(points).buffer(half + walk + 0.35) for points, half, walk in ROADS]
    kept = [*streets, shapely.Polygon(SQUARE).buffer(0.2), shapely.LineString(ALLEY).buffer(2.2)]
    paper.ring_building([(10, -48), (45, -48), (45, -22), (10, -22)], [(20, -41), (36, -41), (36, -30), (20, -30)],
                        building="civic", height="11.5")  # fmt: skip
    kept.append(shapely.box(9, -49, 46, -21))
    for points, half, walk in ROADS:
        for side in (1, -1):
            paper.terrace(points, side * (half + walk + 0.4), kept, rng)
    paper.terrace([(-44, 33.3), (-13, 33.3)], 0.3, kept, rng, (6.0, 7.0))
    _furnish(paper)
    return paper


def _draw_square(paper: Paper) -> None:
    paper.way(SQUARE, closed=True, highway="pedestrian", area="yes", name="Kettle Square")
    paper.way([(-34, 0), (-36, 17), (-28, 33)], highway="footway", width="2.4")
    paper.way([(-18, 0), (-18, 18), (-28, 33)], highway="footway", width="2.4")
    paper.way(ALLEY, highway="pedestrian", width="4", name="Needle Alley")
    paper.node(-27, 16.5, amenity="fountain")
    for x, y in ((-41.0, 10.0), (-41, 22), (-33, 30), (-15.5, 12), (-22, 29)):
        paper.node(x, y, natural="tree")
    for x, y, towards in ((-30.5, 12.5, "45"), (-23.5, 20.5, "225"), (-41.5, 16, "90")):
        paper.node(x, y, amenity="bench", direction=towards)
    for across in (-29.4, -26.6):
        paper.node(across, 34.0, barrier="bollard")
    paper.node(-43, 30, tourism="information")


def _furnish(paper: Paper) -> None:
    clear = [shapely.Point(place).buffer(7.0) for place in CROSSINGS]
    clear += [shapely.Point(place).buffer(13.0) for place in ((20, 48), (-25, 0), (60, 46.6), (60, -60))]
    for points, half, _ in ROADS:
        for side, start in ((1, 9.0), (-1, 21.0)):
            paper.along(points, side * (half + 0.35), 26.0, start, clear, highway="street_lamp")
        paper.along(points, half + 0.4, 48.0, 17.0, clear, amenity="waste_basket")
        paper.along(points, -(half + 0.35), 61.0, 30.0, clear, emergency="fire_hydrant")
    paper.along(COOPER, -(3.5 + 0.45), 19.0, 24.0, clear, natural="tree")
    paper.node(-66, 40.9, highway="bus_stop")
    paper.way([(66, -30), (80, -30)], barrier="hedge")
