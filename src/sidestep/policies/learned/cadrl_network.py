"""SA-CADRL's value network as plain arrays: shapes, the file of weights, and a NumPy reference of the kernel."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from sidestep.errors import BadInput
from sidestep.kernels.cadrl_look import ARRIVED, FEATURES, GAMMA, OTHER, OWN, SLOTS
from sidestep.kernels.cadrl_value import INPUT_SCALE
from sidestep.types.base import FloatArray

CODE, THIRD, FOURTH = 48, 64, 48
"""Units of the layers: code of one other (two layers), then the two after pooling."""

SHAPES: dict[str, tuple[int, ...]] = {
    "own_to_code": (CODE, OWN), "other_to_code": (CODE, OTHER), "code_bias": (CODE,),
    "code_to_code": (CODE, CODE), "code_to_code_bias": (CODE,),
    "own_to_third": (THIRD, OWN), "code_to_third": (THIRD, CODE), "third_bias": (THIRD,),
    "third_to_fourth": (FOURTH, THIRD), "fourth_bias": (FOURTH,),
    "fourth_to_loss": (FOURTH,), "loss_bias": (1,),
}  # fmt: skip
"""The arrays of a weights file in the order in which the kernel takes them, all float32."""

FORMAT = 1
ABOUT = ("format", "seed", "steps", "decisions", "norm", "horizon")
"""Further arrays of a weights file, one number each: format, and how the weights were trained."""

SHIPPED = Path(__file__).with_name("cadrl_v1.npz")


@dataclass(frozen=True, eq=False)
class CadrlWeights:
    """Trained weights and how they came about."""

    arrays: tuple[FloatArray, ...]
    about: dict[str, float]

    def values(self, states: FloatArray) -> FloatArray:
        """V of ``states (n, FEATURES)``: the kernel's formula in plain NumPy."""
        w1, p1, b1, w2, b2, w3, p3, b3, w4, b4, w5, b5 = self.arrays
        scaled = states * INPUT_SCALE
        own, others = scaled[:, :OWN], scaled[:, OWN:].reshape(-1, SLOTS, OTHER)
        taken = others[..., -1] > 0
        code = np.maximum((own @ w1.T)[:, None] + others @ p1.T + b1, 0.0)
        code = np.maximum(code @ w2.T + b2, 0.0) * taken[..., None]
        third = np.maximum(own @ w3.T + code.max(axis=1) @ p3.T + b3, 0.0)
        fourth = np.maximum(third @ w4.T + b4, 0.0)
        loss = (fourth @ w5 + b5[0]) * taken.any(axis=1) * (states[:, 0] >= ARRIVED)
        return np.asarray(GAMMA ** states[:, 0] * (1.0 - loss))


def empty_work(candidates: int) -> tuple[Any, ...]:
    """Working memory of ``kernels.cadrl_value.state_values`` for so many candidates."""
    rows = (FEATURES, CODE, CODE, CODE, CODE, THIRD, FOURTH)
    return tuple(np.zeros((n, candidates), np.float32) for n in rows)


def save_weights(path: Path, arrays: dict[str, FloatArray], about: dict[str, float]) -> None:
    """Write a weights file: plain arrays, nothing that needs pickle."""
    numbers = {key: np.array([float(about[key])]) for key in ABOUT if key != "format"}
    content = {name: np.ascontiguousarray(arrays[name], np.float32) for name in SHAPES}
    with path.open("wb") as file:
        np.savez(file, format=np.array([float(FORMAT)]), **numbers, **content)  # type: ignore[arg-type]


def load_weights(path: Path) -> CadrlWeights:
    """Read and check a weights file."""
    remedy = "; `sidestep train cadrl --out FILE` makes one"
    try:
        with np.load(path, allow_pickle=False) as file:
            content = {name: file[name] for name in file.files}
    except (OSError, ValueError, BadZipFile, EOFError, KeyError) as error:
        raise BadInput(f"{path}: not a file of weights ({error}){remedy}") from error
    missing = [name for name in (*ABOUT, *SHAPES) if name not in content]
    if missing:
        raise BadInput(f"{path}: the array {missing[0]!r} is missing{remedy}")
    if content["format"].shape != (1,) or content["format"][0] != FORMAT:
        raise BadInput(f"{path}: weights of format {content['format']}, this version reads {FORMAT}{remedy}")
    for name, shape in SHAPES.items():
        array = content[name]
        if array.shape != shape or array.dtype != np.float32:
            raise BadInput(f"{path}: {name} is {array.dtype} {array.shape}, expected float32 {shape}{remedy}")
        if not np.isfinite(array).all():
            raise BadInput(f"{path}: {name} has numbers that are not finite{remedy}")
    about = {key: float(content[key][0]) for key in ABOUT}
    return CadrlWeights(tuple(np.ascontiguousarray(content[name]) for name in SHAPES), about)
