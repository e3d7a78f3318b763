"""The option ``--renderer``, the same for every verb that draws."""

from __future__ import annotations

import os
from typing import Annotated, Literal

import typer


def _choose(kind: str | None) -> str | None:
    """Tell everything that opens a renderer, in this process and those it starts."""
    if kind is not None:
        os.environ["SIDESTEP_RENDERER"] = kind
    return kind


RendererChoice = Annotated[
    Literal["cpu", "gl", "auto"] | None,
    typer.Option(
        "--renderer",
        callback=_choose,
        help="What draws: cpu, gl (OpenGL), or auto (gl with a graphics card). Default $SIDESTEP_RENDERER or cpu.",
    ),
]
