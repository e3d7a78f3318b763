"""Policies that run in another process: in a child process of the run, or at the other end of a socket.

``wire`` frames messages and ``client`` is the policy's side; both can be copied into another project. ``messages``
translates tasks, observations and commands. ``session`` queries a policy over a connection and implements
``--policy remote:ADDRESS``. ``host`` waits for a policy that connects to ``sidestep serve``, ``joystick`` for one that
uses SocNavBench's protocol, whose view of the world is in ``joystick_state``. ``guests`` starts policies that are not
bundled, each in a process without the simulator; ``guest_messages`` defines the messages to that process and
``guest_child`` is its code. The protocol is specified in ``docs/remote.md``; ``SECURITY.md`` describes what separate
processes protect against.
"""

from sidestep.runs.remote.guests import GuestIntroduction, GuestPolicy, GuestProcess, GuestProcesses, end_all, introduce
from sidestep.runs.remote.session import RemotePolicy

__all__ = ["GuestIntroduction", "GuestPolicy", "GuestProcess", "GuestProcesses", "RemotePolicy", "end_all", "introduce"]
