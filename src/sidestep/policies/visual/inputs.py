"""All that a network is fed, by the name of the input: pictures, past positions and velocities, states, noise, and the
goal as a point, an image or an instruction. SidewalkBench, appendix A ("Models"): point goals are sampled at random
in the robot's frame, 5 to 20 m ahead and up to 5 m aside; image goals are random pictures; the instruction is
"Follow the sidewalk"; goal-free models get pictures only. How long a sampled point stays is not published. Here:
until it is passed (less than ``PASSED_M`` away, or behind the robot) or ``period_s`` is over. A random picture
stays for the episode.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from sidestep._util import exact
from sidestep._util.exact import cos, hypot, sin
from sidestep.policies.visual.memory import Memory, from_frame, into_frame
from sidestep.policies.visual.picture import as_dtype, picture_tensors, tensor_shape
from sidestep.policies.visual.spec import (
    Constant,
    Extra,
    GoalMask,
    GoalSpec,
    History,
    ImageSpec,
    Noise,
    PastPositions,
    PastVelocities,
    State,
    VisualSpec,
    to_axes,
)
from sidestep.types import Observation, RobotState
from sidestep.types.base import FloatArray, IntArray

GoalProtocol = Literal["paper", "true", "hidden"]
PROTOCOLS: tuple[GoalProtocol, ...] = ("paper", "true", "hidden")

AHEAD_M = (5.0, 20.0)
ASIDE_M = (-5.0, 5.0)
PASSED_M = 2.0
PERIOD_S = 10.0
"""Time after which a sampled point is replaced, s."""


class PointGoals:
    """Random points ahead, one after the other; fixed in the world while they last."""

    def __init__(self, seed: int, period_s: float = PERIOD_S) -> None:
        self._rng = np.random.default_rng([seed, 1])
        self._period_s = period_s
        self._point: FloatArray | None = None
        self._since = 0.0

    def current(self, robot: RobotState, time_s: float) -> FloatArray:
        """(2,) m, in the robot's frame."""
        if self._point is not None and time_s - self._since < self._period_s:
            ahead, left = into_frame(self._point[None], robot)[0].tolist()
            if ahead > 0.0 and hypot(ahead, left) >= PASSED_M:
                return np.array([ahead, left])
        drawn = np.array([self._rng.uniform(*AHEAD_M), self._rng.uniform(*ASIDE_M)])
        self._point, self._since = from_frame(drawn[None], robot)[0], time_s
        return drawn


def random_picture(seed: int, width: int, height: int) -> IntArray:
    """(height, width, 3) uint8: every channel of every pixel uniform."""
    return np.random.default_rng([seed, 2]).integers(0, 256, (height, width, 3), dtype=np.uint8)


def shortened(point: FloatArray, spec: GoalSpec) -> FloatArray:
    """The point, moved nearer if it is farther away than the network knows."""
    distance = float(exact.hypot(point[0], point[1]))
    if spec.farthest_m is not None and distance > spec.farthest_m:
        return point * (spec.farthest_m / distance)
    return point


def point_numbers(point: FloatArray, spec: GoalSpec, unit_m: float) -> FloatArray:
    """A point of the robot's frame (m) as the network wants it."""
    x, y = to_axes(shortened(point, spec)[None] / unit_m, spec.axes)[0].tolist()
    distance = hypot(x, y)
    direction = (x / distance, y / distance) if distance > 0.0 else (1.0, 0.0)
    match spec.encoding:
        case "xy":
            return np.array([x, y])
        case "polar":
            return np.array([distance, *direction])
        case "pose":
            return np.array([x, y, *direction])


def point_shape(spec: GoalSpec) -> tuple[int, ...]:
    """Shape of the tensor of a point goal."""
    return spec.shape or (1, {"xy": 2, "polar": 3, "pose": 4}[spec.encoding])


def goal_image_spec(spec: VisualSpec) -> ImageSpec:
    """An image goal is made like the picture, without a history."""
    width, height = spec.goal.width or spec.image.width, spec.goal.height or spec.image.height
    changes: dict[str, Any] = {"input": spec.goal.input, "copies": (), "width": width, "height": height}
    return spec.image.model_copy(update=changes | {"history": History(), "crop": None, "camera": None})


def text_tensor(spec: GoalSpec) -> Any:
    """The tensor of an instruction."""
    if spec.text_as == "string":
        return np.array([spec.text], dtype=object)
    numbers = list(spec.tokens) if spec.text_as == "tokens" else list(spec.text.encode("utf-8"))
    padded = (numbers + [0] * spec.text_length)[: spec.text_length]
    return np.array([padded], np.int64)


TEXT = "string"
"""Stands for the dtype of text tensors."""


def reach_s(spec: VisualSpec) -> float:
    """How far back the longest history goes, s."""
    spans = [(spec.image.history.frames - 1) * spec.image.spacing_s]
    for extra in spec.extra.values():
        if isinstance(extra, PastPositions | PastVelocities):
            spans.append((extra.count - 1) * extra.spacing_s)
    return max(spans)


