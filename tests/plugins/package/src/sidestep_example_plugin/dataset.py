"""A format: lines ``x;y`` of one person, one per second, in files ending in .pairs."""

import numpy as np

from sidestep.interfaces import Loader
from sidestep.types import Tracks


class Pairs(Loader):
    """Reads ``.pairs`` files."""

    name = "example_pairs"
    summary = "x;y lines of one person, one per second"

    def matches(self, path):
        """By the file's ending."""
        return path.suffix == ".pairs"

    def load(self, path):
        """One person's track."""
        rows = [[float(word) for word in line.split(";")] for line in path.read_text().split()]
        return Tracks(np.zeros(len(rows), int), np.arange(len(rows), dtype=float), np.array(rows), rate_hz=1.0)


PAIRS = Pairs()
