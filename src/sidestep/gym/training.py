"""What a model was trained with, in a file beside it: ``model.sidestep.json`` beside ``model.zip``.

The file has the robot's commands and limits, the time between two actions and the settings of the sensors, so that the
benchmark can say where a scenario differs from them, and the statistics of a ``VecNormalize``, so that the network gets
what it got in training. It is plain JSON: reading it runs nothing. :func:`save_model` writes it with the model.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from sidestep._util.reading import is_file, read_json
from sidestep._util.writing import write_whole
from sidestep.errors import BadInput
from sidestep.simulation.robots import load_robot
from sidestep.types.base import FloatArray, Model, NonNegative, Positive
from sidestep.types.robot import DynamicsName, RobotSpec
from sidestep.types.scenario import RobotPlacement, Scenario
from sidestep.version import __version__

ENDING = ".sidestep.json"
LIMITS = ("max_speed", "min_speed", "max_turn_rate", "max_acceleration", "max_deceleration", "max_turn_acceleration",
          "max_steer", "max_steer_rate")  # fmt: skip
CLOSE = 1e-9
"""Relative; limits are written as they are."""
HOW_TO_SAVE = "train with sidestep.gym.save_model(model, FILE) to have it checked"
PICKLES = (".pkl", ".pickle", ".p", ".joblib")


class TrainedRobot(Model):
    """What an action of the model meant."""

    dynamics: DynamicsName
    limits: dict[str, float | None]
    radius_m: Positive
    control_s: Positive
    """Time between two actions."""


class Training(Model):
    """The worlds that a model was trained in. Scenarios of a suite may have several robots."""

    robots: tuple[TrainedRobot, ...]
    lidar: dict[str, Any] | None = None
    grid: dict[str, Any] | None = None
    pictures: tuple[str, ...] = ()
    sidestep: str = __version__


class Normalization(Model):
    """Statistics of observations: entry → mean and variance, flat, in the order of the array."""

    mean: dict[str, tuple[float, ...]]
    variance: dict[str, tuple[NonNegative, ...]]
    clip: Positive = 10.0
    epsilon: NonNegative = 1e-8


class ModelNotes(Model):
    """The file beside a model."""

    format: Literal["sidestep-model"] = "sidestep-model"
    version: Literal[1] = 1
    training: Training | None = None
    normalization: Normalization | None = None


def describe_training(scenarios: Iterable[Scenario], base: Path | None, choice: Any) -> Training:
    """The training of an environment with these scenarios and sensors (``observation.SensorChoice``)."""
    robots = [_trained_robot(scenario, base) for scenario in scenarios]
    grid = None if choice.grid is None else {"size": list(choice.grid.size), "cell_m": float(choice.grid.cell_m)}
    lidar = None if choice.lidar is None else choice.lidar.model_dump(mode="json")
    different = {each.model_dump_json(): each for each in robots}
    return Training(robots=tuple(different.values()), lidar=lidar, grid=grid, pictures=choice.pictures)


def _trained_robot(scenario: Scenario, base: Path | None) -> TrainedRobot:
    return _robot_of(_spec(scenario.ego, base), scenario.rules.step_s * scenario.rules.control_every)


def _spec(place: RobotPlacement, base: Path | None) -> RobotSpec:
    return load_robot(place.spec, None if place.dynamics == "policy" else place.dynamics, base)


def _robot_of(spec: RobotSpec, control_s: float) -> TrainedRobot:
    limits = {name: getattr(spec.limits, name) for name in LIMITS}
    return TrainedRobot(
        dynamics=spec.dynamics, limits=limits, radius_m=spec.footprint.enclosing_radius, control_s=control_s
    )


def differences(training: Training, spec: RobotSpec, control_s: float) -> list[str]:
    """Where a robot that is to be driven is not as in training, in words; none where it is as one of those."""
    here = _robot_of(spec, control_s)
    found = [_different(trained, here) for trained in training.robots]
    return min(found, key=len, default=[])


def _different(trained: TrainedRobot, here: TrainedRobot) -> list[str]:
    pairs: dict[str, tuple[Any, Any]] = {"dynamics": (trained.dynamics, here.dynamics)}
    pairs |= {name: (trained.limits.get(name), here.limits[name]) for name in LIMITS}
    pairs |= {
        "radius_m": (trained.radius_m, here.radius_m),
        "seconds between two actions": (trained.control_s, here.control_s),
    }
    return [f"{name} {_shown(was)}, here {_shown(now)}" for name, (was, now) in pairs.items() if not _same(was, now)]


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= CLOSE * max(abs(one), abs(other))
    return bool(one == other)


def _shown(value: Any) -> str:
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def notes_beside(model: Path) -> Path:
    """Where the notes about ``model.zip`` lie."""
    return model.with_name(model.name.removesuffix(".zip") + ENDING)


def read_notes(file: Path) -> ModelNotes:
    """The notes in a file; ``BadInput`` says how to write it where it is another kind of file."""
    if file.suffix in PICKLES:
        raise BadInput(
            f"{file}: VecNormalize.save writes a pickle, which can run any code when it is read; write the statistics "
            "as JSON where you trained: sidestep.gym.save_normalization(VecNormalize.load(FILE.pkl, env), FILE.json)"
        )
    if not is_file(file):
        raise BadInput(f"{file}: no such file; sidestep.gym.save_normalization writes one")
    return ModelNotes.parse(read_json(file), str(file))


def read_notes_beside(model: Path) -> ModelNotes | None:
    """The notes about a model; None where there are none."""
    return read_notes(beside) if is_file(beside := notes_beside(model)) else None


def save_normalization(normalize: Any, path: str | Path) -> None:
    """Write the statistics of a ``VecNormalize`` of Stable-Baselines3 as JSON, for ``--set POLICY.normalize=FILE``."""
    _write(ModelNotes(normalization=_normalization(normalize)), Path(path))


def save_model(model: Any, path: str | Path) -> None:
    """Save a model of Stable-Baselines3, and beside it what it was trained with: ``sb3:FILE.zip`` then acts as it did,
    and ``sidestep run`` says where a scenario differs. ``model`` has the environment that it was trained in."""
    env = model.get_env()
    if env is None:
        raise BadInput("the model has no environment; call set_env with the one that it was trained in, or model.save")
    try:
        [training, *_] = env.get_attr("training")
    except AttributeError:
        raise BadInput("the model was not trained in an environment of sidestep.gym; save it with model.save") from None
    normalize = model.get_vec_normalize_env()
    file = Path(path)
    file = file if file.suffix == ".zip" else file.with_name(f"{file.name}.zip")
    model.save(file)
    _write(ModelNotes(training=training, normalization=_normalization(normalize)), notes_beside(file))


def _write(notes: ModelNotes, path: Path) -> None:
    text = json.dumps(notes.model_dump(mode="json"), indent=1, allow_nan=False)
    write_whole(path, f"{text}\n".encode())


def _normalization(normalize: Any) -> Normalization | None:
    """The statistics of a ``VecNormalize``; None where there is none, or where it leaves observations alone."""
    if normalize is None or not normalize.norm_obs:
        return None
    if not isinstance(normalize.obs_rms, dict):
        raise BadInput(
            "the VecNormalize does not wrap an environment of sidestep.gym: its observations are no dictionary"
        )
    return Normalization(
        mean={name: tuple(np.ravel(rms.mean).tolist()) for name, rms in normalize.obs_rms.items()},
        variance={name: tuple(np.ravel(rms.var).tolist()) for name, rms in normalize.obs_rms.items()},
        clip=float(normalize.clip_obs),
        epsilon=float(normalize.epsilon),
    )


Normalize = Callable[[dict[str, Any]], dict[str, Any]]


def make_normalize(statistics: Normalization, shapes: dict[str, Sequence[int]], where: str) -> Normalize:
    """A function that does to an observation what the ``VecNormalize`` did, bit for bit."""
    if statistics.mean.keys() != statistics.variance.keys() or not statistics.mean.keys() <= shapes.keys():
        raise BadInput(
            f"{where}: has statistics of {', '.join(statistics.mean)}; the model observes {', '.join(shapes)}"
        )
    parts: dict[str, tuple[FloatArray, FloatArray]] = {}
    for name, mean in statistics.mean.items():
        size = int(np.prod(shapes[name]))
        if len(mean) != size or len(statistics.variance[name]) != size:
            raise BadInput(f"{where}: has {len(mean)} means of {name!r}; the model observes {size} numbers")
        spread = np.sqrt(np.array(statistics.variance[name]).reshape(shapes[name]) + statistics.epsilon)
        parts[name] = np.array(mean).reshape(shapes[name]), spread

    def normalize(observation: dict[str, Any]) -> dict[str, Any]:
        found = dict(observation)
        for name, (mean, spread) in parts.items():
            scaled = np.clip((observation[name] - mean) / spread, -statistics.clip, statistics.clip)
            found[name] = scaled.astype(np.float32)
        return found

    return normalize


def training_notes(model: Path, scenarios: Sequence[Scenario], base: Path | None) -> list[str]:
    """What a person who runs a saved model on scenarios should know: where these differ from its training, or that
    this is unknown."""
    notes = read_notes_beside(model)
    if notes is None or notes.training is None:
        return [
            f"{model.name}: has no {notes_beside(model).name} beside it, so it is unknown whether it was trained with "
            f"the dynamics, limits and control rate of these scenarios, nor with VecNormalize; {HOW_TO_SAVE}"
        ]
    found: dict[str, list[str]] = {}
    for scenario in scenarios:
        rules = scenario.rules
        changes = differences(notes.training, _spec(scenario.ego, base), rules.step_s * rules.control_every)
        if changes:
            found.setdefault("; ".join(changes), []).append(scenario.name)
    return [
        f"{model.name}: trained otherwise than {len(names)} of {len(scenarios)} scenarios, "
        f"such as {names[0]!r}: {changes}"
        for changes, names in found.items()
    ]
