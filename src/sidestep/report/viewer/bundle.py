"""Scripts and style sheets of the viewer, joined so that a page needs no other file."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

SCRIPTS = (
    "camera.js",
    "theme.js",
    "data.js",
    "lidar.js",
    "labels.js",
    "legend.js",
    "ground.js",
    "topview.js",
    "gl.js",
    "shaders.js",
    "shapes.js",
    "people.js",
    "orbitview.js",
    "timeline.js",
    "player.js",
    "gallery.js",
    "start.js",
)
"""In this order: each uses names of those before it. All live in one function of their own."""


@cache
def script() -> Markup:
    """All scripts as one, for a ``<script>`` element."""
    return Markup('(() => {\n"use strict";\n' + "\n".join(map(_text, SCRIPTS)) + "})();\n")


def style(extra: Sequence[str] = ()) -> Markup:
    """Theme, player and ``extra`` sheets, for a ``<style>`` element.

    Dark is what the system prefers unless the page's ``data-theme`` says otherwise; paper is always light.
    """
    dark = _text("theme_dark.css")
    themes = f"@media screen and (prefers-color-scheme: dark) {{ :root:not([data-theme=light]) {{\n{dark}}} }}\n"
    themes += f"@media screen {{ :root[data-theme=dark] {{\n{dark}}} }}\n"
    return Markup("\n".join([_text("theme.css"), themes, *map(_text, extra), _text("player.css")]))


def templates() -> Environment:
    """The pages' templates: everything that is put into them is escaped, and nothing may be missing."""
    return Environment(
        loader=PackageLoader("sidestep.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _text(name: str) -> str:
    return (files("sidestep.report.viewer") / "static" / name).read_text(encoding="utf-8")
