"""Messages between the benchmark and a guest: both sides get objects that are equal to the bit and never shared.

Arrays are sent as bytes, so that they cannot be written to.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from math import isfinite
from typing import Any

import numpy as np

from sidestep.errors import BadInput, printable
from sidestep.interfaces import Policy
from sidestep.runs.remote.messages import SCENE_ARRAYS, observation_message, pack_array
from sidestep.runs.remote.messages import task_message as remote_task_message
from sidestep.runs.remote.wire import Garbled, Message
from sidestep.types import CompiledScene, Observation, Pedestrians, RobotSpec, RobotState, SceneSpec, Task, Vehicles
from sidestep.types.observation import Future, LidarScan, PointScan
from sidestep.types.record import MOST_PLAN_POINTS
from sidestep.types.sensors import CameraSettings

PICTURES = ("rgb", "depth", "semantic")
MAX_SETTINGS_CHARACTERS = 60_000
"""Largest length of a policy's settings as JSON, characters."""
MOST_FORECASTS = 500
MAX_SETTINGS_DEPTH = 8


def unpack_array(message: Message) -> Any:
    """Decode an array; the result is read-only."""
    return np.frombuffer(message["data"], message["dtype"]).reshape(message["shape"])


# the task


def task_message(task: Task) -> Message:
    """The task that is passed to ``reset``. Robot and scene are sent as they were given, so that they compare equal."""
    return remote_task_message(replace(task, map=None), binary=True) | {
        "robot": task.robot.model_dump(mode="json", exclude_unset=True),
        "map": None if task.map is None else _scene_message(task.map),
    }


def task_of(message: Message) -> Task:
    """Decode a task."""
    goal, scene, route, future = (message[name] for name in ("goal", "map", "route", "future"))
    return Task(
        robot=RobotSpec.model_validate(message["robot"]),
        start=tuple(message["start"]),
        step_s=message["step_s"],
        time_limit_s=message["time_limit_s"],
        goal_radius_m=message["goal_radius_m"],
        goal=None if goal is None else (goal[0], goal[1]),
        map=None if scene is None else _scene_of(scene),
        route=None if route is None else unpack_array(route),
        seed=message["seed"],
        future=None
        if future is None
        else Future(unpack_array(future["position"]), unpack_array(future["radius"]), future["step_s"]),
    )


def _scene_message(scene: CompiledScene) -> Message:
    """The message for a scene; the distance field is sent if it is already known (see ``compile_scene``)."""
    return {
        "spec": scene.spec.model_dump(mode="json", exclude_unset=True),
        "bounds": [float(value) for value in scene.bounds],
        "arrays": {name: pack_array(getattr(scene, name), binary=True) for name in SCENE_ARRAYS},
        "distance": pack_array(scene.distance, binary=True) if scene.distance_is_known else None,
        "distance_origin": [float(value) for value in scene.distance_origin],
        "distance_cell": float(scene.distance_cell),
    }


def _scene_of(message: Message) -> CompiledScene:
    spec = SceneSpec.model_validate(message["spec"])
    bounds = tuple(message["bounds"])
    arrays = {name: unpack_array(message["arrays"][name]) for name in SCENE_ARRAYS}
    distance = message["distance"]

    def make_distance() -> Any:
        if distance is not None:
            return unpack_array(distance)
        from sidestep.scenes.distance_field import distance_field  # large scenes only: it brings much along

        points = arrays["wall_points"].astype(np.float64)
        segments = np.concatenate([points, points[arrays["wall_next"]]], axis=1)
        values = distance_field(segments, spec.enclosed, bounds).values
        values.flags.writeable = False
        return values

    origin = message["distance_origin"]
    return CompiledScene(
        spec=spec,
        bounds=bounds,
        **arrays,
        make_distance=make_distance,
        distance_origin=(origin[0], origin[1]),
        distance_cell=message["distance_cell"],
    )


# observations


class ObservationSender:
    """Turns the observations of one episode into messages; only new entries of the history are sent."""

    def __init__(self) -> None:
        self._sent: tuple[Pedestrians, ...] = ()

    def message(self, observation: Observation) -> Message:
        """The message for the next observation."""
        history = observation.history
        if history is None:
            return observation_message(observation, binary=True)
        known = {id(people) for people in self._sent}
        message = observation_message(
            replace(observation, history=tuple(people for people in history if id(people) not in known)), binary=True
        )
        self._sent = history
        return {**message, "history_length": len(history)}


class ObservationReceiver:
    """Turns the messages of an ``ObservationSender`` into observations."""

    def __init__(self) -> None:
        self._history: deque[Pedestrians] = deque()

    def observation(self, message: Message) -> Observation:
        """Decode an observation."""
        goal, people, scan, points = (message.get(name) for name in ("goal", "pedestrians", "lidar", "points"))
        return Observation(
            time=message["time"],
            robot=RobotState(**message["robot"]),
            goal=None if goal is None else (goal[0], goal[1]),
            pedestrians=None if people is None else _people_of(people),
            vehicles=_vehicles_of(message["vehicles"]) if "vehicles" in message else None,
            lidar=None if scan is None else LidarScan(**{**scan, "ranges": unpack_array(scan["ranges"])}),
            history=self._past(message) if "history" in message else None,
            **{name: unpack_array(message[name]) for name in PICTURES if name in message},
            picture_time=message.get("picture_time"),
            points=None if points is None else _points_of(points),
            signals=message.get("signals"),
            extra=_extra_of(message.get("extra")),
        )

    def _past(self, message: Message) -> tuple[Pedestrians, ...]:
        self._history.extend(_people_of(people) for people in message["history"])
        while len(self._history) > message["history_length"]:
            self._history.popleft()
        return tuple(self._history)


