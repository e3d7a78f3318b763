"""The choice of episodes that a report embeds and of those that are filmed: each policy's worst and best first.
Episodes whose record cannot be read, or is not the one that was scored, are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sidestep.metrics.score import EpisodeScores
from sidestep.render.top_view import palette
from sidestep.runs.finished import FinishedRun
from sidestep.runs.folder import safe_name
from sidestep.types.outcome import PRECEDENCE, Outcome
from sidestep.types.record import EpisodeRecord
from sidestep.types.scenario import Scenario

MOST_REPLAYS = 40
ENOUGH_M = 1.2
"""Hall's personal distance: of two successes that both kept it, the more efficient is the better one."""
COLLISIONS = (Outcome.PEDESTRIAN_COLLISION, Outcome.VEHICLE_COLLISION, Outcome.ENVIRONMENT_COLLISION)
SEVERITY: tuple[Outcome, ...] = (*COLLISIONS, *(outcome for outcome in PRECEDENCE if outcome not in COLLISIONS))
"""The worst outcome first: a person touched, then a vehicle, a wall; then other failures; then success."""


@dataclass(frozen=True)
class LabelledEpisode:
    """An episode of a run, and the name under which the report shows its policy."""

    run: FinishedRun
    scores: EpisodeScores
    label: str

    @property
    def failed(self) -> bool:
        """Whether it ended with anything but success."""
        return self.scores.outcome != Outcome.SUCCESS

    @property
    def record(self) -> EpisodeRecord | None:
        """Its record; None if that cannot be read or is not the one that was scored."""
        return self.run.record(self.scores)

    @property
    def scenario(self) -> Scenario | None:
        """Its scenario in the plan of the run; None for records without a run folder."""
        return self.run.scenarios.get(self.scores.scenario)


def label_episodes(runs: Sequence[FinishedRun]) -> list[LabelledEpisode]:
    """Every episode with its run. A policy that several runs of a suite share is labelled with the
    run's name."""
    holders = Counter(pair for run in runs for pair in {(each.suite, each.policy) for each in run.episodes})
    names = [run.folder.resolve().name for run in runs]
    unique = [name if names.count(name) == 1 else f"{name} {k + 1}" for k, name in enumerate(names)]
    return [
        LabelledEpisode(
            run, scores, f"{scores.policy} ({name})" if holders[scores.suite, scores.policy] > 1 else scores.policy
        )
        for run, name in zip(runs, unique, strict=True)
        for scores in run.episodes
    ]


def policy_colours(names: Sequence[str]) -> dict[str, str]:
    """The same colour for a policy in all chapters."""
    count = len(palette.POLICIES)
    return {name: palette.hexadecimal(palette.POLICIES[k % count]) for k, name in enumerate(names)}


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
    chosen = []
    for policy in dict.fromkeys(episode.policy for episode in episodes):
        ranked = sorted((episode for episode in episodes if episode.policy == policy), key=film_rank)
        chosen += [ranked.pop(0 if k % 2 == 0 else -1) for k in range(min(count, len(ranked)))]
    return chosen


def choose_replays(episodes: Sequence[LabelledEpisode], most: int = MOST_REPLAYS) -> list[tuple[str, EpisodeRecord]]:
    """(policy label, record) of at most ``most`` episodes, policy by policy: the worst and the best of each, then
    failures, worst first, then other policies' episodes of the same scenarios, then the rest."""
    by_policy: dict[str, list[LabelledEpisode]] = {}
    for item in sorted(episodes, key=lambda item: film_rank(item.scores)):
        by_policy.setdefault(item.label, []).append(item)
    ends = [ranked[0] for ranked in by_policy.values()] + [ranked[-1] for ranked in by_policy.values()]
    failures = [ranked[k] for k in range(most) for ranked in by_policy.values() if k < len(ranked) and ranked[k].failed]
    scenarios = {(item.scores.scenario, item.scores.seed) for item in ends}
    rest = sorted(episodes, key=lambda item: (item.scores.scenario, item.scores.seed) not in scenarios)
    chosen = list({id(item): item for item in (*ends, *failures, *rest)}.values())[:most]
    labels = list(dict.fromkeys(item.label for item in episodes))
    return list(load_episodes(sorted(chosen, key=lambda item: labels.index(item.label))))


def load_episodes(chosen: Sequence[LabelledEpisode]) -> Iterator[tuple[str, EpisodeRecord]]:
    """(policy label, record) of each whose record can be read and is the one that was scored."""
    for item in chosen:
        if (record := item.record) is not None:
            yield item.label, record


@dataclass(frozen=True)
class Film:
    """A film of the episode that stands for ``count`` of ``of`` of its ``kind`` that ended like it."""

    kind: str
    label: str
    episode: LabelledEpisode
    count: int
    of: int

    @property
    def file(self) -> str:
        """The file within the folder of films: ``lateral/expert_success.mp4``."""
        ending = "failure" if self.episode.failed else "success"
        return f"{safe_name(self.kind)}/{safe_name(self.label)}_{ending}.mp4"


def film_list(films: Sequence[Film]) -> str:
    """A page in Markdown: what each film shows, and for how many episodes it stands."""
    lines = ["# Films", "", "A success and the most typical failure of each policy, by behaviour.", ""]
    lines += ["| Suite | Behaviour | Policy | Ends with | Stands for | Scenario | Seed | Film |", f"|{' --- |' * 8}"]
    for film in films:
        scores = film.episode.scores
        ending = scores.outcome.replace("_", " ")
        about = (scores.suite, film.kind, film.label, ending, f"{film.count} of {film.of}", scores.scenario)
        lines.append(f"| {' | '.join(about)} | {scores.seed} | [film]({film.file}) |")
    return "\n".join(lines) + "\n"
