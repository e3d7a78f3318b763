"""Compiling the renderer: it says so, and happens only where it is needed."""

from __future__ import annotations

import pytest

from sidestep.render import prepare
from sidestep.render.camera_model import CameraModel
from sidestep.render.renderer import Renderer
from tests.render.exact import make_scene
from tests.render.test_raster_exact import GROUND


@pytest.mark.parametrize("cold", [True, False])
def test_the_first_renderer_says_that_it_compiles(
    cold: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(prepare, "needs_compiling", lambda: cold)
    monkeypatch.delenv(prepare.BESIDE, raising=False)
    prepare.announce_compiling.cache_clear()
    for _ in range(2):
        Renderer(make_scene(GROUND), CameraModel(16, 12))
    assert capsys.readouterr().err.count("compiling the renderer, once on this machine") == cold


def test_the_cpu_renderer_is_not_compiled_where_opengl_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepare, "needs_compiling", lambda: pytest.fail("asked for its machine code"))
    monkeypatch.setenv(prepare.RENDERER_VARIABLE, "gl")
    with prepare.compile_beside("sidestep.report.first_picture"):
        pass
