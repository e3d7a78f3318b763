"""Shared by the commands that draw: lists of cameras and pictures, sizes, films of a run."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sidestep.errors import BadInput

if TYPE_CHECKING:
    from sidestep.runs.runner import RunResult
    from sidestep.types.sensors import CameraSettings

RUN_CAMERAS = ("chase", "top")
"""Default cameras of a run's films: the surroundings of the robot, and its position on the map."""
RUN_SIZE = (480, 360)


def split_names(given: Sequence[str] | None, default: Sequence[str]) -> tuple[str, ...]:
    """Names given by a repeated option or by a list with commas."""
    names = [name.strip() for item in given or () for name in item.split(",") if name.strip()]
    return tuple(names) or tuple(default)


def parse_size(size: str) -> tuple[int, int]:
    """Width and height of ``WIDTHxHEIGHT``."""
    width, _, height = size.partition("x")
    if not (width.isdigit() and height.isdigit()):
        raise BadInput(f"--size {size}: must be WIDTHxHEIGHT in pixels, such as 640x480")
    return int(width), int(height)


def sized(own: CameraSettings, size: str | None, **changes: Any) -> CameraSettings:
    """Camera settings with the size WIDTHxHEIGHT and other changes."""
    from sidestep.types.sensors import merge_camera_settings

    if size is not None:
        width, height = parse_size(size)
        changes |= {"width": width, "height": height}
    return merge_camera_settings(own, changes, "--size")


def check_filming(cameras: Sequence[str], pictures: Sequence[str]) -> None:
    """Raise an error before the run if it could not be filmed afterwards."""
    from sidestep.render.films.cameras import check_cameras, check_panels
    from sidestep.render.films.film import check_film

    check_film(Path("film.mp4"))
    check_cameras(cameras)
    check_panels(tuple(pictures))


def film_run(result: RunResult, count: int, cameras: Sequence[str], pictures: Sequence[str]) -> list[Path]:
    """Film ``count`` episodes of each policy into ``videos/``, worst and best first, named after the records.

    A film of the same record by the same cameras is not made again.
    """
    from sidestep._util.progress import progress_bar
    from sidestep.records import load_record
    from sidestep.render.films.cameras import FilmJob, make_films
    from sidestep.report.selection import choose_films
    from sidestep.runs.folder import EPISODES, episode_path

    jobs = []
    for episode in choose_films(result.episodes, count):
        path = episode_path(result.folder, episode.policy, episode.scenario, episode.seed)
        target = result.folder / "videos" / path.relative_to(result.folder / EPISODES).with_suffix(".mp4")
        about = f"sidestep record={episode.digest} cameras={','.join(cameras)} pictures={','.join(pictures)}"
        jobs.append(FilmJob(target, f"{episode.policy} · {episode.scenario}", about, partial(load_record, path)))
    with progress_bar("filming") as move:
        make_films(jobs, cameras, pictures, RUN_SIZE, move)
    return [job.target for job in jobs]
