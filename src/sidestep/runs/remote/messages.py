"""Messages of the protocol: tasks and observations as plain maps, commands read from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sidestep import registry
from sidestep.errors import BadInput, did_you_mean
from sidestep.runs.remote.wire import Garbled, Message, Refused
from sidestep.types import (
    Command,
    Drive,
    HolonomicVelocity,
    Native,
    Observation,
    Pedestrians,
    Position,
    Task,
    Vehicles,
    Velocity,
)
from sidestep.types import Waypoints as WaypointsCommand
from sidestep.types.command import MOST_WAYPOINTS
from sidestep.types.observation import NEEDS, PointScan
from sidestep.types.robot import RobotSpec
from sidestep.types.scene import CompiledScene

COMMANDS: dict[str, tuple[type, int]] = {
    "velocity": (Velocity, 2),
    "holonomic_velocity": (HolonomicVelocity, 2),
    "position": (Position, 2),
    "drive": (Drive, 3),
    "native": (Native, 2),
}
SCENE_ARRAYS = (
    "wall_points", "wall_dirs", "wall_next", "wall_prev", "wall_convex", "cell_start", "cell_items", "grid",
    "grid_shape",
)  # fmt: skip
"""Arrays of a compiled scene that are sent, with ``distance``, only to policies that read binary arrays."""
DYNAMICS = ("holonomic", "unicycle", "bicycle")


@dataclass(frozen=True)
class Introduction:
    """What a policy declares about itself."""

    name: str
    needs: frozenset[str]
    dynamics: str | None = None
    version: str = ""
    binary: bool = False
    """Whether arrays are sent as bytes with a type and a shape, rather than as lists."""
    settings: dict[str, Any] = field(default_factory=dict)
    camera: dict[str, Any] | str | None = None
    """Its camera settings; checked where the scenario's settings are known."""
    sensor_settings: dict[str, dict[str, Any]] = field(default_factory=dict)
    resources: dict[str, Any] = field(default_factory=dict)
    """CPUs and GPUs that it requests on a cluster; checked where a run is planned."""


def read_introduction(hello: Message) -> Introduction:
    """Read the policy's hello; raises ``Refused`` with the reason if it is invalid."""
    name = hello.get("name")
    if not isinstance(name, str) or not 0 < len(name) <= 64 or not all(c.isalnum() or c in "_.+-" for c in name):
        raise Refused(f"a policy's name is 1 to 64 letters, digits or _ . + -; got {name!r:.80}")
    needs = hello.get("needs")
    if not isinstance(needs, list) or not all(isinstance(need, str) for need in needs):
        raise Refused("the hello must say what the policy needs: a list such as ['goal', 'pedestrians']")
    for need in needs:
        if need not in NEEDS and need not in registry.known_needs():
            raise Refused(
                f"the policy needs {need!r:.40}, which is unknown{did_you_mean(need[:40], registry.known_needs())}"
            )
    dynamics = hello.get("dynamics")
    if dynamics is not None and dynamics not in DYNAMICS:
        raise Refused(f"the policy's dynamics are {dynamics!r:.40}; known are {', '.join(DYNAMICS)}")
    arrays = hello.get("arrays", "list")
    if arrays not in ("list", "binary"):
        raise Refused(f"arrays must be 'list' or 'binary', got {arrays!r:.40}")
    settings = hello.get("settings", {})
    if not isinstance(settings, dict):
        raise Refused("settings must be a map")
    camera = hello.get("camera")
    if camera is not None and not isinstance(camera, dict | str):
        raise Refused("camera must be a map of camera settings or the name of a preset")
    sensors = hello.get("sensor_settings", {})
    if not isinstance(sensors, dict) or not all(isinstance(value, dict) for value in sensors.values()):
        raise Refused("sensor_settings must be a map from a need to a map of its settings")
    resources = hello.get("resources", {})
    if not isinstance(resources, dict):
        raise Refused("resources must be a map such as {cpu: 1, gpu: 0}")
    version = str(hello.get("version", ""))[:100]
    said = (settings, camera, sensors, resources)
    return Introduction(name, frozenset(needs), dynamics, version, arrays == "binary", *said)


def read_command(message: Message) -> Command:
    """Read the command in an ``act`` message; raises ``Garbled`` if it is invalid."""
    kind, values = message.get("command"), message.get("values")
    if not isinstance(values, list):
        raise Garbled(f"values of an act must be a list, got {type(values).__name__}")
    if kind == "waypoints":
        if not 0 < len(values) <= MOST_WAYPOINTS or not all(_is_numbers(point, 2) for point in values):
            raise Garbled(f"waypoints are 1 to {MOST_WAYPOINTS} pairs of numbers")
        return WaypointsCommand(np.array(values, dtype=np.float64))
    if not isinstance(kind, str) or kind not in COMMANDS:
        raise Garbled(f"unknown command {kind!r:.40}{did_you_mean(str(kind)[:40], [*COMMANDS, 'waypoints'])}")
    make, count = COMMANDS[kind]
    if not _is_numbers(values, count):
        raise Garbled(f"a command {kind!r} has {count} numbers, got {values!r:.80}")
    command: Command = make(*(float(value) for value in values))
    return command


