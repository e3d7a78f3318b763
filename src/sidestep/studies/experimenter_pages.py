"""Pages of experimenters: new studies, links with QR codes, live progress, data out, data deleted."""

from __future__ import annotations

import io
import json
import secrets
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse

from sidestep.errors import MissingExtra, SidestepError
from sidestep.registry import names
from sidestep.studies.access import SESSION_S, Refused, is_password, is_signed, sign
from sidestep.studies.administration import (
    begin_session,
    change_password,
    delete_everywhere,
    end_session,
    is_session,
    log_in,
    note_export,
)
from sidestep.studies.analysis_process import report_in_process
from sidestep.studies.definition import Study, needs_suite, parse_study, with_suite_texts
from sidestep.studies.export import StudyData, participant_name, ratings_csv, study_document
from sidestep.studies.order import blinding_letters
from sidestep.studies.progress import progress_of
from sidestep.studies.ratings.questionnaire import load_questionnaire, questionnaire_names
from sidestep.studies.site import Site, form, large_form, whole
from sidestep.studies.store import Store, StudyInfo

try:
    import segno
except ImportError as error:  # pragma: no cover
    raise MissingExtra("the study server", "web") from error

Form = Annotated[dict[str, str], Depends(form)]
COOKIE = "sidestep-study"


def cookie_of(site: Site, name: str) -> tuple[str, str]:
    """Name and path of the cookie of a study. With HTTPS the browser takes the name from this host only."""
    return (f"__Host-{COOKIE}-{name}", "/") if site.is_secure else (COOKIE, f"/study/{name}/")


def allowed(request: Request, name: str) -> StudyInfo:
    """The study, for an experimenter who is logged in."""
    site: Site = request.app.state.site
    try:
        info = site.store.study(name)
    except Refused:
        raise Refused(403, "please log in") from None
    if not is_session(site.store, info, session_of(request, name)):
        raise Refused(403, "please log in")
    return info


def session_of(request: Request, name: str) -> str:
    """The token of the session, which the browser keeps in a cookie."""
    site: Site = request.app.state.site
    return request.cookies.get(cookie_of(site, name)[0], "")


def csrf_of(request: Request, info: StudyInfo) -> str:
    """The signature that forms of this session carry."""
    return sign(session_of(request, info.study.name).encode(), f"form {info.id}")


Allowed = Annotated[StudyInfo, Depends(allowed)]


def allowed_form(request: Request, info: Allowed, fields: Form) -> dict[str, str]:
    """The fields of a form that a page of this experimenter has sent."""
    if not is_signed(fields.get("csrf", ""), session_of(request, info.study.name).encode(), f"form {info.id}"):
        raise Refused(403, "this form is too old; go back, reload the page and try again")
    return fields


Checked = Annotated[dict[str, str], Depends(allowed_form)]


def make_experimenter_routes(site: Site) -> APIRouter:
    """``/`` to log in, ``/new/TOKEN`` to create a study, ``/study/NAME/…`` for experimenters who are logged in."""
    router = APIRouter()
    for make_routes in (_login_routes, _creation_routes, _participant_routes, _setting_routes, _data_routes):
        router.include_router(make_routes(site))
    return router


def _enter(site: Site, info: StudyInfo, session: str) -> RedirectResponse:
    """To the overview of a study, with the cookie of a new session."""
    response = RedirectResponse(f"/study/{info.study.name}/", 303)
    name, path = cookie_of(site, info.study.name)
    response.set_cookie(
        name, session, max_age=SESSION_S, path=path, httponly=True, samesite="strict", secure=site.is_secure
    )
    return response


def _overview(site: Site, request: Request, info: StudyInfo, messages: Sequence[str] = ()) -> Response:
    return site.page(
        "study", language="en", study=info.study, info=info, csrf=csrf_of(request, info),
        people=_people(site, request, info), messages=messages,
        letters=sorted(blinding_letters(info.study).items(), key=lambda each: each[1]),
    )  # fmt: skip


