"""Guests: policies that are not bundled, each in a process of its own that holds no simulator.

``process`` starts such a process, asks it, and ends it when it is late; ``policy`` makes a guest look like any other
policy; ``messages`` is what travels, built on the protocol of remote policies (``sidestep.policies.remote``); ``child``
is the life of the process. What this protects against and what not: ``SECURITY.md``.
"""

from sidestep.guests.policy import GuestPolicy, Guests
from sidestep.guests.process import GuestProcess, Introduced, end_all, introduce

__all__ = ["GuestPolicy", "GuestProcess", "Guests", "Introduced", "end_all", "introduce"]
