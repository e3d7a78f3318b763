"""``sidestep bench``: measure the speed on this computer."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

import sidestep
from sidestep.cli.verb import AsJson, print_json, quiet_stdout, verb
from sidestep.errors import BadInput


@verb
def bench(
    suite: Annotated[str, typer.Option(help="Group of figures to measure.")] = "core",
    repeats: Annotated[int, typer.Option(min=1, help="Number of measurements per figure.")] = 5,
    quick: Annotated[
        bool, typer.Option("--quick", help="Quick mode: fewer cases, shorter runs. Too noisy to quote.")
    ] = False,
    only: Annotated[
        str | None, typer.Option(help="Measure only figures whose id matches this pattern, such as 'orca/*'.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure the speed of the simulator, and of other simulators where they are installed."""
    from sidestep._util.progress import progress_bar

    benchmarks = _find_benchmarks()
    with quiet_stdout(as_json), progress_bar("figures") as move:
        document = benchmarks.run_bench(suite=suite, repeats=repeats, quick=quick, only=only, progress=move)
    if as_json:
        print_json(document)
    else:
        typer.echo(benchmarks.bench_table(document))


def _find_benchmarks() -> Any:
    """The package ``benchmarks``, which lies beside ``src`` in a checkout and is not part of the wheel."""
    checkout = Path(sidestep.__file__).resolve().parents[2]
    if not (checkout / "benchmarks" / "figures.py").is_file():
        raise BadInput(
            "the benchmarks are in the repository, not in the installed package: clone it, "
            "install it with pip install -e '.[bench]' and call sidestep bench again"
        )
    if str(checkout) not in sys.path:
        sys.path.append(str(checkout))
    return import_module("benchmarks")
