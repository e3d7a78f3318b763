"""Pages of experimenters: new studies, links with QR codes, live progress, data out, data deleted."""

from __future__ import annotations

import io
import json
import secrets
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse

from sidestep.errors import MissingExtra
from sidestep.ratings.questionnaire import load_questionnaire, questionnaire_names
from sidestep.registry import names
from sidestep.studies.access import COOKIE_S, Refused, is_password, is_signed, sign
from sidestep.studies.analysis import report_of
from sidestep.studies.definition import Study, needs_suite, parse_study, with_suite_texts
from sidestep.studies.export import everything_of, participant_name, ratings_csv
from sidestep.studies.order import blinding_letters
from sidestep.studies.site import Site, form, large_form, whole
from sidestep.studies.store import Store, StudyInfo

try:
    import segno
except ImportError as error:  # pragma: no cover
    raise MissingExtra("the study server", "web") from error

Form = Annotated[dict[str, str], Depends(form)]
COOKIE = "sidestep-study"
NO_STUDY_PASSWORD = "scrypt$" + "00" * 16 + "$" + "00" * 32
"""Compared where there is no such study, so that both take equally long."""


def allowed(request: Request, name: str) -> StudyInfo:
    """The study, for an experimenter who is logged in."""
    site: Site = request.app.state.site
    try:
        info = site.store.study(name)
    except Refused:
        raise Refused(403, "please log in") from None
    if not is_signed(request.cookies.get(COOKIE, ""), info.secret, f"experimenter {info.id}"):
        raise Refused(403, "please log in")
    return info


Allowed = Annotated[StudyInfo, Depends(allowed)]


def allowed_form(info: Allowed, fields: Form) -> dict[str, str]:
    """The fields of a form that a page of this experimenter has sent."""
    if not is_signed(fields.get("csrf", ""), info.secret, f"form {info.id}"):
        raise Refused(403, "this form is too old; go back, reload the page and try again")
    return fields


Checked = Annotated[dict[str, str], Depends(allowed_form)]


def make_experimenter_routes(site: Site) -> APIRouter:
    """``/`` to log in, ``/new/TOKEN`` to make a study, ``/study/NAME/…`` for who is logged in."""
    router, store = APIRouter(), site.store

    def enter(info: StudyInfo) -> RedirectResponse:
        response = RedirectResponse(f"/study/{info.study.name}/", 303)
        response.set_cookie(
            COOKIE, sign(info.secret, f"experimenter {info.id}"), max_age=COOKIE_S, path=f"/study/{info.study.name}/",
            httponly=True, samesite="strict", secure=site.is_secure,
        )  # fmt: skip
        return response

    @router.get("/")
    def welcome() -> Response:
        return site.page("login", language="en")

    @router.post("/login")
    def login(request: Request, fields: Form) -> Response:
        site.logins.check(request.client.host if request.client else "", "attempts to log in")
        try:
            info = store.study(fields.get("study", ""))
        except Refused:
            info = None
        right = is_password(fields.get("password", ""), info.password if info else NO_STUDY_PASSWORD)
        if info is None or not right:
            raise Refused(403, "study or password is wrong")
        return enter(info)

    def may_create(given: str) -> None:
        if not site.create_token or not secrets.compare_digest(given.encode(), site.create_token.encode()):
            raise Refused(404, "there is nothing here")

    @router.get("/new/{given}")
    def new(given: str) -> Response:
        may_create(given)
        return site.page("new", language="en", text=EXAMPLE, problem="", given=given)

    @router.post("/new/{given}")
    def create(given: str, fields: Annotated[dict[str, str], Depends(large_form)]) -> Response:
        may_create(given)
        site.creations.check("all", "new studies")
        text = fields.get("definition", "")
        try:
            if fields.get("password", "") != fields.get("again", ""):
                raise Refused(400, "the two passwords differ")
            study = with_suite_texts(only_installed(parse_study(text, "study")))
            info = store.create(study, load_questionnaire(study.questionnaire), fields.get("password", ""))
        except Exception as error:
            if not isinstance(error, Refused | ValueError) and type(error).__module__ != "sidestep.errors":
                raise
            return site.page("new", 400, language="en", text=text, problem=str(error), given=given)
        return enter(info)

    @router.get("/study/{name}/")
    def overview(request: Request, info: Allowed) -> Response:
        form_token = sign(info.secret, f"form {info.id}")
        return site.page(
            "study", language="en", study=info.study, info=info, csrf=form_token, people=_people(site, request, info),
            letters=sorted(blinding_letters(info.study).items(), key=lambda each: each[1]),
        )  # fmt: skip

    @router.get("/study/{name}/progress")
    def progress(request: Request, info: Allowed) -> Response:
        return JSONResponse(_people(site, request, info))

    @router.get("/study/{name}/qr/{number}")
    def qr(request: Request, info: Allowed, number: int) -> Response:
        person = next((each for each in store.progress(info.study.name) if each.number == number), None)
        if person is None or person.deleted:
            raise Refused(404, "there is no such participant")
        picture = io.BytesIO()
        segno.make(site.link(request, person.token), error="m").save(picture, kind="svg", scale=4, light="white")
        return Response(picture.getvalue(), media_type="image/svg+xml")

    @router.post("/study/{name}/participants")
    def add(name: str, fields: Checked) -> Response:
        store.add_participants(name, whole(fields.get("count", ""), "number of participants", 1, 500))
        return RedirectResponse(f"/study/{name}/", 303)

    @router.post("/study/{name}/delete")
    def delete(name: str, fields: Checked) -> Response:
        number = whole(fields.get("number", ""), "participant", 1)
        if fields.get("confirm") != participant_name(number):
            raise Refused(400, f"to delete all data of this participant, type {participant_name(number)}")
        store.delete_participant(name, number)
        return RedirectResponse(f"/study/{name}/", 303)

    @router.post("/study/{name}/close")
    def close(name: str, fields: Checked) -> Response:
        store.close(name)
        return RedirectResponse(f"/study/{name}/", 303)

    @router.post("/study/{name}/logout")
    def logout(name: str, fields: Checked) -> Response:
        response = RedirectResponse("/", 303)
        response.delete_cookie(COOKIE, path=f"/study/{name}/")
        return response

    @router.get("/study/{name}/ratings.csv")
    def ratings(info: Allowed) -> Response:
        return _download(ratings_csv(store, info.study.name), "text/csv", f"{info.study.name}-ratings.csv")

    @router.get("/study/{name}/study.json")
    def everything(info: Allowed) -> Response:
        return _document(store, info.study.name, None, f"{info.study.name}.json")

    @router.get("/study/{name}/participants/{number}")
    def participant(info: Allowed, number: int) -> Response:
        return _document(store, info.study.name, number, f"{info.study.name}-{participant_name(number)}.json")

    @router.get("/study/{name}/analysis")
    def analysis(info: Allowed) -> Response:
        report = HTMLResponse(report_of(store, info.study.name))
        report.headers["Content-Security-Policy"] = (
            "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
        )
        return report

    return router


