"""Agent-steps per second of each crowd model, on one thread and on two. A step is what the product does for a person:
preferred velocity, interaction, position update. ``walk_*`` carries out many steps on one thread; ``begin_*`` and
``part_of_*`` split one step, so that threads can share the interaction.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from sidestep.bench import crowd_peers as peers
from sidestep.bench.crowd_peers import Square, draw_square
from sidestep.bench.measure import Case, Effort, Figure, Notify, Peer, Work, find_peer, measure_work
from sidestep.kernels import layout
from sidestep.kernels.jit import kernel
from sidestep.kernels.orca import OrcaParameters, make_orca_scratch, orca_build, orca_range, orca_world
from sidestep.kernels.people import move_people, wish_velocities
from sidestep.kernels.social_force import make_social_force_scratch
from sidestep.kernels.social_force_helbing import HelbingParameters, helbing_world
from sidestep.kernels.social_force_moussaid import MoussaidParameters, moussaid_world


@kernel
def walk_orca(
    steps: Any, agents: Any, flags: Any, routes: Any, lengths: Any, walls: Any, params: Any, dt: Any, scratch: Any
) -> None:
    """``steps`` steps of ORCA."""
    people = agents.shape[1]
    for _ in range(steps):
        wish_velocities(agents, flags, people, routes, lengths, dt)
        orca_world(agents, flags, people, walls, params, scratch)
        move_people(agents, flags, people, walls, dt)


@kernel
def walk_helbing(
    steps: Any, agents: Any, flags: Any, routes: Any, lengths: Any, walls: Any, params: Any, dt: Any, scratch: Any
) -> None:
    """``steps`` steps of the Helbing social force model."""
    people = agents.shape[1]
    for _ in range(steps):
        wish_velocities(agents, flags, people, routes, lengths, dt)
        helbing_world(agents, flags, people, walls, params, dt, scratch, 0, people)
        move_people(agents, flags, people, walls, dt)


@kernel
def walk_moussaid(
    steps: Any, agents: Any, flags: Any, routes: Any, lengths: Any, walls: Any, params: Any, dt: Any, scratch: Any
) -> None:
    """``steps`` steps of the Moussaïd social force model."""
    people = agents.shape[1]
    for _ in range(steps):
        wish_velocities(agents, flags, people, routes, lengths, dt)
        moussaid_world(agents, flags, people, walls, params, dt, scratch, 0, people)
        move_people(agents, flags, people, walls, dt)


@kernel
def begin_orca(
    decided: Any, agents: Any, flags: Any, routes: Any, lengths: Any, walls: Any, params: Any, dt: Any, shared: Any
) -> None:
    """Move everybody by the last step's decision, if any, wish anew, and sort people into ``shared``."""
    people = agents.shape[1]
    if decided:
        move_people(agents, flags, people, walls, dt)
    wish_velocities(agents, flags, people, routes, lengths, dt)
    orca_build(agents, flags, params, shared)


@kernel
def part_of_orca(
    agents: Any, flags: Any, walls: Any, params: Any, shared: Any, scratch: Any, first: Any, last: Any
) -> None:
    """Decide for places ``first … last - 1`` of the order in ``shared``."""
    orca_range(agents, flags, agents.shape[1], walls, params, shared, scratch, first, last)


@kernel
def begin_force(decided: Any, agents: Any, flags: Any, routes: Any, lengths: Any, walls: Any, dt: Any) -> None:
    """Move everybody by the last step's decision, if any, and wish anew."""
    people = agents.shape[1]
    if decided:
        move_people(agents, flags, people, walls, dt)
    wish_velocities(agents, flags, people, routes, lengths, dt)


@kernel
def part_of_helbing(
    agents: Any, flags: Any, walls: Any, params: Any, dt: Any, scratch: Any, first: Any, last: Any
) -> None:
    """Decide for people ``first … last - 1``."""
    helbing_world(agents, flags, agents.shape[1], walls, params, dt, scratch, first, last)


@kernel
def part_of_moussaid(
    agents: Any, flags: Any, walls: Any, params: Any, dt: Any, scratch: Any, first: Any, last: Any
) -> None:
    """Decide for people ``first … last - 1``."""
    moussaid_world(agents, flags, agents.shape[1], walls, params, dt, scratch, first, last)


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
WALKS = {"orca": walk_orca, "social_force_moussaid": walk_moussaid, "social_force_helbing": walk_helbing}
PARTS = {"social_force_moussaid": part_of_moussaid, "social_force_helbing": part_of_helbing}
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


