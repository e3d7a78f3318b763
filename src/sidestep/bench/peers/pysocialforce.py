"""PySocialForce: the Moussaïd interaction in NumPy, all pairs, no cut-off distance, no group forces."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from sidestep.bench import square
from sidestep.bench.peers import Peer
from sidestep.bench.square import Square, Walkers
from sidestep.types.base import FloatArray

STEPS = 5
SETTINGS = "[scene]\nenable_group = false\n"
GOAL = slice(4, 6)  # columns of its state: x, y, vx, vy, goal x, goal y, relaxation time


def moussaid_peer(drawn: Square) -> Peer:
    """The square's people in one simulator."""
    return Peer("pysocialforce", _Simulator(drawn))


@contextmanager
def _contained_import() -> Iterator[None]:
    """Its import sets the root logger to DEBUG, which floods and slows the process, and writes a file."""
    root = logging.getLogger()
    level, handlers, disabled = root.level, list(root.handlers), root.manager.disable
    logging.disable()
    with TemporaryDirectory() as folder, chdir(folder):
        try:
            yield
        finally:
            for handler in [handler for handler in root.handlers if handler not in handlers]:
                root.removeHandler(handler)
                handler.close()
            root.setLevel(level)
            logging.disable(disabled)


class _Simulator:
    def __init__(self, drawn: Square) -> None:
        with _contained_import():
            from pysocialforce import Simulator

        self._people, self._walkers = drawn.people, Walkers(drawn)
        state = np.concatenate([drawn.positions, drawn.velocities(), drawn.goals[:, 0]], axis=1)
        with TemporaryDirectory() as folder:
            settings = Path(folder) / "settings.toml"
            settings.write_text(SETTINGS, encoding="utf-8")
            self._simulator: Any = Simulator(state, config_file=str(settings))
        self._simulator.peds.step_width = square.TIME_STEP  # its settings file does not reach this

    def positions(self) -> FloatArray:
        """(N, 2) m."""
        positions: FloatArray = self._simulator.peds.pos()
        return positions

    def prepare(self) -> None:
        """New goals; and forget the history that it keeps of every step."""
        peds = self._simulator.peds
        peds.state[:, GOAL] = self._walkers.goals(peds.pos())
        peds.ped_states.clear()
        peds.group_states.clear()

    def run(self) -> float:
        """Agent-steps."""
        self._simulator.step(STEPS)
        return float(STEPS * self._people)
