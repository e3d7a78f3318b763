"""Driving the intersection suite by hand in a browser, as a source of demonstrations.

``episodes`` drives: one episode after another, frames to the file of demonstrations. ``pictures`` draws what the
person sees. ``messages`` is what page and server say to each other. ``server`` serves the page in ``static`` and paces
the driving. The command is ``sidestep drive``.
"""
