"""One record as one page that needs neither a server nor a network."""

from __future__ import annotations

from pathlib import Path

from sidestep.errors import BadInput
from sidestep.records import atomic
from sidestep.report.viewer.bundle import script, style, templates
from sidestep.report.viewer.pack import pack_replays
from sidestep.types.record import EpisodeRecord
from sidestep.version import __version__

RATE_HZ = 20.0
"""Frames a second of a page about one record; the player draws what lies between."""


def viewer_page(record: EpisodeRecord) -> str:
    """The page as text."""
    about = f"{record.policy.name} · seed {record.seed} · {record.robot.name} · people {record.source}"
    return (
        templates()
        .get_template("viewer.html.j2")
        .render(
            title=record.scenario.name,
            about=about,
            version=__version__,
            style=style(["viewer.css"]),
            script=script(),
            replays=pack_replays([(record.policy.name, record)], rate_hz=RATE_HZ),
        )
    )


def write_viewer(record: EpisodeRecord, path: Path) -> None:
    """The page as a file."""
    try:
        with atomic(path) as temporary:
            temporary.write_text(viewer_page(record), encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{path}: cannot be written: {error.strerror or error}") from error
