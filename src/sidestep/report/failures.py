"""The episodes that went wrong, worst first, for the gallery of a report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sidestep.drawing import palette
from sidestep.report.choice import Labelled, goodness
from sidestep.types.outcome import Outcome

MOST = 12


def failure_cards(episodes: Sequence[Labelled], replays: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """A card for every packed replay that did not succeed, at most ``MOST``, the worst of each policy by turns."""
    place = {(replay["policy"], replay["digest"]): k for k, replay in enumerate(replays)}
    by_policy: dict[str, list[dict[str, Any]]] = {}
    for item in sorted(episodes, key=lambda item: goodness(item.scores)):
        index = place.get((item.label, item.scores.digest[:12]))
        if index is not None and item.scores.outcome != Outcome.SUCCESS:
            by_policy.setdefault(item.label, []).append(_card(item, replays[index], index))
    most = max(map(len, by_policy.values()), default=0)
    return [cards[rank] for rank in range(most) for cards in by_policy.values() if rank < len(cards)][:MOST]


def _card(item: Labelled, replay: dict[str, Any], index: int) -> dict[str, Any]:
    told = [f"{event['time']:.1f} s: {event['text']}" for event in replay["events"] if event["kind"] != "goal_reached"]
    return {
        "episode": index,
        "policy": item.label,
        "scenario": item.scores.scenario,
        "seed": item.scores.seed,
        "outcome": item.scores.outcome.replace("_", " "),
        "colour": palette.hexadecimal(palette.OUTCOMES[item.scores.outcome]),
        "text": told[0] if told else "",
        "more": max(0, len(told) - 1),
    }
