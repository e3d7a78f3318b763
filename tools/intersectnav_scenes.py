"""Write the data files of IntersectNav's six intersections from the published facts: lane waypoints of two towns, the
scenes' centres and areas, the 41 routes with the waypoints at which they end, and the poses at which an expert left the
area. The published frame is left-handed (y to the right); here y is turned round. Run ``python -m
tools.intersectnav_scenes FOLDER``, where FOLDER holds ``scenes.json`` and ``waypoint_*.csv``.
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from sidestep.scenes.walkways import points_at, stations_of
from sidestep.types.base import FloatArray

DATA = Path(__file__).parent.parent / "src/sidestep/scenes/intersections"
ARMS = {"east": (1.0, 0.0), "north": (0.0, 1.0), "west": (-1.0, 0.0), "south": (0.0, -1.0)}
STOP_M = {"east": 16.0, "west": 16.0, "north": 13.0, "south": 13.0}
CROSSING_M = {"east": (10.0, 14.0), "west": (10.0, 15.0), "north": (9.5, 13.0), "south": (9.5, 13.0)}
"""People cross the eastern and western arm at the published distances; the other two are ours."""
LENGTH_M = 45.0
"""Of lanes beyond the stop line."""
SAME_LANE_M = 1.2
SOURCE = (
    "Lane waypoints, areas and routes of the IntersectNav benchmark (CARLA {town}); everything else drawn by Sidestep"
)
BRANCHES = {"North": {-1: "west", 0: "north", 1: "east"}, "South": {-1: "east", 0: "south", 1: "west"}}
FROM = {"North": "south", "South": "north"}


def read_waypoints(path: Path) -> FloatArray:
    """(N, 3): x, y, heading of the lane waypoints of a town."""
    with path.open(encoding="utf-8") as file:
        rows = [
            [float(row["loc_x"]), -float(row["loc_y"]), -np.radians(float(row["yaw"]))] for row in csv.DictReader(file)
        ]
    return np.array(rows)


def lanes_of(waypoints: FloatArray, centre: FloatArray, arm: str, *, inwards: bool) -> list[FloatArray]:
    """The lanes of one arm from left to right, as its drivers see them."""
    axis = np.array(ARMS[arm])
    right = np.array([axis[1], -axis[0]]) * (-1.0 if inwards else 1.0)
    travel = -axis if inwards else axis
    relative = waypoints[:, :2] - centre
    ahead = np.stack([np.cos(waypoints[:, 2]), np.sin(waypoints[:, 2])], axis=1)
    along, aside = relative @ axis, relative @ right
    gate = (np.abs(along - STOP_M[arm] - 4.0) < 4.0) & (np.abs(aside) < 14.0) & (ahead @ travel > 0.99)
    lanes: list[FloatArray] = []
    near = -1 if inwards else 0
    for k in np.flatnonzero(gate)[np.argsort(along[gate])].tolist():
        found = _follow(waypoints, ahead, k, centre, axis, STOP_M[arm], inwards=inwards)
        if all(abs(float((line[near] - found[near]) @ right)) > SAME_LANE_M for line in lanes):
            lanes.append(found)
    return sorted(lanes, key=lambda line: float(line[near] @ right))


def _follow(
    waypoints: FloatArray, ahead: FloatArray, start: int, centre: FloatArray, axis: FloatArray, stop: float, *,
    inwards: bool,
) -> FloatArray:  # fmt: skip
    """The lane from the stop line outwards through waypoint ``start``."""
    chain = [start]
    sign = -1.0 if inwards else 1.0
    while True:
        here, direction = waypoints[chain[-1], :2], ahead[chain[-1]] * sign
        gap = waypoints[:, :2] - here
        forward = gap @ direction
        aside = np.abs(gap @ np.array([-direction[1], direction[0]]))
        fits = (forward > 0.5) & (forward < 9.0) & (aside < 0.25 * forward) & (ahead @ ahead[chain[-1]] > 0.85)
        length = float(stations_of(waypoints[chain, :2])[-1])
        if not fits.any() or length > LENGTH_M + 8.0:
            break
        found = np.flatnonzero(fits)
        chain.append(int(found[np.argmin(forward[found])]))
    line = waypoints[chain, :2]
    # straight back to the stop line, then points every five metres
    first = line[0] + (stop - float((line[0] - centre) @ axis)) / float(ahead[start] @ axis) * ahead[start]
    keep = (line - centre) @ axis > stop + 1.0
    keep[int(np.argmax(keep)) :] = True
    line = np.concatenate([[first], line[keep]])
    at = stations_of(line)
    reach = min(LENGTH_M, float(at[-1]))
    lane = points_at(np.linspace(0.0, reach, round(reach / 5.0) + 1), at, line)
    return lane[::-1] if inwards else lane


def describe(scene: dict[str, Any], waypoints: FloatArray) -> dict[str, Any]:
    """One intersection as plain data."""
    x, y = scene["ped_center_xy"]
    centre = np.array([x, -y])
    lanes = {(arm, way): lanes_of(waypoints, centre, arm, inwards=way) for arm in ARMS for way in (True, False)}
    x0, x1, y0, y1 = scene["area_minx_maxx_miny_maxy"]
    boxes = [[a, -d, b, -c] for a, b, c, d in scene["walker_spawn_boxes_minx_maxx_miny_maxy"]]
    return {
        "name": f"intersectnav_{scene['scene_id']}",
        "source": SOURCE.format(town=scene["town"]),
        "centre": _numbers(centre),
        "exit_area": [x0, -y1, x1, -y0],
        "sidewalk_m": _sidewalk(boxes, centre, lanes),
        "people": [[boxes[a], boxes[b]] for a, b in scene["walker_crossing_pairs"]],
        "arms": [
            {
                "name": arm,
                "crossing": list(CROSSING_M[arm]),
                "lanes_in": [_numbers(line) for line in lanes[arm, True]],
                "lanes_out": [_numbers(line) for line in lanes[arm, False]],
            }
            for arm in ARMS
        ],
        "routes": [_route(route, lanes) for route in scene["routes"]],
    }


def _sidewalk(boxes: list[list[float]], centre: FloatArray, lanes: dict[tuple[str, bool], list[FloatArray]]) -> float:
    """Width of sidewalks that hold the boxes in which people start."""
    east = float(lanes["south", True][-1][-1][0]) + 1.75
    west = float(lanes["south", False][-1][0][0]) - 1.75
    return float(np.ceil(max(max(box[2] for box in boxes) - east, west - min(box[0] for box in boxes))))


def _route(route: dict[str, Any], lanes: dict[tuple[str, bool], list[FloatArray]]) -> dict[str, Any]:
    came, goes = FROM[route["direction"]], BRANCHES[route["direction"]][route["branch"]]
    x, y, yaw = route["start_xyyaw"]
    end = route["expert_destination"]
    start, destination = np.array([x, -y]), np.array([end["x"], -end["y"]])
    last_x, last_y, last_yaw = route["end_xyyaw"]
    return {
        "pose": route["pose"],
        "branch": route["branch"],
        "start": [*_numbers(start), _angle(yaw)],
        "destination": [*_numbers(destination), _angle(end["yaw"])],
        "end": [*_numbers(np.array([last_x, -last_y])), _angle(last_yaw)],
        "lane_in": f"{came} in {_nearest(lanes[came, True], start)}",
        "lane_out": f"{goes} out {_nearest(lanes[goes, False], destination)}",
    }


def _nearest(lines: list[FloatArray], point: FloatArray) -> int:
    def gap(line: FloatArray) -> float:
        fine = points_at(np.linspace(0.0, stations_of(line)[-1], 200), stations_of(line), line)
        return float(np.hypot(*(fine - point).T).min())

    gaps = [gap(line) for line in lines]
    if min(gaps) > 2.0:
        raise SystemExit(f"{point}: the nearest lane is {min(gaps):.2f} m away")
    return int(np.argmin(gaps))


def _angle(yaw_deg: float) -> float:
    """Heading in rad, right-handed, within ±π."""
    angle = -np.radians(yaw_deg)
    return round(float(np.arctan2(np.sin(angle), np.cos(angle))), 4)


def _numbers(points: FloatArray) -> Any:
    return np.round(points, 2).tolist()


def main(folder: Path) -> None:
    """Write all six files."""
    scenes = json.loads((folder / "scenes.json").read_text(encoding="utf-8"))["0.9.12"]
    for scene in scenes:
        waypoints = read_waypoints(folder / f"waypoint_{scene['town'][-2:]}.csv")
        data = describe(scene, waypoints)
        text = yaml.safe_dump(data, sort_keys=False, default_flow_style=None, width=140)
        (DATA / f"{data['name']}.yaml").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
