"""The notebooks of the documentation: ``python -m tools.notebooks`` executes them again and keeps their outputs.

They run in an empty folder, so that outputs name no place on this computer. MkDocs loads this file as a hook, which
turns each notebook into a page of the site.
"""

from __future__ import annotations

import sys
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import nbformat

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "notebooks"
CELL_S = 600
"""Time for one cell, s: the first may compile kernels."""


def read(path: Path) -> Any:
    """The notebook at ``path`` as it is."""
    return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]


def execute(path: Path, folder: Path) -> Any:
    """The notebook at ``path`` with new outputs, executed in ``folder``; an error in a cell is raised."""
    from nbclient import NotebookClient

    notebook = read(path)
    client = NotebookClient(
        notebook, timeout=CELL_S, resources={"metadata": {"path": str(folder)}}, record_timing=False
    )
    client.execute()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]  # kernels compile
            for output in cell.outputs:
                output.get("data", {}).pop("image/jpeg", None)  # the same picture is there as PNG
    notebook.metadata["language_info"] = {"name": "python"}  # not the version that happened to run
    return notebook


def as_markdown(notebook: Any) -> str:
    """The notebook as a page: cells in order, each output in its richest form."""
    parts: list[str] = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
        elif cell.cell_type == "code":
            parts.append(f"```python\n{cell.source}\n```")
            parts += [_output(output) for output in cell.outputs]
    return "\n\n".join(parts) + "\n"


def _output(output: Any) -> str:
    if output.output_type == "stream":
        return _plain(output.text)
    data = output.data
    if "image/png" in data:
        return f'<img alt="output" src="data:image/png;base64,{"".join(data["image/png"].split())}">'
    if "text/html" in data:
        return f"<div>{data['text/html']}</div>"
    return _plain(data["text/plain"])


def _plain(text: str) -> str:
    return f'<pre style="overflow-x: auto">{escape(text)}</pre>'


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """MkDocs: notebooks are pages, not files to copy."""
    from mkdocs.structure.files import File

    class NotebookFile(File):
        """A page whose source is a notebook."""

        def is_documentation_page(self) -> bool:
            """It is a page."""
            return True

    for file in [each for each in files if each.src_uri.endswith(".ipynb")]:
        files.remove(file)
        files.append(NotebookFile(file.src_uri, config.docs_dir, config.site_dir, config.use_directory_urls))
    return files


def on_page_read_source(page: Page, config: MkDocsConfig) -> str | None:
    """MkDocs: the text of a notebook's page."""
    if not page.file.src_uri.endswith(".ipynb"):
        return None
    return as_markdown(read(Path(config.docs_dir) / page.file.src_uri))


def main() -> None:
    """Execute all notebooks and write them back."""
    for path in sorted(FOLDER.glob("*.ipynb")):
        with TemporaryDirectory() as folder:
            nbformat.write(execute(path, Path(folder)), path)  # type: ignore[no-untyped-call]
        print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB", file=sys.stderr)


if __name__ == "__main__":
    main()
