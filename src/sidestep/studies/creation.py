"""Making a study from a file: everything that it names is looked up and tried before it is stored."""

from __future__ import annotations

from pathlib import Path

from sidestep.errors import BadInput
from sidestep.ratings.questionnaire import load_questionnaire
from sidestep.reading import file_beside, is_file, is_folder
from sidestep.studies.database import open_database
from sidestep.studies.definition import Study, StudyPolicy, read_study, with_suite_texts
from sidestep.studies.order import trials_of
from sidestep.studies.participant_pages import FILM_TYPES
from sidestep.studies.store import Store, StudyInfo
from sidestep.studies.walk_worker import rehearse
from sidestep.studies.walking import rehearsals


def create_study(definition: Path, database: str, password: str) -> tuple[Store, StudyInfo, int]:
    """The store, the new study, and the number of runs of each participant."""
    study = with_suite_texts(_beside(read_study(definition), definition))
    questionnaire = load_questionnaire(study.questionnaire)
    trials = trials_of(study, 0)
    if study.mode == "walk":
        for order in rehearsals(study):
            rehearse(order)
    if study.mode == "film":
        for trial in trials:
            name = study.film(trial.policy, trial.scenario, trial.run)
            if file_beside(definition, name, "films").suffix.lower() not in FILM_TYPES:
                raise BadInput(f"{definition}: films: {name}: films are .mp4 or .webm files; convert it")
    store = Store(open_database(database))
    return store, store.create(study, questionnaire, password, str(definition.parent.resolve())), len(trials)


def _beside(study: Study, definition: Path) -> Study:
    """The study with paths in place of names of files that lie beside its definition."""
    folder = definition.parent.resolve()

    def found(name: str) -> str:
        there = folder / name
        return str(there) if is_file(there) or (is_folder(there) and ("/" in name or name.startswith("."))) else name

    def policy(each: StudyPolicy) -> StudyPolicy:
        file, colon, member = each.reference.rpartition(":")
        return each.model_copy(update={"policy": f"{found(file)}:{member}"}) if colon else each

    return study.model_copy(
        update={
            "suite": found(study.suite),
            "questionnaire": found(study.questionnaire),
            "policies": tuple(policy(each) for each in study.policies),
        }
    )