def _login_routes(site: Site) -> APIRouter:
    router, store = APIRouter(), site.store

    @router.get("/")
    def welcome() -> Response:
        return site.page("login", language="en")

    @router.post("/login")
    def login(request: Request, fields: Form) -> Response:
        site.logins.check(site.client(request), "attempts to log in")
        return _enter(site, *log_in(store, fields.get("study", ""), fields.get("password", "")))

    @router.post("/study/{name}/logout")
    def logout(request: Request, name: str, fields: Checked) -> Response:
        end_session(store, session_of(request, name))
        response = RedirectResponse("/", 303)
        cookie, path = cookie_of(site, name)
        response.delete_cookie(cookie, path=path, secure=site.is_secure, httponly=True, samesite="strict")
        response.headers["Clear-Site-Data"] = '"cache"'
        return response

    return router


def _creation_routes(site: Site) -> APIRouter:
    router = APIRouter()

    def check_token(given: str) -> None:
        if not site.create_token or not secrets.compare_digest(given.encode(), site.create_token.encode()):
            raise Refused(404, "there is nothing here")

    @router.get("/new/{given}")
    def new(given: str) -> Response:
        check_token(given)
        return site.page("new", language="en", text=EXAMPLE, problem="", given=given)

    @router.post("/new/{given}")
    def create(given: str, fields: Annotated[dict[str, str], Depends(large_form)]) -> Response:
        check_token(given)
        site.creations.check("all", "new studies")
        text = fields.get("definition", "")
        try:
            if fields.get("password", "") != fields.get("again", ""):
                raise Refused(400, "the two passwords differ")
            study = with_suite_texts(only_installed(parse_study(text, "study")))
            info = site.store.create(study, load_questionnaire(study.questionnaire), fields.get("password", ""))
        except (SidestepError, ValueError) as error:
            return site.page("new", 400, language="en", text=text, problem=str(error), given=given)
        return _enter(site, info, begin_session(site.store, info))

    return router


def _participant_routes(site: Site) -> APIRouter:
    """The overview of a study, and its participants: progress, links, new ones, deleting one."""
    router, store = APIRouter(), site.store

    @router.get("/study/{name}/")
    def overview(request: Request, info: Allowed) -> Response:
        return _overview(site, request, info)

    @router.get("/study/{name}/progress")
    def progress(request: Request, info: Allowed) -> Response:
        return JSONResponse(_people(site, request, info))

    @router.get("/study/{name}/qr/{number}")
    def qr(request: Request, info: Allowed, number: int) -> Response:
        token = site.fresh_links.get((info.id, number))
        if token is None:
            raise Refused(404, "this link can no longer be shown; make a new one")
        picture = io.BytesIO()
        segno.make(site.link(request, token), error="m").save(picture, kind="svg", scale=4, light="white")
        return Response(picture.getvalue(), media_type="image/svg+xml")

    @router.post("/study/{name}/participants")
    def add(info: Allowed, fields: Checked) -> Response:
        name = info.study.name
        tokens = store.add_participants(name, whole(fields.get("count", ""), "number of participants", 1, 500))
        last = max(each.number for each in progress_of(store, name))
        site.fresh_links |= {(info.id, last - len(tokens) + k): token for k, token in enumerate(tokens, 1)}
        return RedirectResponse(f"/study/{name}/", 303)

    @router.post("/study/{name}/link")
    def new_link(info: Allowed, fields: Checked) -> Response:
        number = whole(fields.get("number", ""), "participant", 1)
        site.fresh_links[info.id, number] = store.new_link(info.study.name, number)
        return RedirectResponse(f"/study/{info.study.name}/", 303)

    @router.get("/study/{name}/links.csv")
    def links(request: Request, info: Allowed) -> Response:
        shown = sorted((number, token) for (study, number), token in site.fresh_links.items() if study == info.id)
        rows = [f"{participant_name(number)},{site.link(request, token)}" for number, token in shown]
        text = "\n".join(["participant,link", *rows, ""])
        return _download(text.encode(), "text/csv", f"{info.study.name}-links.csv")

    @router.post("/study/{name}/delete")
    def delete(request: Request, info: Allowed, fields: Checked) -> Response:
        number = whole(fields.get("number", ""), "participant", 1)
        if fields.get("confirm") != participant_name(number):
            raise Refused(400, f"to delete all data of this participant, type {participant_name(number)}")
        done = delete_everywhere(store, info.study.name, number)
        site.fresh_links.pop((info.id, number), None)
        messages = [f"The data of {participant_name(number)} are deleted.", *done.lines()]
        return _overview(site, request, info, messages)

    return router


