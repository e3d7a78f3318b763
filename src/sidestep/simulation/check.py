"""Try a policy out before it is benchmarked, as Gymnasium's ``check_env`` does for an environment."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import astuple, fields, is_dataclass
from math import isfinite
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from sidestep.errors import BadInput, SidestepError, describe_error, place_of
from sidestep.interfaces import Policy
from sidestep.registry import AdaptedPolicy, as_policy
from sidestep.simulation.loop import for_policy
from sidestep.simulation.robots import DYNAMICS_CODES
from sidestep.simulation.session import Session
from sidestep.types import Command, Scenario
from sidestep.types.command import Waypoints, checked_command

SEED = 3
CORRIDOR: dict[str, Any] = {
    "name": "check-policy",
    "suite": "check",
    "scene": "corridor",
    "robots": [{"spec": "pioneer_3dx", "start": [-9, 0, 0], "goal": [9, 0], "dynamics": "policy"}],
    "crowd": [{"people": [{"start": [-5, 0.3], "waypoints": [[-9, 0.5]]}, {"start": [-6, -0.6]}]}],
    "rules": {"time_limit_s": 40, "control_every": 2},
}
"""A corridor with one person who comes nearer and one who stands beside the path."""


def check_policy(
    policy: Any,
    scenario: Scenario | None = None,
    *,
    settings: Mapping[str, Any] | None = None,
    steps: int = 20,
    base: Path | None = None,
) -> None:
    """Raise ``BadInput``, with what to do about it, unless ``policy`` keeps the contract of ``sidestep.Policy``.

    ``policy``: a name, a class (made with ``settings``) or an object. It is asked ``steps`` times in ``scenario``
    (relative file names start from ``base``), by default a corridor with two people, twice from the same seed. Checked
    are: that all it needs is provided; the signatures of ``reset`` and ``act``; that every answer is a command with
    usable numbers; that it does not write to what it gets; that both runs give the same commands; that its settings are
    plain data; the shapes of ``plan`` and ``forecast``.
    """
    made = as_policy(policy, settings)
    label = f"policy {(made.name or type(made).__name__)!r}"
    _check_members(made, label)
    described = for_policy(scenario or Scenario.parse(CORRIDOR, "check_policy"), made)
    session = Session(described, needs=made.needs, name=label, base=base)
    first, again = _drive(made, session, steps, label), _drive(made, session, steps, label)
    for number, (one, other) in enumerate(zip(first, again, strict=False)):
        if type(one) is not type(other) or not np.array_equal(_numbers(one), _numbers(other)):
            raise BadInput(
                f"{label}: answer {number} was {one} after the first reset and {other} after the second, with the same "
                "seed and the same observations. Forget everything in `reset`, and draw random numbers from "
                "np.random.default_rng(task.seed) only"
            )
    _guarded(made.end_episode, SimpleNamespace(outcome="timeout", error="", metrics={}), f"{label}: end_episode")
    _guarded(lambda _: made.close(), None, f"{label}: close")


def _check_members(policy: Policy, label: str) -> None:
    own: Any = policy.wrapped if isinstance(policy, AdaptedPolicy) else policy
    for name, method, argument in (("reset", own.reset, "task"), ("act", own.act, "observation")):
        try:
            inspect.signature(method).bind(None)
        except ValueError:  # compiled code may have none
            continue
        except TypeError as error:
            raise BadInput(
                f"{label}: {name} is called with one argument ({error}); write {name}(self, {argument})"
            ) from None
    try:
        json.dumps(dict(policy.settings))
    except (TypeError, ValueError) as error:
        raise BadInput(
            f"{label}: settings go into the record and must be plain data (text, numbers, lists, maps): {error}"
        ) from None
    if policy.dynamics is not None and policy.dynamics not in DYNAMICS_CODES:
        raise BadInput(f"{label}: dynamics are {policy.dynamics!r}; known are {', '.join(DYNAMICS_CODES)}")


def _drive(policy: Policy, session: Session, steps: int, label: str) -> list[Command]:
    """The commands of the first ``steps`` decisions of an episode."""
    session.reset(SEED)
    _guarded(policy.reset, session.task, f"{label}: reset")
    commands: list[Command] = []
    while len(commands) < steps and not session.done:
        where = f"{label}: call {len(commands) + 1} of act"
        answer = _guarded(policy.act, session.observation, where)
        try:
            commands.append(checked_command(answer))
        except BadInput as error:
            raise BadInput(f"{where} gave no usable command: {error}") from None
        _check_published(policy, where)
        session.step(commands[-1])
    return commands


def _guarded(method: Callable[[Any], Any], argument: Any, where: str) -> Any:
    """The answer; an error where the method raises or changes what it was given."""
    before = _fingerprint(argument)
    try:
        answer = method(argument)
    except SidestepError:
        raise
    except Exception as error:
        reading = "read-only" in str(error)
        remedy = "; arrays that a policy gets cannot be written to: change a copy (`array.copy()`)" if reading else ""
        raise BadInput(f"{where} raised {describe_error(error)}{place_of(error)}{remedy}") from error
    if _fingerprint(argument) != before:
        raise BadInput(f"{where} wrote to what it was given; change a copy (`array.copy()`)")
    return answer


def _fingerprint(value: Any) -> Any:
    """Something that changes when ``value`` does."""
    if isinstance(value, np.ndarray):
        return value.shape, value.tobytes()
    if is_dataclass(value):
        return tuple(_fingerprint(getattr(value, item.name)) for item in fields(value) if item.compare or item.repr)
    if isinstance(value, Mapping):
        return tuple((key, _fingerprint(item)) for key, item in value.items())
    return tuple(_fingerprint(item) for item in value) if isinstance(value, list | tuple) else id(value)


def _numbers(command: Command) -> Any:
    return command.points if isinstance(command, Waypoints) else np.array(astuple(command))


def _check_published(policy: Policy, where: str) -> None:
    """``plan``, ``forecast`` and ``plan_step_s`` as they were promised; runs leave out silently what is not."""
    plan, forecast, step_s = policy.plan, policy.forecast, policy.plan_step_s
    if plan is None and forecast is None:
        return
    if not isinstance(step_s, int | float | np.number) or not (isfinite(step_s) and step_s > 0.0):
        raise BadInput(f"{where} published a plan with plan_step_s {step_s!r}; set the time between its points, in s")
    if plan is not None:
        _check_points(plan, "(H, 2)", 2, f"{where} published a plan")
    if forecast is not None:
        if not isinstance(forecast, list | tuple) or len(forecast) != 2:
            raise BadInput(f"{where} published a forecast that is not a pair (ids (M,), positions (M, H, 2))")
        points = _check_points(forecast[1], "(M, H, 2)", 3, f"{where} published a forecast")
        if np.shape(forecast[0]) != points.shape[:1]:
            raise BadInput(f"{where} published a forecast of {len(points)} people with ids {np.shape(forecast[0])}")


def _check_points(value: Any, shape: str, dimensions: int, where: str) -> Any:
    try:
        points = np.asarray(value, np.float64)
    except (TypeError, ValueError):
        raise BadInput(f"{where} that is not an array: {value!r:.60}; its points have the shape {shape}") from None
    if points.ndim != dimensions or (points.size and points.shape[-1] != 2):
        raise BadInput(f"{where} of shape {points.shape}; its points have the shape {shape}")
    if not np.isfinite(points).all():
        raise BadInput(f"{where} with points that are not finite; publish None while there is none")
    return points
