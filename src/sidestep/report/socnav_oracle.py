"""How far every policy is from the privileged oracle, episode by episode."""

from __future__ import annotations

from collections.abc import Sequence

from sidestep.report.socnav_episodes import DIALECTS, ORACLE, Key, SocnavEpisode, SocnavRun
from sidestep.report.socnav_tables import Column, Figure, Row, Table, mark_best, mean_of, total_of

ORACLE_COLUMNS = (
    Column("success", "Successes (oracle's)"),
    Column("both", "Episodes both complete"),
    Column("time_ratio", "Traversal time ÷ oracle's", "", better="lower"),
    Column("time_more", "Traversal time − oracle's", "s", better="lower"),
    Column("path_ratio", "Path length ÷ oracle's", "", better="lower"),
    Column("path_more", "Path length − oracle's", "m", better="lower"),
)


def oracle_table(run: SocnavRun) -> Table | None:
    """Every other policy against the oracle, episode by episode, where both reach the goal."""
    label = next((label for label, episodes in run.by_label.items() if episodes[0].policy == ORACLE), None)
    if label is None or len(run.by_label) < 2:
        return None
    oracle = {each.key: each for each in run.by_label[label]}
    rows = [
        Row(name, DIALECTS[0], episodes[0].privileged, _against(episodes, oracle))
        for name, episodes in run.by_label.items()
        if name != label
    ]
    notes = (
        f"People: {run.people}; {run.circumstances}.",
        "Successes: over the episodes that both ran. The rest is over the episodes that both complete, with or without "
        "touching people, each paired with the oracle's own; mean ± standard deviation. The oracle knows the people's "
        "future: it is the limit, not a competitor.",
    )
    rows_marked = mark_best(run, rows, ORACLE_COLUMNS)
    return Table("oracle", "Distance to the oracle", ORACLE_COLUMNS, rows_marked, run.people, notes)


def _against(episodes: Sequence[SocnavEpisode], oracle: dict[Key, SocnavEpisode]) -> tuple[Figure, ...]:
    pairs = [(each, oracle[each.key]) for each in episodes if each.key in oracle]
    good, limit = (total_of(side, "success", DIALECTS[0]) for side in zip(*pairs, strict=True)) if pairs else (0, 0)
    both = [(one, other) for one, other in pairs if one.completed and other.completed]
    counts = (
        Figure(f"{good} ({limit})", float(good), None, len(pairs), len(pairs)),
        Figure(f"{len(both)} of {len(pairs)}", float(len(both)), None, len(both), len(pairs)),
    )
    found = []
    for metric in ("path_traversal_time", "path_length"):
        values = [(one.value(metric) or 0.0, other.value(metric) or 0.0) for one, other in both]
        ratios = [own / best for own, best in values if best > 0]
        found += [mean_of(ratios, len(both)), mean_of([own - best for own, best in values], len(both))]
    return (*counts, *found)