def declared_inputs(spec: VisualSpec) -> dict[str, tuple[tuple[int, ...], str]]:
    """Shape and dtype of every input that the interface names."""
    inputs = {name: (tensor_shape(spec.image), str(spec.image.dtype)) for name in spec.image.names + spec.image.copies}
    goal = spec.goal
    if goal.kind == "point" and goal.input:
        inputs[goal.input] = (point_shape(goal), "float32")
    elif goal.kind == "image":
        inputs[goal.input] = (tensor_shape(goal_image_spec(spec)), str(spec.image.dtype))
    elif goal.kind == "language":
        inputs[goal.input] = ((1,), TEXT) if goal.text_as == "string" else ((1, goal.text_length), "int64")
    return inputs | {name: _extra_shape(extra) for name, extra in spec.extra.items()}


def _extra_shape(extra: Extra) -> tuple[tuple[int, ...], str]:
    match extra:
        case Constant():
            return extra.array().shape, extra.dtype
        case PastPositions():
            return (1, extra.count + extra.append_goal, 2), "float32"
        case PastVelocities():
            return (1, extra.count, 2), "float32"
        case GoalMask():
            return (1,), extra.dtype
        case Noise() | State():
            return extra.shape, extra.dtype


class InputMaker:
    """Makes the inputs of one episode."""

    def __init__(
        self, spec: VisualSpec, seed: int, top_speed: float, protocol: GoalProtocol, goal_period_s: float = PERIOD_S
    ) -> None:
        self._spec = spec
        self._protocol = protocol
        self._top_speed = spec.speed_mps or top_speed
        self._goals = PointGoals(seed, goal_period_s)
        self._rng = np.random.default_rng([seed, 3])
        self._fixed: dict[str, Any] = {
            name: extra.array() for name, extra in spec.extra.items() if isinstance(extra, Constant)
        }
        if spec.goal.kind == "image":
            size = goal_image_spec(spec)
            picture = random_picture(seed, size.width, size.height)
            self._fixed[spec.goal.input] = picture_tensors([picture], size)[spec.goal.input]
        elif spec.goal.kind == "language":
            self._fixed[spec.goal.input] = text_tensor(spec.goal)
        self._states: dict[str, Any] = {
            name: np.zeros(extra.shape, extra.dtype) for name, extra in spec.extra.items() if isinstance(extra, State)
        }

    def make(self, memory: Memory, observation: Observation) -> dict[str, Any]:
        """The inputs of a decision now."""
        image, spec = self._spec.image, self._spec
        frames = memory.history(image.history.frames, image.spacing_s)
        repeat = image.history.before_start == "repeat"
        pictures = [
            frame.picture if frame is not None else memory.first.picture if repeat else None for frame in frames
        ]
        inputs = picture_tensors(pictures, image) | self._fixed | self._states
        point = self._point(observation) if spec.goal.kind == "point" else np.zeros(2)
        if spec.goal.kind == "point" and spec.goal.input:
            numbers = point_numbers(point, spec.goal, spec.goal.length.in_metres(self._top_speed, image.rate_hz))
            inputs[spec.goal.input] = numbers.astype(np.float32).reshape(point_shape(spec.goal))
        for name, extra in spec.extra.items():
            match extra:
                case PastPositions():
                    inputs[name] = self._positions(extra, memory, point)
                case PastVelocities():
                    inputs[name] = _velocities(extra, memory)
                case Noise():
                    inputs[name] = as_dtype(self._rng.standard_normal(extra.shape), extra.dtype)
                case GoalMask():
                    value = extra.hidden if self._protocol == "hidden" else extra.given
                    inputs[name] = np.full(1, value, extra.dtype)
                case Constant() | State():
                    pass
        return inputs

    def keep(self, outputs: dict[str, Any]) -> None:
        """Remember the outputs that are inputs of the next decision."""
        for name, extra in self._spec.extra.items():
            if isinstance(extra, State):
                new = np.asarray(outputs[extra.output]).astype(extra.dtype)
                if extra.shift:
                    new = np.concatenate([self._states[name][:, 1:], new.reshape(1, 1, *extra.shape[2:])], axis=1)
                self._states[name] = np.ascontiguousarray(new.reshape(extra.shape))

    def _point(self, observation: Observation) -> FloatArray:
        if self._protocol == "hidden":
            return np.zeros(2)
        if self._protocol == "true":
            assert observation.goal is not None
            goal: FloatArray = into_frame(np.array([observation.goal]), observation.robot)[0]
            return goal
        return self._goals.current(observation.robot, observation.time)

    def _positions(self, extra: PastPositions, memory: Memory, goal: FloatArray) -> Any:
        robots = [(frame or memory.first).robot for frame in memory.history(extra.count, extra.spacing_s)]
        points = into_frame(np.array([[robot.x, robot.y] for robot in robots]), memory.now.robot)
        if extra.append_goal:
            points = np.vstack([points, shortened(goal, self._spec.goal)])
        unit = extra.length.in_metres(self._top_speed, self._spec.image.rate_hz)
        return to_axes(points / unit, extra.axes).astype(np.float32)[None]


def _velocities(extra: PastVelocities, memory: Memory) -> Any:
    robots = [(frame or memory.first).robot for frame in memory.history(extra.count, extra.spacing_s)]
    ahead = [robot.vx * cos(robot.heading) + robot.vy * sin(robot.heading) for robot in robots]
    return np.array([[v, robot.omega] for v, robot in zip(ahead, robots, strict=True)], np.float32)[None]
