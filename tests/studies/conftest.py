"""A small study."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.needs import reason_missing

pytest.importorskip("fastapi", reason=reason_missing("fastapi"))
pytest.importorskip("sqlalchemy", reason=reason_missing("sqlalchemy"))

from sidestep.ratings.questionnaire import load_questionnaire
from sidestep.studies.database import open_database
from sidestep.studies.definition import Study, parse_study
from sidestep.studies.store import Store

PASSWORD = "a password of the tests"

TEXT = """
name: corridor
title: Robots in a corridor
policies: [polite, blunt]
scenarios:
  - {name: frontal-f1, instruction: Walk to the other end., expected: The robot lets you pass.}
  - {name: narrow_doorway-n1, instruction: Go through the door.}
mode: robot
consent: I take part of my own free will.
"""


def study_of(**changes: Any) -> Study:
    """The small study with some keys changed."""
    study = parse_study(TEXT, "study.yaml")
    return Study.parse(study.model_dump() | changes, "study.yaml")


def walking_study(**changes: Any) -> Study:
    """Participants walk in scenarios of a bundled suite."""
    scenarios = [
        {"name": "frontal-approach", "scenario": "frontal", "location": "f1", "instruction": "Walk on."},
        {
            "name": "narrow-doorway",
            "scenario": "narrow_doorway",
            "location": "n1",
            "instruction": "Go through the door.",
        },
    ]
    walks = {"name": "walks", "mode": "walk", "suite": "catalogue", "policies": ["orca", "stop"]}
    return study_of(**walks, scenarios=scenarios, **changes)


def new_store(url: str, study: Study, folder: str = "") -> Store:
    """A database with one study."""
    store = Store(open_database(url))
    store.create(study, load_questionnaire("protocol"), PASSWORD, folder)
    return store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A database with the small study."""
    return new_store(f"sqlite:///{tmp_path / 'studies.sqlite'}", study_of())


@pytest.fixture
def item(store: Store) -> Callable[[str], str]:
    """The first item that the participant of a token is asked."""

    def first(token: str) -> str:
        stage = store.stage(token)
        assert stage.trial is not None
        return stage.info.items(stage.trial.scenario)[0].id

    return first
