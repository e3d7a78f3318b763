"""An OpenGL context without a window, and its shader programs. There is one context for each thread: contexts are
expensive, and belong to their thread. Programs are put together from the files in ``shaders`` and compiled once for
each set of features.
"""

from __future__ import annotations

import threading
from importlib.resources import files
from typing import Any

from sidestep.errors import SidestepError

WITHOUT_WINDOW: dict[str, Any] = {"require": 330, "standalone": True, "backend": "egl"}
SOFTWARE = ("llvmpipe", "softpipe", "swrast", "software rasterizer")
"""Names of drivers that draw on the processor."""

_per_thread = threading.local()


def open_context() -> Any:
    """The context of this thread; raises with a remedy where there can be none."""
    context = getattr(_per_thread, "context", None)
    if context is None:
        context = _per_thread.context = _make_context()
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


OUTPUTS = {"rgb": "vec4", "depth": "float", "semantic": "uint", "instance": "int"}
"""Picture → type of what the fragment shader writes."""
PARTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "static": (("frame.glsl", "static.vert"), ("frame.glsl", "sky.glsl", "finish.glsl", "surface.frag")),
    "model": (("frame.glsl", "skin.glsl", "model.vert"), ("frame.glsl", "sky.glsl", "finish.glsl", "surface.frag")),
    "sky": (("sky.vert",), ("frame.glsl", "sky.glsl", "finish.glsl", "sky.frag")),
    "shadow_static": (("frame.glsl", "shadow_static.vert"), ("shadow.frag",)),
    "shadow_model": (("frame.glsl", "skin.glsl", "shadow_model.vert"), ("shadow.frag",)),
}
"""Program → files of its vertex and fragment shader."""
UNITS = {"table": 0, "noise": 1, "pictures": 2, "shadow": 3, "mirror": 4, "mirror_far": 5, "shelter": 6}
"""Texture → unit it is bound to, in every program."""
FRAME_BLOCK = 0

Features = tuple[str, ...]


class Programs:
    """The compiled programs of one context."""

    def __init__(self, context: Any) -> None:
        self._context = context
        self._made: dict[tuple[str, Features, tuple[str, ...]], Any] = {}

    def get(self, name: str, features: Features = (), pictures: tuple[str, ...] = ()) -> Any:
        """Program ``name`` that writes ``pictures``, in the order of the frame buffer's attachments."""
        key = (name, features, pictures)
        if key not in self._made:
            vertex, fragment = PARTS[name]
            program = self._context.program(
                vertex_shader=_source(vertex, features, ()), fragment_shader=_source(fragment, features, pictures)
            )
            for texture, unit in UNITS.items():
                if texture in program:
                    program[texture].value = unit
            if "Frame" in program:
                program["Frame"].binding = FRAME_BLOCK
            self._made[key] = program
        return self._made[key]


def _source(parts: tuple[str, ...], features: Features, pictures: tuple[str, ...]) -> str:
    folder = files(__package__) / "shaders"
    lines = ["#version 330 core"]
    lines += [f"#define {feature.replace('=', ' ')}" for feature in features]
    for place, picture in enumerate(pictures):
        lines.append(f"#define WANT_{picture}")
        lines.append(f"layout(location = {place}) out {OUTPUTS[picture]} out_{picture};")
    return "\n".join([*lines, *((folder / part).read_text("utf-8") for part in parts)])
