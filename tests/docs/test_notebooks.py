"""The notebooks run without errors, and their saved outputs match their cells."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tools.notebooks import FOLDER, as_markdown, execute, read

NAMES = ("first_steps", "own_policy")
PLACE = re.compile(r"""["'\s(](/(?!/)[\w.-]+/[\w./-]+|[A-Z]:\\\\)""")
"""A path from the root of a file system."""
LARGEST = 300_000


def test_these_are_all() -> None:
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_the_file_is_small_and_names_no_place_on_a_computer(name: str) -> None:
    path = FOLDER / f"{name}.ipynb"
    assert path.stat().st_size <= LARGEST
    shown = [text for cell in read(path).cells for text in texts_of(cell)]
    assert not [found for text in shown for found in PLACE.findall(text)]


def texts_of(cell: Any) -> list[str]:
    """The text of a cell and of its outputs, without pictures and players."""
    outputs = cell.get("outputs", [])
    shown = [output.get("text", "") + output.get("data", {}).get("text/plain", "") for output in outputs]
    return [cell.source, *shown]


@pytest.mark.parametrize("name", NAMES)
def test_every_cell_runs_and_shows_what_is_kept(name: str, tmp_path: Path) -> None:
    """Numbers such as planning times differ between runs; the kinds of outputs do not."""
    kept = read(FOLDER / f"{name}.ipynb")
    fresh = execute(FOLDER / f"{name}.ipynb", tmp_path)
    assert kinds_of(fresh) == kinds_of(kept), "run `make notebooks`"
    assert "error" not in {kind for kinds in kinds_of(kept) for kind in kinds}


def kinds_of(notebook: Any) -> list[list[str]]:
    """The kinds of output of each code cell: a stream of text, or MIME types."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1)), "executed once, from top to end"
    return [
        [form for output in cell.outputs for form in sorted(output.get("data", {output.output_type: ""}))]
        for cell in cells
    ]


def test_an_error_in_a_cell_is_raised(tmp_path: Path) -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 / 0")])
    nbformat.write(notebook, tmp_path / "wrong.ipynb")
    with pytest.raises(Exception, match="ZeroDivisionError"):
        execute(tmp_path / "wrong.ipynb", tmp_path)


def test_the_page_of_a_notebook() -> None:
    v4 = nbformat.v4
    shown = [
        v4.new_output("stream", text="a < b\n"),
        v4.new_output("display_data", {"text/html": "<b>bold</b>", "text/plain": "bold"}),
        v4.new_output("display_data", {"image/png": "iVBO\nRw0=", "text/plain": "<Image>"}),
        v4.new_output("execute_result", {"text/plain": "[1]"}),
    ]
    cells = [v4.new_markdown_cell("# Title"), v4.new_code_cell("f(1)", outputs=shown)]
    assert as_markdown(v4.new_notebook(cells=cells)).split("\n\n") == [
        "# Title",
        "```python\nf(1)\n```",
        '<pre style="overflow-x: auto">a &lt; b\n</pre>',
        "<div><b>bold</b></div>",
        '<img alt="output" src="data:image/png;base64,iVBORw0=">',
        '<pre style="overflow-x: auto">[1]</pre>\n',
    ]
