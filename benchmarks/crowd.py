"""Agent-steps per second of each crowd model, on one thread and on two. A step is what the product does for a person:
preferred velocity, interaction, position update. ``walk`` carries out many steps on one thread; ``begin_step`` and
``decide`` split one step, so that threads can share the interaction.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks import crowd_peers as peers
from benchmarks.crowd_peers import Square, draw_square
from benchmarks.measure import Case, Effort, Figure, Notify, Peer, Work, find_peer, measure_work
from sidestep.kernels import layout
from sidestep.kernels.jit import kernel
from sidestep.kernels.orca import OrcaParameters, make_orca_scratch, orca_build, orca_range
from sidestep.kernels.people import move_people, wish_velocities
from sidestep.kernels.social_force import make_social_force_scratch
from sidestep.kernels.social_force_helbing import HelbingParameters, helbing_world
from sidestep.kernels.social_force_moussaid import MoussaidParameters, moussaid_world
from sidestep.types.base import FloatArray, IntArray


class Crowd(NamedTuple):
    """N people of one model in an open world, as the kernels take them."""

    agents: FloatArray  # (AGENT_ROWS, N) float32
    flags: IntArray  # (FLAG_ROWS, N) int32
    routes: FloatArray  # (N, GOALS, 2) float32, m
    lengths: IntArray  # (N,) int32
    walls: layout.Walls
    params: FloatArray  # of the model
    dt: Any  # float32, s


@kernel(forceinline=True)
def begin_step(crowd: Crowd, decided: bool, shared: FloatArray) -> None:
    """Move everybody by the last step's decision, if any, wish anew, and sort ORCA's people into ``shared``."""
    agents, flags = crowd.agents, crowd.flags
    people = agents.shape[1]
    if decided:
        move_people(agents, flags, people, crowd.walls, crowd.dt)
    wish_velocities(agents, flags, people, crowd.routes, crowd.lengths, crowd.dt)
    if flags[layout.MODEL, 0] == layout.MODEL_ORCA:
        orca_build(agents, flags, crowd.params, shared)


@kernel(forceinline=True)
def decide(crowd: Crowd, shared: FloatArray, scratch: FloatArray, first: int, last: int) -> None:
    """Decide for people ``first … last - 1``, with ORCA in the order in ``shared``."""
    agents, flags, walls, params = crowd.agents, crowd.flags, crowd.walls, crowd.params
    people, model = agents.shape[1], flags[layout.MODEL, 0]
    if model == layout.MODEL_ORCA:
        orca_range(agents, flags, people, walls, params, shared, scratch, first, last)
    elif model == layout.MODEL_HELBING:
        helbing_world(agents, flags, people, walls, params, crowd.dt, scratch, first, last)
    else:
        moussaid_world(agents, flags, people, walls, params, crowd.dt, scratch, first, last)


@kernel
def walk(steps: int, crowd: Crowd, scratch: FloatArray) -> None:
    """``steps`` steps."""
    people = crowd.agents.shape[1]
    for _ in range(steps):
        begin_step(crowd, False, scratch)
        decide(crowd, scratch, scratch, 0, people)
        move_people(crowd.agents, crowd.flags, people, crowd.walls, crowd.dt)


SIZES = (10, 50, 200, 1000, 5000)
THREADS = (1, 2)
QUICK_SIZES = (10, 50)
SETTLING_STEPS = 200  # walked before anything is measured
AGENT_STEPS = 20_000  # of one run, at least

CODES = {
    "orca": layout.MODEL_ORCA,
    "social_force_moussaid": layout.MODEL_MOUSSAID,
    "social_force_helbing": layout.MODEL_HELBING,
}
PEERS: dict[tuple[str, int], Callable[[Square], Peer]] = {
    **{("orca", people): peers.orca_peer for people in SIZES},
    **{("social_force_moussaid", people): peers.moussaid_peer for people in (50, 200)},
    **{("social_force_helbing", people): peers.helbing_peer for people in (50, 200)},
}
"""One thread each, so they stand next to our figures of one thread only."""


def cases() -> list[Case]:
    """One per model, number of people and number of threads."""
    return [
        Case(
            f"{model}/n={people}/threads={threads}",
            partial(measure_crowd, model, people, threads),
            quick=people in QUICK_SIZES,
        )
        for model in CODES
        for people in SIZES
        for threads in THREADS
    ]


def measure_crowd(model: str, people: int, threads: int, effort: Effort, note: Notify) -> Figure:
    """Agent-steps per second, ours and the peer's on the same square in turns."""
    square = draw_square(people)
    work: Work = WalkingCrowd(model, square) if threads == 1 else SharedCrowd(model, square, threads)
    peer = find_peer(PEERS.get((model, people)) if threads == 1 else None, square, note)
    return measure_work(f"{model}/n={people}/threads={threads}", "agent-steps/s", work, effort, peer)


