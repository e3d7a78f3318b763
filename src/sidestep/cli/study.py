"""``sidestep study``: studies with participants, from the definition to the analysis."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from time import time
from typing import Annotated, Any

import typer

from sidestep._util.extras import check_extras
from sidestep.cli import study_admin
from sidestep.cli.study_admin import (
    DEFAULT_DATABASE,
    DEFAULT_URL,
    Database,
    PasswordFile,
    Url,
    links,
    open_store,
    read_password,
)
from sidestep.cli.verb import AsJson, print_json, quiet_stdout, say, verb
from sidestep.errors import BadInput

app = typer.Typer(help="Run studies: participants meet policies and rate them.", no_args_is_help=True)

app.command("list")(study_admin.list_studies)
app.command("add")(study_admin.add)
app.command("delete")(study_admin.delete)
app.command("close")(study_admin.close)
app.command("reopen")(study_admin.reopen)
app.command("password")(study_admin.password)
app.command("backup")(study_admin.backup)
RELIABILITY = {
    "icc": "ICC(2,1) between participants",
    "alpha_krippendorff": "Krippendorff's alpha (ordinal)",
    "alpha_cronbach": "Cronbach's alpha",
}


@app.callback()
def study() -> None:
    """Run studies: participants meet policies and rate them."""


@app.command("new")
@verb
def new(
    definition: Annotated[Path, typer.Argument(help="YAML or JSON file that defines the study.")],
    database: Database = DEFAULT_DATABASE,
    participants: Annotated[int, typer.Option(min=0, max=500, help="Number of participants to add at once.")] = 0,
    password_file: PasswordFile = None,
    url: Url = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """Create a study. Films, suites and questionnaires are looked for beside the definition."""
    check_extras("the study server", "web")
    from sidestep.studies.creation import create_study
    from sidestep.studies.database import close_database

    with quiet_stdout(as_json):
        links(url, [])
        store, made, checked = create_study(definition, database, read_password(password_file))
        tokens = store.add_participants(made.study.name, participants) if participants else []
        close_database(store.engine)
    if as_json:
        print_json({"study": made.study.name, "runs": checked, "participants": links(url, tokens)})
        return
    say(f"study {made.study.name!r}: {checked} runs for each participant; serve it with `sidestep study serve`")
    if language := _without_texts(made.study.language):
        say(f"note: pages have no texts in {language!r} and are in English; the study's own texts are as you gave them")
    for link in links(url, tokens):
        typer.echo(link)


def _without_texts(language: str) -> str:
    """The language, if pages do not speak it."""
    from sidestep.studies.texts import languages

    return "" if language.partition("-")[0] in languages() else language


@app.command("serve")
@verb
def serve(
    database: Database = DEFAULT_DATABASE,
    host: Annotated[str, typer.Option(help="Address to listen on. The default is this machine only.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0: any free port.")] = 8000,
    url: Annotated[
        str, typer.Option(help="Public address, such as https://study.example.org, where it differs from --host.")
    ] = "",
    proxy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ADDRESS",
            help="Address or network of a proxy in front, such as 127.0.0.1: its headers about clients "
            "(X-Forwarded-For) are trusted. Repeatable; needs --url.",
        ),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=0, max=64, help="Processes for walks; 0: none. Default: one per core.")
    ] = None,
) -> None:
    """Serve all studies of a database until Ctrl-C."""
    check_extras("the study server", "web")
    from sidestep._util.web import bind, is_loopback, local_address
    from sidestep.studies.access import new_token
    from sidestep.studies.server import serve as serve_studies
    from sidestep.studies.site import Site

    if proxy and not url:
        raise BadInput("--proxy is for a server behind a proxy; give its public address, too: --url https://…")
    with open_store(database) as store:
        site = Site(store, host, url, new_token(), proxy or ())
        listening = bind(host, port)
        address = site.url or local_address(host, listening)
        if not is_loopback(host) and not site.is_secure:
            say("others can reach this address, and nothing is encrypted; put a server with HTTPS in front, give --url")
        if site.is_secure and not proxy:
            say("note: without --proxy ADDRESS, all participants behind a proxy share one limit of rate")
        count = workers if workers is not None else os.cpu_count() or 1

        def announce() -> None:
            say(f"experimenters: {address}/")
            say(f"new studies (for you only): {address}/new/{site.create_token}")

        serve_studies(site, listening, count, announce)


@app.command("export")
@verb
def export(
    name: Annotated[str, typer.Argument(help="Name of the study.")],
    out: Annotated[Path, typer.Option(help="Folder to write to.")],
    database: Database = DEFAULT_DATABASE,
    as_json: AsJson = False,
) -> None:
    """Write ratings (CSV, Parquet), everything else (JSON) and the records of walks."""
    with quiet_stdout(as_json), open_store(database) as store:
        from sidestep.studies.administration import note_export
        from sidestep.studies.export import export_study

        export = export_study(store, name, out)
        note_export(store, name, "export", str(out.resolve()), export.files)
    if as_json:
        print_json({"folder": str(out), **export.counts})
        return
    say(f"wrote {out}: " + ", ".join(f"{count} {what}" for what, count in export.counts.items()))


@app.command("analyse")
@verb
def analyse(
    study: Annotated[
        str,
        typer.Argument(metavar="STUDY|RATINGS", help="Name of a study, or a .csv, .parquet or .json file of ratings."),
    ],
    out: Annotated[Path | None, typer.Option(help="Folder for the report, its tables and the data.")] = None,
    questionnaire: Annotated[
        str | None,
        typer.Option(
            help="Files of ratings: bundled questionnaire or YAML file. Default: protocol, where the questions fit."
        ),
    ] = None,
    database: Database = DEFAULT_DATABASE,
    as_json: AsJson = False,
) -> None:
    """Analyse the ratings of a study or of a file: averages, reliability, comparison of policies, metrics of walks."""
    with quiet_stdout(as_json):
        if Path(study).suffix.lower() in (".csv", ".parquet", ".json"):
            document = _analyse_file(Path(study), out, questionnaire)
        elif questionnaire is not None:
            raise BadInput("--questionnaire is for files of ratings; a study has its own")
        else:
            document = _analyse_study(study, out, database)
    for line in _left_out(document):
        say(line)
    if as_json:
        print_json(document)
        return
    _print_averages(document)
    if out is not None:
        say(f"wrote {out / 'report.html'}: {document['counts']['answers']} answers")


@app.command("rehearse")
@verb
def rehearse(
    run: Annotated[Path, typer.Argument(help="Run folder, such as one of `sidestep run protocol`.")],
    out: Annotated[Path, typer.Option(help="Folder for the report, its tables and the ratings.")],
    raters: Annotated[int, typer.Option(min=1, max=1000, help="Number of simulated raters.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Decides leanings and noise of the raters.")] = 0,
    questionnaire: Annotated[str, typer.Option(help="Bundled questionnaire or YAML file.")] = "protocol",
    mapping: Annotated[
        str, typer.Option(help="From metrics to items: a bundled mapping of simulated raters or a YAML file.")
    ] = "protocol",
    as_json: AsJson = False,
) -> None:
    """Let simulated raters rate the episodes of a run and analyse their answers, which are marked as simulated."""
    from sidestep.runs.finished import FinishedRun
    from sidestep.studies.ratings import analyse as analyse_ratings
    from sidestep.studies.ratings import load_questionnaire
    from sidestep.studies.ratings.metric_model import metrics_by_digest
    from sidestep.studies.ratings.simulated import load_mapping, rated_runs, simulate_ratings

    with quiet_stdout(as_json):
        known, episodes = load_questionnaire(questionnaire), FinishedRun(run).episodes
        ratings = simulate_ratings(rated_runs(episodes, known), known, raters, seed, load_mapping(mapping))
        document = analyse_ratings(ratings, out, known, metrics=metrics_by_digest(episodes))
    if as_json:
        print_json(document)
        return
    _print_averages(document)
    say(f"wrote {out / 'report.html'}: {document['counts']['answers']} answers of simulated raters, not of people")


def _analyse_file(file: Path, out: Path | None, questionnaire: str | None) -> dict[str, Any]:
    from sidestep.studies.ratings import analyse as analyse_ratings
    from sidestep.studies.ratings.rating_file import read_rating_file

    ratings, known = read_rating_file(file, questionnaire)
    return analyse_ratings(ratings, out, known)


def _analyse_study(name: str, out: Path | None, database: str) -> dict[str, Any]:
    with open_store(database) as store:
        from sidestep.studies.administration import files_since, note_export
        from sidestep.studies.analysis import analyse_study

        begun = time()
        document = analyse_study(store, name, out)
        if out is not None:
            note_export(store, name, "analysis", str(out.resolve()), files_since(out, begun))
        if flagged := sum(each.flagged for each in store.progress(name) if not each.deleted):
            say(f"note: {flagged} walks are flagged and not counted; the column flag of the export says why")
    return document


def _left_out(document: dict[str, Any]) -> list[str]:
    """Notes on data that the analysis could not use."""
    from sidestep.studies.ratings.rating_file import OWN

    found = []
    if document["questionnaire"] == OWN and not any(_reversed(document)):
        found.append("note: no question is reversed; where one is, name the questionnaire or add a column reverse")
    if count := document["counts"]["incomplete_runs"]:
        found.append(f"note: {count} of {document['counts']['runs']} runs have no rating of some of their questions")
    return found


def _reversed(document: dict[str, Any]) -> Iterator[bool]:
    for each in document["scenarios"].values():
        yield from (question["reverse"] for question in each["questions"].values())


def _print_averages(document: dict[str, Any]) -> None:
    from sidestep.report.terminal import print_rows

    def shown(value: float | None) -> str:
        return "none" if value is None else f"{value:.2f}"

    rows = [
        {
            "of": part,
            "name": name,
            **{key: shown(each[key]) for key in ("savg", "savg_raw", "sd")},
            "runs": each["runs"],
        }
        for part in ("scenarios", "policies", "sets")
        for name, each in document[part].items()
    ]
    typer.echo(document["headline"]["sentence"])
    print_rows("averages", rows)
    for key, text in RELIABILITY.items():
        typer.echo(f"{text}: {shown(document['reliability'][key])}")
