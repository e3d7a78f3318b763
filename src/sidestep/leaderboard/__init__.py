"""Packs, which are runs as one file, and a static leaderboard made from them.

``pack`` writes a pack and ``unpack`` reads it; ``signatures`` sign it, ``audit`` and ``verify_pack`` check it.
``held_out`` has the seeds that organisers keep secret, ``entries`` turns packs into entries, ``groups`` ranks those
that are comparable, ``site`` writes pages that need no network. Numbers of the board are computed from the records of a
pack, never taken from its table of results.
"""

from sidestep.leaderboard.held_out import HeldOut, draw_seeds
from sidestep.leaderboard.site import Board, write_board

__all__ = ["Board", "HeldOut", "draw_seeds", "write_board"]
