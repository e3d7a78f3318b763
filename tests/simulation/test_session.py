"""An episode that the caller drives is the episode that the benchmark runs."""

from __future__ import annotations

import pytest

from sidestep.errors import BadInput
from sidestep.registry import make_policy
from sidestep.simulation import run_episode
from sidestep.simulation.session import Session
from sidestep.suites.files import load_suite
from sidestep.types import HolonomicVelocity, PolicyInfo, Scenario, Velocity


def scenario(suite: str, name: str) -> Scenario:
    return next(each for each in load_suite(suite).scenarios() if each.name == name)


@pytest.mark.parametrize(
    ("suite", "name", "policy"),
    [("core", "doorway", "orca"), ("core", "plaza", "social_force"), ("catalogue", "frontal-approach", "straight")],
)
def test_the_same_commands_give_the_same_digest(suite: str, name: str, policy: str) -> None:
    chosen = scenario(suite, name)
    driver = make_policy(policy)
    expected = run_episode(
        chosen, make_policy(policy), seed=3, policy_info=PolicyInfo("x", {}, tuple(sorted(driver.needs)))
    )
    session = Session(chosen, needs=driver.needs, name="x")
    session.reset(seed=3)
    driver.reset(session.task)
    observation = session.observation
    terminated = truncated = False
    while not (terminated or truncated):
        assert not session.done
        observation, terminated, truncated, info = session.step(driver.act(observation))
        if not session.done:
            assert info == {"is_success": False, "termination_reason": ""}
    assert session.done
    assert info == {"is_success": expected.outcome == "success", "termination_reason": str(expected.outcome)}
    assert truncated == any(event.kind == "timeout" for event in expected.events)
    assert session.outcome == expected.outcome
    assert session.record.digest == expected.digest
    assert session.time == expected.duration


def test_cameras_and_history_see_what_a_policy_sees() -> None:
    """An observation more or less, or a camera that is asked twice, would show in pictures and history."""
    chosen = scenario("core", "doorway")

    class Looks:
        needs = frozenset({"goal", "history", "depth", "pedestrians"})
        seen: list[tuple[int, float]]

        def reset(self, task: object) -> None:
            self.seen = []

        def act(self, observation: object) -> HolonomicVelocity:
            self.seen.append((len(observation.history), float(observation.depth.sum())))  # type: ignore[attr-defined]
            return HolonomicVelocity(0.5, 0.0)

    policy = Looks()
    record = run_episode(chosen, policy, seed=1)  # type: ignore[arg-type]
    session = Session(chosen, needs=policy.needs)
    observation, seen = session.reset(seed=1), []
    while not session.done:
        seen.append((len(observation.history or ()), float(observation.depth.sum())))  # type: ignore[union-attr]
        observation, *_ = session.step(HolonomicVelocity(0.5, 0.0))
    assert seen == policy.seen
    assert len(record.time) == session.record.steps + 1


def test_the_time_limit_truncates_whatever_the_outcome_is() -> None:
    chosen = scenario("core", "doorway")
    session = Session(chosen.model_copy(update={"rules": chosen.rules.model_copy(update={"time_limit_s": 1.0})}))
    steps = []
    while not session.done:
        steps.append(session.step(HolonomicVelocity(0.0, 0.0))[1:])
    assert steps[-1] == (False, True, {"is_success": False, "termination_reason": "timeout"})
    assert all(step == (False, False, {"is_success": False, "termination_reason": ""}) for step in steps[:-1])


def test_what_is_refused() -> None:
    session = Session(scenario("core", "doorway"))
    with pytest.raises(BadInput, match="finite"):
        session.step(Velocity(float("nan"), 0.0))
    with pytest.raises(BadInput, match="needs 'people'"):
        Session(scenario("core", "doorway"), needs={"people"})
    while not session.done:
        session.step(HolonomicVelocity(1.0, 0.0))
    assert session.record.outcome is session.outcome
    with pytest.raises(BadInput, match=r"the episode is over .*call reset"):
        session.step(HolonomicVelocity(1.0, 0.0))
    session.reset()
    assert session.time == 0.0
    assert not session.done
