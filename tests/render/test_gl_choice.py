"""Which renderer draws, and what is said when OpenGL cannot."""

from __future__ import annotations

import re
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest
from typer.testing import CliRunner

from benchmarks.measure import find_peer
from benchmarks.render import street_peer
from sidestep.cli.app import app
from sidestep.cli.cameras import _choose, check_filming
from sidestep.cli.doctor import check_opengl
from sidestep.errors import SidestepError, UnknownName
from sidestep.render.camera_model import CameraModel
from sidestep.render.gl import context
from sidestep.render.renderer import RENDERER_VARIABLE, Renderer, make_renderer, open_renderer
from tests.render.exact import make_scene
from tests.render.test_raster_exact import GROUND

CAMERA = CameraModel(16, 12)


def no_driver(**_: Any) -> None:
    raise RuntimeError("libEGL.so: cannot open shared object file")


@pytest.fixture(params=["moderngl", "driver"])
def remedy(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """OpenGL that lacks something, in a process that has not opened it yet; what an error should then tell to do."""
    monkeypatch.setattr(context, "_per_thread", threading.local())
    missing = request.param == "moderngl"
    monkeypatch.setitem(sys.modules, "moderngl", None if missing else SimpleNamespace(create_context=no_driver))
    return r"pip install 'sidestep\[gl\]'" if missing else "apt-get install libegl1 libgl1-mesa-dri"


def test_gl_says_what_is_missing(remedy: str) -> None:
    with pytest.raises(SidestepError, match=remedy):
        make_renderer("gl", make_scene(GROUND), CAMERA)


def test_nothing_is_compiled_or_driven_for_a_renderer_that_is_not_there(
    remedy: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise AssertionError("work was done before the renderer was looked for")

    monkeypatch.setattr("sidestep.render.prepare.compile_beside", refuse)
    monkeypatch.setattr("sidestep.simulation.run_episode", refuse)
    monkeypatch.setenv(RENDERER_VARIABLE, "cpu")
    out = str(tmp_path / "picture.png")
    result = CliRunner().invoke(app, ["render", "core", "plaza", "--renderer", "gl", "--out", out])
    assert result.exit_code == 2, result.output
    assert re.search(remedy, " ".join(result.stderr.split()))
    monkeypatch.setattr("sidestep.render.films.film.check_film", lambda _: None)
    with pytest.raises(SidestepError, match=remedy):
        check_filming(("chase", "top"), ("rgb",))
    check_filming(("top",), ("rgb",))


def test_auto_does_without(remedy: str) -> None:
    assert isinstance(make_renderer("auto", make_scene(GROUND), CAMERA), Renderer)


def test_doctor_and_bench_do_without(remedy: str) -> None:
    assert check_opengl().status == "missing"
    assert check_opengl().remedy
    notes: list[str] = []
    assert find_peer(street_peer, (640, 480), notes.append) is None
    assert "use --renderer cpu" in notes[0]


@pytest.mark.parametrize(
    ("driver", "software"),
    [("llvmpipe (LLVM 15.0.6, 256 bits)", True), ("softpipe", True), ("NVIDIA A100/PCIe/SSE2", False)],
)
def test_auto_wants_a_graphics_card(monkeypatch: pytest.MonkeyPatch, driver: str, software: bool) -> None:
    fake = SimpleNamespace(info={"GL_RENDERER": driver})
    monkeypatch.setattr(context, "_per_thread", SimpleNamespace(context=fake))
    assert context.has_gpu() is not software
    if software:
        assert isinstance(make_renderer("auto", make_scene(GROUND), CAMERA), Renderer)


def test_the_variable_chooses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(RENDERER_VARIABLE, raising=False)
    assert isinstance(open_renderer(make_scene(GROUND), CAMERA, threads=1), Renderer)
    monkeypatch.setenv(RENDERER_VARIABLE, "vulkan")
    with pytest.raises(UnknownName, match="renderer"):
        open_renderer(make_scene(GROUND), CAMERA)
    _choose("cpu")
    assert isinstance(open_renderer(make_scene(GROUND), CAMERA), Renderer)


def test_a_card_is_not_compared_as_llvmpipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        context, "_per_thread", SimpleNamespace(context=SimpleNamespace(info={"GL_RENDERER": "Mesa DG2"}))
    )
    with pytest.raises(SidestepError, match="not on llvmpipe"):
        street_peer((640, 480))