class Crowd:
    """The square's people as the kernels' arrays, in an open world."""

    def __init__(self, model: str, square: Square) -> None:
        n = square.people
        self.people = n
        self.steps = max(20, AGENT_STEPS // n)
        self.dt = np.float32(peers.TIME_STEP)
        self.agents = np.zeros((layout.AGENT_ROWS, n), np.float32)
        self.agents[[layout.PX, layout.PY]] = square.positions.T
        self.agents[[layout.VX, layout.VY]] = square.velocities().T
        self.agents[[layout.GOAL_X, layout.GOAL_Y]] = square.goals[:, 0].T
        self.agents[layout.RADIUS], self.agents[layout.SHARE] = peers.RADIUS, 1.0
        self.agents[layout.PREF_SPEED], self.agents[layout.MAX_SPEED] = square.speeds, peers.MAX_SPEED
        self.flags = np.zeros((layout.FLAG_ROWS, n), np.int32)
        self.flags[layout.MODEL], self.flags[layout.ACTIVE] = CODES[model], 1
        self.flags[layout.GROUP], self.flags[layout.AT_END] = -1, layout.END_LOOP
        self.routes = square.goals.astype(np.float32)
        self.lengths = np.full(n, peers.GOALS, np.int32)
        self.walls = layout.no_walls()
        self.params = _parameters(model)

    def new_scratch(self, model: str) -> Any:
        """Working memory of one thread."""
        return make_orca_scratch(self.people) if model == "orca" else make_social_force_scratch(self.people)


def _parameters(model: str) -> Any:
    if model == "orca":
        return OrcaParameters(
            time_step=peers.TIME_STEP,
            neighbour_distance=peers.NEIGHBOUR_DISTANCE,
            max_neighbours=peers.NEIGHBOURS,
            horizon_people=peers.HORIZON,
        ).as_array()
    return (MoussaidParameters() if model == "social_force_moussaid" else HelbingParameters()).as_array()


class WalkingCrowd(Work):
    """Many steps in one compiled call, on one thread."""

    def __init__(self, model: str, square: Square) -> None:
        self.crowd = Crowd(model, square)
        self._kernel = WALKS[model]
        self._scratch = self.crowd.new_scratch(model)
        self.walk(SETTLING_STEPS)

    def walk(self, steps: int) -> None:
        """Walk ``steps`` steps."""
        c = self.crowd
        self._kernel(steps, c.agents, c.flags, c.routes, c.lengths, c.walls, c.params, c.dt, self._scratch)

    def run(self) -> float:
        """Walk on; returns agent-steps."""
        self.walk(self.crowd.steps)
        return float(self.crowd.steps * self.crowd.people)


class SharedCrowd(Work):
    """One world on several threads: each step's interaction is split between them.

    A step moves people by the previous decision and decides anew, so this is half a step behind WalkingCrowd.
    """

    def __init__(self, model: str, square: Square, threads: int) -> None:
        self.crowd = Crowd(model, square)
        self._model = model
        self._scratch = [self.crowd.new_scratch(model) for _ in range(threads)]
        self._pool = ThreadPoolExecutor(threads - 1)
        self._decided = False
        self._bounds = np.linspace(0, square.people, threads + 1).astype(int).tolist()
        for _ in range(SETTLING_STEPS):
            self.step()

    def _begin(self) -> None:
        c = self.crowd
        if self._model == "orca":
            shared = self._scratch[0]
            begin_orca(self._decided, c.agents, c.flags, c.routes, c.lengths, c.walls, c.params, c.dt, shared)
        else:
            begin_force(self._decided, c.agents, c.flags, c.routes, c.lengths, c.walls, c.dt)
        self._decided = True

    def _decide(self, k: int) -> None:
        c, scratch, first, last = self.crowd, self._scratch[k], self._bounds[k], self._bounds[k + 1]
        if self._model == "orca":
            shared = self._scratch[0]
            part_of_orca(c.agents, c.flags, c.walls, c.params, shared, scratch, first, last)
        else:
            part = PARTS[self._model]
            part(c.agents, c.flags, c.walls, c.params, c.dt, scratch, first, last)

    def step(self) -> None:
        """One step."""
        self._begin()
        others = [self._pool.submit(self._decide, k) for k in range(1, len(self._scratch))]
        self._decide(0)
        for other in others:
            other.result()

    def run(self) -> float:
        """Twenty steps; returns agent-steps."""
        for _ in range(20):
            self.step()
        return 20.0 * self.crowd.people
