"""The state of a crowd at one moment, and its bone matrices: legs by inverse kinematics over the gait, arms and head by
angles. Lengths in the kernels are those of a body of 1.75 m; a person's scale multiplies the result. The feet follow
``gait_kernels``; the pelvis is as high as both legs can reach.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sidestep.errors import BadInput
from sidestep.kernels.approx import PI, sincos64, wrap_angle
from sidestep.kernels.jit import inlined, kernel
from sidestep.render.people.body import person_joints
from sidestep.render.people.gait_kernels import RUN_FROM, Array, FootRoll, Gait, foot_position, make_gait, smooth
from sidestep.render.people.skeleton import BONE_COUNT, GESTURES, gesture_table
from sidestep.types.base import FloatArray, IntArray

Vector = tuple[float, float, float]
Foot = tuple[float, float, float, float, float]
"""x, y, z of the ankle, yaw and pitch of the foot."""
THIGH, SHIN = 0.430, 0.400
REACH = 0.996 * (THIGH + SHIN)
CHANNELS = 17  # of a gesture: six of the left arm, six of the right arm, head yaw, pitch, roll, trunk yaw, pitch
MAX_HEAD_YAW = 80.0 * PI / 180.0


class PeopleArrays(NamedTuple):
    """What sets the pose of N people, see ``PeopleState``."""

    model: Array  # (N,) int64
    scale: Array
    position: Array  # (N, 2)
    heading: Array
    speed: Array
    travel: Array
    turn_rate: Array
    phase: Array
    head_yaw: Array
    gesture: Array  # (N,) int64
    gesture_time: Array
    gesture_left: Array
    idle: Array
    feet: Array  # (N, 2, 3)


class PoseScratch(NamedTuple):
    """Bones of one person in the frame of the body, angles of the arms, planted feet in that frame."""

    frame: Array  # (17, 3, 4)
    angles: Array  # (12,)
    feet: Array  # (2, 3)


@inlined
def set_rotation(frame: Array, bone: int, yaw: float, pitch: float, roll_angle: float) -> None:
    """frame[bone] = Rz(yaw) Ry(pitch) Rx(roll)."""
    sz, cz = sincos64(yaw)
    sy, cy = sincos64(pitch)
    sx, cx = sincos64(roll_angle)
    frame[bone, 0, 0], frame[bone, 0, 1], frame[bone, 0, 2] = cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx
    frame[bone, 1, 0], frame[bone, 1, 1], frame[bone, 1, 2] = sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx
    frame[bone, 2, 0], frame[bone, 2, 1], frame[bone, 2, 2] = -sy, cy * sx, cy * cx


@inlined
def turn_joint(frame: Array, bone: int, parent: int, about_y: float, about_x: float, about_z: float) -> None:
    """frame[bone] = frame[parent] Ry Rx Rz."""
    sy, cy = sincos64(about_y)
    sx, cx = sincos64(about_x)
    sz, cz = sincos64(about_z)
    a00, a01, a02 = cy * cz + sy * sx * sz, -cy * sz + sy * sx * cz, sy * cx
    a10, a11, a12 = cx * sz, cx * cz, -sx
    a20, a21, a22 = -sy * cz + cy * sx * sz, sy * sz + cy * sx * cz, cy * cx
    for i in range(3):
        p, q, r = frame[parent, i, 0], frame[parent, i, 1], frame[parent, i, 2]
        frame[bone, i, 0] = p * a00 + q * a10 + r * a20
        frame[bone, i, 1] = p * a01 + q * a11 + r * a21
        frame[bone, i, 2] = p * a02 + q * a12 + r * a22


@inlined
def place_joint(frame: Array, joints: Array, bone: int, parent: int) -> None:
    """Position of a joint from the pose of its parent."""
    x = joints[bone, 0] - joints[parent, 0]
    y = joints[bone, 1] - joints[parent, 1]
    z = joints[bone, 2] - joints[parent, 2]
    for i in range(3):
        frame[bone, i, 3] = (
            frame[parent, i, 3] + frame[parent, i, 0] * x + frame[parent, i, 1] * y + frame[parent, i, 2] * z
        )


@inlined
def smooth_min(a: float, b: float, k: float) -> float:
    """The smaller of a and b, less up to k / 4 where they are close."""
    gap = k - abs(a - b)
    low = a if a < b else b
    return low - gap * gap / (4.0 * k) if gap > 0.0 else low


@inlined
def reach_height(ankle_x: float, ankle_y: float, ankle_z: float, hip_x: float, hip_y: float) -> Any:
    """How high the hip can be over an ankle."""
    dx, dy = ankle_x - hip_x, ankle_y - hip_y
    left = REACH * REACH - dx * dx - dy * dy
    return ankle_z + np.sqrt(left if left > 0.04 else 0.04)


@inlined
def set_limb(frame: Array, bone: int, up: Vector, hinge: Vector) -> None:
    """frame[bone] from its upward direction and the axis of its hinge, both of length 1 and at right angles."""
    (wx, wy, wz), (hx, hy, hz) = up, hinge
    frame[bone, 0, 0], frame[bone, 0, 1], frame[bone, 0, 2] = hy * wz - hz * wy, hx, wx
    frame[bone, 1, 0], frame[bone, 1, 1], frame[bone, 1, 2] = hz * wx - hx * wz, hy, wy
    frame[bone, 2, 0], frame[bone, 2, 1], frame[bone, 2, 2] = hx * wy - hy * wx, hz, wz


@inlined
def solve_leg(frame: Array, thigh: int, foot: Foot) -> None:
    """Thigh, shin and foot from the hip, which is placed, to the ankle of ``foot``; the knee bends ahead."""
    ax, ay, az, yaw, pitch = foot
    x, y, z = frame[thigh, 0, 3], frame[thigh, 1, 3], frame[thigh, 2, 3]
    ux, uy, uz = ax - x, ay - y, az - z
    distance = np.sqrt(ux * ux + uy * uy + uz * uz)
    far = 0.9999 * (THIGH + SHIN)
    d = far if distance > far else (0.12 if distance < 0.12 else distance)
    ux, uy, uz = ux / distance, uy / distance, uz / distance
    s, c = sincos64(0.5 * yaw)
    dot = c * ux + s * uy
    px, py, pz = c - dot * ux, s - dot * uy, -dot * uz
    norm = np.sqrt(px * px + py * py + pz * pz)
    px, py, pz = px / norm, py / norm, pz / norm
    along = (THIGH * THIGH - SHIN * SHIN + d * d) / (2.0 * d)
    out = np.sqrt(max(THIGH * THIGH - along * along, 0.0))
    kx, ky, kz = along * ux + out * px, along * uy + out * py, along * uz + out * pz
    hx, hy, hz = py * uz - pz * uy, pz * ux - px * uz, px * uy - py * ux  # p × u: to the left
    ex, ey, ez = d * ux - kx, d * uy - ky, d * uz - kz
    set_limb(frame, thigh, (-kx / THIGH, -ky / THIGH, -kz / THIGH), (hx, hy, hz))
    set_limb(frame, thigh + 1, (-ex / SHIN, -ey / SHIN, -ez / SHIN), (hx, hy, hz))
    frame[thigh + 1, 0, 3], frame[thigh + 1, 1, 3], frame[thigh + 1, 2, 3] = x + kx, y + ky, z + kz
    set_rotation(frame, thigh + 2, yaw, pitch, 0.0)
    frame[thigh + 2, 0, 3], frame[thigh + 2, 1, 3], frame[thigh + 2, 2, 3] = x + d * ux, y + d * uy, z + d * uz


@kernel
def pose_legs(frame: Array, joints: Array, phase: float, gait: Gait, sway: float, feet: Array) -> None:
    """Pelvis and both legs of one person in the frame of the body. ``feet`` (2, 3): x, y, yaw of the planted feet in
    that frame, NaN for those of steady motion."""
    active, run, duty = gait.active, gait.run, gait.duty
    fast = min(gait.pace, RUN_FROM)
    _, forward = sincos64(gait.travel)
    onward = max(forward, 0.0) * (gait.speed / gait.pace)
    heel = active * onward * (0.12 + 0.13 * fast) * (1.0 - 0.8 * run)
    push = active * onward * (0.40 + 0.24 * fast) + run * 0.1
    rolling = FootRoll(heel, push, active * (0.035 + 0.012 * fast))
    left = phase - np.floor(phase)
    right = left + 0.5 - np.floor(left + 0.5)
    left_foot = foot_position(left, 1.0, gait, rolling, (feet[0, 0], feet[0, 1], feet[0, 2]))
    right_foot = foot_position(right, -1.0, gait, rolling, (feet[1, 0], feet[1, 1], feet[1, 2]))
    _, c1 = sincos64(2.0 * PI * left)
    _, c3 = sincos64(2.0 * PI * (left - 0.5 * duty))
    _, c4 = sincos64(4.0 * PI * (left - 0.5 * duty))
    set_rotation(frame, 0, -0.10 * active * forward * c1, 0.02 * active + 0.06 * run, 0.045 * active * (1 - run) * c3)
    shift = 0.020 * active * (1.0 - run) * c3 + sway
    hx0 = frame[0, 0, 0] * (joints[11, 0] - joints[0, 0]) + frame[0, 0, 2] * (joints[11, 2] - joints[0, 2])
    hy0 = frame[0, 1, 2] * (joints[11, 2] - joints[0, 2])
    hz0 = frame[0, 2, 2] * (joints[11, 2] - joints[0, 2])
    half = joints[11, 1]
    ox, oy, oz = frame[0, 0, 1] * half, frame[0, 1, 1] * half, frame[0, 2, 1] * half
    high_l = reach_height(left_foot[0], left_foot[1], left_foot[2], hx0 + ox, shift + hy0 + oy) - oz
    high_r = reach_height(right_foot[0], right_foot[1], right_foot[2], hx0 - ox, shift + hy0 - oy) + oz
    high = smooth_min(high_l, high_r, 0.012 + 0.035 * active)
    if run > 0.0:
        bounce = 0.875 - 0.030 * c4
        high = smooth_min(high, bounce + (1.0 - run) * 0.1, 0.03)
    frame[0, 0, 3], frame[0, 1, 3], frame[0, 2, 3] = 0.0, shift, high - hz0
    place_joint(frame, joints, 11, 0)
    place_joint(frame, joints, 14, 0)
    solve_leg(frame, 11, left_foot)
    solve_leg(frame, 14, right_foot)


@kernel
def pose_upper(
    scratch: PoseScratch,
    joints: Array,
    gait: Gait,
    people: PeopleArrays,
    n: int,
    table: Array,
    sway: float,
    clock: float,
) -> None:
    """Trunk, head and arms of person ``n`` in the frame of the body. ``table`` (gestures, 5, CHANNELS): angle,
    amplitude, frequency in Hz, phase and weight of each channel. A gesture fades in and out over 0.4 s."""
    frame, angles, phase, gesture = scratch.frame, scratch.angles, people.phase[n], people.gesture[n]
    active, run, gesture_time = gait.active, gait.run, people.gesture_time[n]
    fade = smooth(gesture_time / 0.4) * smooth(people.gesture_left[n] / 0.4)
    fast = min(gait.pace, RUN_FROM)
    _, forward = sincos64(gait.travel)
    _, c1 = sincos64(2.0 * PI * phase)
    idle, _ = sincos64(1.3 * clock)
    swing = active * forward * (0.16 + 0.19 * fast) * (1.0 + 0.45 * run) * c1
    twist = 0.085 * active * forward * c1 * (1.0 + run)
    yaw, pitch, trunk_yaw, trunk_pitch, tilt = 0.0, 0.0, 0.0, 0.0, 0.0
    weight = fade if gesture > 0 else 0.0
    for arm in range(2):
        sign = -1.0 if arm == 0 else 1.0
        flex = sign * swing + 0.02 + 0.25 * run + 0.02 * idle
        angles[arm * 6 + 0] = flex
        angles[arm * 6 + 1] = 0.115 + 0.02 * run
        angles[arm * 6 + 2] = -0.10 - 0.25 * run
        angles[arm * 6 + 3] = 0.16 + 0.10 * active + 0.35 * max(sign * swing, 0.0) + run * 1.15
        angles[arm * 6 + 4] = 0.45 - 0.3 * run
        angles[arm * 6 + 5] = -0.05
    if weight > 0.0:
        for channel in range(CHANNELS):
            share = weight * table[gesture, 4, channel]
            if share == 0.0:
                continue
            value = table[gesture, 0, channel]
            if table[gesture, 1, channel] != 0.0:
                wave, _ = sincos64(2.0 * PI * (table[gesture, 2, channel] * gesture_time + table[gesture, 3, channel]))
                value += table[gesture, 1, channel] * wave
            if channel < 12:
                angles[channel] += share * (value - angles[channel])
            elif channel == 12:
                yaw += share * value
            elif channel == 13:
                pitch += share * value
            elif channel == 14:
                tilt += share * value
            elif channel == 15:
                trunk_yaw += share * value
            else:
                trunk_pitch += share * value
    lean = 0.035 * active + 0.14 * run + trunk_pitch
    set_rotation(frame, 1, 0.35 * trunk_yaw, 0.5 * lean, -1.5 * sway)
    set_rotation(frame, 2, twist + trunk_yaw, lean, -2.0 * sway)
    look = people.head_yaw[n] + yaw
    look = -MAX_HEAD_YAW if look < -MAX_HEAD_YAW else (MAX_HEAD_YAW if look > MAX_HEAD_YAW else look)
    set_rotation(frame, 3, 0.45 * look, 0.7 * lean + 0.4 * pitch, 0.0)
    set_rotation(frame, 4, look, 0.25 * lean + pitch + 0.02 * idle, tilt)
    place_joint(frame, joints, 1, 0)
    place_joint(frame, joints, 2, 1)
    place_joint(frame, joints, 3, 2)
    place_joint(frame, joints, 4, 3)
    for arm in range(2):
        side = 1.0 if arm == 0 else -1.0
        bone = 5 + 3 * arm
        turn_joint(frame, bone, 2, -angles[arm * 6], side * angles[arm * 6 + 1], side * angles[arm * 6 + 2])
        place_joint(frame, joints, bone, 2)
        turn_joint(frame, bone + 1, bone, -angles[arm * 6 + 3], 0.0, -side * angles[arm * 6 + 4])
        place_joint(frame, joints, bone + 1, bone)
        turn_joint(frame, bone + 2, bone + 1, 0.0, side * angles[arm * 6 + 5], 0.0)
        place_joint(frame, joints, bone + 2, bone + 1)


@kernel
def _pose_people(
    bones: Array, people: PeopleArrays, joints: Array, table: Array, clock: float, scratch: PoseScratch
) -> None:
    """Write ``bones`` (N, 17, 3, 4): rest pose → world. ``joints`` (models, 17, 3) are the rest poses."""
    frame, local, position, feet = scratch.frame, scratch.feet, people.position, people.feet
    for n in range(len(people.model)):
        rest = joints[people.model[n]]
        s, heading = people.scale[n], people.heading[n]
        moment = clock + people.idle[n]
        wave, _ = sincos64(0.8 * moment)
        gait = make_gait(people.speed[n] / s, people.travel[n], people.turn_rate[n])
        sway = 0.012 * (1.0 - gait.active) * wave
        sine, cosine = sincos64(heading)
        for k in range(2):
            x, y = (feet[n, k, 0] - position[n, 0]) / s, (feet[n, k, 1] - position[n, 1]) / s
            local[k, 0], local[k, 1] = cosine * x + sine * y, cosine * y - sine * x
            local[k, 2] = wrap_angle(feet[n, k, 2] - heading)
        pose_legs(frame, rest, people.phase[n], gait, sway, local)
        pose_upper(scratch, rest, gait, people, n, table, sway, moment)
        for b in range(17):
            x, y, z = rest[b, 0], rest[b, 1], rest[b, 2]
            for k in range(3):
                a, c = frame[b, 0, k], frame[b, 1, k]
                bones[n, b, 0, k] = s * (cosine * a - sine * c)
                bones[n, b, 1, k] = s * (sine * a + cosine * c)
                bones[n, b, 2, k] = s * frame[b, 2, k]
            px = frame[b, 0, 3] - frame[b, 0, 0] * x - frame[b, 0, 1] * y - frame[b, 0, 2] * z
            py = frame[b, 1, 3] - frame[b, 1, 0] * x - frame[b, 1, 1] * y - frame[b, 1, 2] * z
            pz = frame[b, 2, 3] - frame[b, 2, 0] * x - frame[b, 2, 1] * y - frame[b, 2, 2] * z
            bones[n, b, 0, 3] = position[n, 0] + s * (cosine * px - sine * py)
            bones[n, b, 1, 3] = position[n, 1] + s * (sine * px + cosine * py)
            bones[n, b, 2, 3] = s * pz


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
