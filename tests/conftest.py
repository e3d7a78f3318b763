"""Settings of all tests: property tests draw the same examples every time and are never timed."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("sidestep", deadline=None, derandomize=True)
settings.load_profile("sidestep")
