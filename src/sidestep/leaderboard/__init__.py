"""Packs, which are runs in a single file, and a static leaderboard made from them.

``pack`` writes a pack and ``unpack`` reads it; ``signatures`` signs it, ``audit`` and ``verify_pack`` check it.
``held_out`` handles the seeds that organisers keep secret, ``entries`` turns packs into entries, ``groups`` ranks
comparable entries, and ``site`` writes pages that need no network. The numbers of the board are computed from the
records of a pack, never taken from its table of results.
"""

from sidestep.leaderboard.held_out import HeldOut, draw_seeds
from sidestep.leaderboard.site import Board, write_board

__all__ = ["Board", "HeldOut", "draw_seeds", "write_board"]
