"""Plans: what is chosen, and what is refused before anything runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from sidestep.errors import BadInput
from sidestep.interfaces import Suite
from sidestep.runs.plan import Plan, extend, make_plan
from sidestep.suites.files import load_suite
from sidestep.types import Scenario
from tests.records.example import example_scenario
from tests.runs.fake import write_policies


@dataclass
class FakeSuite(Suite):
    name: str = "fake"
    summary: str = ""
    names: tuple[str, ...] = ("door-1", "door-2", "hall")
    base: Path | None = field(default=None)

    def scenarios(self) -> tuple[Scenario, ...]:
        return tuple(example_scenario(name) for name in self.names)


def chosen(**options: Any) -> list[str]:
    return [scenario.name for scenario in make_plan(FakeSuite(), ["stop"], **options).scenarios]


def test_scenarios_are_chosen_by_pattern_and_number() -> None:
    assert chosen() == ["door-1", "door-2", "hall"]
    assert chosen(scenario_glob="door-*") == ["door-1", "door-2"]
    assert chosen(scenario_glob="*", limit=1) == ["door-1"]
    with pytest.raises(BadInput, match=r"'dor-1'; did you mean 'door-1'"):
        chosen(scenario_glob="dor-1")


def test_seeds_count_from_the_first() -> None:
    plan = make_plan(FakeSuite(), ["stop", "stop"], seed=5, repeats=3)
    assert plan.seeds == (5, 6, 7)
    assert len(plan.policies) == 1
    assert plan.size == 9


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("stpo", "'stpo'; did you mean 'stop'"),
        ("none.py:Mine", "none.py: no such file"),
        ("{file}:Stedy", "did you mean 'Steady'"),
        ("{file}:Unknowing", "does not say what it `needs`"),
        ("{file}:Path", "has no method 'reset'"),
        ("no.such.module:Thing", "cannot import 'no.such.module'"),
    ],
)
def test_policies_that_cannot_be_used(tmp_path: Path, policy: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        make_plan(FakeSuite(), [policy.format(file=write_policies(tmp_path))])


def test_a_setting_that_the_policy_does_not_take() -> None:
    with pytest.raises(BadInput, match="does not take these settings"):
        make_plan(FakeSuite(), ["stop"], settings={"stop": {"horizon": 3}})


def test_an_unknown_need(tmp_path: Path) -> None:
    file = tmp_path / "needy.py"
    file.write_text("class Needy:\n    needs = {'lidr'}\n    def reset(self, t): ...\n    def act(self, o): ...\n")
    with pytest.raises(BadInput, match=r"needs 'lidr'.*did you mean 'lidar'"):
        make_plan(FakeSuite(), [f"{file}:Needy"])


def test_repeated_names_are_refused() -> None:
    with pytest.raises(BadInput, match="two scenarios are called 'a'"):
        make_plan(FakeSuite(names=("a", "b", "a")), ["stop"])


def test_a_latency_outside_its_mode_is_refused() -> None:
    with pytest.raises(BadInput, match="only charged in mode latency"):
        make_plan(FakeSuite(), ["stop"], latency_s=0.1)


def test_the_version_follows_the_code(tmp_path: Path) -> None:
    file = write_policies(tmp_path)
    before = make_plan(FakeSuite(), [f"{file}:Steady"]).policies[0].version
    assert before.startswith("sha256:")
    file.write_text(file.read_text() + "\n# changed\n")
    assert make_plan(FakeSuite(), [f"{file}:Steady"]).policies[0].version != before
    assert make_plan(FakeSuite(), ["stop"]).policies[0].version.startswith("sidestep ")


def test_a_plan_survives_its_own_json() -> None:
    """Notes with tuples come back as lists: that is no contradiction."""
    plan = make_plan(FakeSuite(), ["stop"])
    noted = plan.scenarios[0].model_copy(update={"notes": {"pair": (1, 2)}})
    plan = plan.model_copy(update={"scenarios": (noted,)})
    again = Plan.model_validate_json(plan.model_dump_json())
    assert extend(again, plan)[0].size == 1


RESOURCES = """
class Large:
    needs = frozenset()
    def __init__(self, device="cuda"):
        self.settings = {"device": device}
        self.resources = {"cpu": 2, "gpu": 0.5 if device == "cuda" else 0}
    def reset(self, task): ...
    def act(self, observation): ...
class Unknown(Large):
    def __init__(self):
        self.resources = {"tpu": 1}
class Broken(Large):
    def __init__(self):
        self.resources = {"cpu": 1.5}
"""


def test_a_policy_declares_what_it_uses_on_a_cluster(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(RESOURCES)
    suite = load_suite("core")
    name = f"{tmp_path / 'mine.py'}:Large"
    large = make_plan(suite, ["stop", name], limit=1)
    assert [policy.resources for policy in large.policies] == [{}, {"cpu": 2.0, "gpu": 0.5}]
    small = make_plan(suite, [name], limit=1, settings={name: {"device": "cpu"}})
    assert small.policies[0].resources == {"cpu": 2.0, "gpu": 0.0}
    for broken, message in (("Unknown", "not 'tpu'"), ("Broken", "cpu is a whole number")):
        with pytest.raises(BadInput, match=message):
            make_plan(suite, [f"{tmp_path / 'mine.py'}:{broken}"], limit=1)
