"""``sidestep study list, add, delete, close, reopen, password, backup``: studies in the database, without a browser."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sidestep._util.extras import check_extras
from sidestep.cli.verb import AsJson, print_json, say, verb
from sidestep.errors import BadInput

if TYPE_CHECKING:
    from sidestep.studies.store import Store

Database = Annotated[
    str, typer.Option("--database", help="sqlite:///FILE or postgresql://USER@HOST/NAME; made if it is not there.")
]
Name = Annotated[str, typer.Argument(help="Name of the study.")]
Number = Annotated[str, typer.Argument(help="Number of the participant, such as 3 or p003.")]
Url = Annotated[str, typer.Option(help="Public address of the server, for links: such as https://study.example.org.")]
PasswordFile = Annotated[
    Path | None, typer.Option(help="File with the experimenter's password. Default: you are asked for it.")
]
DEFAULT_DATABASE = "sqlite:///studies.sqlite"
DEFAULT_URL = "http://127.0.0.1:8000"
"""Default address of ``sidestep study serve``."""


@contextmanager
def open_store(database: str) -> Iterator[Store]:
    """The studies of a database. Afterwards nothing is left in the log of SQLite."""
    check_extras("the study server", "web")
    from sidestep.studies.database import close_database, open_database
    from sidestep.studies.store import Store

    engine = open_database(database)
    try:
        yield Store(engine)
    finally:
        close_database(engine)


def read_password(file: Path | None) -> str:
    """The password of the experimenter, from a file or asked for, checked at once."""
    from sidestep._util.reading import read_text
    from sidestep.studies.access import check_password

    if file is None:
        password: str = typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    else:
        password = read_text(file, "password file", 1000).rstrip("\r\n")
    check_password(password)
    return password


def links(url: str, tokens: list[str]) -> list[str]:
    """Links that participants open."""
    from sidestep.studies.site import checked_url

    return [f"{checked_url(url)}/p/{token}/" for token in tokens]


@verb
def list_studies(database: Database = DEFAULT_DATABASE, as_json: AsJson = False) -> None:
    """List the studies of a database, and how far they are."""
    from sidestep.report.terminal import print_rows

    with open_store(database) as store:
        rows = []
        for info in store.studies():
            people = [each for each in store.progress(info.study.name) if not each.deleted]
            rows.append(
                {
                    "study": info.study.name,
                    "mode": info.study.mode,
                    "state": "open" if info.closed is None else "closed",
                    "participants": len(people),
                    "finished": sum(each.done == each.trials for each in people),
                    "runs_done": sum(each.done for each in people),
                    "created": f"{info.created:%Y-%m-%d}",
                }
            )
    if as_json:
        print_json({"studies": rows})
        return
    print_rows("studies", [{key: str(value) for key, value in row.items()} for row in rows])


@verb
def add(
    name: Name,
    count: Annotated[int, typer.Argument(min=1, max=500, help="Number of participants.")] = 1,
    url: Url = DEFAULT_URL,
    database: Database = DEFAULT_DATABASE,
    as_json: AsJson = False,
) -> None:
    """Add participants and print their links. A link is shown this once: the database holds its hash."""
    with open_store(database) as store:
        links(url, [])
        found = links(url, store.add_participants(name, count))
    if as_json:
        print_json({"study": name, "participants": found})
        return
    for link in found:
        typer.echo(link)


@verb
def delete(
    name: Name,
    participant: Number,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    database: Database = DEFAULT_DATABASE,
    as_json: AsJson = False,
) -> None:
    """Delete all data of a participant: from the database, its log, and exports that are still where they were
    written."""
    digits = participant.removeprefix("p")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 8):
        raise BadInput(f"{participant!r:.40}: no participant; give a number, such as 3 or p003")
    with open_store(database) as store:
        from sidestep.studies.administration import delete_everywhere

        store.study(name)
        if not yes and not typer.confirm(f"Delete all data of participant {int(digits)} of study {name}?", err=True):
            raise BadInput("nothing is deleted")
        done = delete_everywhere(store, name, int(digits))
    if as_json:
        print_json({"study": name, "participant": int(digits), **vars(done)})
        return
    say(f"the data of participant {int(digits)} are deleted")
    for line in done.lines():
        say(line)


@verb
def close(name: Name, database: Database = DEFAULT_DATABASE) -> None:
    """End a study: links stop working. Data can still be exported; `reopen` undoes it."""
    with open_store(database) as store:
        store.close(name)
    say(f"study {name!r} is closed; open it again with `sidestep study reopen {name}`")


@verb
def reopen(name: Name, database: Database = DEFAULT_DATABASE) -> None:
    """Open a study that was ended: links that have not expired work again."""
    with open_store(database) as store:
        store.reopen(name)
    say(f"study {name!r} is open")


@verb
def password(name: Name, password_file: PasswordFile = None, database: Database = DEFAULT_DATABASE) -> None:
    """Set a new password for the experimenters of a study. Experimenters who are logged in must log in again."""
    with open_store(database) as store:
        from sidestep.studies.administration import change_password

        store.study(name)
        change_password(store, name, read_password(password_file))
    say(f"study {name!r} has a new password")


@verb
def backup(
    out: Annotated[Path, typer.Argument(help="File to write to.")],
    database: Database = DEFAULT_DATABASE,
    as_json: AsJson = False,
) -> None:
    """Copy the database into one file, also while it is served. Use the copy with --database sqlite:///FILE."""
    with open_store(database) as store:
        from sidestep.studies.administration import back_up_studies

        back_up_studies(store, out)
        count = len(store.studies())
    if as_json:
        print_json({"file": str(out), "studies": count})
        return
    say(f"wrote {out}: {count} studies")
