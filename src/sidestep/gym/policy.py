"""Learned policies in the benchmark: what was trained in an environment drives in ``sidestep run`` with the same
observations, to the bit, and the same commands, so that outcomes are equal.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np
from gymnasium import spaces

from sidestep.errors import BadInput, UnknownName
from sidestep.gym.observation import CameraOption, GridOption, LidarOption
from sidestep.gym.training import Normalize, Training, differences
from sidestep.interfaces import Policy
from sidestep.kernels.observation import AGENT_FEATURES, GRID_LAYERS, ROBOT_FEATURES
from sidestep.simulation.robots import action_scale
from sidestep.simulation.sensors.camera import PICTURES
from sidestep.simulation.sensors.learning import learning_grid
from sidestep.types import Command, HolonomicVelocity, Native, Observation, Task, Velocity
from sidestep.types.base import FloatArray
from sidestep.types.sensors import LidarSettings

ENTRIES = ("robot", "people", "mask", "lidar", "grid")
_COMMANDS: dict[str, Callable[[float, float], Command]] = {"holonomic": HolonomicVelocity, "unicycle": Velocity}


@runtime_checkable
class Model(Protocol):
    """A model or policy of Stable-Baselines3, or anything alike."""

    observation_space: Any

    def predict(self, observation: Any, *, deterministic: bool) -> Any:
        """The action for one observation, and something that is not used."""


def as_policy(
    model: Model | Callable[[dict[str, Any]], Any],
    *,
    observation_space: spaces.Dict | None = None,
    lidar: LidarOption = None,
    grid: GridOption = None,
    camera: CameraOption = None,
    name: str = "",
) -> LearnedPolicy:
    """A policy of the benchmark that acts as ``model`` does in its environment: a model with ``predict`` (asked for its
    deterministic action), or a function from an observation to an action together with its ``observation_space``.
    ``lidar``, ``grid`` and ``camera`` are the settings that the environment had, where it was given any."""
    predict: Callable[[dict[str, Any]], Any]
    if isinstance(model, Model):
        predict = _deterministic(model)
        space = model.observation_space if observation_space is None else observation_space
    elif callable(model) and observation_space is not None:
        predict, space = model, observation_space
    else:
        raise BadInput(
            f"as_policy takes a model with predict and observation_space, or a function with observation_space=…; "
            f"got {type(model).__name__}"
        )
    return LearnedPolicy(predict, space, lidar, grid, camera, name or type(model).__name__)


def _deterministic(model: Model) -> Callable[[dict[str, Any]], Any]:
    def predict(observation: dict[str, Any]) -> Any:
        action, _ = model.predict(observation, deterministic=True)
        return action

    return predict


class LearnedPolicy(Policy):
    """Asks a function from an observation of a learning environment to an action in [-1, 1]²."""

    needs = frozenset({"learning"})
    summary = "a policy that was trained in a learning environment"
    training: Training | None = None
    """What it was trained with, where that is known."""
    normalize: Normalize | None = None
    """What is done to an observation before the network gets it."""

    def __init__(
        self,
        predict: Callable[[dict[str, Any]], Any],
        space: Any,
        lidar: LidarOption,
        grid: GridOption,
        camera: CameraOption,
        name: str,
    ) -> None:
        self._predict = predict
        self.sensor_settings = {"learning": sensor_settings(space, lidar, grid)}
        self._entries = [entry for entry in ENTRIES if entry in space.spaces]
        self._pictures = [entry for entry in space.spaces if entry in PICTURES]
        self._shapes = {entry: tuple(space.spaces[entry].shape) for entry in self._pictures}
        self.needs = frozenset({"learning", *self._pictures})  # type: ignore[misc]  # of this object
        self.name, self.camera = name, camera
        self._middle: FloatArray = np.zeros(2)
        self._half: FloatArray = np.zeros(2)
        self._command: Callable[[float, float], Command] = Native

    def reset(self, task: Task) -> None:
        """Take the command limits of the robot."""
        middle, half = action_scale([task.robot])
        if self.training is not None and (changes := differences(self.training, task.robot, task.step_s)):
            warnings.warn(f"{self.name}: trained otherwise: {'; '.join(changes)}", stacklevel=2)
        self._middle, self._half = middle[0], half[0]
        self._command = _COMMANDS.get(task.robot.dynamics, Native)

    def act(self, observation: Observation) -> Command:
        """The action as the command that the environment would make of it."""
        assert observation.extra is not None
        seen: Mapping[str, Any] = observation.extra["learning"]
        given = {entry: np.array(seen[entry]) for entry in self._entries}
        pictures = {"rgb": observation.rgb, "depth": observation.depth, "semantic": observation.semantic}
        for entry in self._pictures:
            given[entry] = np.array(pictures[entry])
            if given[entry].shape != self._shapes[entry]:
                raise BadInput(
                    f"the model was trained with {entry} pictures of shape {self._shapes[entry]} and gets "
                    f"{given[entry].shape}; give it its camera: as_policy(model, camera={{…}})"
                )
        given = given if self.normalize is None else self.normalize(given)
        action = np.asarray(self._predict(given), np.float32).reshape(-1)
        if action.shape != (2,) or not np.isfinite(action).all():
            raise BadInput(f"the model's action must be two finite numbers, got {action.tolist()!r:.80}")
        first, second = self._middle + self._half * np.clip(action.astype(np.float64), -1.0, 1.0)
        return self._command(float(first), float(second))


def sensor_settings(space: Any, lidar: Any, grid: Any) -> dict[str, Any]:
    """Settings of the sensor ``learning`` that fill observations of ``space``; ``BadInput`` where none do."""
    parts: dict[str, Any] = dict(space.spaces) if isinstance(space, spaces.Dict) else {}
    for name in ("robot", "people", "mask"):
        if name not in parts:
            raise BadInput(f"the model observes {space!r:.120}, not a learning environment: it has no {name!r}")
    for name in parts:
        if name not in ENTRIES and name not in PICTURES:
            raise UnknownName("part of an observation", name, [*ENTRIES, *sorted(PICTURES)], "the model")
    rows = parts["people"].shape[0]
    _check_shape("robot", parts["robot"], (ROBOT_FEATURES,))
    _check_shape("people", parts["people"], (rows, AGENT_FEATURES))
    settings: dict[str, Any] = {"rows": rows, "lidar": None, "grid": None}
    if "lidar" in parts:
        settings["lidar"] = _lidar_settings(parts["lidar"], lidar)
    if "grid" in parts:
        chosen = learning_grid({"size": parts["grid"].shape[1:], **dict(grid or {})}, "grid")
        _check_shape("grid", parts["grid"], (GRID_LAYERS, *chosen.size))
        settings["grid"] = {"size": list(chosen.size), "cell_m": float(chosen.cell_m)}
    return settings


def _lidar_settings(space: Any, changes: Any) -> dict[str, Any]:
    """Rays and range of the space, and what else is set."""
    known = {"rays": int(space.shape[0]), "max_range": float(space.high.flat[0])}
    given = {} if changes is None else LidarSettings.parse(changes, "lidar").model_dump(mode="json", exclude_unset=True)
    for name, value in known.items():
        if name in given and np.float32(given[name]) != np.float32(value):
            raise BadInput(f"lidar.{name} is {given[name]}, but the model was trained with {value}; leave it out")
    return {**given, **known}


def _check_shape(name: str, space: Any, shape: tuple[int, ...]) -> None:
    if tuple(space.shape) != shape:
        raise BadInput(f"the model's {name!r} has shape {tuple(space.shape)}; observations here have {shape}")
