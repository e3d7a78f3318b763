"""``sidestep replay``: look at one record."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sidestep.cli.verb import AsJson, print_json, quiet_stdout, verb
from sidestep.errors import BadInput

if TYPE_CHECKING:
    from sidestep.types.record import EpisodeRecord


@verb
def replay(
    record: Annotated[Path, typer.Argument(help="Episode record (*.parquet).")],
    png: Annotated[Path | None, typer.Option(help="Draw a top view into this file.")] = None,
    time: Annotated[float | None, typer.Option(help="Of which moment, s; default the whole episode.")] = None,
    video: Annotated[Path | None, typer.Option(help="Make a video into this file.")] = None,
    log: Annotated[bool, typer.Option("--log", help="Tell what happened, with times.")] = False,
    as_json: AsJson = False,
) -> None:
    """Describe RECORD, tell what happened in it, draw it, or make a video of it."""
    from sidestep.records import load_record

    with quiet_stdout(as_json):
        loaded = load_record(record)
        if time is not None and png is None:
            raise BadInput("--time says which moment --png draws; give --png FILE too")
        if time is not None and not 0 <= time <= loaded.duration:
            raise BadInput(f"--time {time:g}: the episode lasts from 0 to {loaded.duration:g} s")
        if png is not None:
            from sidestep.report import draw_png

            draw_png(loaded, png, time)
        if video is not None:
            from sidestep.report import draw_video

            draw_video(loaded, video)
    about = describe(loaded)
    lines = _log(loaded) if log else []
    if as_json:
        extra: dict[str, Any] = {"files": [str(path) for path in (png, video) if path is not None]}
        print_json({"record": about | extra | ({"log": lines} if log else {})})
        return
    for key, value in about.items():
        typer.echo(f"{key:>10}  {value}")
    for line in lines:
        typer.echo(f"{line['time']:8.2f} s  {line['text']}")
    for path in (png, video):
        if path is not None:
            typer.echo(f"wrote {path}")


def _log(record: EpisodeRecord) -> list[dict[str, Any]]:
    from sidestep.report.episode_log import episode_log

    return [vars(line) for line in episode_log(record)]


def describe(record: EpisodeRecord) -> dict[str, Any]:
    """The facts about a record that fit on a screen."""
    return {
        "scenario": record.scenario.name,
        "suite": record.scenario.suite,
        "policy": record.policy.name,
        "settings": record.policy.settings,
        "robot": record.robot.name,
        "seed": record.seed,
        "mode": record.mode,
        "source": record.source,
        "outcome": record.outcome.value,
        "error": record.error,
        "duration_s": record.duration,
        "steps": record.steps,
        "people": len(record.person_id),
        "events": dict(Counter(event.kind for event in record.events)),
        "digest": record.digest,
        "format": record.format_version,
        "package": record.package_version,
    }
