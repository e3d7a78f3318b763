"""Lantern Court: a bend of a road before a court, annotated as if it had been scanned."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import shapely

from sidestep.scenes.places.drawn.paper import Paper, Points, arc
from sidestep.scenes.places.osm import osm_place
from sidestep.types.scene import SceneSpec

HALF = 46.0  # m
BEND: Points = [(-60, -20), (-32, -20), *arc((-20, 10), 30, -90, 0, 20), (10, 25), (10, 38), (10, 60)]
QUAY: Points = [(-60, 25), (-16, 25), (10, 25)]
COURT: Points = [(19, -44), (44, -44), (44, -4), (21, -4), (13, -16)]
ROADS = ((BEND, 3.0, 3.0), (QUAY, 2.75, 2.6))
CROSSINGS = ((-32, -20), BEND[12], (10, 38), (-16, 25))
SOURCE = "drawn by the Sidestep project; an invented place"


def draw_lantern_court() -> SceneSpec:
    """The annotated scene, in metres."""
    paper = Paper("Lantern Court", HALF)
    rng = np.random.default_rng(23)
    for points, half, walk in ROADS:
        width = f"{walk:g}"
        paper.way(points, highway="residential", width=f"{2 * half:g}", sidewalk="both", sidewalk__both__width=width)
    for x, y in CROSSINGS:
        paper.node(x, y, highway="crossing", width="3.4")
    paper.way(COURT, closed=True, highway="pedestrian", area="yes")
    paper.way([(4, -15), (17, -20), (27, -24)], highway="footway", width="3")
    _furnish(paper)
    kept = [shapely.LineString(points).buffer(half + walk + 0.35) for points, half, walk in ROADS]
    kept += [shapely.Polygon(COURT).buffer(0.2), shapely.LineString([(4, -15), (17, -20)]).buffer(1.8)]
    for points, half, walk in ROADS:
        for side in (1, -1):
            paper.terrace(points, side * (half + walk + 0.4), kept, rng, (7.0, 10.0))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "lantern-court.osm"
        file.write_text(paper.to_xml(), encoding="utf-8")
        scene = osm_place(file).scene
    return scene.model_copy(update={"source": SOURCE, "name": "Lantern Court"})


def _furnish(paper: Paper) -> None:
    clear = [shapely.Point(place).buffer(6.5) for place in CROSSINGS]
    clear.append(shapely.Point(10, 25).buffer(12.0))
    for points, half, _ in ROADS:
        for side, start in ((1, 8.0), (-1, 17.0)):
            paper.along(points, side * (half + 0.35), 21.0, start, clear, highway="street_lamp")
    for x, y in ((24, -38), (38, -38), (40, -10), (27, -8)):
        paper.node(x, y, natural="tree", height="6")
    for x, y, towards in ((31, -36, "0"), (40, -24, "270"), (30, -9, "180")):
        paper.node(x, y, amenity="bench", direction=towards)
    paper.node(33, -23, amenity="fountain")
    paper.node(20.5, -11, amenity="waste_basket")
