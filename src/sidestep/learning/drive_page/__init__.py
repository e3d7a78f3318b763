"""Driving the intersection suite by hand in a browser, as a source of demonstrations.

``episodes`` drives one episode after another and writes frames to the file of demonstrations. ``pictures`` draws the
driver's view. ``messages`` defines the messages between page and server. ``server`` serves the page in ``static`` and
paces the driving. The command is ``sidestep drive``.
"""
