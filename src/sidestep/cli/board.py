"""``sidestep board``: a static leaderboard from packs, and seeds that organisers hold back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sidestep.cli.verb import AsJson, GroupWithDefault, print_json, quiet_stdout, say, verb


class _Group(GroupWithDefault):
    default = "build"


app = typer.Typer(
    cls=_Group, help="Make a leaderboard site from packs: sidestep board PACK... --out DIR.", no_args_is_help=True
)


@app.command("build")
@verb
def build(
    packs: Annotated[list[Path], typer.Argument(metavar="PACK...", help="Files of `sidestep pack`.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the site.")],
    title: Annotated[str, typer.Option(help="Title of the site.")] = "Leaderboard",
    rank_by: Annotated[str, typer.Option(metavar="METRIC", help="Metric that decides the ranks.")] = "success",
    verify: Annotated[
        int,
        typer.Option(min=0, metavar="K", help="Number of episodes of each policy to run again; without any, no rank."),
    ] = 5,
    nonce: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Draw these episodes with this text. Default: random.")
    ] = None,
    unverified: Annotated[
        bool, typer.Option("--unverified", help="Also rank entries of which no episode was run again.")
    ] = False,
    keys: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Rank only packs signed by a key of this list: a line `KEY NAME` for each."),
    ] = None,
    trust: Annotated[bool, typer.Option("--trust", help="Also run the packers' own policies again.")] = False,
    workers: Annotated[int, typer.Option(min=1, help="Number of worker processes.")] = 1,
    held_out: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="Commitment of `board seeds --out`; repeatable.")
    ] = None,
    secret: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="Reveal the seeds drawn from this secret; repeatable.")
    ] = None,
    reports: Annotated[bool, typer.Option(help="Write the report of every pack, with players.")] = True,
    packs_too: Annotated[bool, typer.Option("--packs/--no-packs", help="Copy the packs into the site.")] = True,
    as_json: AsJson = False,
) -> None:
    """Check packs, rank comparable entries with ties, and write a site that needs no network."""
    from sidestep._util.progress import progress_bar
    from sidestep.leaderboard import write_board
    from sidestep.leaderboard.held_out import read_commitment, read_secret
    from sidestep.leaderboard.signatures import read_keys
    from sidestep.leaderboard.site import Settings
    from sidestep.runs.sampling import check_nonce, new_nonce
    from sidestep.simulation.prepare import prepare_kernels

    secrets = [read_secret(file) for file in secret or ()]
    commitments = [
        next((found for each in secrets if (found := read_commitment(file, each)).seeds), read_commitment(file))
        for file in held_out or ()
    ]
    if secrets and not any(each.seeds for each in commitments):
        say("note: no --held-out commitment belongs to the secret")
    if verify:
        prepare_kernels()
    chosen = new_nonce() if nonce is None else check_nonce(nonce)
    allowed = None if keys is None else read_keys(keys)
    settings = Settings(
        title, rank_by, verify, workers, trust, reports, packs_too, chosen, allowed, need_rerun=not unverified
    )
    with quiet_stdout(as_json), progress_bar("checking packs") as move:
        board = write_board(packs, out, settings, commitments, move)
    for name, reason in board.refused:
        say(f"refused: {name}: {reason}")
    for entry in board.unranked:
        say(f"not ranked: {entry.label}: {entry.reasons[0]}")
    if as_json:
        print_json(board.as_json() | {"site": str(out / "index.html")})
    else:
        typer.echo(f"wrote {out / 'index.html'}: {len(board.entries)} entries in {len(board.groups)} suites")
        if verify:
            typer.echo(f"episodes that were run again were drawn with nonce {chosen}")


@app.command("seeds")
@verb
def seeds(
    secret: Annotated[Path, typer.Option(metavar="FILE", help="File with the secret; made if it is not there.")],
    suite: Annotated[str, typer.Option(help="Suite that the seeds are for.")],
    count: Annotated[int, typer.Option(min=1, help="Number of seeds.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the commitment, which may be published, to this file.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Draw held-out seeds from a secret, and the commitment to publish before anybody knows them."""
    import json

    from sidestep._util.writing import write_whole
    from sidestep.leaderboard.held_out import draw_seeds, read_secret

    drawn = draw_seeds(read_secret(secret, make=True), suite, count)
    if out is not None:
        write_whole(out, (json.dumps(drawn.as_json(revealed=False), indent=1) + "\n").encode())
    if as_json:
        print_json(drawn.as_json() | {"run": f"--seed {drawn.seeds[0]} --repeat {count}"})
    else:
        typer.echo(f"commitment {drawn.commitment}")
        typer.echo(f"keep until the end: sidestep run {suite} --seed {drawn.seeds[0]} --repeat {count} …")
