"""``sidestep pack``: a run as one file that others can check, and keys to sign it with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sidestep.cli.verb import AsJson, GroupWithDefault, print_json, quiet_stdout, say, verb


class _Group(GroupWithDefault):
    default = "run"


app = typer.Typer(
    cls=_Group,
    help="Pack a run into one file that others can verify, score and report: sidestep pack RUN --out FILE.",
    no_args_is_help=True,
)


@app.command("run")
@verb
def run(
    run: Annotated[Path, typer.Argument(help="Run folder.")],
    out: Annotated[Path, typer.Option(help="File to write, such as mine.pack.")],
    sign: Annotated[
        Path | None, typer.Option(metavar="KEY", help="Sign with this private key; `sidestep pack keygen` makes one.")
    ] = None,
    source: Annotated[bool, typer.Option(help="Put the source of policies of your own into the pack.")] = True,
    as_json: AsJson = False,
) -> None:
    """Pack RUN: plan, versions, environment, records, results and the source of policies, with the hash of each."""
    from sidestep.leaderboard.pack import write_pack

    with quiet_stdout(as_json):
        packed = write_pack(run, out, source=source, key=sign)
    for sentence in packed.left_out:
        say(f"note: {sentence}")
    if as_json:
        print_json(packed.as_json())
        return
    typer.echo(f"wrote {out}: {packed.episodes} episodes, {out.stat().st_size / 1e6:.1f} MB")
    typer.echo(f"sha256 {packed.sha256}")
    if packed.signature is not None:
        typer.echo(f"signed by {packed.signature.fingerprint}")


@app.command("keygen")
@verb
def keygen(
    key: Annotated[Path, typer.Argument(help="File of the new private key. FILE.pub gets the public key.")],
    as_json: AsJson = False,
) -> None:
    """Make an Ed25519 key to sign packs with. Needs the extra `sign`."""
    from sidestep.leaderboard.signatures import make_key

    made = make_key(key)
    if as_json:
        print_json({"key": str(key), "public": f"{key}.pub", "fingerprint": made.fingerprint})
    else:
        typer.echo(f"wrote {key} (keep it secret) and {key}.pub (give it away); fingerprint {made.fingerprint}")
