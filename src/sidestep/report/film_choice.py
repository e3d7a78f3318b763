"""Which episodes of a run are filmed: each policy's worst, then its best, then the next worst, and so on."""

from __future__ import annotations

from collections.abc import Sequence

from sidestep.benchmark.episode import EpisodeScores
from sidestep.types.outcome import PRECEDENCE, Outcome

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
