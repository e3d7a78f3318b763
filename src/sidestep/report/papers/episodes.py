"""What the sections of papers share: episodes with the name of their policy in the tables, and the policies of many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from sidestep.metrics.observed import ObservationClass, classes_of
from sidestep.report.selection import LabelledEpisode


@dataclass(frozen=True)
class PaperEpisode:
    """One episode of one policy. ``label`` is the policy's name in the tables of the section."""

    item: LabelledEpisode
    label: str

    @property
    def suite(self) -> str:
        """The suite of its scenario."""
        return self.item.scores.suite

    @property
    def outcome(self) -> str:
        """How it ended."""
        return self.item.scores.outcome

    @property
    def cluster(self) -> str:
        """What it shares with other episodes, such as a town, a place or a route."""
        return self.item.scores.cluster


class PaperRun:
    """All episodes of a section: base class of a dataclass with the field ``episodes``."""

    episodes: Sequence[PaperEpisode]

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Policies in the order of the report."""
        return tuple(dict.fromkeys(each.label for each in self.episodes))

    @cached_property
    def classes(self) -> dict[str, ObservationClass]:
        """Label → the class of policies with which it can be compared."""
        return classes_of((each.label, each.item.scores.observes) for each in self.episodes)

    @cached_property
    def privileged(self) -> frozenset[str]:
        """Policies that see what the others do not."""
        return frozenset(each.label for each in self.episodes if each.item.scores.privileged)


def policy_labels(items: Sequence[tuple[LabelledEpisode, str]]) -> dict[int, str]:
    """Episode (its ``id``) → the policy's own name, unless several runs have that policy in the same part.

    ``items`` are episodes with their part: runs of different parts, such as the suites of one paper, belong together.
    """
    holders = {(id(item.run), part, item.scores.policy) for item, part in items}
    runs = Counter((part, policy) for _, part, policy in holders)
    shared = {policy for (_, policy), count in runs.items() if count > 1}
    return {id(item): item.label if item.scores.policy in shared else item.scores.policy for item, _ in items}
