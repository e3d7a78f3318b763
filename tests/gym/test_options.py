"""The typed keyword arguments of environments are those that are taken; ``info`` has the documented keys."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sidestep.gym import tasks
from sidestep.gym.environment import CrowdEnv
from sidestep.gym.intersection import IntersectionSuiteOptions
from sidestep.gym.vector import CrowdVectorEnv, VectorOptions
from sidestep.suites.intersection import IntersectionOptions


def parameters(function: Callable[..., Any]) -> set[str]:
    """Names of the parameters, without the first and ``**options``."""
    found = list(inspect.signature(function).parameters.values())
    return {each.name for each in found[1:] if each.kind is not inspect.Parameter.VAR_KEYWORD}


@pytest.mark.parametrize(
    ("options", "taken"),
    [
        (tasks.TaskOptions, parameters(tasks.make_scenario)),
        (tasks.ScenarioOptions, {"scenario", *parameters(tasks.find_scenario)}),
        (tasks.SuiteOptions, {"suite", *parameters(tasks.find_scenarios)}),
        (IntersectionSuiteOptions, set(IntersectionOptions.model_fields)),
        (VectorOptions, {*tasks.WorldOptions.__annotations__, *parameters(CrowdVectorEnv.__init__)} - {"num_envs"}),
    ],
)
def test_typed_options_are_those_that_are_taken(options: type, taken: set[str]) -> None:
    assert set(options.__annotations__) == taken


def test_info_has_the_documented_keys() -> None:
    assert CrowdEnv.__doc__ is not None
    for options in ({"people": 2}, {"task": "Suite", "suite": "core", "scenarios": ["plaza"], "max_people": 3}):
        env = CrowdEnv(**options)  # type: ignore[arg-type]
        _, reset = env.reset(seed=0)
        *_, step = env.step(np.zeros(2, np.float32))
        assert set(reset) == {*step, "world_seed"}
        assert set(step) == {"is_success", "termination_reason", *(["scenario"] if "task" in options else [])}
        assert all(f"``{key}``" in CrowdEnv.__doc__ for key in reset)
