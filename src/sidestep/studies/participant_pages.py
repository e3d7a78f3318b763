"""Pages of participants: consent, instruction, encounter, rating, next. One address; it shows where they are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Response
from fastapi.responses import FileResponse, RedirectResponse

from sidestep.errors import BadInput
from sidestep.reading import file_beside
from sidestep.studies.access import Refused, new_token
from sidestep.studies.site import Site, answer_document, form, whole
from sidestep.studies.store import LONGEST_COMMENT, Stage

Form = Annotated[dict[str, str], Depends(form)]
FILM_TYPES = {".mp4": "video/mp4", ".webm": "video/webm"}


def make_participant_routes(site: Site) -> APIRouter:
    """Everything below ``/p/TOKEN/`` except walking."""
    router, store = APIRouter(prefix="/p/{token}"), site.store

    def home(token: str) -> RedirectResponse:
        return RedirectResponse(f"/p/{token}/", 303)

    @router.get("/")
    def show(token: str) -> Response:
        return _show(site, store.stage(token), token)

    @router.post("/consent")
    def consent(token: str, fields: Form) -> Response:
        if fields.get("agree") != "yes":
            raise Refused(400, "please tick the box if you agree; without it, nothing is stored")
        store.consent(token, fields)
        return home(token)

    @router.post("/experienced")
    def experienced(token: str, fields: Form) -> Response:
        store.experience(token, whole(fields.get("position", ""), "position"))
        return home(token)

    @router.post("/answer")
    def answer(token: str, document: Annotated[dict[str, Any], Depends(answer_document)]) -> dict[str, bool]:
        site.answers.check(token, "answers")
        store.answer(token, **document)
        return {"stored": True}

    @router.post("/rate")
    def rate(token: str, fields: Form) -> Response:
        """All answers at once, for pages without scripts, and the end of the trial."""
        site.answers.check(token, "answers")
        position = whole(fields.get("position", ""), "position")
        stage = store.stage(token)
        if stage.trial is not None and stage.trial.position == position:
            for item in stage.info.items(stage.trial.scenario):
                given = fields.get(f"r-{item.id}")
                if given is not None and given != str(stage.answers.get(item.id)):
                    store.answer(token, position, item.id, _rating(given, item.id), fields.get(f"k-{item.id}", ""))
        store.finish(token, position, fields.get("comment", ""))
        return home(token)

    @router.get("/film/{position}")
    def film(token: str, position: int) -> Response:
        stage = store.stage(token)
        if stage.trial is None or stage.trial.position != position or stage.info.study.mode != "film":
            raise Refused(404, "there is no such film")
        file = film_file(stage)
        return FileResponse(file, media_type=FILM_TYPES[file.suffix.lower()])

    return router


def film_file(stage: Stage) -> Path:
    """The film of the present trial."""
    trial, info = stage.trial, stage.info
    assert trial is not None
    name = info.study.film(trial.policy, trial.scenario, trial.run)
    file = file_beside(Path(info.folder) / "study.yaml", name, "films")
    if file.suffix.lower() not in FILM_TYPES:
        raise BadInput(f"{name}: films are .mp4 or .webm files; convert it")
    return file


def _rating(text: str, item: str) -> int:
    if not (text.lstrip("-").isdigit() and text.isascii() and len(text) < 8):
        raise Refused(400, f"item {item}: the rating is no whole number")
    return int(text)


def _show(site: Site, stage: Stage, token: str) -> Response:
    study, trial = stage.info.study, stage.trial
    about: dict[str, Any] = {"study": study, "stage": stage, "token": token, "language": study.language}
    if not stage.consented:
        return site.page("consent", **about)
    if trial is None:
        return site.page("done", **about)
    about |= {"trial": trial, "scenario": stage.info.scenario(trial.scenario)}
    if trial.experienced is None:
        return site.page(f"meet_{study.mode}", **about)
    questionnaire = stage.info.questionnaire
    scale = questionnaire.scale
    levels = [*scale.levels] + ([] if scale.cannot_tell is None else [scale.cannot_tell])
    questions = [
        {
            "id": item.id,
            "number": number,
            "text": questionnaire.say(item.text, study.language),
            "key": new_token(),
            "given": stage.answers.get(item.id),
            "levels": [(level, questionnaire.label(item, level, study.language)) for level in levels],
        }
        for number, item in enumerate(stage.info.items(trial.scenario), 1)
    ]
    instruction = questionnaire.say(questionnaire.instruction, study.language)
    return site.page("rate", **about, questions=questions, instruction=instruction, longest=LONGEST_COMMENT,
                     cannot_tell=scale.cannot_tell)  # fmt: skip
