"""SA-CADRL's value network: the file of weights, the kernel that values the states of many candidates at once, and the
choice among them, walls considered. The same small network encodes each of the nearest others together with the
robot's own numbers; the largest of each code over the others (max-pooling, so that their order does not matter) and
the own numbers go through two more layers: code_j = relu(W2 · relu(W1 · own + P1 · other_j + b1) + b2); loss = w5 ·
relu(W4 · relu(W3 · own + P3 · max_j code_j + b3) + b4) + b5; V = γ^distance · (1 - loss), with loss = 0 where
nobody is near or the goal is reached. γ^distance is the value of a free straight run, so that the network has to
know only what the others cost. Activations are (units, candidates): the innermost loops run over candidates,
vectorise without reordering any sum, and so give the same bits on every machine.
"""

from __future__ import annotations

import io
from math import sqrt
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZipFile

import numpy as np

from sidestep._util.reading import read_bytes
from sidestep.errors import BadInput
from sidestep.kernels.approx import exp32
from sidestep.kernels.jit import inlined, kernel
from sidestep.policies.cadrl.lookahead import ARRIVED, FEATURES, LOG_GAMMA, OTHER, OWN, Around, Fan, Look, look_ahead
from sidestep.policies.grid import bilinear
from sidestep.types.base import FloatArray

_PIECES = 10  # samples of the path at one velocity
_SPACING = 0.1  # m between samples of a line of sight


class Walls(NamedTuple):
    """Distance to the nearest solid; value [i, j] is at (x0 + j · cell, y0 + i · cell), in m."""

    distance: FloatArray  # (ny, nx) float32, m
    x0: float
    y0: float
    cell: float


class WallRule(NamedTuple):
    """How far ahead (s; 0: walls do not matter) and how far off walls (m) the robot keeps."""

    time: float
    margin: float


@kernel
def lowest_clearance(x: float, y: float, vx: float, vy: float, time: float, walls: Walls) -> Any:
    """Least distance to solids over the next ``time`` seconds at (vx, vy) from (x, y), m, not counting a beginning that
    leads away from them: a robot near a wall may leave it."""
    before = bilinear(walls.distance, walls, x, y)
    least, leaving = 1.0e3, True
    for piece in range(1, _PIECES + 1):
        at = time * piece / _PIECES
        here = bilinear(walls.distance, walls, x + vx * at, y + vy * at)
        leaving = leaving and here > before + 1e-6
        if not leaving:
            least = min(least, here)
        before = here
    return least


@kernel
def farthest_visible(x: float, y: float, points: FloatArray, margin: float, walls: Walls) -> int:
    """Index of the last of ``points (K, 2)`` whose straight line from (x, y) keeps ``margin`` from solids; -1: none.
    The first metre may be nearer to them, as long as it leads away."""
    for k in range(points.shape[0] - 1, -1, -1):
        dx, dy = points[k, 0] - x, points[k, 1] - y
        length = sqrt(dx * dx + dy * dy)
        pieces = int(length / _SPACING) + 1
        before = bilinear(walls.distance, walls, x, y)
        visible = True
        for piece in range(1, pieces + 1):
            share = piece / pieces
            here = bilinear(walls.distance, walls, x + dx * share, y + dy * share)
            if here < margin and (share * length > 1.0 or here <= before):
                visible = False
                break
            before = here
        if visible:
            return k
    return -1


INPUT_SCALE = np.array(
    [0.1, 1.0, 1.0, 1.0, 2.0] + 3 * [0.3, 0.3, 1.0, 1.0, 2.0, 0.3, 1.0, 1.0], np.float32
)  # factors that make the inputs about 1

_ZERO, _ONE = np.float32(0.0), np.float32(1.0)
_BANNED = np.float32(1.0e3)
BESIDE_WALL = np.float32(0.02)  # cost of coming nearer to a wall than the margin
AT_WALL = 0.03  # m between body and wall: nearer is out of the question


class NetworkWeights(NamedTuple):
    """The layers, all float32; shapes are in ``SHAPES``."""

    own_to_code: FloatArray
    other_to_code: FloatArray
    code_bias: FloatArray
    code_to_code: FloatArray
    code_to_code_bias: FloatArray
    own_to_third: FloatArray
    code_to_third: FloatArray
    third_bias: FloatArray
    third_to_fourth: FloatArray
    fourth_bias: FloatArray
    fourth_to_loss: FloatArray
    loss_bias: FloatArray


class Activations(NamedTuple):
    """Working memory of :func:`state_values`, float32, one column per candidate."""

    inputs: FloatArray  # (FEATURES, A) scaled
    shared: FloatArray  # (CODE, A) the own part of the first layer
    first: FloatArray  # (CODE, A)
    second: FloatArray  # (CODE, A)
    pooled: FloatArray  # (CODE, A)
    third: FloatArray  # (THIRD, A)
    fourth: FloatArray  # (FOURTH, A)


