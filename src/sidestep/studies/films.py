"""Films of a study: their files, their durations, and checks that they do not reveal the policy.

A film reaches participants without its name, but with its metadata. Films whose metadata are more than technical are
therefore refused; ``sidestep replay RECORD --video FILE --blind`` makes films without metadata, and without the bar
that shows policy and outcome. Text *in* the pictures is not checked.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from sidestep._util.reading import file_beside
from sidestep.errors import BadInput, MissingExtra
from sidestep.studies.access import Refused
from sidestep.studies.definition import Study
from sidestep.studies.site import log
from sidestep.studies.store import Stage

FILM_TYPES = {".mp4": "video/mp4", ".webm": "video/webm"}
HARMLESS = frozenset({
    "encoder", "encoder_options", "major_brand", "minor_version", "compatible_brands", "language", "handler_name",
    "vendor_id", "creation_time", "duration", "number_of_bytes", "number_of_frames", "bps",
})  # fmt: skip
"""Keys of metadata that programs write on their own."""
REMEDY = (
    "make it with `sidestep replay RECORD --video FILE --blind`, or remove them with "
    "`ffmpeg -i FILE -map_metadata -1 -c copy NEW`"
)


@dataclass(frozen=True)
class Film:
    """A film that participants may see."""

    path: Path
    kind: str
    duration_s: float


def find_film(study: Study, definition: Path, policy: str, scenario: str, run: int) -> Film:
    """The film of a run, beside the definition; ``BadInput`` where it cannot be shown."""
    name = study.film(policy, scenario, run)
    path = file_beside(definition, name, "films")
    if path.suffix.lower() not in FILM_TYPES:
        raise BadInput(f"{definition}: films: {name}: films are .mp4 or .webm files; convert it")
    about = path.stat()
    duration_s, visible = _read_film(path, about.st_mtime_ns, about.st_size)
    if visible:
        raise BadInput(
            f"{definition}: films: {name}: its metadata contain {visible}, which participants can read; {REMEDY}"
        )
    return Film(path, FILM_TYPES[path.suffix.lower()], duration_s)


def film_of(stage: Stage) -> Film:
    """The film of the present trial, for its participant."""
    trial, info = stage.trial, stage.info
    assert trial is not None
    try:
        return find_film(info.study, Path(info.folder) / "study.yaml", trial.policy, trial.scenario, trial.run)
    except BadInput as error:
        log.error("a film cannot be shown: %s", error)
        raise Refused(409, "this film cannot be shown; please tell the experimenter") from None


@lru_cache(4096)
def _read_film(path: Path, changed_ns: int, size: int) -> tuple[float, str]:
    """Duration in seconds, and the metadata that are not harmless, as a text."""
    try:
        import av
    except ImportError:
        raise MissingExtra("a study with films", "video") from None
    try:
        with av.open(str(path)) as film:
            metadata: dict[str, Any] = dict(film.metadata)
            for stream in film.streams:
                metadata |= stream.metadata
            metadata |= _chapters(film)
            duration_s = _duration_s(film)
            has_pictures = bool(film.streams.video)
    except Exception as error:  # FFmpeg has a dozen ways to say it
        raise BadInput(f"{path}: not a film that can be read ({error!s:.100}); convert it to .mp4") from None
    if not has_pictures or duration_s <= 0.0:
        raise BadInput(f"{path}: has no pictures or no duration; convert it to .mp4")
    visible = {key: value for key, value in metadata.items() if key.lower() not in HARMLESS and str(value).strip()}
    return duration_s, ", ".join(f"{key}: {value!s:.80}" for key, value in sorted(visible.items()))


def _chapters(film: Any) -> dict[str, str]:
    """Titles of chapters, which players show. PyAV before 14 does not read them."""
    chapters = film.chapters() if hasattr(film, "chapters") else []
    return {f"chapter {each['id']}": str(each["metadata"].get("title", "")) for each in chapters}


def _duration_s(film: Any) -> float:
    """Duration of the container, else of its longest stream."""
    if film.duration is not None:
        return float(film.duration) / 1e6
    return max(
        (float(each.duration * each.time_base) for each in film.streams if each.duration is not None), default=0.0
    )
