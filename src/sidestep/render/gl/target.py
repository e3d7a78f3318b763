"""Pictures on the graphics card, and the way from there into arrays."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

FORMATS: dict[str, tuple[int, str]] = {
    "rgb": (4, "f1"),
    "depth": (1, "f4"),
    "semantic": (1, "u1"),
    "instance": (1, "i4"),
}
"""Picture → channels and type on the card."""


class GlTarget:
    """A frame buffer with the pictures that are asked for, and the depth that decides what is seen."""

    def __init__(self, context: Any, width: int, height: int, pictures: tuple[str, ...]) -> None:
        self.width, self.height, self.pictures = width, height, pictures
        self.textures = {name: context.texture((width, height), *_format(name)) for name in pictures}
        for texture in self.textures.values():
            texture.repeat_x = texture.repeat_y = False
        depth = context.depth_renderbuffer((width, height))
        self._buffer = context.framebuffer([self.textures[name] for name in pictures], depth)

    def begin(self) -> None:
        """Draw into it from now on. Whatever clearing makes of the pictures, the sky covers."""
        self._buffer.use()
        self._buffer.clear(depth=1.0)

    def read(self, name: str, out: NDArray[Any]) -> None:
        """Copy a picture into ``out``, of the shape and type that :class:`Images` says."""
        if name == "rgb":
            self._buffer.read_into(out, components=3, attachment=self.pictures.index(name), alignment=1)
        else:
            self.textures[name].read_into(out, alignment=1)


def _format(name: str) -> tuple[int, None, int, int, str]:
    channels, kind = FORMATS[name]
    return channels, None, 0, 1, kind
