"""Generated crowds in place of recordings that are not installed: fitting them, and saying how close they come.

``windows`` names the recorded windows, ``fit`` reduces each to statistics in :mod:`sidestep.crowd.twins`, ``closeness``
compares recording and twin. Only these two need the recordings; drawing a twin does not.
"""