def _extra_of(value: Any) -> Any:
    """Decode the readings of plug-in sensors; lists become tuples."""
    if isinstance(value, dict):
        if value.keys() == {"dtype", "shape", "data"}:
            return unpack_array(value)
        return {key: _extra_of(item) for key, item in value.items()}
    return tuple(_extra_of(item) for item in value) if isinstance(value, list) else value


def _people_of(message: Message) -> Pedestrians:
    return Pedestrians(**{name: unpack_array(value) for name, value in message.items()})


def _vehicles_of(message: Message) -> Vehicles:
    arrays = {name: unpack_array(value) for name, value in message.items() if name != "kind"}
    return Vehicles(kind=tuple(message["kind"]), **arrays)


def _points_of(message: Message) -> PointScan:
    fields = {name: unpack_array(value) if isinstance(value, dict) else value for name, value in message.items()}
    x, y, z = fields.pop("origin")
    return PointScan(**fields, origin=(x, y, z))


# plans


def plans_message(policy: Policy) -> Message:
    """The message for what a policy publishes (``interfaces.Policy``); invalid parts are left out."""
    try:
        plan, forecast = policy.plan, policy.forecast
        if plan is None and forecast is None:
            return {}
        message: Message = {"plan_step_s": np.float64(policy.plan_step_s or 0.0).tobytes()}
    except Exception:
        return {}
    try:
        message["plan"] = pack_array(np.asarray(plan, np.float64)[:MOST_PLAN_POINTS], binary=True)
    except Exception:
        message["plan"] = None
    try:
        ids, positions = np.asarray(forecast[0], np.int64), np.asarray(forecast[1], np.float64)
        message["forecast"] = [
            pack_array(ids[:MOST_FORECASTS], binary=True),
            pack_array(positions[:MOST_FORECASTS, :MOST_PLAN_POINTS], binary=True),
        ]
    except Exception:
        message["forecast"] = None
    return message


def plans_of(message: Message) -> tuple[Any, Any, float | None]:
    """``plan``, ``forecast`` and ``plan_step_s`` of the policy; None for parts that it does not publish."""
    try:
        if "plan_step_s" not in message:
            return None, None, None
        step_s = float(np.frombuffer(message["plan_step_s"], "<f8")[0])
        plan, forecast = message["plan"], message["forecast"]
        where = None if plan is None else _numbers(plan)
        others = None if forecast is None else (_numbers(forecast[0]), _numbers(forecast[1]))
    except Exception:  # plans are only displayed
        return None, None, None
    return where, others, step_s


def _numbers(message: Message) -> Any:
    if message["dtype"] not in ("<f8", "<i8"):
        raise Garbled(f"an array of {message['dtype']!r:.20}")
    return unpack_array(message)


# settings


def as_plain_data(value: Any, depth: int = 0) -> Any:
    """Settings as JSON data; other objects become text, since a record only displays them."""
    if value is None or isinstance(value, bool):
        return value
    if type(value) is int and -(2**63) <= value < 2**63:
        return value
    if type(value) is float and isfinite(value):
        return value
    if isinstance(value, str):
        return printable(str(value))
    if depth < MAX_SETTINGS_DEPTH:
        if isinstance(value, Mapping):
            return {printable(str(key), 200): as_plain_data(item, depth + 1) for key, item in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return [as_plain_data(item, depth + 1) for item in value]
        if isinstance(value, np.generic | np.ndarray):
            return as_plain_data(value.tolist(), depth + 1)
    try:
        return printable(str(value), 200)
    except Exception:
        return printable(type(value).__name__, 200)


def plain_settings(settings: Any) -> dict[str, Any]:
    """The settings that a policy declares, as JSON data."""
    if not isinstance(settings, Mapping):
        return {}
    try:
        found: dict[str, Any] = as_plain_data(settings)
        return found if len(json.dumps(found)) <= MAX_SETTINGS_CHARACTERS else {"settings": "too large to be shown"}
    except Exception:
        return {"settings": "cannot be shown"}


def camera_message(camera: Any) -> Any:
    """``Policy.camera``, in any of its forms, as JSON data."""
    if isinstance(camera, CameraSettings):
        return camera.model_dump(mode="json", exclude_unset=True)
    if isinstance(camera, str | None):
        return camera
    if isinstance(camera, Mapping):
        return as_plain_data(camera)
    raise BadInput(f"camera must be settings of a camera or the name of a preset, got {type(camera).__name__}")


def check_settings(name: str, settings: Mapping[str, Any]) -> None:
    """Raise ``BadInput`` unless the settings of a policy are plain data that can be written to a file."""
    for key, value in settings.items():
        try:
            json.dumps({key: value}, ensure_ascii=False).encode()
        except (TypeError, ValueError, RecursionError):
            raise BadInput(
                f"policy {name!r}: setting {key!r} has the type {type(value).__name__}; settings of a run must be "
                "text, numbers, lists or maps. A policy created in Python accepts any object: "
                "sidestep.simulation.run_episode(scenario, MyPolicy(...))"
            ) from None
