"""Robots as models, in the size of their specs: what one sees is what collides. :func:`robot_figure` picks the shape."""

from sidestep.render.robots.library import robot_figure

__all__ = ["robot_figure"]
