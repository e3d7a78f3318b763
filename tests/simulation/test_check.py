"""``check_policy`` passes what is registered and names what is wrong with a policy; ``as_policy`` takes all forms."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

from sidestep import registry
from sidestep.errors import BadInput
from sidestep.interfaces import Policy, describe_policy
from sidestep.policies.orca import Orca
from sidestep.policies.trivial import Stop
from sidestep.registry import AdaptedPolicy, as_policy
from sidestep.simulation import check_policy, run_episode
from sidestep.types import Observation, Task, Velocity
from tests.policies.test_bundled import WITH_A_FILE
from tests.simulation.scenarios import crossing


@pytest.mark.parametrize("name", [name for name in registry.names("policies") if name not in WITH_A_FILE])
def test_everything_registered_passes(name: str) -> None:
    check_policy(name)
    assert registry.declared(registry.load("policies", name), "summary")


class Plain:
    """Needs, reset and act, and nothing else."""

    needs = frozenset({"goal", "pedestrians", "route"})

    def reset(self, task: Task) -> None:
        self.generator = np.random.default_rng(task.seed)

    def act(self, observation: Observation) -> Any:
        return Velocity(float(self.generator.uniform(0.0, 0.5)), 0.0)


def variant(**members: Any) -> type:
    return type("Variant", (Plain,), members)


def writes(self: Any, observation: Observation) -> Velocity:
    assert observation.pedestrians is not None
    observation.pedestrians.position[:] = 0.0
    return Velocity(0.0, 0.0)


def forces(self: Any, observation: Observation) -> Velocity:
    assert observation.pedestrians is not None
    array = observation.pedestrians.position
    while array.base is not None and not array.flags.writeable:
        array = array.base
    array.flags.writeable = True
    array[:] += 1.0
    return Velocity(0.0, 0.0)


def counts(self: Any, observation: Observation) -> Velocity:
    type(self).asked = getattr(type(self), "asked", 0) + 1
    return Velocity(0.01 * type(self).asked, 0.0)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({}, ""),
        ({"needs": frozenset({"goals"})}, "needs 'goals', which nobody provides; did you mean 'goal'"),
        ({"needs": "goal"}, "`needs` is a set of names"),
        ({"needs": 5}, "`needs` is a set of names"),
        ({"act": None}, "has no method 'act'"),
        ({"act": lambda self: None}, r"act is called with one argument.*write act\(self, observation\)"),
        ({"reset": lambda self, task, more: None}, r"write reset\(self, task\)"),
        ({"reset": lambda self, task: 1 / 0}, "reset raised ZeroDivisionError"),
        ({"act": lambda self, seen: 3.0}, "call 1 of act gave no usable command: .*float 3.0"),
        ({"act": lambda self, seen: Velocity(float("nan"), 0.0)}, "Velocity.v is nan"),
        ({"act": writes}, r"read-only.*change a copy"),
        ({"act": forces}, r"wrote to what it was given; change a copy"),
        ({"act": counts}, r"answer 0 was .* after the first reset .*np.random.default_rng\(task.seed\)"),
        ({"settings": {"object": object()}}, "settings go into the record and must be plain data"),
        ({"dynamics": "hovering"}, "dynamics are 'hovering'; known are"),
        ({"camera": {"widht": 3}}, "unknown key 'widht'; did you mean 'width'"),
        ({"plan": np.zeros((3, 2))}, "published a plan with plan_step_s None"),
        (
            {"plan": np.zeros((3, 3)), "plan_step_s": 0.5},
            r"a plan of shape \(3, 3\); its points have the shape \(H, 2\)",
        ),
        ({"plan": np.full((3, 2), np.inf), "plan_step_s": 0.5}, "not finite"),
        ({"plan": "ahead", "plan_step_s": 0.5}, "not an array"),
        ({"forecast": ([1, 2], np.zeros((2, 3, 2))), "plan_step_s": 0.5}, ""),
        ({"forecast": [1, 2, 3], "plan_step_s": 0.5}, "not a pair"),
        ({"forecast": ([1], np.zeros((2, 3, 2))), "plan_step_s": 0.5}, "a forecast of 2 people with ids"),
        ({"end_episode": lambda self: None}, "end_episode raised TypeError"),
    ],
)
def test_what_is_wrong_is_named(members: dict[str, Any], message: str) -> None:
    if not message:
        check_policy(variant(**members), steps=3)
        return
    with pytest.raises(BadInput, match=message):
        check_policy(variant(**members), steps=3)


def test_a_scenario_of_ones_own_is_used() -> None:
    seen: list[int] = []

    def act(self: Any, observation: Observation) -> Velocity:
        assert observation.pedestrians is not None
        seen.append(len(observation.pedestrians))
        return Velocity(0.0, 0.0)

    check_policy(variant(act=act)(), crossing(6), steps=2)
    assert seen == [6, 6, 6, 6]


class Sampled:
    needs: ClassVar[frozenset[str]] = frozenset()
    dynamics = "unicycle"
    privileged = True
    version = 3

    def __init__(self, speed: float = 0.2) -> None:
        self.settings = {"speed": speed}

    def reset(self, task: Task) -> None:
        self.ended = self.closed = False

    def act(self, observation: Observation) -> Velocity:
        self.plan, self.plan_step_s = np.zeros((2, 2)), 0.5
        return Velocity(self.settings["speed"], 0.0)

    def end_episode(self, scores: Any) -> None:
        self.ended = True

    def close(self) -> None:
        self.closed = True


def test_names_classes_factories_and_objects_are_policies() -> None:
    assert isinstance(as_policy("orca"), Orca)
    assert isinstance(as_policy(Stop), Stop)
    stop = Stop()
    assert as_policy(stop) is stop
    assert as_policy("orca", {"horizon": 2.0}).settings["horizon"] == 2.0
    for made in (as_policy(Sampled, {"speed": 0.4}), as_policy(lambda: Sampled(0.4)), as_policy(Sampled(0.4))):
        assert isinstance(made, Policy)
        assert made.settings == {"speed": 0.4}
        assert (made.name, made.dynamics, made.privileged, made.version) == ("Sampled", "unicycle", True, "3")


def test_what_an_adapted_object_publishes_and_is_told_is_its_own() -> None:
    wrapped = Sampled()
    made = as_policy(wrapped)
    assert isinstance(made, AdaptedPolicy)
    assert made.plan is None
    record = run_episode(crossing(2, rules={"time_limit_s": 1}), wrapped)
    assert record.plans.robot.shape[1:] == (2, 2)
    assert made.plan.shape == (2, 2)
    made.end_episode(None)
    made.close()
    made.check_reachable()
    assert wrapped.ended
    assert wrapped.closed


def test_settings_are_for_what_is_yet_to_be_made() -> None:
    with pytest.raises(BadInput, match="is made already; give its settings to its class"):
        as_policy(Sampled(), {"speed": 1.0})
    with pytest.raises(BadInput, match="does not take these settings"):
        as_policy(Sampled, {"sped": 1.0})
    with pytest.raises(BadInput, match="has no method 'reset'"):
        as_policy(object())


def test_a_policy_is_described_by_itself_or_by_its_plan() -> None:
    info = describe_policy(as_policy(Sampled()))
    assert (info.name, info.settings, info.version, info.privileged) == ("Sampled", {"speed": 0.2}, "3", True)
    planned = describe_policy(Stop(), "halt", {"given": 1}, "v", privileged=True)
    assert (planned.name, planned.settings, planned.version, planned.privileged) == ("halt", {"given": 1}, "v", True)
    assert describe_policy(as_policy("oracle")).privileged
    assert describe_policy(Stop()).needs == ()
