"""Stills and films of a record by one or several cameras: colour, depth, classes and instances as pictures for people,
arranged beside each other under a title bar, and written to files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar, get_args

import numpy as np
from PIL import Image

from sidestep._util.writing import whole_file
from sidestep.errors import BadInput, did_you_mean
from sidestep.records.exports.episode_log import step_at
from sidestep.render.films.film import check_film, film_steps, read_about, write_film
from sidestep.render.films.top_view import EpisodeView
from sidestep.render.mesh import Semantic
from sidestep.render.record_view import Angle, RecordView
from sidestep.render.renderer import Images
from sidestep.render.top_view import palette
from sidestep.render.top_view.canvas import Picture, fit_text, text_mask, write
from sidestep.simulation.robots import load_robot
from sidestep.types.base import FloatArray, IntArray
from sidestep.types.record import EpisodeRecord, others
from sidestep.types.robot import RobotSpec
from sidestep.types.sensors import CameraSettings, merge_camera_settings

Camera = Literal["first", "chase", "above", "top"]
"""An angle of a camera in the scene, or ``top``: the plan."""
CAMERAS: tuple[Camera, ...] = get_args(Camera)
PANELS = ("rgb", "depth", "semantic", "instance")
FAR_M = 20.0
"""Depth pictures run from near (light) to this (dark), m."""


Name = TypeVar("Name", bound=str)


def _check_names(kind: str, given: Sequence[str], known: Sequence[Name]) -> tuple[Name, ...]:
    """``given`` without repetitions, each of them known."""
    for name in given:
        if name not in known:
            raise BadInput(f"no {kind} is called {name!r}{did_you_mean(name, known)}")
    if not given:
        raise BadInput(f"ask for at least one {kind} of {', '.join(known)}")
    return tuple(known[known.index(name)] for name in dict.fromkeys(given))


def check_panels(panels: Sequence[str]) -> tuple[str, ...]:
    """Pictures of a camera, checked."""
    return _check_names("picture", panels, PANELS)


def check_cameras(cameras: Sequence[str]) -> tuple[Camera, ...]:
    """Cameras, checked."""
    return _check_names("camera", cameras, CAMERAS)


def coloured(images: Images, panel: str) -> Picture:
    """(H, W, 3) uint8."""
    if panel == "rgb":
        assert images.rgb is not None
        return np.asarray(images.rgb, np.uint8)
    if panel == "depth":
        assert images.depth is not None
        return depth_colours(images.depth)
    numbers = images.semantic if panel == "semantic" else images.instance
    assert numbers is not None
    return _SEMANTIC_COLOURS[numbers] if panel == "semantic" else instance_colours(numbers)


def depth_colours(depth: FloatArray) -> Picture:
    """Yellow near, blue and black far, by the root of the distance left up to ``FAR_M``."""
    near = np.clip(1.0 - depth / FAR_M, 0.0, 1.0)
    colours: Picture = _DEPTH_COLOURS[np.rint(255 * np.sqrt(near)).astype(np.uint8)]
    return colours


def instance_colours(numbers: IntArray) -> Picture:
    """A colour per number, black for none."""
    mixed = numbers.astype(np.uint32) * np.uint32(2654435761)
    channels = np.stack([mixed >> 24, (mixed >> 16) & 255, (mixed >> 8) & 255], axis=2) | 64
    colours: Picture = channels.astype(np.uint8)
    colours[numbers == 0] = 0
    return colours


def _depth_table() -> Picture:
    """256 colours of even steps in lightness."""
    stops = np.array([0, 48, 96, 144, 192, 224, 255])
    codes = ("0b0b1a", "23135c", "5d1f82", "a7377c", "e4625a", "fb9f45", "fcf6b0")
    points = np.array([tuple(bytes.fromhex(code)) for code in codes], np.float64)
    columns = [np.interp(np.arange(256), stops, points[:, channel]) for channel in range(3)]
    return np.rint(np.stack(columns, axis=1)).astype(np.uint8)


def _semantic_table() -> Picture:
    colours = {
        Semantic.SKY: "87b5e0", Semantic.FLOOR: "b9b2a6", Semantic.WALL: "8d8a94", Semantic.BUILDING: "6f7f95",
        Semantic.ROAD: "4b4b55", Semantic.LANE_MARKING: "f2f2f2", Semantic.SIDEWALK: "c8b6c9",
        Semantic.CROSSWALK: "e0d15a", Semantic.KERB: "a0a0a0", Semantic.GRASS: "7fb069", Semantic.TREE: "3f7d3b",
        Semantic.POLE: "d0a060", Semantic.SIGN: "e3c000", Semantic.FURNITURE: "a9714b", Semantic.DOOR: "8b5a2b",
        Semantic.WINDOW: "5fa8d3", Semantic.PERSON: "dc2f45", Semantic.VEHICLE: "2b59c3", Semantic.ROBOT: "1f4fe0",
        Semantic.CEILING: "e6e2da",
    }  # fmt: skip
    table = np.zeros((256, 3), np.uint8)
    for kind, code in colours.items():
        table[int(kind)] = tuple(bytes.fromhex(code))
    return table


_DEPTH_COLOURS, _SEMANTIC_COLOURS = _depth_table(), _semantic_table()


def other_robots(record: EpisodeRecord) -> tuple[RobotSpec, ...]:
    """Specs in the order of ``record.other_pose``, up to the first that cannot be found any more."""
    specs: list[RobotSpec] = []
    robots = record.scenario.robots[1:]
    for k, user in enumerate(others(record)):
        try:
            specs.append(user.spec or load_robot(robots[k].spec))
        except (BadInput, IndexError):  # a file of the suite need not lie beside the record; foreign logs name no robot
            break
    return tuple(specs)


BAR_PX, LETTERS_PX, PAD_PX = 28, 14, 8
BAR_COLOUR = palette.INK
TAG_PX = 12
TAG_FROM_PX = 150
"""Narrower pictures carry no words."""


class Montage:
    """One column for each camera, one row for each picture; a single camera has its pictures in a row.

    The plan has no rows: it fills its column. ``title``: a bar above with policy, scenario, outcome and time.
    ``blind``: the plan shows neither outcome nor contacts.
    """

    def __init__(
        self,
        record: EpisodeRecord,
        cameras: Sequence[str] = ("first",),
        pictures: Sequence[str] = ("rgb",),
        settings: CameraSettings | None = None,
        *,
        title: bool = True,
        blind: bool = False,
    ) -> None:
        self.record, self.cameras = record, check_cameras(cameras)
        self.pictures = check_panels(pictures)
        settings = settings or record.scenario.sensors.camera
        self._width, self._height = settings.picture_size
        self._seen: list[Angle] = [camera for camera in self.cameras if camera != "top"]
        self._view = RecordView(record, settings, others=other_robots(record)) if self._seen else None
        self._in_row = len(self._seen) == 1 and len(self.cameras) == 1
        body = self._height * (1 if self._in_row or not self._seen else len(self.pictures))
        self._top = None
        if "top" in self.cameras:
            self._top = EpisodeView(
                record, (min(self._width, body) if self._seen else self._width, body), label="", blind=blind
            )
        columns = len(self.pictures) if self._in_row else len(self._seen)
        width = columns * self._width + (self._top.top.view.size[0] if self._top else 0)
        self.size = width, body + (BAR_PX if title else 0)
        """Width and height of the pictures."""
        self._bar = self._title() if title else None
        self._last: tuple[int, Picture] | None = None

    def frame(self, step: int) -> Picture:
        """The picture (H, W, 3) of a state; not to be changed."""
        if self._last is None or self._last[0] != step:
            self._last = step, self._compose(step)
        return self._last[1]

    def _compose(self, step: int) -> Picture:
        columns = [
            self._top.frame(step) if camera == "top" and self._top else self._column(step, camera)
            for camera in self.cameras
        ]
        above = [] if self._bar is None else [self._with_time(self._bar.copy(), step)]
        return np.vstack([*above, np.hstack(columns)])

    def _column(self, step: int, camera: Camera) -> Picture:
        """All pictures of a camera."""
        assert self._view is not None
        assert camera != "top"
        images = self._view.images(step, self.pictures, camera)
        parts = [np.array(coloured(images, panel)) for panel in self.pictures]
        for part, panel in zip(parts, self.pictures, strict=True):
            if self._bar is not None and (len(self.cameras) > 1 or len(self.pictures) > 1):
                _tag(part, camera if panel == "rgb" else f"{camera} · {panel}")
        return np.hstack(parts) if self._in_row else np.vstack(parts)

    def _title(self) -> Picture:
        """The bar without the time."""
        record, (width, _) = self.record, self.size
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

    def _clock(self, step: int) -> str:
        return f"{self.record.time[step]:.1f} / {self.record.duration:.1f} s"

    def _with_time(self, bar: Picture, step: int) -> Picture:
        clock = self._clock(step)
        x = bar.shape[1] - PAD_PX - text_mask(clock, LETTERS_PX).shape[1]
        write(bar, clock, x, (BAR_PX - round(LETTERS_PX * 1.4)) // 2, LETTERS_PX, palette.WHITE)
        bar[-2:, : round(bar.shape[1] * step / max(self.record.steps, 1))] = palette.GOAL
        return bar


def _tag(picture: Picture, words: str) -> None:
    """Small words in the lower left corner, on a shade."""
    if picture.shape[1] < TAG_FROM_PX:
        return
    mask = text_mask(words, TAG_PX)
    height, width = mask.shape[0] + 4, mask.shape[1] + 10
    corner = picture[-height:, :width]
    corner[:] = corner // 2
    write(corner, words, 5, 2, TAG_PX, palette.WHITE)


FPS = 20


def draw_still(
    record: EpisodeRecord,
    path: Path,
    *,
    time_s: float = 0.0,
    cameras: Sequence[str] = ("first",),
    settings: CameraSettings | None = None,
    panels: Sequence[str] = ("rgb",),
) -> None:
    """One moment into a PNG or JPEG file."""
    montage = Montage(record, cameras, panels, settings, title=False)
    save_picture(montage.frame(step_at(record, time_s)), path)


def save_picture(picture: Picture, path: Path, quality: int = 90) -> None:
    """Into a file; the format is chosen by its name."""
    if path.suffix.lower() not in (".png", ".jpg", ".jpeg"):
        raise BadInput(f"{path}: a still is a .png or .jpg file; rename it")
    with whole_file(path) as temporary:
        Image.fromarray(picture).save(temporary, path.suffix[1:].replace("jpg", "jpeg"), quality=quality, optimize=True)


def draw_film(
    record: EpisodeRecord,
    path: Path,
    *,
    cameras: Sequence[str] = ("first",),
    settings: CameraSettings | None = None,
    panels: Sequence[str] = ("rgb",),
    fps: int = FPS,
    about: str = "",
    blind: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """The whole episode into an MP4 (extra ``video``) or GIF file; ``progress`` is called with (frames done, all
    frames). ``blind``: nothing in the film shows policy and outcome."""
    if fps <= 0:
        raise BadInput(f"a film needs fps above zero, got {fps}")
    check_film(path)
    montage = Montage(record, cameras, panels, settings, title=not blind, blind=blind)
    steps = film_steps(record, fps)

    def frames() -> Iterator[Picture]:
        for done, step in enumerate(steps, start=1):
            yield montage.frame(step)
            if progress is not None:
                progress(done, len(steps))

    write_film(frames(), path, fps, montage.size, about)


class FilmJob(NamedTuple):
    """A film to be made, unless ``target`` is there already and says that it is ``about`` the same."""

    target: Path
    label: str
    """Text of the progress bar."""
    about: str
    load: Callable[[], EpisodeRecord | None]
    """Reads the record; None if it cannot be read."""


def make_films(
    jobs: Sequence[FilmJob],
    cameras: Sequence[str],
    pictures: Sequence[str],
    size: tuple[int, int],
    progress: Callable[[int, int, str], None] | None = None,
) -> list[bool]:
    """Make the films; returns whether each of them exists now. ``progress`` is called with (frames done, frames in
    all as far as known, label of the film)."""
    present = [read_about(job.target) == job.about for job in jobs]
    missing = [k for k, found in enumerate(present) if not found]
    done = 0
    for left, k in zip(range(len(missing), 0, -1), missing, strict=True):
        job = jobs[k]
        record = job.load()
        if record is None:
            continue
        frames = int(record.duration * FPS) + FPS // 2 + 1

        def report(now: int, of: int, before: int = done, rest: int = frames * left, label: str = job.label) -> None:
            if progress is not None:
                progress(before + now, before + max(rest, of), label)

        changes = {"width": size[0], "height": size[1]}
        settings = merge_camera_settings(record.scenario.sensors.camera, changes, "size of films")
        draw_film(
            record, job.target, cameras=cameras, panels=pictures, settings=settings, about=job.about, progress=report
        )
        present[k], done = True, done + frames
    return present
