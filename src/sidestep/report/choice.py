"""Which episodes a report embeds: for every policy its worst and its best, then others of the same scenarios."""

from __future__ import annotations

from collections.abc import Sequence

from sidestep.benchmark.episode import EpisodeScores
from sidestep.benchmark.folder import episode_path
from sidestep.benchmark.score import ScoredRun, record_paths
from sidestep.errors import RecordError
from sidestep.records import load_record
from sidestep.types.outcome import PRECEDENCE
from sidestep.types.record import EpisodeRecord

MOST = 12

Labelled = tuple[ScoredRun, EpisodeScores]


def choose_replays(episodes: Sequence[Labelled], most: int = MOST) -> list[tuple[str, EpisodeRecord]]:
    """(policy label, record) of at most ``most`` episodes, policy by policy; records that cannot be read are left out."""
    chosen: list[Labelled] = []
    for candidate in _in_order_of_interest(episodes):
        if len(chosen) == most:
            break
        chosen.append(candidate)
    policies = list(dict.fromkeys(episode.policy for _, episode in episodes))
    chosen.sort(key=lambda item: policies.index(item[1].policy))
    loaded = [(episode.policy, _load(run, episode)) for run, episode in chosen]
    return [(label, record) for label, record in loaded if record is not None]


def goodness(episode: EpisodeScores) -> tuple[float, ...]:
    """For ranking: the outcome by the order of precedence, then distance kept from people, then a short time."""
    order = [outcome.value for outcome in PRECEDENCE]
    distance = episode.metrics.get("closest_pedestrian_distance")
    time = episode.metrics.get("time_to_goal")
    return (
        float(order.index(episode.outcome)),
        distance.value if distance and distance.valid else 0.0,
        -time.value if time and time.valid else 0.0,
    )


def _in_order_of_interest(episodes: Sequence[Labelled]) -> list[Labelled]:
    by_policy: dict[str, list[Labelled]] = {}
    for item in sorted(episodes, key=lambda item: goodness(item[1])):
        by_policy.setdefault(item[1].policy, []).append(item)
    ordered = [ranked[0] for ranked in by_policy.values()]
    ordered += [ranked[-1] for ranked in by_policy.values() if len(ranked) > 1]
    taken = {id(item[1]) for item in ordered}
    scenarios = {(item[1].scenario, item[1].seed) for item in ordered}
    rest = [item for item in episodes if id(item[1]) not in taken]
    rest.sort(key=lambda item: (item[1].scenario, item[1].seed) not in scenarios)
    return ordered + rest


def _load(run: ScoredRun, episode: EpisodeScores) -> EpisodeRecord | None:
    """The episode's record: where a run folder keeps it, else the one in the folder with its digest."""
    own_name = episode.policy.removesuffix(f" ({run.folder.resolve().name})")
    path = episode_path(run.folder, own_name, episode.scenario, episode.seed)
    candidates = [path] if path.is_file() else record_paths(run.folder)
    for candidate in candidates:
        try:
            record = load_record(candidate)
        except RecordError:
            continue
        if record.digest == episode.digest:
            return record
    return None
