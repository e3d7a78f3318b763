"""Records in a notebook: a picture of a moment, a player, and what is shown for a record that ends a cell.

``EpisodeRecord.plot``, ``EpisodeRecord.play`` and ``EpisodeRecord._repr_html_`` lead here.
"""

from __future__ import annotations

from base64 import b64encode
from html import escape
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from sidestep.errors import BadInput
from sidestep.metrics.series import pedestrian_centre_distance
from sidestep.render.films.top_view import EpisodeView
from sidestep.report.viewer.page import viewer_page, write_viewer
from sidestep.types.record import EpisodeRecord

THUMBNAIL_PX = 240


def plot_record(
    record: EpisodeRecord,
    time: float | None = None,
    *,
    size: tuple[int, int] = (640, 640),
    velocities: bool = False,
    personal_space: bool = False,
    ax: Any = None,
) -> Any:
    """The record from above at ``time`` (s; None: the end) as a Pillow image, which notebooks show. With ``ax``, a
    matplotlib axes, the picture is drawn into it in metres, and the axes are returned."""
    view = EpisodeView(record, size, velocities=velocities, personal_space=personal_space)
    picture = view.frame_at(time)
    if ax is None:
        return Image.fromarray(picture)
    low_x, low_y, high_x, high_y = view.top.view.shown
    ax.imshow(picture, extent=(low_x, high_x, low_y, high_y), interpolation="antialiased")
    ax.set_xlabel("x (m)")
    ax.set_ylabel("y (m)")
    return ax


class Player:
    """An episode that can be played. In a notebook it shows itself; ``save`` writes the same page as one HTML file."""

    def __init__(self, record: EpisodeRecord, height: int = 640) -> None:
        if not 100 <= height <= 4000:
            raise BadInput(f"a player is 100 to 4000 pixels high, not {height}")
        self.record = record
        self.height = height

    def save(self, path: Path | str) -> Path:
        """Write the page to ``path``."""
        write_viewer(self.record, Path(path))
        return Path(path)

    def _repr_html_(self) -> str:
        page = escape(viewer_page(self.record), quote=True)
        style = f"width: 100%; height: {self.height}px; border: 0"
        return f'<iframe srcdoc="{page}" style="{style}" sandbox="allow-scripts"></iframe>'

    def __repr__(self) -> str:
        return f"<Player of {self.record!r}: shown in notebooks; save(PATH) writes it as a page>"


def record_html(record: EpisodeRecord) -> str:
    """A small picture and the facts of a record."""
    shown = plot_record(record, size=(2 * THUMBNAIL_PX, 2 * THUMBNAIL_PX))
    buffer = BytesIO()
    shown.save(buffer, "PNG", optimize=True)
    rows = {
        "scenario": f"{record.scenario.suite}/{record.scenario.name}, seed {record.seed}",
        "policy": record.policy.name + (" (privileged)" if record.policy.privileged else ""),
        "robot": record.robot.name,
        "outcome": str(record.outcome).replace("_", " ") + f" after {record.duration:.1f} s",
        "people": f"{len(record.person_id)}, {record.source}",
        "closest person": _closest(record),
        "digest": record.digest[:12],
    }
    if record.error:
        rows["error"] = record.error[:300]
    cells = "".join(
        f'<tr><th style="text-align: left">{name}</th><td style="text-align: left">{escape(value)}</td></tr>'
        for name, value in rows.items()
    )
    picture = b64encode(buffer.getvalue()).decode()
    image = f'<img width="{THUMBNAIL_PX}" alt="from above" src="data:image/png;base64,{picture}">'
    return f'<div style="display: flex; gap: 1em; align-items: center">{image}<table>{cells}</table></div>'


def _closest(record: EpisodeRecord) -> str:
    if not record.person_present.any():
        return "nobody there"
    return f"{np.nanmin(pedestrian_centre_distance(record)):.2f} m between centres"
