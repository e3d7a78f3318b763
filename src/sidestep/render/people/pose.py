"""The state of a crowd at one moment, and its bone matrices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sidestep.errors import BadInput
from sidestep.render.people.body import person_joints
from sidestep.render.people.pose_kernels import PeopleArrays, PoseScratch
from sidestep.render.people.pose_kernels import pose_people as _pose_people
from sidestep.render.people.skeleton import BONE_COUNT, GESTURES, gesture_table
from sidestep.types.base import FloatArray, IntArray

PackedBones = FloatArray
"""(N, 17, 3, 4) float32: rest pose → world, one block per person."""


@dataclass(frozen=True, eq=False)
class PeopleState:
    """What sets the pose of N people. Only the first five arrays are required; angles in rad, heading from +x.

    ``travel`` is the direction of motion from the heading: 0 ahead, π backwards. ``gesture_time`` is the time since
    the gesture began, ``gesture_left`` until it ends; ``time`` is the clock of swaying, and ``idle`` shifts it from
    person to person.
    """

    position: FloatArray  # (N, 2) m
    heading: FloatArray  # (N,) of the body
    speed: FloatArray  # (N,) m/s
    phase: FloatArray  # (N,) cycles of the gait; 0: the left heel lands
    model: IntArray  # (N,) index in ``person_models()``
    scale: FloatArray | None = None  # (N,) height ÷ 1.75 m
    travel: FloatArray | None = None  # (N,)
    turn_rate: FloatArray | None = None  # (N,) rad/s
    head_yaw: FloatArray | None = None  # (N,) from the heading, held within ±80°
    gesture: IntArray | None = None  # (N,) code of ``GESTURES``
    gesture_time: FloatArray | None = None  # (N,) s
    gesture_left: FloatArray | None = None  # (N,) s
    idle: FloatArray | None = None  # (N,) s
    feet: FloatArray | None = None  # (N, 2, 3) x, y, yaw of the planted left and right foot in the world, or NaN
    time: float = 0.0  # s

    def __post_init__(self) -> None:
        n = len(self.model)
        required: dict[str, Any] = dict.fromkeys(("position", "heading", "speed", "phase", "model"))
        optional = dict.fromkeys(("travel", "turn_rate", "head_yaw", "gesture_time", "idle"), 0.0)
        optional |= {"scale": 1.0, "gesture": 0, "gesture_left": 1e9, "feet": np.nan}
        for name, default in (required | optional).items():
            value, dtype = getattr(self, name), np.int64 if name in ("model", "gesture") else np.float64
            shape = {"position": (n, 2), "feet": (n, 2, 3)}.get(name, (n,))
            array = np.full(shape, default, dtype) if value is None else np.ascontiguousarray(value, dtype)
            if array.shape != shape:
                raise BadInput(f"PeopleState.{name} has shape {array.shape}, want {shape}: one row per person")
            object.__setattr__(self, name, array)


def pose_people(state: PeopleState, out: FloatArray | None = None, joints: FloatArray | None = None) -> PackedBones:
    """Bone matrices (N, 17, 3, 4) float32 of everyone, written to ``out`` if that is given.

    ``joints`` (models, 17, 3) are the rest poses that ``state.model`` counts; by default those of ``person_models()``.
    """
    joints, table = person_joints() if joints is None else joints, gesture_table()
    bones = np.empty((len(state.model), BONE_COUNT, 3, 4), np.float32) if out is None else out
    if len(state.model) and not (state.model.min() >= 0 and state.model.max() < len(joints)):
        raise BadInput(f"PeopleState.model must lie in 0 … {len(joints) - 1}: an index in person_models()")
    gesture = state.gesture
    if gesture is not None and len(gesture) and not (gesture.min() >= 0 and gesture.max() < len(GESTURES)):
        raise BadInput(f"PeopleState.gesture must lie in 0 … {len(GESTURES) - 1}: {', '.join(GESTURES)}")
    people = PeopleArrays(*(getattr(state, name) for name in PeopleArrays._fields))
    scratch = PoseScratch(np.empty((BONE_COUNT, 3, 4)), np.empty(12), np.empty((2, 3)))
    _pose_people(bones, people, joints, table, float(state.time), scratch)
    return bones