def _setting_routes(site: Site) -> APIRouter:
    """Closing and reopening a study, and its password."""
    router, store = APIRouter(), site.store

    @router.post("/study/{name}/close")
    def close(name: str, fields: Checked) -> Response:
        if fields.get("confirm") != name:
            raise Refused(400, "to end the study, type its name")
        store.close(name)
        return RedirectResponse(f"/study/{name}/", 303)

    @router.post("/study/{name}/reopen")
    def reopen(name: str, fields: Checked) -> Response:
        store.reopen(name)
        return RedirectResponse(f"/study/{name}/", 303)

    @router.post("/study/{name}/password")
    def password(request: Request, info: Allowed, fields: Checked) -> Response:
        site.logins.check(site.client(request), "attempts to log in")
        if not is_password(fields.get("old", ""), info.password):
            raise Refused(400, "the current password is wrong")
        if fields.get("password", "") != fields.get("again", ""):
            raise Refused(400, "the two passwords differ")
        change_password(store, info.study.name, fields.get("password", ""))
        return _enter(site, info, begin_session(store, info))

    return router


def _data_routes(site: Site) -> APIRouter:
    """Downloads, and the analysis."""
    router, store = APIRouter(), site.store

    @router.get("/study/{name}/ratings.csv")
    def ratings(info: Allowed) -> Response:
        note_export(store, info.study.name, "download", "ratings.csv")
        return _download(ratings_csv(StudyData(store, info)), "text/csv", f"{info.study.name}-ratings.csv")

    @router.get("/study/{name}/study.json")
    def everything(info: Allowed) -> Response:
        note_export(store, info.study.name, "download", "study.json")
        return _document(store, info, None, f"{info.study.name}.json")

    @router.get("/study/{name}/participants/{number}")
    def participant(info: Allowed, number: int) -> Response:
        document = _document(store, info, number, f"{info.study.name}-{participant_name(number)}.json")
        note_export(store, info.study.name, "download", f"{participant_name(number)}.json")
        return document

    @router.get("/study/{name}/analysis")
    def analysis(info: Allowed) -> Response:
        site.analyses.check(info.study.name, "analyses")
        report = HTMLResponse(report_in_process(store, info.study.name))
        report.headers["Content-Security-Policy"] = (
            "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
        )
        return report

    return router


def only_installed(study: Study) -> Study:
    """The study, if everything that it names is installed: files can only be used by somebody with an account on the
    machine."""
    for kind, known, given in (
        ("suite", names("suites"), [study.suite] if needs_suite(study) else []),
        ("questionnaire", questionnaire_names(), [study.questionnaire]),
        ("policy", names("policies"), [each.reference for each in study.policies if study.mode == "walk"]),
    ):
        if strange := [each for each in given if each not in known]:
            raise Refused(
                400, f"{kind} {strange[0]!r:.80} is not installed; create a study with files by `sidestep study new`"
            )
    if study.mode == "film":
        raise Refused(400, "create a study with films by `sidestep study new`, in the folder that holds them")
    return study


def _people(site: Site, request: Request, info: StudyInfo) -> list[dict[str, Any]]:
    letters = blinding_letters(info.study)
    return [
        {
            "number": each.number,
            "name": participant_name(each.number),
            "link": site.link(request, site.fresh_links[info.id, each.number])
            if (info.id, each.number) in site.fresh_links
            else "",
            "consented": each.consented is not None,
            "done": each.done,
            "trials": each.trials,
            "answers": each.answers,
            "last": f"{each.last:%Y-%m-%d %H:%M}" if each.last else "",
            "flagged": each.flagged,
            "pace": "" if each.slowest_hz is None else f"{each.slowest_hz:.0f} Hz",
            "next": f"{letters[each.next_policy]} · {each.next_scenario}" if each.next_policy else "",
        }
        for each in progress_of(site.store, info.study.name)
        if not each.deleted
    ]


def _document(store: Store, info: StudyInfo, number: int | None, file: str) -> Response:
    text = json.dumps(study_document(store, info, number), indent=1, ensure_ascii=False)
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
