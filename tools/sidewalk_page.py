"""Fills the documentation's page about the sidewalk suites with the tables and figures of a report.

``python -m tools.sidewalk_page TABLES PAGE``: TABLES is what ``sidestep report … --tables TABLES`` wrote.
Between ``<!-- begin NAME -->`` and ``<!-- end NAME -->`` of PAGE comes the table or figure of that name, whose picture
is copied beside the page's others; ``counts`` is the number of scenarios.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections import Counter
from pathlib import Path

from sidestep.errors import BadInput, SidestepError
from sidestep.report.papers.sidewalkbench.episodes import PLACES, SUITES, TAGS
from sidestep.suites.files import choose_options, load_suite
from sidestep.writing import atomic

COUNTS = "counts"
SPLITS = ("dev", "test")
IMAGES = Path("..") / "images"
_PLACE = re.compile(r"(<!-- begin (\w+) -->\n).*?(<!-- end \2 -->)", re.DOTALL)


def fill_page(page: Path, tables: Path) -> list[str]:
    """Rewrite ``page``; returns the names of the places that were filled."""
    filled: list[str] = []

    def content(found: re.Match[str]) -> str:
        filled.append(found[2])
        return f"{found[1]}\n{_content(found[2], page, tables)}\n\n{found[3]}"

    text = _PLACE.sub(content, page.read_text(encoding="utf-8"))
    if not filled:
        raise BadInput(f"{page}: has no place to fill, such as <!-- begin sidewalk_table2 --> … <!-- end … -->")
    with atomic(page) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return filled


def _content(name: str, page: Path, tables: Path) -> str:
    if name == COUNTS:
        return counts_table()
    table, picture = tables / f"{name}.md", tables / f"{name}.png"
    if table.is_file():
        return table.read_text(encoding="utf-8").partition("\n")[2].strip()
    if picture.is_file():
        (page.parent / IMAGES).mkdir(exist_ok=True)
        shutil.copyfile(picture, page.parent / IMAGES / picture.name)
        return f"![{name.replace('_', ' ')}]({(IMAGES / picture.name).as_posix()})"
    raise BadInput(
        f"{tables}: holds neither {table.name} nor {picture.name}; `sidestep report` all three suites into it"
    )


def counts_table() -> str:
    """Scenarios of each suite by kind and place, of the development and of the test split, and the length of the long
    ways."""
    lines = ["| suite | kind | towns | drawn places |", "|---|---|---:|---:|"]
    length = 0.0
    for suite in SUITES:
        scenarios = choose_options(load_suite(suite), {"split": "all"}).scenarios()
        counts = Counter(
            (kind, place, split)
            for each in scenarios
            for kind in each.tags
            for place in PLACES
            for split in SPLITS
            if place in each.tags and split in each.tags
        )
        for kind in TAGS[suite]:
            cells = [" + ".join(str(counts[kind, place, split]) for split in SPLITS) for place in PLACES]
            lines.append(f"| `{suite}` | {kind} | {' | '.join(cells)} |")
        length += sum(float(each.notes.get("length_m", 0.0)) for each in scenarios)
    return "\n".join([*lines, "", f"Development + test split. The long ways have {length / 1000:.1f} km in all."])


def main(arguments: list[str]) -> int:
    """TABLES PAGE."""
    if len(arguments) != 2:
        print(__doc__)
        return 2
    try:
        names = fill_page(Path(arguments[1]), Path(arguments[0]))
    except (SidestepError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"filled {', '.join(names)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
