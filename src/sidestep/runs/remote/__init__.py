"""Policies that run in another process: in a child process of the run, or at the other end of a socket.

``wire`` frames messages and ``client`` is the policy's side; both can be copied into another project.
``messages`` translates tasks, observations and commands; ``session`` asks a policy over a connection and is
``--policy remote:ADDRESS``. ``host`` waits for a policy that connects to ``sidestep serve``, ``joystick`` for
one that speaks SocNavBench's protocol (``joystick_state`` is how a world looks in it). ``guests`` starts
policies that are not bundled, each in a process that holds no simulator; ``guest_messages`` is what travels,
``guest_child`` is the code of that process. The protocol is specified in ``docs/remote.md``; what separate
processes protect against is in ``SECURITY.md``.
"""

from sidestep.runs.remote.guests import GuestIntroduction, GuestPolicy, GuestProcess, GuestProcesses, end_all, introduce
from sidestep.runs.remote.session import RemotePolicy

__all__ = ["GuestIntroduction", "GuestPolicy", "GuestProcess", "GuestProcesses", "RemotePolicy", "end_all", "introduce"]
