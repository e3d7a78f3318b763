"""Other simulators, each doing the same work as ours in the same run: one file per simulator.

What a peer cannot do in compiled code (renewing goals, preferred velocities) is done between its timed runs,
so its figure is if anything too good. A peer that is not installed is left out, with a note.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from sidestep.bench.measure import Note, Work

Setting = TypeVar("Setting")


@dataclass(frozen=True)
class Peer:
    """Another simulator, ready to be measured."""

    name: str
    """Of its distribution."""
    work: Work


def find_peer(make: Callable[[Setting], Peer] | None, setting: Setting, note: Note) -> Peer | None:
    """The peer that ``make`` sets up, tried once; None, and a note why, when it is missing or fails."""
    if make is None:
        return None
    try:
        peer = make(setting)
        peer.work.prepare()
        peer.work.run()
    except ImportError as error:
        note(f"no peer: {error} (pip install 'sidestep[bench]')")
        return None
    except Exception as error:  # foreign code: whatever it raises costs the comparison, not our figures
        note(f"no peer: it failed with {type(error).__name__}: {error}")
        return None
    return peer
