"""The interface of a visual navigation network: what goes in, what comes out, in which units and frames."""

from __future__ import annotations

from math import pi
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, model_validator

from sidestep._util import exact
from sidestep.types.base import Finite, FloatArray, Model, Positive

Count = Annotated[int, Field(ge=1, le=4096)]
Dtype = Literal["float32", "float16", "float64", "uint8", "int32", "int64", "bool"]
Axes = Literal["ahead_left", "ahead_right", "right_ahead"]
"""What the two numbers of a point mean. The simulator's own is ``ahead_left``."""

_TO_AHEAD_LEFT: dict[str, FloatArray] = {
    "ahead_left": np.array([[1.0, 0.0], [0.0, 1.0]]),
    "ahead_right": np.array([[1.0, 0.0], [0.0, -1.0]]),
    "right_ahead": np.array([[0.0, 1.0], [-1.0, 0.0]]),
}


class Length(Model):
    """Length of the number 1: ``metres``, times the distance of one step at top speed if ``per`` is ``step``."""

    metres: Positive = 1.0
    per: Literal["metre", "step"] = "metre"
    """``step``: top speed ÷ picture rate, as models that are trained on normalised waypoints have it."""

    def in_metres(self, top_speed: float, rate_hz: float) -> float:
        """Metres that the number 1 stands for."""
        return self.metres * (top_speed / rate_hz if self.per == "step" else 1.0)


class History(Model):
    """Pictures from before, the present one counted."""

    frames: Count = 1
    spacing_s: Positive | None = None
    """Time between two of them, s; None: the time between two decisions."""
    stack: Literal["channels", "time", "batch", "separate"] = "channels"
    """``channels``: (1, frames · C, H, W). ``time``: (1, frames, C, H, W). ``batch``: (frames, C, H, W). ``separate``:
    one input per picture, called ``input`` with {} replaced by 0 (the first in ``order``), 1, …"""
    order: Literal["oldest_first", "newest_first"] = "oldest_first"
    before_start: Literal["repeat", "zero"] = "repeat"
    """Replacement for pictures from before the episode: the first one, or zeros after normalisation."""


class CameraSpec(Model):
    """The camera that the policy wishes for."""

    width: Count
    height: Count
    field_of_view: Annotated[float, Field(gt=0, le=140 * pi / 180)] = pi / 2
    """Horizontal, rad."""
    pitch: Finite = 0.0
    """Up is positive, rad."""
    mount: tuple[Finite, Finite, Positive] | None = None


class ImageSpec(Model):
    """The picture input: value = (pixel · ``scale`` − ``mean``) / ``std``, per channel."""

    input: str = "image"
    copies: tuple[str, ...] = ()
    """More inputs that get the same tensor."""
    width: Count
    height: Count
    """Height of the picture that the network gets."""
    rate_hz: Positive
    """Decisions, and pictures, per second."""
    field_of_view: Annotated[float, Field(gt=0, le=140 * pi / 180)] = pi / 2
    camera: CameraSpec | None = None
    """None: a camera of just this size and field of view."""
    crop: tuple[Count, Count] | None = None
    """Width and height of the middle of the camera's picture that is kept, before it is resized."""
    colour: Literal["rgb", "bgr", "grey", "yuv420"] = "rgb"
    """``yuv420``: six channels of half the size: Y at even/odd rows and columns, U, V."""
    layout: Literal["nchw", "nhwc"] = "nchw"
    dtype: Dtype = "float32"
    scale: Positive = 1.0 / 255.0
    mean: tuple[Finite, ...] = (0.0,)
    std: tuple[Positive, ...] = (1.0,)
    history: History = Field(default_factory=History)

    @property
    def wished_camera(self) -> CameraSpec:
        """The camera whose picture this is made of."""
        return self.camera or CameraSpec(width=self.width, height=self.height, field_of_view=self.field_of_view)

    @property
    def channels(self) -> int:
        """Number of channels of one picture."""
        return {"rgb": 3, "bgr": 3, "grey": 1, "yuv420": 6}[self.colour]

    @property
    def spacing_s(self) -> float:
        """Time between two pictures of the history, s."""
        return self.history.spacing_s or 1.0 / self.rate_hz

    @property
    def names(self) -> tuple[str, ...]:
        """The inputs, one per picture where they are separate."""
        if self.history.stack != "separate":
            return (self.input,)
        return tuple(self.input.replace("{}", str(k)) for k in range(self.history.frames))

    @model_validator(mode="after")
    def _check(self) -> ImageSpec:
        for name, values in (("mean", self.mean), ("std", self.std)):
            if len(values) not in (1, self.channels):
                raise ValueError(f"{name} has {len(values)} values; give 1 or {self.channels}, one per channel")
        if self.colour == "yuv420" and (self.width % 2 or self.height % 2):
            raise ValueError("yuv420 needs an even width and height")
        if self.history.stack == "separate" and self.history.frames > 1 and "{}" not in self.input:
            raise ValueError("separate pictures need {} in the input's name, such as image_{}")
        if self.history.stack == "separate" and self.copies:
            raise ValueError("copies and separate pictures do not go together")
        camera = self.wished_camera
        if self.crop is not None and (self.crop[0] > camera.width or self.crop[1] > camera.height):
            raise ValueError(f"crop {self.crop} is larger than the camera's {camera.width} × {camera.height}")
        return self


