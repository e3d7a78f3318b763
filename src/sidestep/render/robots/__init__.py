"""Robots as models in the size of their specs: what one sees is what collides. Start with :func:`robot_figure`."""

from sidestep.render.robots.library import robot_figure

__all__ = ["robot_figure"]
