"""What tags say: classes of ways, widths and heights in metres, and what stands for a width that nobody mapped."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sidestep.scenes.places.osm_file import Tags
from sidestep.types.base import Model, NonNegative, Positive

LANE = 3.0  # m, per lane of a road
ROAD_WIDTHS: dict[str, float] = {
    "motorway": 14.0, "trunk": 12.0, "primary": 10.0, "secondary": 9.0, "tertiary": 7.5, "unclassified": 6.0,
    "residential": 6.0, "living_street": 5.0, "service": 4.0, "road": 6.0, "busway": 6.0, "track": 3.0,
}  # fmt: skip
"""Width by class, m; links are as wide as a lane and a half."""
PATH_WIDTHS: dict[str, float] = {"footway": 2.0, "path": 1.5, "pedestrian": 4.0, "corridor": 2.0}
"""Width by class, m, of ways for walking. Steps are none: wheels cannot take them."""
FEET_M = 0.3048


class OsmOptions(Model):
    """What stands for what the map does not say. Lengths in m."""

    sidewalk_width: Positive = 2.0
    crossing_width: Positive = 3.0
    kerb_width: Positive = 0.15
    """Cut from the road where a sidewalk begins."""
    ramp_length: Positive = 1.0
    """From the road's edge into the sidewalk, at both ends of a crossing."""
    corner_radius: NonNegative = 4.0
    """Of the kerb where roads meet."""
    storey_height: Positive = 3.0
    building_height: Positive = 7.5
    """Of a building with neither height nor storeys."""


def metres(text: str | None) -> float | None:
    """``12``, ``12.5 m``, ``12,5``, ``40'``, ``6'2"`` or ``40 ft`` in m; None for anything else or not above 0."""
    if text is None:
        return None
    found = re.fullmatch(r"\s*(\d+(?:[.,]\d+)?)\s*(m|ft|feet)?\s*", text)
    if found:
        value = float(found[1].replace(",", ".")) * (FEET_M if found[2] in ("ft", "feet") else 1.0)
    else:
        inches = re.fullmatch(r"\s*(\d+)'\s*(?:(\d+)\")?\s*", text)
        value = (int(inches[1]) + int(inches[2] or 0) / 12) * FEET_M if inches else 0.0
    return value if value > 0 else None


def is_road(tags: Tags) -> bool:
    """A way for vehicles at street level."""
    return _road_class(tags) in ROAD_WIDTHS and not _elsewhere(tags) and tags.get("area") != "yes"


def _road_class(tags: Tags) -> str:
    return tags.get("highway", "").removesuffix("_link")


def is_path(tags: Tags) -> bool:
    """A way for walking, not over a road, at street level."""
    walks = tags.get("highway") in PATH_WIDTHS or (
        tags.get("highway") == "cycleway" and tags.get("foot") in ("yes", "designated")
    )
    return walks and not is_crossing(tags) and not _elsewhere(tags) and tags.get("foot") != "no" and not is_area(tags)


def is_crossing(tags: Tags) -> bool:
    """A way over a road."""
    return tags.get("footway") == "crossing" or (tags.get("highway") == "path" and tags.get("path") == "crossing")


def is_area(tags: Tags) -> bool:
    """A square to walk on."""
    return tags.get("highway") in ("pedestrian", "footway") and tags.get("area") == "yes"


def _elsewhere(tags: Tags) -> bool:
    """Above or below the street, indoors, or not there yet."""
    tunnel = tags.get("tunnel", "no") not in ("no", "building_passage")
    return tunnel or tags.get("layer", "0") not in ("0", "") or tags.get("indoor") == "yes" or "level" in tags


def road_width(tags: Tags) -> float:
    """``width``, else lanes of 3 m, else by class."""
    stated = metres(tags.get("width:carriageway")) or metres(tags.get("width"))
    if stated:
        return min(stated, 60.0)
    lanes = metres(tags.get("lanes"))
    if lanes and lanes < 13:
        return lanes * LANE
    usual = ROAD_WIDTHS[_road_class(tags)]
    if tags["highway"].endswith("_link"):
        return 1.5 * LANE
    return usual * 0.6 if tags.get("oneway") == "yes" and usual < 10.0 else usual


def path_width(tags: Tags, options: OsmOptions) -> float:
    """Of a footway, path or pedestrian street."""
    usual = options.sidewalk_width if tags.get("footway") == "sidewalk" else PATH_WIDTHS.get(tags["highway"], 2.0)
    return min(metres(tags.get("width")) or usual, 30.0)


def sidewalk_width(tags: Tags, side: str, options: OsmOptions) -> float | None:
    """Of the sidewalk on the ``left`` or ``right`` of a road's direction, from the road's tags; None: there is none.

    ``separate`` says that the sidewalk is drawn as a way of its own.
    """
    both = tags.get("sidewalk:both", "")
    declared = tags.get(f"sidewalk:{side}", both)
    there = declared == "yes" if declared else tags.get("sidewalk") in ("both", "yes", side)
    if not there:
        return None
    return (
        _first_metres(tags, (f"sidewalk:{side}:width", "sidewalk:both:width", "sidewalk:width"))
        or options.sidewalk_width
    )


def _first_metres(tags: Tags, keys: Iterable[str]) -> float | None:
    return next((value for key in keys if (value := metres(tags.get(key)))), None)


def building_height(tags: Tags, options: OsmOptions) -> float:
    """``height``, else storeys, else the default."""
    stated = metres(tags.get("height"))
    storeys = metres(tags.get("building:levels"))
    if stated is None and storeys is not None:
        stated = storeys * options.storey_height
    return round(min(stated or options.building_height, 400.0), 2)
