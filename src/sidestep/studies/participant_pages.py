"""Pages of participants: consent, instruction, encounter, rating. One address shows the page that comes next."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import FileResponse, RedirectResponse

from sidestep.studies.access import Refused, hash_token, new_token
from sidestep.studies.answers import GivenAnswer
from sidestep.studies.films import film_of
from sidestep.studies.site import Site, answer_document, device_of, form, played_document, whole
from sidestep.studies.store import LONGEST_COMMENT, Stage

Form = Annotated[dict[str, str], Depends(form)]
SLACK_S = 3.0
"""Tolerance in seconds by which a page may report more of a film as played than time has passed."""
NO_DATE = "Thu, 01 Jan 1970 00:00:00 GMT"
"""Date that is sent with every film, because the time of a file could reveal the policy."""


def make_participant_routes(site: Site) -> APIRouter:
    """Everything below ``/p/TOKEN/`` except walking."""
    router = APIRouter(prefix="/p/{token}")
    router.include_router(_run_routes(site))
    router.include_router(_film_routes(site))
    return router


def _home(token: str) -> RedirectResponse:
    return RedirectResponse(f"/p/{token}/", 303)


def _run_routes(site: Site) -> APIRouter:
    """From consent to the last rating."""
    router, store = APIRouter(), site.store

    @router.get("/")
    def show(token: str) -> Response:
        return _show(site, store.stage(token), token)

    @router.post("/consent")
    def consent(token: str, fields: Form) -> Response:
        if fields.get("agree") != "yes":
            raise Refused(400, "please tick the box if you agree; without it, nothing is stored")
        store.consent(token, fields)
        return _home(token)

    @router.post("/experienced")
    def experienced(token: str, fields: Form) -> Response:
        position, stage = whole(fields.get("position", ""), "position"), store.stage(token)
        if stage.info.study.mode != "film":
            store.experience(token, position)
        elif stage.trial is not None and stage.trial.position == position:
            store.experience(token, position, film_of(stage).duration_s)
        return _home(token)

    @router.post("/answer")
    def answer(token: str, document: Annotated[dict[str, Any], Depends(answer_document)]) -> dict[str, bool]:
        site.answers.check(token, "answers")
        store.answer(token, **document)
        return {"stored": True}

    @router.post("/rate")
    def rate(request: Request, token: str, fields: Form) -> Response:
        """Store all answers at once, also from pages without scripts, and end the trial."""
        site.answers.check(token, "answers")
        position = whole(fields.get("position", ""), "position")
        items = [name.removeprefix("r-") for name in fields if name.startswith("r-")]
        given = {item: GivenAnswer(_rating(fields[f"r-{item}"], item), fields.get(f"k-{item}", "")) for item in items}
        store.rate(token, position, given, fields.get("comment", ""), device_of(request))
        return _home(token)

    return router


def _film_routes(site: Site) -> APIRouter:
    router, store = APIRouter(), site.store

    @router.post("/played")
    def played(token: str, piece: Annotated[tuple[int, float, float], Depends(played_document)]) -> dict[str, float]:
        """Note that a piece of the film was played. It counts if it leaves no gap and was not faster than time."""
        site.answers.check(token, "answers")
        position, start_s, end_s = piece
        stage = store.stage(token)
        if stage.trial is None or stage.trial.position != position or stage.info.study.mode != "film":
            raise Refused(409, "there is no film to play now; reload the page")
        if end_s > site.film_limit_s(token, position, stage.trial.played_s or 0.0) + SLACK_S:
            raise Refused(429, "too many requests; wait a minute and try again")
        return {"played": store.play(token, position, start_s, end_s, film_of(stage).duration_s)}

    @router.get("/film/{position}")
    def film(token: str, position: int) -> Response:
        stage = store.stage(token)
        if stage.trial is None or stage.trial.position != position or stage.info.study.mode != "film":
            raise Refused(404, "this film does not exist")
        shown = film_of(stage)
        site.film_limit_s(token, position, stage.trial.played_s or 0.0)
        tag = hash_token(f"{token} {position} {shown.path.stat().st_mtime_ns}")[:32]  # of this run, not of the file
        headers = {"last-modified": NO_DATE, "etag": f'"{tag}"'}
        return FileResponse(shown.path, media_type=shown.kind, headers=headers)

    return router


def _rating(text: str, item: str) -> int:
    if not (text.lstrip("-").isdigit() and text.isascii() and len(text) < 8):
        raise Refused(400, f"item {item!r:.80}: the rating is not a whole number")
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
        if study.mode == "film":
            about["played_s"] = trial.played_s or 0.0
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
