"""Compiling the renderer: it says so, and happens only where it is needed."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from sidestep.kernels.jit import CACHE_FOLDER, compile_for
from sidestep.render import prepare
from sidestep.render.camera_model import CameraModel, CameraPose
from sidestep.render.films import first_picture
from sidestep.render.films.first_picture import compile_renderer
from sidestep.render.raster import frame
from sidestep.render.record_view import RecordView
from sidestep.render.renderer import Renderer
from tests.render.exact import make_scene
from tests.render.test_raster_exact import GROUND


@pytest.mark.parametrize("cold", [True, False])
def test_the_first_renderer_says_that_it_compiles(
    cold: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(prepare, "is_compiled", lambda name: not cold)
    monkeypatch.delenv(prepare.BESIDE, raising=False)
    prepare.announce_compiling.cache_clear()
    for _ in range(2):
        Renderer(make_scene(GROUND), CameraModel(16, 12))
    assert capsys.readouterr().err.count("compiling the renderer, once on this machine") == cold


@pytest.mark.parametrize("threads", [1, 2])
def test_what_is_compiled_is_known_for_each_number_of_threads(threads: int) -> None:
    """Else every process would say that it compiles."""
    if CACHE_FOLDER is None:
        pytest.skip("only where compiled kernels can be kept")
    renderer = Renderer(make_scene(GROUND), CameraModel(16, 12), threads=threads)
    renderer.render(CameraPose(0.0, 0.0, 1.0, 0.0))
    assert not prepare.needs_compiling(threads)


def test_the_picture_beside_compiles_what_draws_records(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr("sidestep.render.renderer.announce_compiling", asked.append)
    compile_renderer()
    threads = inspect.signature(RecordView).parameters["threads"].default
    assert asked == [min(threads, 2)]


def test_two_processes_compile_the_steps_for_the_types_that_pictures_have(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else each step would be compiled twice: once for nothing."""
    compiled: list[str] = []

    def note(function: Any, *arguments: Any) -> Any:
        compiled.append(function.__name__)
        return compile_for(function, *arguments)

    monkeypatch.setattr(first_picture, "compile_for", note)
    monkeypatch.setattr(first_picture, "CACHE_FOLDER", None)  # no second process
    first_picture.compile_shading()
    assert compiled == ["draw_bands"]
    first_picture.compile_renderer()
    assert compiled == ["draw_bands", "plan_frame", "prepare_objects", "cast_shadows"]
    assert {name: len(getattr(frame, name).signatures) for name in compiled} == dict.fromkeys(compiled, 1)
