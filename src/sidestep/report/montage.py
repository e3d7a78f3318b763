"""Several cameras on one record, beside each other under a title: the pictures of films and stills."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np

from sidestep.drawing import palette
from sidestep.drawing.shapes import Picture
from sidestep.drawing.text import fit_text, text_mask, write
from sidestep.errors import BadInput, did_you_mean
from sidestep.render.record_view import Angle, RecordView
from sidestep.report.machines import other_machines
from sidestep.report.picture_colours import check_panels, coloured
from sidestep.report.topview import EpisodeView
from sidestep.types.record import EpisodeRecord
from sidestep.types.sensors import CameraSettings

Camera = Literal["first", "chase", "above", "top"]
"""An angle of a camera in the scene, or ``top``: the plan."""
CAMERAS: tuple[Camera, ...] = get_args(Camera)

BAR_PX, LETTERS_PX, PAD_PX = 28, 14, 8
BAR_COLOUR = palette.INK
TAG_PX = 12
TAG_FROM_PX = 150
"""Narrower pictures carry no words."""


class Montage:
    """One column for each camera, one row for each picture; a single camera has its pictures in a row.

    The plan has no rows: it fills its column. ``title``: a bar above with policy, scenario, outcome and time.
    """

    def __init__(
        self,
        record: EpisodeRecord,
        cameras: Sequence[str] = ("first",),
        pictures: Sequence[str] = ("rgb",),
        settings: CameraSettings | None = None,
        *,
        title: bool = True,
    ) -> None:
        self.record, self.cameras = record, check_cameras(cameras)
        self.pictures = check_panels(tuple(dict.fromkeys(pictures)))
        settings = settings or record.scenario.sensors.camera
        self._width, self._height = settings.picture_size
        self._seen: list[Angle] = [camera for camera in self.cameras if camera != "top"]
        self._view = RecordView(record, settings, others=other_machines(record)) if self._seen else None
        self._in_row = len(self._seen) == 1 and len(self.cameras) == 1
        rows = 1 if self._in_row or not self._seen else len(self.pictures)
        body = rows * self._height
        self._top = None
        if "top" in self.cameras:
            self._top = EpisodeView(record, (min(self._width, body) if self._seen else self._width, body), label="")
        self._bar = self._title() if title else None
        self._last: tuple[int, Picture] | None = None

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the pictures."""
        columns = len(self.pictures) if self._in_row else len(self._seen)
        width = columns * self._width + (self._top.top.view.size[0] if self._top else 0)
        body = self._height * (1 if self._in_row or not self._seen else len(self.pictures))
        return width, body + (BAR_PX if self._bar is not None else 0)

    def frame(self, step: int) -> Picture:
        """The picture (H, W, 3) of a state; not to be changed."""
        if self._last is None or self._last[0] != step:
            self._last = step, self._compose(step)
        return self._last[1]

    def _compose(self, step: int) -> Picture:
        width, height = self.size
        picture = np.empty((height, width, 3), np.uint8)
        above = 0
        if self._bar is not None:
            above = BAR_PX
            picture[:above] = self._bar
            self._write_time(picture, step)
        x = 0
        for camera in self.cameras:
            if camera == "top":
                assert self._top is not None
                plan = self._top.frame(step)
                picture[above:, x : x + plan.shape[1]] = plan
                x += plan.shape[1]
            else:
                self._place(picture[above:, x:], step, camera)
                x += self._width
        return picture

    def _place(self, room: Picture, step: int, camera: Angle) -> None:
        assert self._view is not None
        images = self._view.images(step, self.pictures, camera)
        for k, panel in enumerate(self.pictures):
            column, row = (k, 0) if self._in_row else (0, k)
            left, top = column * self._width, row * self._height
            part = room[top : top + self._height, left : left + self._width]
            part[:] = coloured(images, panel)
            if self._bar is not None and (len(self.cameras) > 1 or len(self.pictures) > 1):
                _tag(part, camera if panel == "rgb" else f"{camera} · {panel}")

    def _title(self) -> Picture:
        """The bar without the time."""
        record, width = self.record, self._bar_width()
        bar = np.empty((BAR_PX, width, 3), np.uint8)
        bar[:] = BAR_COLOUR
        outcome = str(record.outcome)
        ending = outcome.replace("_", " ")
        y = (BAR_PX - round(LETTERS_PX * 1.4)) // 2
        room = width - 3 * PAD_PX - text_mask(self._clock(record.steps), LETTERS_PX).shape[1]
        ending_width = text_mask(ending, LETTERS_PX).shape[1] + 2 * PAD_PX
        words = fit_text(f"{record.policy.name} · {record.scenario.name}", LETTERS_PX, max(room - ending_width, 0))
        x = PAD_PX + (write(bar, words, PAD_PX, y, LETTERS_PX, palette.WHITE) if words else 0) + PAD_PX
        light = palette.mix(palette.OUTCOMES[outcome], palette.WHITE, 0.35)
        write(bar, fit_text(ending, LETTERS_PX, max(room - x, 0)), x, y, LETTERS_PX, light)
        return bar

    def _bar_width(self) -> int:
        columns = len(self.pictures) if self._in_row else len(self._seen)
        return columns * self._width + (self._top.top.view.size[0] if self._top else 0)

    def _clock(self, step: int) -> str:
        return f"{self.record.time[step]:.1f} / {self.record.duration:.1f} s"

    def _write_time(self, picture: Picture, step: int) -> None:
        clock = self._clock(step)
        x = picture.shape[1] - PAD_PX - text_mask(clock, LETTERS_PX).shape[1]
        write(picture, clock, x, (BAR_PX - round(LETTERS_PX * 1.4)) // 2, LETTERS_PX, palette.WHITE)
        done = round(picture.shape[1] * step / max(self.record.steps, 1))
        picture[BAR_PX - 2 : BAR_PX, :done] = palette.GOAL


def check_cameras(cameras: Sequence[str]) -> tuple[Camera, ...]:
    """``cameras`` without repetitions, each of them known."""
    known: list[Camera] = []
    for name in cameras:
        found = next((camera for camera in CAMERAS if camera == name), None)
        if found is None:
            raise BadInput(f"no camera is called {name!r}{did_you_mean(name, CAMERAS)}")
        if found not in known:
            known.append(found)
    if not known:
        raise BadInput(f"ask for at least one camera of {', '.join(CAMERAS)}")
    return tuple(known)


def _tag(picture: Picture, words: str) -> None:
    """Small words in the lower left corner, on a shade."""
    if picture.shape[1] < TAG_FROM_PX:
        return
    mask = text_mask(words, TAG_PX)
    height, width = mask.shape[0] + 4, mask.shape[1] + 10
    corner = picture[-height:, :width]
    corner[:] = corner // 2
    write(corner, words, 5, 2, TAG_PX, palette.WHITE)
