"""A small study."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.needs import reason_missing

pytest.importorskip("fastapi", reason=reason_missing("fastapi"))
pytest.importorskip("sqlalchemy", reason=reason_missing("sqlalchemy"))

from sidestep.studies.database import open_database
from sidestep.studies.definition import Study, parse_study
from sidestep.studies.export import StudyData
from sidestep.studies.ratings import Ratings
from sidestep.studies.ratings.participation import without_flagged
from sidestep.studies.ratings.questionnaire import load_questionnaire
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


def ratings_of(store: Store, name: str, *, flagged: bool = False) -> Ratings:
    """The ratings of a study: the newest answer to every item of runs that are done. ``flagged``: also those of walks
    that do not count (see ``conduct``)."""
    ratings = StudyData(store, store.study(name)).ratings
    return ratings if flagged else without_flagged(ratings)


def new_store(url: str, study: Study, folder: str = "") -> Store:
    """A database with one study."""
    store = Store(open_database(url))
    store.create(study, load_questionnaire("protocol"), PASSWORD, folder)
    return store


def write_films(folder: Path, seconds: float = 2.0, **metadata: str) -> None:
    """A film of every run of the small study, beside its definition, one shade of grey for each policy."""
    pytest.importorskip("av", reason="pip install 'sidestep[video]'")
    import av
    import numpy as np

    for shade, policy in enumerate(("polite", "blunt")):
        for scenario in ("frontal-f1", "narrow_doorway-n1"):
            file = folder / "films" / policy / f"{scenario}.mp4"
            file.parent.mkdir(parents=True, exist_ok=True)
            with av.open(str(file), "w", format="mp4", options={"movflags": "faststart"}) as film:
                film.metadata.update(metadata)
                stream = film.add_stream("libx264", rate=10)
                stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
                for _ in range(round(10 * seconds)):
                    grey = np.full((48, 64, 3), 90 + 60 * shade, np.uint8)
                    film.mux(stream.encode(av.VideoFrame.from_ndarray(grey, format="rgb24")))
                film.mux(stream.encode())


@pytest.fixture(autouse=True)
def _cheap_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hash of a password takes a moment. ``test_access`` tests the real cost."""
    monkeypatch.setattr("sidestep.studies.access.COST", (2**4, 8, 1))


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
