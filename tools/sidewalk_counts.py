"""How many scenarios the sidewalk suites have, as the table of their page."""

from __future__ import annotations

from collections import Counter

from sidestep.report.papers.sidewalkbench.episodes import SETTINGS, SUITES, TAGS
from sidestep.suites.files import choose_options, load_suite

SPLITS = ("dev", "test")


def counts_table() -> str:
    """Scenarios of each suite by kind and setting, of the development and of the test split, and the length of the long
    routes."""
    lines = ["| suite | kind | towns | hand-made places |", "|---|---|---:|---:|"]
    length = 0.0
    for suite in SUITES:
        scenarios = choose_options(load_suite(suite), {"split": "all"}).scenarios()
        counts = Counter(
            (kind, setting, split)
            for each in scenarios
            for kind in each.tags
            for setting in SETTINGS
            for split in SPLITS
            if setting in each.tags and split in each.tags
        )
        for kind in TAGS[suite]:
            cells = [" + ".join(str(counts[kind, setting, split]) for split in SPLITS) for setting in SETTINGS]
            lines.append(f"| `{suite}` | {kind} | {' | '.join(cells)} |")
        length += sum(float(each.notes.get("length_m", 0.0)) for each in scenarios)
    return "\n".join(
        [*lines, "", f"Development + test split. The long routes have a total length of {length / 1000:.1f} km."]
    )