def only_installed(study: Study) -> Study:
    """A study made in the browser names what is installed; files are for those who have an account on the machine."""
    for kind, known, given in (
        ("suite", names("suites"), [study.suite] if needs_suite(study) else []),
        ("questionnaire", questionnaire_names(), [study.questionnaire]),
        ("policy", names("policies"), [each.reference for each in study.policies if study.mode == "walk"]),
    ):
        if strange := [each for each in given if each not in known]:
            raise Refused(
                400, f"{kind} {strange[0]!r:.80} is not installed; a study with files is made by `sidestep study new`"
            )
    if study.mode == "film":
        raise Refused(400, "a study with films is made by `sidestep study new`, beside the films")
    return study


def _people(site: Site, request: Request, info: StudyInfo) -> list[dict[str, Any]]:
    letters = blinding_letters(info.study)
    return [
        {
            "number": each.number,
            "name": participant_name(each.number),
            "link": site.link(request, each.token),
            "consented": each.consented is not None,
            "done": each.done,
            "trials": each.trials,
            "answers": each.answers,
            "last": f"{each.last:%Y-%m-%d %H:%M}" if each.last else "",
            "pace": "" if each.slowest_hz is None else f"{each.slowest_hz:.0f} Hz",
            "next": f"{letters[each.next_policy]} · {each.next_scenario}" if each.next_policy else "",
        }
        for each in site.store.progress(info.study.name)
        if not each.deleted
    ]


def _document(store: Store, name: str, number: int | None, file: str) -> Response:
    text = json.dumps(everything_of(store, name, number), indent=1, ensure_ascii=False)
    return _download(text.encode(), "application/json", file)


def _download(data: bytes, kind: str, file: str) -> Response:
    return Response(data, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{file}"'})


EXAMPLE = """\
name: my-study
title: Robots in the corridor
policies: [orca, social_force]
scenarios: [frontal-f1, frontal-f2]
questionnaire: protocol
mode: walk
runs: 1
consent: |
  You will walk past a simulated robot and rate its behaviour. You may stop at any time.
  Your answers and your path in the simulation are stored without your name.
asks:
  - {id: age, label: Your age, choices: [18-39, 40-64, 65 or more, no answer]}
"""
