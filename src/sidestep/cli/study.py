"""``sidestep study``: studies with participants, from the definition to the analysis."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from sidestep.cli.verb import AsJson, print_json, quiet_stdout, say, verb

app = typer.Typer(help="Run studies: participants meet policies and rate them.", no_args_is_help=True)

Database = Annotated[
    str, typer.Option("--database", help="sqlite:///FILE or postgresql://USER@HOST/NAME; made if it is not there.")
]
DEFAULT_DATABASE = "sqlite:///studies.sqlite"


@app.callback()
def study() -> None:
    """Run studies: participants meet policies and rate them."""


@app.command("new")
@verb
def new(
    definition: Annotated[Path, typer.Argument(help="YAML or JSON file that defines the study.")],
    database: Database = DEFAULT_DATABASE,
    participants: Annotated[int, typer.Option(min=0, max=500, help="Number of participants to add at once.")] = 0,
    password_file: Annotated[
        Path | None, typer.Option(help="File with the experimenter's password. Default: you are asked for it.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Create a study. Films, suites and questionnaires are looked for beside the definition."""
    from sidestep.reading import read_text
    from sidestep.studies.creation import create_study

    with quiet_stdout(as_json):
        if password_file is None:
            password = typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
        else:
            password = read_text(password_file, "password file", 1000).rstrip("\r\n")
        store, made, checked = create_study(definition, database, password)
        tokens = store.add_participants(made.study.name, participants) if participants else []
    if as_json:
        paths = [f"/p/{token}/" for token in tokens]
        print_json({"study": made.study.name, "runs": checked, "participants": paths})
        return
    say(f"study {made.study.name!r}: {checked} runs for each participant; serve it with `sidestep study serve`")
    for token in tokens:
        typer.echo(f"/p/{token}/")


@app.command("serve")
@verb
def serve(
    database: Database = DEFAULT_DATABASE,
    host: Annotated[str, typer.Option(help="Address to listen on. The default is this machine only.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0: any free port.")] = 8000,
    url: Annotated[
        str, typer.Option(help="Public address, such as https://study.example.org, where it differs from --host.")
    ] = "",
    workers: Annotated[
        int | None, typer.Option(min=0, max=64, help="Processes for walks; 0: none. Default: one per core.")
    ] = None,
) -> None:
    """Serve all studies of a database until Ctrl-C."""
    from sidestep.drive_page.server import bind, is_loopback
    from sidestep.studies.access import new_token
    from sidestep.studies.database import open_database
    from sidestep.studies.server import serve as serve_studies
    from sidestep.studies.site import Site
    from sidestep.studies.store import Store

    store = Store(open_database(database))
    listening = bind(host, port)
    name = "127.0.0.1" if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
    address = url.rstrip("/") or f"http://{name}:{listening.getsockname()[1]}"
    site = Site(store, host, url, new_token())
    if not is_loopback(host) and not url.startswith("https:"):
        say("others can reach this address, and nothing is encrypted; put a server with HTTPS in front and give --url")
    count = workers if workers is not None else os.cpu_count() or 1

    def tell() -> None:
        say(f"experimenters: {address}/")
        say(f"new studies (for you only): {address}/new/{site.create_token}")

    serve_studies(site, listening, count, tell)


@app.command("export")
@verb
def export(
    name: Annotated[str, typer.Argument(help="Name of the study.")],
    out: Annotated[Path, typer.Option(help="Folder to write to.")],
    database: Database = DEFAULT_DATABASE,
    as_json: AsJson = False,
) -> None:
    """Write ratings (CSV, Parquet), everything else (JSON) and the records of walks."""
    from sidestep.studies.database import open_database
    from sidestep.studies.export import export_study
    from sidestep.studies.store import Store

    with quiet_stdout(as_json):
        counts = export_study(Store(open_database(database)), name, out)
    if as_json:
        print_json({"folder": str(out), **counts})
        return
    say(f"wrote {out}: " + ", ".join(f"{count} {what}" for what, count in counts.items()))


@app.command("analyse")
@verb
def analyse(
    name: Annotated[str, typer.Argument(help="Name of the study.")],
    out: Annotated[Path, typer.Option(help="Folder to write to.")],
    database: Database = DEFAULT_DATABASE,
    as_json: AsJson = False,
) -> None:
    """Write the report of a study: averages, reliability, comparison of policies, metrics of walks."""
    from sidestep.studies.analysis import analyse_study
    from sidestep.studies.database import open_database
    from sidestep.studies.store import Store

    with quiet_stdout(as_json):
        document = analyse_study(Store(open_database(database)), name, out)
    if as_json:
        print_json(document)
        return
    say(f"wrote {out / 'report.html'}: {document['counts']['answers']} answers")
