"""Films of the sidewalk suites: for every behaviour and policy a success and the most typical failure.

Long ways are left out: their films would take minutes each, and ``sidestep replay`` makes them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sidestep.errors import BadInput, UnknownName
from sidestep.report.cameras import check_cameras, draw_film
from sidestep.report.film import check_film, read_about
from sidestep.report.papers.sidewalkbench.episodes import LONG, TAGS, SidewalkEpisode, SidewalkRun, read_sidewalk
from sidestep.report.selection import SEVERITY, LabelledEpisode, film_rank, load_episodes
from sidestep.runs.folder import safe_name
from sidestep.types.outcome import Outcome
from sidestep.types.sensors import merge_camera_settings
from sidestep.writing import atomic

INDEX = "films.md"
CAMERAS = ("chase", "top")
SIZE = (480, 360)


@dataclass(frozen=True)
class Film:
    """One film: of the episode that stands for ``count`` of ``of`` that ended like it."""

    suite: str
    kind: str
    label: str
    episode: LabelledEpisode
    count: int
    of: int

    @property
    def outcome(self) -> str:
        """How the episode ended."""
        return self.episode.scores.outcome

    @property
    def place(self) -> str:
        """The file within the folder: ``lateral/expert_success.mp4``."""
        ending = "success" if self.outcome == Outcome.SUCCESS else "failure"
        return f"{safe_name(self.kind)}/{safe_name(self.label)}_{ending}.mp4"


def choose_sidewalk_films(run: SidewalkRun, policies: Sequence[str] = ()) -> list[Film]:
    """Behaviour by behaviour, policy by policy: a success, then the most typical failure, where there are any.

    ``policies``: all if empty. A failure is typical that ended in the way in which most did; of several that did, the
    middle one in the order of ``film_rank``. The success is the middle one too.
    """
    for name in policies:
        if name not in run.labels:
            raise UnknownName("policy", name, run.labels)
    films = []
    for suite, kinds in TAGS.items():
        for kind in kinds if suite != LONG else ():
            for label in policies or run.labels:
                own = run.choose(suite, label, kind)
                chosen = [found for found in (_success(own), _typical_failure(own)) if found]
                films += [
                    Film(suite, kind, label, median_episode(group).item, len(group), len(own)) for group in chosen
                ]
    return films


def _success(episodes: Sequence[SidewalkEpisode]) -> list[SidewalkEpisode]:
    return [each for each in episodes if each.item.scores.outcome == Outcome.SUCCESS]


def _typical_failure(episodes: Sequence[SidewalkEpisode]) -> list[SidewalkEpisode]:
    """All that failed in the commonest way; of equally common ways the gravest."""
    counts = Counter(each.item.scores.outcome for each in episodes if each.item.scores.outcome != Outcome.SUCCESS)
    if not counts:
        return []
    commonest = max(counts, key=lambda outcome: (counts[outcome], -SEVERITY.index(Outcome(outcome))))
    return [each for each in episodes if each.item.scores.outcome == commonest]


def median_episode(episodes: Sequence[SidewalkEpisode]) -> SidewalkEpisode:
    """The one in the middle, from worst to best; of two the worse."""
    ranked = sorted(episodes, key=lambda each: film_rank(each.item.scores))
    return ranked[(len(ranked) - 1) // 2]


def plan_films(episodes: Sequence[LabelledEpisode], policies: Sequence[str], cameras: Sequence[str]) -> list[Film]:
    """Which films there will be; raises if they cannot be made."""
    check_film(Path("film.mp4"))
    check_cameras(cameras)
    run = read_sidewalk([item for item in episodes if item.scores.suite != LONG])
    if run is None:
        raise BadInput("--films makes films of sidewalk-unit and sidewalk-reactive, and no run here is of them")
    return choose_sidewalk_films(run, policies)


def make_films(
    films: Sequence[Film],
    folder: Path,
    cameras: Sequence[str] = CAMERAS,
    size: tuple[int, int] = SIZE,
    progress: Callable[[int, int, str], None] | None = None,
) -> list[Path]:
    """Make the films and a list of them; returns the paths, the list last. A film that is there already, of the same
    record by the same cameras, is kept. ``progress`` hears (films done, of how many, which)."""
    made = []
    for k, film in enumerate(films):
        if progress is not None:
            progress(k, len(films), f"{film.kind} · {film.label}")
        if _make(film, folder, cameras, size):
            made.append(film)
    index = folder / INDEX
    try:
        with atomic(index) as temporary:
            temporary.write_text(index_page(made), encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{folder}: cannot be written to: {error.strerror or error}") from error
    return [*(folder / film.place for film in made), index]


def _make(film: Film, folder: Path, cameras: Sequence[str], size: tuple[int, int]) -> bool:
    """Whether the film is there now; it is not if the record cannot be read."""
    path = folder / film.place
    about = f"sidestep record={film.episode.scores.digest} cameras={','.join(cameras)} size={size[0]}x{size[1]}"
    if read_about(path) == about:
        return True
    for _, record in load_episodes([film.episode]):
        settings = merge_camera_settings(
            record.scenario.sensors.camera, {"width": size[0], "height": size[1]}, "size of films"
        )
        draw_film(record, path, cameras=cameras, settings=settings, about=about)
        return True
    return False


def index_page(films: Sequence[Film]) -> str:
    """A list of the films: what each shows, and for how many episodes it stands."""
    lines = ["# Films", "", "A success and the most typical failure of each policy, by behaviour.", ""]
    lines += ["| Suite | Behaviour | Policy | Ends with | Stands for | Scenario | Seed | Film |", f"|{' --- |' * 8}"]
    for film in films:
        scores = film.episode.scores
        ending = film.outcome.replace("_", " ")
        told = [
            film.suite,
            film.kind,
            film.label,
            ending,
            f"{film.count} of {film.of}",
            scores.scenario,
            str(scores.seed),
        ]
        lines.append(f"| {' | '.join(told)} | [film]({film.place}) |")
    return "\n".join(lines) + "\n"