@inlined
def _add_product(weights: FloatArray, inputs: FloatArray, first: int, out: FloatArray) -> None:
    """out += weights · inputs[first : first + columns of weights], four inputs at a time."""
    units, columns = weights.shape
    batch = out.shape[1]
    for u in range(units):
        i = 0
        while i + 4 <= columns:
            w0, w1, w2, w3 = weights[u, i], weights[u, i + 1], weights[u, i + 2], weights[u, i + 3]
            for c in range(batch):
                out[u, c] += (w0 * inputs[first + i, c] + w1 * inputs[first + i + 1, c]) + (
                    w2 * inputs[first + i + 2, c] + w3 * inputs[first + i + 3, c]
                )
            i += 4
        while i < columns:
            w = weights[u, i]
            for c in range(batch):
                out[u, c] += w * inputs[first + i, c]
            i += 1


@inlined
def _fill(bias: FloatArray, out: FloatArray) -> None:
    for u in range(out.shape[0]):
        for c in range(out.shape[1]):
            out[u, c] = bias[u]


@inlined
def _rectify(out: FloatArray) -> None:
    for u in range(out.shape[0]):
        for c in range(out.shape[1]):
            out[u, c] = max(out[u, c], _ZERO)


@kernel
def state_values(
    states: FloatArray, found: int, weights: NetworkWeights, work: Activations, values: FloatArray
) -> None:
    """V of each column of ``states (FEATURES, A)``, whose first ``found`` slots of others are taken, in ``values``."""
    inputs, shared, first, second, pooled, third, fourth = work
    batch = states.shape[1]
    if found == 0:
        for c in range(batch):
            values[c] = exp32(LOG_GAMMA * states[0, c])
        return
    for i in range(FEATURES):
        for c in range(batch):
            inputs[i, c] = states[i, c] * INPUT_SCALE[i]
    _fill(weights.code_bias, shared)
    _add_product(weights.own_to_code, inputs, 0, shared)
    for k in range(found):
        for u in range(first.shape[0]):
            for c in range(batch):
                first[u, c] = shared[u, c]
        _add_product(weights.other_to_code, inputs, OWN + k * OTHER, first)
        _rectify(first)
        _fill(weights.code_to_code_bias, second)
        _add_product(weights.code_to_code, first, 0, second)
        _rectify(second)
        for u in range(pooled.shape[0]):
            for c in range(batch):
                pooled[u, c] = second[u, c] if k == 0 else max(pooled[u, c], second[u, c])
    _fill(weights.third_bias, third)
    _add_product(weights.own_to_third, inputs, 0, third)
    _add_product(weights.code_to_third, pooled, 0, third)
    _rectify(third)
    _fill(weights.fourth_bias, fourth)
    _add_product(weights.third_to_fourth, third, 0, fourth)
    _rectify(fourth)
    for c in range(batch):
        values[c] = weights.loss_bias[0]
    for u in range(fourth.shape[0]):
        for c in range(batch):
            values[c] += weights.fourth_to_loss[u] * fourth[u, c]
    for c in range(batch):
        loss = values[c] if states[0, c] >= ARRIVED else _ZERO
        values[c] = exp32(LOG_GAMMA * states[0, c]) * (_ONE - loss)


@kernel
def choose(
    around: Around, fan: Fan, look: Look, weights: NetworkWeights, work: Activations, values: FloatArray, x: float,
    y: float, rule: WallRule, walls: Walls, velocity: FloatArray,
) -> int:  # fmt: skip
    """The candidate of most reward and value: its velocity goes to ``velocity (2,)``, its number is returned.

    Candidates whose body comes within ``AT_WALL`` of a solid in ``rule.time`` seconds are out, and those that come
    within ``rule.margin`` cost ``BESIDE_WALL``. Standing, the last candidate, is for the sake of others only: it is out
    where nobody is in reach, or a wall in the way could hold the robot for good. ``values (A,)`` holds what each
    candidate is worth.
    """
    own, table, gain, factor = around.own, fan.table, look.gain, look.factor
    found = look_ahead(around, around.others.shape[0], fan, look)
    state_values(look.states, found, weights, work, values)
    distance = np.sqrt(own[0] * own[0] + own[1] * own[1])
    ux, uy = _ONE, _ZERO
    if distance > np.float32(1e-4):
        ux, uy = own[0] / distance, own[1] / distance
    best, most = 0, np.float32(-1.0e9)
    for c in range(table.shape[0]):
        speed = table[c, 0] * own[4]
        vx = speed * (table[c, 1] * ux - table[c, 2] * uy)
        vy = speed * (table[c, 1] * uy + table[c, 2] * ux)
        values[c] = gain[c] + factor[c] * values[c]
        if rule.time > 0.0 and speed > _ZERO:
            time = min(rule.time, 1.0 * distance / speed)
            clear = lowest_clearance(x, y, vx, vy, time, walls) - own[5]
            if clear < rule.margin:
                values[c] -= BESIDE_WALL if clear >= AT_WALL else _BANNED
        if speed == _ZERO and found == 0 and most > -_BANNED / np.float32(2.0):
            continue
        if values[c] > most:
            best, most = c, values[c]
            velocity[0], velocity[1] = vx, vy
    return best


