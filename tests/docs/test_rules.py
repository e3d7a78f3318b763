"""Rules on the page of leaderboards: every test that it names exists, and a policy that stands still never succeeds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sidestep import registry
from sidestep.simulation import run_episode
from sidestep.suites.files import load_suite
from sidestep.types import Outcome

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "leaderboard.md"


def named_tests() -> list[tuple[str, str]]:
    """Files and the functions or classes in them; ``…`` and a bare name stand for the file named before."""
    found: list[tuple[str, str]] = []
    file = ""
    for row in PAGE.read_text(encoding="utf-8").splitlines():
        if not row.startswith("| ") or row.count("|") < 4:
            continue
        for text in re.findall(r"`([^`]+)`", row.split("|")[-2]):
            path, _, name = text.partition("::")
            if path.endswith(".py"):
                file = path
            found.append((file, name if path.endswith(".py") or path == "…" else text))
    return found


@pytest.mark.parametrize(("file", "name"), named_tests())
def test_a_test_that_the_page_names_exists(file: str, name: str) -> None:
    source = (ROOT / file).read_text(encoding="utf-8")
    assert not name or re.search(rf"\b(?:def|class) {name}\b", source)


def test_every_outcome_is_on_the_page() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert [outcome.value for outcome in Outcome if f"`{outcome.value}`" not in page] == []


@pytest.mark.parametrize(
    "suite", ["core", "catalogue", "socnav", "sidewalk-unit", "sidewalk-reactive", "intersection", "protocol"]
)
def test_standing_still_never_succeeds(suite: str) -> None:
    scenarios = load_suite(suite)
    if suite == "socnav":
        scenarios = scenarios.with_options({"source": "generated"})
    seen: set[str] = set()
    for scenario in scenarios.scenarios():
        kind = scenario.tags[0] if suite.startswith(("sidewalk", "intersection")) else scenario.name.split("-")[0]
        if kind in seen:
            continue
        seen.add(kind)
        record = run_episode(scenario, registry.make_policy("stop"))
        assert record.outcome is not Outcome.SUCCESS, scenario.name
    assert len(seen) >= 3


def test_rocking_on_the_spot_is_not_progress() -> None:
    """A robot that rocks just faster than standing is never frozen, but it runs out of time."""
    from sidestep.types import Velocity

    class Rocks:
        needs = frozenset({"goal"})
        dynamics = "unicycle"

        def reset(self, task) -> None:
            self.turn = 1.0

        def act(self, observation) -> Velocity:
            self.turn = -self.turn
            return Velocity(0.06 * self.turn, 0.0)

    scenario = load_suite("core").scenarios()[0]
    rules = scenario.rules.model_copy(update={"frozen_after_s": 2.0, "time_limit_s": 6.0, "step_s": 0.1})
    lonely = scenario.model_copy(update={"rules": rules, "crowd": ()})
    assert run_episode(lonely, Rocks()).outcome is Outcome.TIMEOUT
    ends = (*rules.ends_on, Outcome.FROZEN)
    frozen = lonely.model_copy(update={"rules": rules.model_copy(update={"ends_on": ends})})
    assert run_episode(frozen, registry.make_policy("stop")).outcome is Outcome.FROZEN
