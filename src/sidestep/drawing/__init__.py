"""Top-view pictures of a world, for anything that shows one: reports, videos, Gymnasium's ``rgb_array``.

:class:`~sidestep.drawing.topview.TopView` paints what it is told: poses, trails, contacts. It knows
neither records nor environments, needs no display, and paints some hundred frames a second. Colours are in
``palette``.
"""

from sidestep.drawing.canvas import Viewport
from sidestep.drawing.topview import TopView

__all__ = ["TopView", "Viewport"]
