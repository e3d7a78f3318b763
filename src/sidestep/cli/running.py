"""What ``run`` and ``serve`` share: where a run goes, how it is interrupted, what is said at its end."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sidestep.cli.verb import BAD_INPUT, INTERRUPTED, print_json, say

if TYPE_CHECKING:
    from sidestep.benchmark.episode import EpisodeScores
    from sidestep.benchmark.runner import RunResult


def _folder(name: str) -> Path:
    if not name.strip():
        raise typer.BadParameter("the name of the run folder is empty; leave the option out for a new folder in runs/")
    return Path(name)


OutFolder = Annotated[
    Path | None,
    typer.Option(parser=_folder, metavar="FOLDER", help="Run folder; the same one again resumes or extends it."),
]


def new_folder(suite: str) -> Path:
    """runs/<suite>-<date>-<n>, the first n that is free."""
    from datetime import date

    from sidestep.benchmark.folder import safe_name

    stem, number = f"{safe_name(suite)}-{date.today().isoformat()}", 1
    while (Path("runs") / f"{stem}-{number}").exists():
        number += 1
    return Path("runs") / f"{stem}-{number}"


@contextmanager
def resumable(folder: Path) -> Iterator[None]:
    """An interrupt or a polite kill, which schedulers send before the time is up, leaves a run that can go on."""

    def interrupt(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    except KeyboardInterrupt:
        say(f"interrupted; what is done is kept. To go on, run the same command with --out {folder}")
        raise typer.Exit(INTERRUPTED) from None
    finally:
        signal.signal(signal.SIGTERM, before)


def tell_result(result: RunResult, summary: dict[str, Any], as_json: bool) -> None:
    """Print the summary and what went wrong; a run with skipped episodes exits as bad input."""
    from sidestep.cli.tables import print_summary

    if as_json:
        print_json(summary)
    else:
        print_summary(summary)
    tell_failures(result)
    if result.skipped:
        raise typer.Exit(BAD_INPUT)


def tell_failures(result: RunResult) -> None:
    """Broken policies and scenarios that could not be built, on stderr."""
    from sidestep.benchmark.folder import episode_path

    errors: dict[str, list[EpisodeScores]] = {}
    for episode in result.episodes:
        if episode.outcome == "policy_error":
            message = " ".join(episode.error.split()) or "failed"
            errors.setdefault(f"{episode.policy}: {message}", []).append(episode)
    for message, failed in errors.items():
        first = failed[0]
        where = f"{first.scenario} seed {first.seed}"
        say(f"policy error in {len(failed)} of {len(result.episodes)} episodes, first {where}: {message}")
        log = episode_path(result.folder, first.policy, first.scenario, first.seed).with_suffix(".log")
        if log.exists():
            say(f"  traceback and output: {log}")
    reasons: dict[tuple[str, str], int] = {}
    for entry in result.skipped:
        reasons[entry.scenario, entry.reason] = reasons.get((entry.scenario, entry.reason), 0) + 1
    for (scenario, reason), count in reasons.items():
        say(f"skipped {count} episode{'s' if count > 1 else ''} of {scenario!r}: {reason}")
