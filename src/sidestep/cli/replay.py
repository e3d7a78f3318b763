"""``sidestep replay``: inspect one episode record."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sidestep.cli.verb import AsJson, print_json, quiet_stdout, say, verb
from sidestep.errors import BadInput

if TYPE_CHECKING:
    from sidestep.types.record import EpisodeRecord


AtTime = Annotated[
    float | None, typer.Option(help="With --png: time of the picture in seconds. Default: the whole episode.")
]
Camera = Annotated[
    list[str] | None,
    typer.Option(
        help="With --video: cameras, side by side: top (the map), first, chase or above; repeatable or with commas."
    ),
]
Picture = Annotated[
    list[str] | None,
    typer.Option(
        help="With --video: pictures, side by side: rgb, depth, semantic or instance; repeatable or with commas."
    ),
]
Size = Annotated[str | None, typer.Option(metavar="WIDTHxHEIGHT", help="With --video: size of each picture in pixels.")]
Blind = Annotated[
    bool, typer.Option("--blind", help="With --video: no bar with policy and outcome, for films that people will rate.")
]


@verb
def replay(
    record: Annotated[Path, typer.Argument(help="Episode record (*.parquet).")],
    serve: Annotated[bool, typer.Option("--serve", help="Play the episode in the browser until Ctrl-C.")] = False,
    port: Annotated[int | None, typer.Option(help="With --serve: port on 127.0.0.1. Default: any free port.")] = None,
    no_open: Annotated[bool, typer.Option("--no-open", help="With --serve: do not open a browser.")] = False,
    html: Annotated[Path | None, typer.Option(help="Write the viewer as one HTML file that needs no server.")] = None,
    png: Annotated[Path | None, typer.Option(help="Write a top view to this file.")] = None,
    time: AtTime = None,
    video: Annotated[Path | None, typer.Option(help="Write a video to this file.")] = None,
    camera: Camera = None,
    picture: Picture = None,
    size: Size = None,
    blind: Blind = False,
    rrd: Annotated[Path | None, typer.Option(help="Export to a file for the Rerun viewer.")] = None,
    mcap: Annotated[Path | None, typer.Option(help="Export ROS 2 messages for Foxglove and ros2 bag.")] = None,
    log: Annotated[bool, typer.Option("--log", help="Print the events of the episode with their times.")] = False,
    as_json: AsJson = False,
) -> None:
    """Describe RECORD, list its events, play it, draw it, film it, or export it."""
    from sidestep.records import load_record

    if not serve and (port is not None or no_open):
        raise BadInput("--port and --no-open belong to --serve; give --serve too")
    with quiet_stdout(as_json):
        loaded = load_record(record)
        if time is not None and png is None:
            raise BadInput("--time says which moment --png draws; give --png FILE too")
        if time is not None and not 0 <= time <= loaded.duration:
            raise BadInput(f"--time {time:g}: the episode lasts from 0 to {loaded.duration:g} s")
        if video is None and (camera or picture or size or blind):
            raise BadInput("--camera, --picture, --size and --blind say how --video films; give --video FILE too")
        if video is not None:
            _film(loaded, video, camera, picture, size, blind)
        _write(loaded, png, time, html, rrd, mcap)
    files = [path for path in (png, video, html, rrd, mcap) if path is not None]
    about = describe(loaded)
    lines = _log(loaded) if log else []
    if as_json:
        extra: dict[str, Any] = {"files": [str(path) for path in files]}
        print_json({"record": about | extra | ({"log": lines} if log else {})})
    else:
        for key, value in about.items():
            typer.echo(f"{key:>10}  {value}")
        for line in lines:
            typer.echo(f"{line['time']:8.2f} s  {line['text']}")
        for path in files:
            typer.echo(f"wrote {path}")
    if serve:
        _serve(loaded, port or 0, open_browser=not no_open)


def _film(
    record: EpisodeRecord,
    path: Path,
    camera: list[str] | None,
    picture: list[str] | None,
    size: str | None,
    blind: bool,
) -> None:
    from sidestep._util.progress import progress_bar
    from sidestep.cli.cameras import sized, split_names
    from sidestep.render.films.cameras import draw_film

    cameras = split_names(camera, ("top",))
    if size is None and cameras == ("top",):
        size = "640x640"
    settings = sized(record.scenario.sensors.camera, size)
    with progress_bar("filming") as move:
        draw_film(
            record,
            path,
            cameras=cameras,
            panels=split_names(picture, ("rgb",)),
            settings=settings,
            blind=blind,
            progress=lambda done, of: move(done, of, path.name),
        )


def _write(
    record: EpisodeRecord, png: Path | None, time: float | None, html: Path | None, rrd: Path | None, mcap: Path | None
) -> None:
    """Write every requested file."""
    if png is not None:
        from sidestep.report import draw_png

        draw_png(record, png, time)
    if html is not None:
        from sidestep.report.viewer import write_viewer

        write_viewer(record, html)
    if rrd is not None:
        from sidestep.records.exports.rerun_file import export_rerun

        export_rerun(record, rrd)
    if mcap is not None:
        from sidestep.records.exports.mcap_file import export_mcap

        export_mcap(record, mcap)


def _serve(record: EpisodeRecord, port: int, open_browser: bool) -> None:
    """Serve the viewer until Ctrl-C, which is not an error."""
    from sidestep.report.viewer import make_server, viewer_page

    with make_server(viewer_page(record), port) as server:
        say(f"playing at {server.address}; Ctrl-C stops")
        if open_browser:
            import webbrowser

            webbrowser.open(server.address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            say("stopped")


def _log(record: EpisodeRecord) -> list[dict[str, Any]]:
    from sidestep.records.exports.episode_log import episode_log

    return [vars(line) for line in episode_log(record)]


def describe(record: EpisodeRecord) -> dict[str, Any]:
    """A short description of a record."""
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