CODE, THIRD, FOURTH = 48, 64, 48
"""Units of the layers: code of one other (two layers), then the two after pooling."""

SHAPES: dict[str, tuple[int, ...]] = {
    "own_to_code": (CODE, OWN), "other_to_code": (CODE, OTHER), "code_bias": (CODE,),
    "code_to_code": (CODE, CODE), "code_to_code_bias": (CODE,),
    "own_to_third": (THIRD, OWN), "code_to_third": (THIRD, CODE), "third_bias": (THIRD,),
    "third_to_fourth": (FOURTH, THIRD), "fourth_bias": (FOURTH,),
    "fourth_to_loss": (FOURTH,), "loss_bias": (1,),
}  # fmt: skip
"""The arrays of a weights file, in the order of ``NetworkWeights``, all float32."""

FORMAT = 1
ABOUT = ("format", "seed", "steps", "decisions", "norm", "horizon")
"""Further arrays of a weights file, one number each: format, and how the weights were trained."""

MOST_BYTES = 10_000_000
"""Largest size of a file of weights, packed and unpacked; the bundled file has a few hundred kB."""
SHIPPED = Path(__file__).with_name("cadrl_v1.npz")


class CadrlWeights(NamedTuple):
    """Trained weights, and how they came about."""

    arrays: NetworkWeights
    about: dict[str, float]


def empty_work(candidates: int) -> Activations:
    """Working memory for that many candidates."""
    rows = (FEATURES, CODE, CODE, CODE, CODE, THIRD, FOURTH)
    return Activations(*(np.zeros((n, candidates), np.float32) for n in rows))


def save_weights(path: Path, arrays: dict[str, FloatArray], about: dict[str, float]) -> None:
    """Write a weights file: plain arrays, nothing that needs pickle."""
    numbers = {key: np.array([float(about[key])]) for key in ABOUT if key != "format"}
    content = {name: np.ascontiguousarray(arrays[name], np.float32) for name in SHAPES}
    with path.open("wb") as file:
        np.savez(file, format=np.array([float(FORMAT)]), **numbers, **content)  # type: ignore[arg-type]


def _unpacked(data: bytes) -> dict[str, Any]:
    """The arrays of a weights file, none larger than its members say or than ``MOST_BYTES`` in all."""
    with ZipFile(io.BytesIO(data)) as archive:
        if sum(member.file_size for member in archive.infolist()) > MOST_BYTES:
            raise ValueError(f"it unpacks to more than {MOST_BYTES / 1e6:g} MB")
    with np.load(io.BytesIO(data), allow_pickle=False) as file:
        return {name: np.asarray(file[name]) for name in (*ABOUT, *SHAPES) if name in file.files}


def load_weights(path: Path) -> CadrlWeights:
    """Read and check a weights file."""
    remedy = "; `sidestep train cadrl --out FILE` makes one"
    try:
        content = _unpacked(read_bytes(path, "file of weights", MOST_BYTES))
    except BadInput:
        raise
    except Exception as error:  # NumPy and zipfile have a dozen ways to say it
        raise BadInput(f"{path}: not a file of weights ({error!s:.120}){remedy}") from error
    missing = [name for name in (*ABOUT, *SHAPES) if name not in content]
    if missing:
        raise BadInput(f"{path}: the array {missing[0]!r} is missing{remedy}")
    for name in ABOUT:
        if content[name].shape != (1,) or content[name].dtype.kind not in "fiu":
            raise BadInput(f"{path}: {name} is not one number{remedy}")
    if content["format"][0] != FORMAT:
        raise BadInput(f"{path}: weights of format {content['format'][0]:g}, this version reads {FORMAT}{remedy}")
    for name, shape in SHAPES.items():
        array = content[name]
        if array.shape != shape or array.dtype != np.float32:
            raise BadInput(f"{path}: {name} is {array.dtype} {array.shape}, expected float32 {shape}{remedy}")
        if not np.isfinite(array).all():
            raise BadInput(f"{path}: {name} has numbers that are not finite{remedy}")
    about = {key: float(content[key][0]) for key in ABOUT}
    return CadrlWeights(NetworkWeights(*(np.ascontiguousarray(content[name]) for name in SHAPES)), about)
