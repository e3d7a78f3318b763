"""Policies in other processes. ``wire`` frames messages, ``client`` is the policy's side (both can be copied into
another project), ``messages`` and ``session`` are the benchmark's side, ``policy`` is ``--policy remote:ADDRESS``.
``sidestep serve`` is in ``sidestep.serve``. The protocol is specified in ``docs/remote.md``."""

from sidestep.policies.remote.policy import RemotePolicy

__all__ = ["RemotePolicy"]
