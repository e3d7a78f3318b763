"""Settings of all tests: property tests draw the same examples every time and are never timed."""

from __future__ import annotations

import signal

from hypothesis import settings

settings.register_profile("sidestep", deadline=None, derandomize=True)
settings.load_profile("sidestep")

# A shell without job control starts what runs behind with interrupts ignored, and processes hand that on: tests that
# interrupt a command would fail.
signal.signal(signal.SIGINT, signal.default_int_handler)