class GoalSpec(Model):
    """The goal input."""

    kind: Literal["none", "point", "image", "language"] = "none"
    input: str = ""
    """Empty for a point that goes in with the past positions (``append_goal``)."""
    encoding: Literal["xy", "polar", "pose"] = "xy"
    """Numbers of a point: (x, y), (distance, cos, sin of its direction), or (x, y, cos, sin of the direction from
    here)."""
    axes: Axes = "ahead_left"
    length: Length = Field(default_factory=Length)
    farthest_m: Positive | None = None
    """A point farther away is moved to this distance, m."""
    shape: tuple[Count, ...] | None = None
    """Shape of a point's tensor; None: (1, numbers)."""
    width: Count | None = None
    height: Count | None = None
    """Height of an image; None: that of the picture."""
    text: str = "Follow the sidewalk"
    text_as: Literal["string", "utf8", "tokens"] = "string"
    """``string``: a tensor (1,) of text. ``utf8``: bytes, filled up with zeros, (1, ``text_length``) int64. ``tokens``:
    the numbers in ``tokens``, likewise."""
    text_length: Count = 128
    tokens: tuple[int, ...] = ()

    @model_validator(mode="after")
    def _check(self) -> GoalSpec:
        if self.kind in ("image", "language") and not self.input:
            raise ValueError(f"a goal of kind {self.kind} needs the name of its input")
        if self.kind == "language" and self.text_as == "tokens" and not 1 <= len(self.tokens) <= self.text_length:
            raise ValueError(f"text_as tokens needs 1 to {self.text_length} tokens, got {len(self.tokens)}")
        return self


class Constant(Model):
    """A tensor that never changes."""

    kind: Literal["constant"]
    value: float | tuple[Any, ...] = 0.0
    """A number for all elements, or nested lists."""
    shape: tuple[Count, ...] | None = None
    dtype: Dtype = "float32"

    def array(self) -> Any:
        """The tensor."""
        value = np.asarray(self.value, dtype=self.dtype)
        return value if self.shape is None else np.ascontiguousarray(np.broadcast_to(value, self.shape))

    @model_validator(mode="after")
    def _check(self) -> Constant:
        try:
            self.array()
        except (ValueError, TypeError) as error:
            raise ValueError(f"the value does not make a tensor of shape {self.shape}: {error}") from None
        return self


class PastPositions(Model):
    """Where the robot was, in its present frame: (1, count (+ 1), 2), oldest first, the present (0, 0) counted."""

    kind: Literal["past_positions"]
    count: Count
    spacing_s: Positive
    axes: Axes = "ahead_left"
    length: Length = Field(default_factory=Length)
    append_goal: bool = False
    """The point goal follows as the last row."""


class PastVelocities(Model):
    """Forward speed (m/s) and turn rate (rad/s) as measured: (1, count, 2), oldest first, the present ones counted."""

    kind: Literal["past_velocities"]
    count: Count = 1
    spacing_s: Positive = 0.1


class Noise(Model):
    """Standard normal numbers, new ones for every decision, from the task's seed."""

    kind: Literal["noise"]
    shape: tuple[Count, ...]
    dtype: Dtype = "float32"


class GoalMask(Model):
    """(1,): whether the network takes the goal into account."""

    kind: Literal["goal_mask"]
    given: float = 0.0
    hidden: float = 1.0
    dtype: Dtype = "int64"


class State(Model):
    """An output of the last decision as an input of this one; zeros at first."""

    kind: Literal["state"]
    output: str
    shape: tuple[Count, ...]
    shift: bool = False
    """The input keeps the last outputs: (1, T, …) moves on by one and the new output (1, …) becomes the last."""
    dtype: Dtype = "float32"


Extra = Annotated[Constant | PastPositions | PastVelocities | Noise | GoalMask | State, Field(discriminator="kind")]


class Points(Model):
    """How numbers become points: columns, frame, unit, and whether they are steps to be added up."""

    points: Count
    columns: tuple[int, int] = (0, 1)
    """Which numbers of a point are its coordinates; what else there is (heading, speed) is not used."""
    axes: Axes = "ahead_left"
    length: Length = Field(default_factory=Length)
    deltas: bool = False
    """Each is the step from the one before."""
    track: int | None = None
    """Number of the point that the controller heads for, first is 0; None: follows all."""
    interval_s: Positive | None = None
    """Time between two points, s; for the controller ``timed``."""

    @model_validator(mode="after")
    def _check_track(self) -> Points:
        if self.track is not None and not 0 <= self.track < self.points:
            raise ValueError(f"track is {self.track}; with {self.points} points it is 0 to {self.points - 1}")
        if min(self.columns) < 0:
            raise ValueError("columns are counted from 0")
        return self


