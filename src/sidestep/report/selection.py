"""Which episodes a report embeds and which a run films: each policy's worst and best first. Also reads the chosen
records, and leaves out those that cannot be read or are not the ones that were scored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sidestep.errors import RecordError
from sidestep.metrics.score import EpisodeScores
from sidestep.records import load_record
from sidestep.runs.folder import RUN_FILE, episode_path
from sidestep.runs.score import ScoredRun, record_paths
from sidestep.types.outcome import PRECEDENCE, Outcome
from sidestep.types.record import EpisodeRecord

MOST_REPLAYS = 40


@dataclass(frozen=True)
class LabelledEpisode:
    """An episode of a run, and the name under which the report shows its policy."""

    run: ScoredRun
    scores: EpisodeScores
    label: str


def choose_replays(episodes: Sequence[LabelledEpisode], most: int = MOST_REPLAYS) -> list[tuple[str, EpisodeRecord]]:
    """(policy label, record) of at most ``most`` episodes, policy by policy.

    Records that cannot be read, or are not those that were scored, are left out.
    """
    chosen = _in_order_of_interest(episodes)[:most]
    policies = list(dict.fromkeys(item.label for item in episodes))
    chosen.sort(key=lambda item: policies.index(item.label))
    return list(load_episodes(chosen))


def goodness(episode: EpisodeScores) -> tuple[float, ...]:
    """For ranking: the outcome by order of precedence, then distance kept from people, then a short time."""
    order = [outcome.value for outcome in PRECEDENCE]
    distance = episode.metrics.get("closest_pedestrian_distance")
    time = episode.metrics.get("time_to_goal")
    return (
        float(order.index(episode.outcome)),
        distance.value if distance and distance.valid else 0.0,
        -time.value if time and time.valid else 0.0,
    )


def _in_order_of_interest(episodes: Sequence[LabelledEpisode]) -> list[LabelledEpisode]:
    by_policy: dict[str, list[LabelledEpisode]] = {}
    for item in sorted(episodes, key=lambda item: goodness(item.scores)):
        by_policy.setdefault(item.label, []).append(item)
    ordered = [ranked[0] for ranked in by_policy.values()]
    ordered += [ranked[-1] for ranked in by_policy.values() if len(ranked) > 1]
    taken = {id(item) for item in ordered}
    scenarios = {(item.scores.scenario, item.scores.seed) for item in ordered}
    rest = [item for item in episodes if id(item) not in taken]
    rest.sort(key=lambda item: (item.scores.scenario, item.scores.seed) not in scenarios)
    failures = [
        ranked[k]
        for k in range(1, MOST_REPLAYS)
        for ranked in by_policy.values()
        if k < len(ranked) and _failed(ranked[k])
    ]
    return list({id(item): item for item in (*ordered, *failures, *rest)}.values())


def _failed(item: LabelledEpisode) -> bool:
    return item.scores.outcome != Outcome.SUCCESS


def load_episodes(chosen: Sequence[LabelledEpisode]) -> Iterator[tuple[str, EpisodeRecord]]:
    """(policy label, record) of each that can be read and is the one that was scored."""
    plain: dict[Path, dict[str, Path]] = {}
    for item in chosen:
        folder, scores = item.run.folder, item.scores
        if (folder / RUN_FILE).is_file():
            path: Path | None = episode_path(folder, scores.policy, scores.scenario, scores.seed)
        else:
            if folder not in plain:
                plain[folder] = {record.digest: path for path, record in _readable(record_paths(folder))}
            path = plain[folder].get(scores.digest)
        for _, record in _readable([path] if path is not None and path.is_file() else []):
            if record.digest == scores.digest:
                yield item.label, record


def _readable(paths: Sequence[Path]) -> Iterator[tuple[Path, EpisodeRecord]]:
    for path in paths:
        try:
            yield path, load_record(path)
        except RecordError:
            continue


ENOUGH_M = 1.2
"""Hall's personal distance: of two successes that both kept it, the more efficient is the better one."""

COLLISIONS = (Outcome.PEDESTRIAN_COLLISION, Outcome.VEHICLE_COLLISION, Outcome.ENVIRONMENT_COLLISION)
SEVERITY: tuple[Outcome, ...] = (*COLLISIONS, *(outcome for outcome in PRECEDENCE if outcome not in COLLISIONS))
"""The worst outcome first: who touches somebody, then something; then other failures; then success."""


def film_rank(episode: EpisodeScores) -> tuple[float | str | int, ...]:
    """For sorting, the worst first: outcome, collisions, distance kept from people up to ``ENOUGH_M``, efficiency
    (SPL), time to the goal; scenario and seed decide what is left."""

    def value(name: str, missing: float) -> float:
        found = episode.metrics.get(name)
        return float(found.value) if found is not None and found.valid else missing

    return (
        SEVERITY.index(Outcome(episode.outcome)),
        -value("collisions", 0.0),
        min(value("closest_pedestrian_distance", ENOUGH_M), ENOUGH_M),
        value("spl", 0.0),
        -value("time_to_goal", 0.0),
        episode.scenario,
        episode.seed,
    )


def choose_films(episodes: Sequence[EpisodeScores], count: int) -> list[EpisodeScores]:
    """``count`` episodes of each policy, policy by policy: the worst, the best, the next worst, the next best, …"""
    by_policy: dict[str, list[EpisodeScores]] = {}
    for episode in episodes:
        by_policy.setdefault(episode.policy, []).append(episode)
    return [chosen for own in by_policy.values() for chosen in _alternating(sorted(own, key=film_rank))[:count]]


def _alternating(ranked: list[EpisodeScores]) -> list[EpisodeScores]:
    """Both ends of a list, in turns."""
    ends: list[EpisodeScores] = []
    low, high = 0, len(ranked) - 1
    while low <= high:
        ends.append(ranked[low])
        if high > low:
            ends.append(ranked[high])
        low, high = low + 1, high - 1
    return ends
