"""Making a study from a file: everything that it names is looked up and tried before it is stored."""

from __future__ import annotations

from pathlib import Path

from sidestep._util.reading import is_file, is_folder
from sidestep.registry import policy_maker
from sidestep.studies.access import Refused, check_password
from sidestep.studies.database import open_database
from sidestep.studies.definition import Study, StudyPolicy, read_study, with_suite_texts
from sidestep.studies.films import find_film
from sidestep.studies.order import trials_of
from sidestep.studies.ratings.questionnaire import load_questionnaire
from sidestep.studies.store import Store, StudyInfo
from sidestep.studies.walk_worker import rehearse
from sidestep.studies.walking import rehearsals


def create_study(definition: Path, database: str, password: str) -> tuple[Store, StudyInfo, int]:
    """Create a study; returns the store, the study, and the number of runs of each participant.

    Quick checks come first, because trying the walks takes minutes.
    """
    check_password(password)
    study = with_suite_texts(_beside(read_study(definition), definition))
    questionnaire = load_questionnaire(study.questionnaire)
    trials = trials_of(study, 0)
    store = Store(open_database(database))
    if any(each.study.name == study.name for each in store.studies()):
        raise Refused(409, f"study {study.name!r} exists already; choose another name")
    store.check(study, questionnaire)
    if study.mode == "walk":
        for each in study.policies:
            policy_maker(each.reference, each.settings)
        for order in rehearsals(study):
            rehearse(order)
    if study.mode == "film":
        for trial in trials:
            find_film(study, definition, trial.policy, trial.scenario, trial.run)
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
