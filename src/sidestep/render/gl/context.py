"""An OpenGL context without a window. One for each thread, kept: contexts are dear, and belong to their thread."""

from __future__ import annotations

import threading
from typing import Any

from sidestep.errors import SidestepError

WITHOUT_WINDOW: dict[str, Any] = {"require": 330, "standalone": True, "backend": "egl"}
SOFTWARE = ("llvmpipe", "softpipe", "swrast", "software rasterizer")
"""Names of drivers that draw on the processor."""

_kept = threading.local()


def open_context() -> Any:
    """The context of this thread; raises with a remedy where there can be none."""
    context = getattr(_kept, "context", None)
    if context is None:
        context = _kept.context = _make_context()
    return context


def _make_context() -> Any:
    try:
        import moderngl
    except ImportError as error:
        raise SidestepError(
            f"the OpenGL renderer needs moderngl, which cannot be imported ({error}); "
            "pip install 'sidestep[gl]', or use --renderer cpu"
        ) from error
    try:
        context: Any = moderngl.create_context(**WITHOUT_WINDOW)
    except Exception as error:  # whatever the driver or its loader says
        raise SidestepError(
            f"no OpenGL 3.3 context could be made through EGL ({error}); install a driver (Debian: apt-get install "
            "libegl1 libgl1-mesa-dri, or that of the graphics card), or use --renderer cpu"
        ) from error
    context.enable(moderngl.DEPTH_TEST)
    context.gc_mode = "context_gc"  # what nobody holds any more is freed when the next renderer is made
    return context


def driver_name() -> str:
    """What draws, in the driver's own words."""
    return str(open_context().info["GL_RENDERER"])


def is_software(name: str) -> bool:
    """Whether a driver of this name draws on the processor."""
    return any(word in name.lower() for word in SOFTWARE)


def has_gpu() -> bool:
    """Whether a context can be made that draws on a graphics card."""
    try:
        return not is_software(driver_name())
    except SidestepError:
        return False
