"""``sidestep validate``: find every problem of a suite before running it."""

from __future__ import annotations

from typing import Annotated

import typer

from sidestep.cli.verb import BAD_INPUT, AsJson, print_json, quiet_stdout, say, verb


@verb
def validate(
    suite: Annotated[str, typer.Argument(metavar="FILE|SUITE", help="YAML file, folder, or name of a suite.")],
    as_json: AsJson = False,
) -> None:
    """Check every scenario of a suite and list all problems. Exit code 2 if there is one."""
    from sidestep._util.progress import progress_bar
    from sidestep.suites.validate import validate_suite

    with quiet_stdout(as_json), progress_bar("scenarios") as move:
        found = validate_suite(suite, move)
    if as_json:
        print_json(found.as_dict())
    for line in () if as_json else found.lines():
        typer.echo(line)
    count = len(found.problems)
    say(f"{found.scenarios} scenarios, {count or 'no'} problem{'' if count == 1 else 's'}")
    if count:
        raise typer.Exit(BAD_INPUT)
