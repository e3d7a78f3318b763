"""Top-view pictures of a world, for anything that shows one: reports, videos, Gymnasium's ``rgb_array``.

:class:`~sidestep.render.top_view.view.TopView` paints the poses, trails and contacts that it is given. It knows
neither records nor environments, needs no display, and paints some hundred frames a second. Colours are in
``palette``.
"""

from sidestep.render.top_view.canvas import Viewport
from sidestep.render.top_view.view import TopView

__all__ = ["TopView", "Viewport"]