def make_crowd(model: str, square: Square) -> Crowd:
    """The square's people as arrays."""
    n = square.people
    agents = np.zeros((layout.AGENT_ROWS, n), np.float32)
    agents[[layout.PX, layout.PY]] = square.positions.T
    agents[[layout.VX, layout.VY]] = square.velocities().T
    agents[[layout.GOAL_X, layout.GOAL_Y]] = square.goals[:, 0].T
    agents[layout.RADIUS], agents[layout.SHARE] = peers.RADIUS, 1.0
    agents[layout.PREF_SPEED], agents[layout.MAX_SPEED] = square.speeds, peers.MAX_SPEED
    flags = np.zeros((layout.FLAG_ROWS, n), np.int32)
    flags[layout.MODEL], flags[layout.ACTIVE] = CODES[model], 1
    flags[layout.GROUP], flags[layout.AT_END] = -1, layout.END_LOOP
    lengths, routes = np.full(n, peers.GOALS, np.int32), square.goals.astype(np.float32)
    return Crowd(agents, flags, routes, lengths, layout.no_walls(), _parameters(model), np.float32(peers.TIME_STEP))


def _parameters(model: str) -> FloatArray:
    if model == "orca":
        return OrcaParameters(
            time_step=peers.TIME_STEP,
            neighbour_distance=peers.NEIGHBOUR_DISTANCE,
            max_neighbours=peers.NEIGHBOURS,
            horizon_people=peers.HORIZON,
        ).as_array()
    return (MoussaidParameters() if model == "social_force_moussaid" else HelbingParameters()).as_array()


def make_scratch(model: str, people: int) -> FloatArray:
    """Working memory of one thread."""
    return make_orca_scratch(people) if model == "orca" else make_social_force_scratch(people)


class WalkingCrowd(Work):
    """Many steps in one compiled call, on one thread."""

    def __init__(self, model: str, square: Square) -> None:
        self.crowd, self._scratch = make_crowd(model, square), make_scratch(model, square.people)
        self.people, self.steps = square.people, max(20, AGENT_STEPS // square.people)
        walk(SETTLING_STEPS, self.crowd, self._scratch)

    def run(self) -> float:
        """Walk on; returns agent-steps."""
        walk(self.steps, self.crowd, self._scratch)
        return float(self.steps * self.people)


class SharedCrowd(Work):
    """One world on several threads: each step's interaction is split between them.

    A step moves people by the previous decision and decides anew, so this is half a step behind WalkingCrowd.
    """

    def __init__(self, model: str, square: Square, threads: int) -> None:
        self.crowd, self.people = make_crowd(model, square), square.people
        self._scratch = [make_scratch(model, square.people) for _ in range(threads)]
        self._pool = ThreadPoolExecutor(threads - 1)
        self._decided = False
        self._bounds = np.linspace(0, square.people, threads + 1).astype(int).tolist()
        for _ in range(SETTLING_STEPS):
            self.step()

    def _decide(self, k: int) -> None:
        decide(self.crowd, self._scratch[0], self._scratch[k], self._bounds[k], self._bounds[k + 1])

    def step(self) -> None:
        """One step."""
        begin_step(self.crowd, self._decided, self._scratch[0])
        self._decided = True
        others = [self._pool.submit(self._decide, k) for k in range(1, len(self._scratch))]
        self._decide(0)
        for other in others:
            other.result()

    def run(self) -> float:
        """Twenty steps; returns agent-steps."""
        for _ in range(20):
            self.step()
        return 20.0 * self.people
