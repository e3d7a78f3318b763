"""What a network is told of its goal: nothing that gives the way away, or the truth.

SidewalkBench, appendix A ("Models"): point goals are drawn at random in the robot's frame, 5 to 20 m ahead and up to
5 m aside; image goals are random pictures; the instruction is "Follow the sidewalk"; goal-free models get pictures
only. How long a drawn point stays is not published. Here: until it is passed (less than ``PASSED_M`` away, or behind
the robot) or ``period_s`` is over. A random picture stays for the episode.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from sidestep import exact
from sidestep.exact import hypot
from sidestep.policies.visual.memory import from_frame, into_frame
from sidestep.policies.visual.picture import picture_tensors
from sidestep.policies.visual.spec import GoalSpec, History, ImageSpec, VisualSpec, to_axes
from sidestep.types import RobotState
from sidestep.types.base import FloatArray, IntArray

Protocol = Literal["paper", "true", "hidden"]
PROTOCOLS: tuple[Protocol, ...] = ("paper", "true", "hidden")

AHEAD_M = (5.0, 20.0)
ASIDE_M = (-5.0, 5.0)
PASSED_M = 2.0
PERIOD_S = 10.0
"""A drawn point is given up after so long, s."""


class PointGoals:
    """Random points on the way, one after the other; fixed in the world while they last."""

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


def noise_picture(seed: int, width: int, height: int) -> IntArray:
    """(height, width, 3) uint8: every channel of every pixel uniform."""
    return np.random.default_rng([seed, 2]).integers(0, 256, (height, width, 3), dtype=np.uint8)


def shortened(point: FloatArray, spec: GoalSpec) -> FloatArray:
    """The point, drawn nearer if it is farther than the network knows."""
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


def image_tensor(picture: IntArray, spec: VisualSpec) -> Any:
    """The tensor of an image goal."""
    return picture_tensors([picture], goal_image_spec(spec))[spec.goal.input]


def text_tensor(spec: GoalSpec) -> Any:
    """The tensor of an instruction."""
    if spec.text_as == "string":
        return np.array([spec.text], dtype=object)
    numbers = list(spec.tokens) if spec.text_as == "tokens" else list(spec.text.encode("utf-8"))
    padded = (numbers + [0] * spec.text_length)[: spec.text_length]
    return np.array([padded], np.int64)