def _is_numbers(values: Any, count: int) -> bool:
    return (
        isinstance(values, list)
        and len(values) == count
        and all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    )


def task_message(task: Task, binary: bool) -> Message:
    """The message for a task, with exactly what ``Policy.reset`` gets."""
    return {
        "robot": _robot(task.robot),
        "start": [float(value) for value in task.start],
        "step_s": task.step_s,
        "time_limit_s": task.time_limit_s,
        "goal_radius_m": task.goal_radius_m,
        "seed": task.seed,
        "goal": None if task.goal is None else [float(value) for value in task.goal],
        "map": None if task.map is None else _map(task.map, binary),
        "route": None if task.route is None else pack_array(np.asarray(task.route), binary),
        "future": None
        if task.future is None
        else {
            "position": pack_array(task.future.position, binary),
            "radius": pack_array(task.future.radius, binary),
            "step_s": task.future.step_s,
        },
    }


def observation_message(observation: Observation, binary: bool) -> Message:
    """The message for an observation. Parts that the policy does not need are absent, not null."""
    robot = observation.robot
    message: Message = {
        "time": observation.time,
        "robot": {
            "x": robot.x, "y": robot.y, "heading": robot.heading, "vx": robot.vx, "vy": robot.vy, "omega": robot.omega,
        },
    }  # fmt: skip
    if observation.goal is not None:
        message["goal"] = [float(value) for value in observation.goal]
    if observation.pedestrians is not None:
        message["pedestrians"] = _pedestrians(observation.pedestrians, binary)
    if observation.vehicles is not None:
        fields = {name: getattr(observation.vehicles, name) for name in Vehicles.__slots__ if name != "kind"}
        message["vehicles"] = {name: pack_array(value, binary) for name, value in fields.items()}
        message["vehicles"]["kind"] = list(observation.vehicles.kind)
    if observation.history is not None:
        message["history"] = [_pedestrians(people, binary) for people in observation.history]
    if observation.lidar is not None:
        scan = observation.lidar
        message["lidar"] = {
            "ranges": pack_array(scan.ranges, binary),
            "angle_min": scan.angle_min,
            "angle_increment": scan.angle_increment,
            "max_range": scan.max_range,
        }
    for name in ("rgb", "depth", "semantic"):
        picture = getattr(observation, name)
        if picture is not None:
            message[name] = pack_array(picture, binary=True)
    if observation.picture_time is not None:
        message["picture_time"] = observation.picture_time
    if observation.points is not None:
        message["points"] = _points(observation.points, binary)
    if observation.signals is not None:
        message["signals"] = dict(observation.signals)
    if observation.extra:
        message["extra"] = {name: _plain(value, binary, name) for name, value in observation.extra.items()}
    return message


def _plain(value: Any, binary: bool, sensor: str) -> Any:
    """The reading of a plug-in sensor as plain data."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return pack_array(value, binary)
    if isinstance(value, np.generic) and value.dtype.kind in "biuf":
        return value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: _plain(item, binary, sensor) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, binary, sensor) for item in value]
    raise BadInput(
        f"sensor {sensor!r} returns a value of type {type(value).__name__}, which cannot be sent to a policy in "
        "another process; return arrays of numbers, numbers, text, and lists and maps of those"
    )


def pack_array(values: Any, binary: bool) -> Any:
    """Nested lists, or little-endian bytes in C order with a type and a shape."""
    array = np.asarray(values)
    if not binary:
        return array.tolist()
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    return {"dtype": little.dtype.str.replace("|", "<"), "shape": list(array.shape), "data": little.tobytes()}


def _pedestrians(people: Pedestrians, binary: bool) -> Message:
    names = ("id", "position", "velocity", "heading", "radius", "group", "gesture", "gaze")
    values = {name: getattr(people, name) for name in names}
    return {name: pack_array(value, binary) for name, value in values.items() if value is not None}


def _points(scan: PointScan, binary: bool) -> Message:
    message: Message = {
        name: pack_array(getattr(scan, name), binary) for name in ("ranges", "elevation", "azimuth", "turn")
    }
    message |= {"max_range": scan.max_range, "origin": [float(value) for value in scan.origin]}
    if scan.semantic is not None:
        message["semantic"] = pack_array(scan.semantic, binary)
    return message


def _robot(spec: RobotSpec) -> Message:
    message: Message = spec.model_dump(mode="json")
    message["footprint"]["enclosing_radius"] = spec.footprint.enclosing_radius
    return message


def _map(scene: CompiledScene, binary: bool) -> Message:
    """The message for a scene: bounds and wall edges for all policies, all arrays for those that read binary arrays."""
    message: Message = {
        "name": scene.spec.name,
        "bounds": [float(value) for value in scene.bounds],
        "segments": pack_array(scene.segments, binary),
    }
    if binary:
        message |= {name: pack_array(getattr(scene, name), binary) for name in (*SCENE_ARRAYS, "distance")}
        message["distance_origin"] = [float(value) for value in scene.distance_origin]
        message["distance_cell"] = float(scene.distance_cell)
        message["spec"] = scene.spec.model_dump(mode="json")
    return message