class WaypointOutput(Points):
    """One trajectory, (1, points, numbers)."""

    kind: Literal["waypoints"]
    output: str = "waypoints"


class ClassOutput(Points):
    """Scores of C trajectories, (1, C); the best is driven."""

    kind: Literal["classes"]
    scores: str = "scores"
    output: str | None = None
    """The trajectories, (1, C, points, numbers); None: they are ``anchors``."""
    anchors: tuple[tuple[tuple[Finite, Finite], ...], ...] | None = None

    @model_validator(mode="after")
    def _check_anchors(self) -> ClassOutput:
        if (self.output is None) == (self.anchors is None):
            raise ValueError("trajectory classes need either an output that holds the trajectories or anchors")
        if self.anchors is not None and any(len(anchor) != self.points for anchor in self.anchors):
            raise ValueError(f"every anchor must have {self.points} points")
        return self


class VelocityOutput(Model):
    """Forward speed and turn rate, (1, 2) or (1, steps, 2)."""

    kind: Literal["velocities"]
    output: str = "velocity"
    columns: tuple[int, int] = (0, 1)
    step: Annotated[int, Field(ge=0)] = 0
    speed_mps: Positive = 1.0
    """Speed that the number 1 stands for."""
    turn_rate: Finite = 1.0
    """Turn rate that the number 1 stands for, rad/s, counter-clockwise."""


class DiffusionOutput(Points):
    """Trajectories from noise: the network is asked ``steps`` times, (samples, points, 2) in and out."""

    kind: Literal["diffusion"]
    sample: str = "sample"
    timestep: str = "timestep"
    timestep_shape: Literal["scalar", "one", "samples"] = "one"
    timestep_dtype: Dtype = "int64"
    output: str = "noise"
    steps: Annotated[int, Field(ge=1, le=1000)] = 10
    predicts: Literal["noise", "sample", "velocity"] = "noise"
    """DDPM for the first two; ``velocity``: flow matching, Euler steps from 0 to 1."""
    clip: Positive | None = 1.0
    samples: Count = 1
    choose: Literal["first", "mean"] = "first"
    low: tuple[Finite, Finite] | None = None
    high: tuple[Finite, Finite] | None = None
    """Values of −1 and 1, per coordinate, before ``length``; None: no change."""

    @model_validator(mode="after")
    def _check_range(self) -> DiffusionOutput:
        if (self.low is None) != (self.high is None):
            raise ValueError("give both low and high, or neither")
        return self


Output = Annotated[WaypointOutput | ClassOutput | VelocityOutput | DiffusionOutput, Field(discriminator="kind")]


class Encoder(Model):
    """A first network that sees the inputs; ``feeds`` says which of its outputs go to which inputs of the main one."""

    feeds: dict[str, str]
    returns: tuple[str, ...] = ()
    """Names of what a TorchScript encoder returns, in order."""


class VisualSpec(Model):
    """All of one network's interface."""

    name: str
    summary: str = ""
    source: str = ""
    notes: str = ""
    """Remarks on which parts are certain."""
    file: str | None = None
    encoder_file: str | None = None
    format: Literal["onnx", "torchscript"] = "onnx"
    returns: tuple[str, ...] = ()
    """Names of what a TorchScript network returns, in order."""
    image: ImageSpec
    goal: GoalSpec = Field(default_factory=GoalSpec)
    extra: dict[str, Extra] = Field(default_factory=dict)
    """More inputs by name."""
    encoder: Encoder | None = None
    output: Output
    speed_mps: Positive | None = None
    """Top speed of the robot that lengths per ``step`` are made with, m/s; None: that of the robot that drives."""

    @model_validator(mode="after")
    def _check(self) -> VisualSpec:
        appended = any(isinstance(extra, PastPositions) and extra.append_goal for extra in self.extra.values())
        if self.goal.kind == "point" and not self.goal.input and not appended:
            raise ValueError("a point goal needs the name of its input, or past positions with append_goal")
        if appended and self.goal.kind != "point":
            raise ValueError("append_goal needs a goal of kind point")
        return self


def to_axes(points: FloatArray, axes: Axes) -> FloatArray:
    """Points (K, 2) of the robot's frame in another order and sense."""
    return exact.matmul(points, _TO_AHEAD_LEFT[axes])


def from_axes(points: FloatArray, axes: Axes) -> FloatArray:
    """Points (K, 2) of another order and sense in the robot's frame."""
    return exact.matmul(points, _TO_AHEAD_LEFT[axes].T)
