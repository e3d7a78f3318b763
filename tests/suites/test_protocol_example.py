"""The example of a laboratory's own protocol: one file that validates, runs, and holds its questionnaire."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sidestep.cli.app import app
from sidestep.simulation import run_episode
from sidestep.studies.ratings.questionnaire import Questionnaire
from sidestep.suites.files import choose_options, load_suite
from sidestep.types import Outcome
from tests.suites.protocol_drivers import DriveThrough, Polite, holonomic

FILE = Path(__file__).parents[2] / "examples" / "protocol" / "lift_lobby.yaml"
NAMES = ["corridor-middle", "out_of_the_lift-lobby"]


def test_it_validates() -> None:
    done = CliRunner().invoke(app, ["validate", str(FILE), "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["problems"] == []


def test_a_bundled_policy_runs_it(tmp_path: Path) -> None:
    done = CliRunner().invoke(
        app, ["run", str(FILE), "--policy", "orca", "--out", str(tmp_path / "run"), "--set", "roles=ba"]
    )
    assert done.exit_code == 0, done.output
    assert len(list((tmp_path / "run" / "episodes" / "orca").iterdir())) == len(NAMES)


def test_its_questionnaire_has_questions_for_every_scenario_in_both_languages() -> None:
    suite = choose_options(load_suite(FILE), {"language": "de"})
    for scenario in suite.scenarios():
        questionnaire = Questionnaire.parse(scenario.notes["questionnaire"], str(FILE))
        assert questionnaire.languages == ("en", "de")
        assert len(questionnaire.items_for(scenario.notes["scenario"])) == 2
    assert suite.scenarios()[0].notes["title"] == "Auf dem Gang"


@pytest.mark.parametrize("roles", ["ab", "ba"])
@pytest.mark.parametrize("name", NAMES)
def test_it_can_be_passed_and_failed(name: str, roles: str) -> None:
    (scenario,) = (one for one in choose_options(load_suite(FILE), {"roles": roles}).scenarios() if one.name == name)
    scenario = holonomic(scenario)
    assert run_episode(scenario, Polite(scenario)).outcome is Outcome.SUCCESS
    rude = run_episode(scenario, DriveThrough(scenario)).outcome
    assert rude in (Outcome.PEDESTRIAN_COLLISION, Outcome.DISOBEYED)
