"""``sidestep verify``: run episodes again and compare them with their records; check a pack."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sidestep.cli.run import AllowRead, SandboxMode, choose_isolation
from sidestep.cli.verb import CHECK_FAILED, AsJson, print_json, quiet_stdout, verb
from sidestep.errors import BadInput

if TYPE_CHECKING:
    from sidestep.leaderboard.verify_pack import PackVerification
    from sidestep.runs.episode import EpisodeTask
    from sidestep.runs.verify import Verification

MOST_SHOWN = 20


@verb
def verify(
    run: Annotated[Path, typer.Argument(metavar="RUN|PACK", help="Run folder, or file of `sidestep pack`.")],
    sample: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Number of episodes to run again: of a pack drawn at random, of a run folder spread evenly; "
            "0: none (packs). Default: all.",
        ),
    ] = None,
    nonce: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Draw the sample with this text. Default: random (packs)."),
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Number of worker processes.")] = 1,
    trust: Annotated[
        bool, typer.Option("--trust", help="Run policies of a pack that are the packer's own code, too.")
    ] = False,
    key: Annotated[
        Path | None, typer.Option(metavar="FILE.pub", help="Public key by which a pack has to be signed.")
    ] = None,
    keys: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="List of keys that may sign a pack: a line `KEY NAME` for each."),
    ] = None,
    sandbox: SandboxMode = "auto",
    allow_read: AllowRead = None,
    as_json: AsJson = False,
) -> None:
    """Run episodes again and compare them with their records, bit for bit. For a pack, also check hashes,
    signature, completeness and scores. Exit code 1 if something differs."""
    from sidestep._util.progress import progress_bar
    from sidestep.leaderboard.signatures import read_keys
    from sidestep.leaderboard.unpack import is_pack
    from sidestep.leaderboard.verify_pack import verify_pack
    from sidestep.runs.verify import verify_run
    from sidestep.simulation.prepare import prepare_kernels

    of_pack = is_pack(run)
    if not of_pack and (trust or key is not None or keys is not None or sample == 0):
        raise BadInput("--trust, --key, --keys and --sample 0 are for packs; a run folder is your own")
    allowed = None if keys is None else read_keys(keys)
    if sample != 0:
        prepare_kernels()
    access = choose_isolation(sandbox=sandbox, allow_read=allow_read)
    with quiet_stdout(as_json), progress_bar("verifying") as move:

        def progress(done: int, total: int, task: EpisodeTask) -> None:
            move(done, total, task.label)

        if of_pack:
            pack = verify_pack(
                run, sample, workers, progress, trust=trust, key=key, access=access, nonce=nonce, keys=allowed
            )
            found = pack.again
        else:
            pack, found = None, verify_run(run, sample, workers, progress, access=access, nonce=nonce)
    if as_json:
        print_json((pack or found).as_json())
    else:
        _print_result(found)
        if pack is not None:
            _print_pack(pack)
    if found.equal < found.checked or (pack is not None and not pack.ok):
        raise typer.Exit(CHECK_FAILED)


def _print_result(found: Verification) -> None:
    from sidestep.runs.sampling import chance_text

    typer.echo(f"{found.equal} of {found.checked} episodes are identical to their records")
    if found.nonce and found.checked < found.of:
        typer.echo(f"drawn with nonce {found.nonce}: {chance_text(found.of, found.checked)}")
    if found.first_difference is not None:
        d = found.first_difference
        typer.echo(f"first difference: {d.policy} · {d.scenario}, step {d.step}: {d.quantity} was {d.was}, is {d.is_}")


def _print_pack(found: PackVerification) -> None:
    audit, signature = found.audit, found.pack.signature
    signed = f"signed by {signature.fingerprint}" if signature else "not signed"
    typer.echo(f"hashes of all members match; {signed}{f' ({found.signer})' if found.signer else ''}")
    typer.echo(f"{len(audit.scored.episodes)} of {audit.run.plan.size} episodes of the plan were scored again")
    typer.echo(f"{audit.worlds_checked} of them were compared with the worlds of their scenarios and seeds")
    for left in audit.unbuilt[:MOST_SHOWN]:
        typer.echo(f"not compared with its world: {left.scenario}: {left.reason}")
    for problem in audit.problems[:MOST_SHOWN]:
        typer.echo(f"wrong ({problem.kind}): {problem.text}")
    if len(audit.problems) > MOST_SHOWN:
        typer.echo(f"and {len(audit.problems) - MOST_SHOWN} more problems (--json has all)")
    for entry in found.not_checked:
        typer.echo(f"not run again: {entry.policy}, {entry.episodes} episodes: {entry.reason}")
    if not found.same_code:
        typer.echo(
            f"note: made by other code than this ({audit.run.plan.simulator or 'unknown'}), so records may differ"
        )
