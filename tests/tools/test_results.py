"""The table of runs on the page of statistics."""

from __future__ import annotations

import shlex
from pathlib import Path

from tools.results import PAGES, ROOT, RUNS, runs_table


def test_every_run_is_on_the_page_with_its_command() -> None:
    page = (ROOT / "docs" / "statistics.md").read_text(encoding="utf-8")
    table = page.partition("<!-- begin runs -->")[2].partition("<!-- end runs -->")[0]
    rows = [line.split(" | ") for line in table.splitlines() if line.startswith("| ")][1:]
    assert {row[0].strip("| "): row[1] for row in rows} == {
        name: f"`sidestep run {shlex.join(words)}`" for name, words in RUNS.items()
    }


def test_runs_that_were_not_made_again_keep_their_rows(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "statistics.md").read_text(encoding="utf-8")
    kept = page.partition("<!-- begin runs -->")[2].partition("Computer:")[0].strip()
    assert runs_table(tmp_path, {}, page).startswith(kept)


def test_pages_with_tables_exist() -> None:
    assert [page for page in PAGES if not (ROOT / page).is_file()] == []
