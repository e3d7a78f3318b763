"""A static leaderboard made from packs: ``held_out`` has the seeds that organisers keep secret, ``entries`` reads and
judges packs, ``groups`` ranks what is comparable, ``site`` writes pages that need no network. Numbers are computed from
the records of a pack, never taken from its table of results.
"""

from sidestep.leaderboard.held_out import HeldOut, draw_seeds
from sidestep.leaderboard.site import Board, write_board

__all__ = ["Board", "HeldOut", "draw_seeds", "write_board"]
