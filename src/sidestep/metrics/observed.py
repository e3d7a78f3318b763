"""What a policy observed, according to its records, and which policies can be compared: a robot that has only a scanner
is not in the same race as one that receives the positions of all people.

The record holds what the policy was given, not what the policy declares. An input counts as exact unless it is known to
be a reading of one of the robot's own sensors or a part of the task, so no policy enters the other race by declaring
less.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from sidestep._util.reading import parse_json
from sidestep.errors import BadInput
from sidestep.metrics.unknown import NOTE
from sidestep.types.record import EpisodeRecord
from sidestep.types.sensors import PedestrianSensing, Sensors

ObservationClass = Literal["exact", "sensors", "nothing", "unknown"]
"""``exact``: states of people or vehicles, the map, or anything else that no sensor of a robot reports. ``sensors``:
scans or pictures, and nothing exact. ``nothing``: the task alone. ``unknown``: the log does not contain it."""

SCANS = frozenset({"lidar", "points", "rgb", "depth", "semantic"})
TASK = frozenset({"goal", "route", "signals", "measurements"})
"""The task, the traffic lights, and the robot's place on its route. ``high_level_command`` is not part of the task: its
author knows where people and vehicles are."""
CLASS_WORDS: dict[ObservationClass, str] = {
    "exact": "exact states or the map",
    "sensors": "sensors only",
    "nothing": "the task alone",
    "unknown": "not known",
}
INFORMED: tuple[ObservationClass, ...] = ("exact", "sensors")
"""Classes of policies that observe their surroundings."""
_ORDER = (
    "pedestrians", "history", "vehicles", "map", "future",
    "lidar", "points", "rgb", "depth", "semantic", "route", "goal",
)  # fmt: skip

Observed = Mapping[str, str]
"""Input of a policy → its range, resolution or limits in words; empty if it has none."""


def observed_in(record: EpisodeRecord) -> str:
    """What the policy of a record was given, as text for a column of the results; empty if unknown."""
    needs = record.policy.needs
    if not needs and NOTE in record.scenario.notes:
        return ""
    ordered = sorted(needs, key=lambda need: (_ORDER.index(need) if need in _ORDER else len(_ORDER), need))
    return json.dumps({need: _limits(need, record.scenario.sensors) for need in ordered}, ensure_ascii=False)


def parse_observed(texts: Iterable[str]) -> Observed | None:
    """What a policy was given in any of its episodes; None if this is unknown for one of them. Limits that differ
    between episodes are joined by ``or``."""
    found: dict[str, dict[str, None]] = {}
    for text in dict.fromkeys(texts):
        if not text:
            return None
        document = parse_json(text, "the column observes of a table of results")
        if not isinstance(document, dict):
            raise BadInput(f"the column observes of a table of results: expected keys and values, got {text!r:.80}")
        for need, limits in document.items():
            found.setdefault(str(need), {})[str(limits)] = None
    return {need: " or ".join(filter(None, limits)) for need, limits in found.items()}


def observation_class(observed: Observed | None) -> ObservationClass:
    """The race of a policy with these inputs."""
    if observed is None:
        return "unknown"
    if any(need not in SCANS | TASK for need in observed):
        return "exact"
    return "sensors" if SCANS & observed.keys() else "nothing"


def classes_of(episodes: Iterable[tuple[str, str]]) -> dict[str, ObservationClass]:
    """Label → race, from the label of each episode and what the policy observed in it."""
    texts: dict[str, list[str]] = {}
    for label, text in episodes:
        texts.setdefault(label, []).append(text)
    return {label: observation_class(parse_observed(found)) for label, found in texts.items()}


def races(classes: Mapping[str, ObservationClass]) -> list[frozenset[str]]:
    """The groups within which policies can be compared: a single group, unless some policies have exact states and
    others sensors only. Policies that observe nothing, or whose inputs are unknown, are then in both groups."""
    informed = [each for each in INFORMED if each in classes.values()]
    if len(informed) < 2:
        return [frozenset(classes)]
    return [
        frozenset(name for name, kind in classes.items() if kind not in informed or kind == each) for each in informed
    ]


def in_one_race(one: ObservationClass, other: ObservationClass) -> bool:
    """Whether a difference between two policies can say that one of them is better."""
    return {one, other} != set(INFORMED)


def describe_observed(observed: Observed | None) -> str:
    """The inputs in words, such as ``lidar (720 rays, 20 m), route``."""
    if observed is None:
        return "not known"
    words = {"pedestrians": "people", "history": "their history", "future": "the future", "points": "3D lidar"}
    parts = [words.get(need, need) + (f" ({limits})" if limits else "") for need, limits in observed.items()]
    return ", ".join(parts).replace("_", " ") or "nothing"


def observes_json(observed: Observed | None) -> dict[str, Any]:
    """The inputs of a policy as entries of a JSON document."""
    return {
        "observes": None if observed is None else list(observed),
        "observation_limits": {need: limits for need, limits in (observed or {}).items() if limits},
        "observation_class": observation_class(observed),
    }


def race_note(classes: Mapping[str, ObservationClass]) -> str:
    """Note for a table that contains two races; empty if there is only one."""
    if len(races(classes)) < 2:
        return ""
    parts = [
        f"{', '.join(name for name, found in classes.items() if found == kind)} ({CLASS_WORDS[kind]})"
        for kind in INFORMED
    ]
    note = f"Two races, since they do not observe the same: {' and '.join(parts)}."
    return f"{note} Stars, ranks and fronts are within each."


def _limits(need: str, sensors: Sensors) -> str:
    """Range, resolution and blind areas of the sensor that serves a need."""
    if need in ("pedestrians", "vehicles", "history"):
        return _detector_limits(sensors.vehicles if need == "vehicles" else sensors.pedestrians)
    if need == "lidar":
        return f"{sensors.lidar.rays} rays, {sensors.lidar.max_range:g} m"
    if need == "points":
        scan = sensors.lidar3d
        return f"{len(scan.channel_elevations)} × {scan.rays} rays, {scan.max_range:g} m"
    if need in ("rgb", "depth", "semantic"):
        width, height = sensors.camera.picture_size
        return f"{width} × {height}"
    if need == "learning":
        return _learning_limits(sensors)
    return ""


def _detector_limits(detector: PedestrianSensing) -> str:
    parts = [f"{detector.range_m:g} m"] if detector.range_m is not None else []
    parts += [f"{detector.field_of_view:.3g} rad"] if detector.field_of_view is not None else []
    return ", ".join([*parts, *(["no one hidden"] if detector.occlusion else [])])


def _learning_limits(sensors: Sensors) -> str:
    """Limits of the arrays of a learning environment: number of people, rays of the scan and size of the grid."""
    settings = sensors.extra.get("learning", {})
    parts = [f"exact states of {settings['rows']} people"] if "rows" in settings else []
    if isinstance(lidar := settings.get("lidar"), dict):
        parts.append(f"{lidar.get('rays')} rays")
    if isinstance(grid := settings.get("grid"), dict):
        parts.append("grid " + " × ".join(map(str, grid.get("size", ()))))
    return ", ".join(parts)
