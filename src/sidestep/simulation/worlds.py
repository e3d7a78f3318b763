"""Many worlds side by side, stepped in one compiled call. One world is a batch of one: there is no other simulator."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np

from sidestep.errors import BadInput
from sidestep.kernels import layout
from sidestep.kernels.bodies import BEFORE_ROWS
from sidestep.kernels.orca import make_orca_scratch
from sidestep.kernels.referee import ENDING, HAND_ROWS, MARKS, NEWS, NOTES, RefereeState, begin_judging, judge_worlds
from sidestep.kernels.social_force import make_social_force_scratch
from sidestep.kernels.world import FAR, MEASURE_ROWS, NO_CONTACT, STATUS_ROWS, step_worlds
from sidestep.simulation.build import World
from sidestep.simulation.directors import Director
from sidestep.simulation.prepare import compile_kernels, needs_compiling
from sidestep.simulation.referee import ground_bank
from sidestep.types import CompiledScene, Event
from sidestep.types.base import FloatArray, IntArray

FORCES = frozenset({"social_force_helbing", "social_force_moussaid"})


class Worlds:
    """B worlds as arrays with a leading environment axis (see ``kernels.layout``). A world's course does not depend on
    its neighbours in the batch, on padding, or on the number of threads."""

    people: int
    robots: int  # robots and vehicles, vehicles last
    _agent_columns: int
    index: IntArray  # (B, 3) int32: which scene of the bank, which recording, which ground
    routes: FloatArray  # (B, N, W, 2) float32

    def __init__(self, worlds: Sequence[World], threads: int = 1, share: Worlds | None = None) -> None:
        """``share``: take scenes, recordings and sizes from a batch that holds these worlds already."""
        if not worlds:
            raise BadInput("a batch needs at least one world")
        robots = {len(world.robots) for world in worlds}
        if len(robots) != 1:
            raise BadInput(f"worlds of one batch need the same number of robots and vehicles, got {sorted(robots)}")
        _compile_once()
        self.worlds = list(worlds)
        self.size = len(worlds)
        self.people = max(world.people for world in worlds) if share is None else share.people
        self.robots = robots.pop()
        self.columns = self.people + self.robots
        covers = max(world.agents.shape[1] - world.people for world in worlds) - self.robots
        self._agent_columns = self.columns + covers if share is None else share._agent_columns
        waypoints = max(world.routes.shape[1] for world in worlds) if share is None else share.routes.shape[2]
        self._allocate(waypoints)
        self._allocate_judging(share)
        if share is None:
            self.bank, self.index[:, 0] = _scene_bank([world.scene for world in worlds])
            self.grounds, self.index[:, 2] = ground_bank([world.rules.ground for world in worlds])
            self.replays = self._replay_bank()
        else:
            self.bank, self.grounds, self.replays = share.bank, share.grounds, share.replays
            self.index[:] = share.index[: self.size]
        self.judging = RefereeState(self.marks, self.notes, self.waypoints, self.grounds)
        self.directors: list[Director | None] = [None] * self.size
        self.directed: list[list[Event]] = [[] for _ in range(self.size)]
        for b, world in enumerate(worlds):
            self.load(b, world)
        self._threads = max(1, min(threads, self.size))
        self._scratch = [self.new_scratch() for _ in range(self._threads)]
        self._pool = ThreadPoolExecutor(self._threads - 1) if self._threads > 1 else None
        self._bounds = np.linspace(0, self.size, self._threads + 1).astype(int).tolist()

    def _allocate(self, waypoints: int) -> None:
        b, m, r = self.size, self.columns, self.robots
        first = self.worlds[0]
        self.running = np.ones(b, np.uint8)
        self.clock = np.zeros(b, np.int64)
        self.agents = np.zeros((b, layout.AGENT_ROWS, self._agent_columns), np.float32)
        self.flags = np.zeros((b, layout.FLAG_ROWS, self._agent_columns), np.int32)
        self.routes = np.zeros((b, self.people, waypoints, 2), np.float32)
        self.route_length = np.zeros((b, self.people), np.int32)
        self.robot_state = np.zeros((b, r, first.robot_state.shape[1]))
        self.body = np.zeros((b, *first.body.shape))
        self.limits = np.zeros((b, *first.limits.shape))
        self.dynamics = np.zeros((b, r), np.int32)
        self.goals = np.zeros((b, r, 2))
        self.command = np.zeros((b, r, 2))
        self.applied = np.zeros((b, r, 2))
        self.contact = np.full((b, r, m), NO_CONTACT, np.float32)
        self.status = np.zeros((b, r, STATUS_ROWS), np.int32)
        self.measures = np.full((b, r, MEASURE_ROWS), FAR)
        self.rules = np.zeros((b, len(first.rules.numbers)))
        self.index = np.zeros((b, 3), np.int32)
        self.parameters = tuple(np.zeros((b, len(values)), np.float32) for values in first.parameters)

    def _allocate_judging(self, share: Worlds | None) -> None:
        """What the referee remembers (``kernels.referee``), with room for what the rules of these worlds ask for."""
        b, m, r = self.size, self.columns, self.robots
        worlds = self.worlds if share is None else share.worlds
        rules = [world.scenario.rules for world in worlds]
        groups = self.people if any(rule.avoid_groups for rule in rules) else 0
        hands = HAND_ROWS * self.people if any(rule.success == "stop" for rule in rules) else 0
        touches = m + 1 if any(rule.on_failure == "reset" for rule in rules) else 0
        self.marks = np.zeros((b, r, MARKS + m + 1 + groups), np.int32)
        self.notes = np.zeros((b, r, NOTES + hands + touches))
        points = max(world.rules.waypoints.shape[1] for world in worlds)
        self.waypoints = np.zeros((b, r, points, worlds[0].rules.waypoints.shape[2]))

    def _replay_bank(self) -> Any:
        """The distinct replays (K, T, people, 4); entry 0 is empty, for worlds that have none."""
        distinct: dict[bytes, tuple[int, Any]] = {}
        for b, world in enumerate(self.worlds):
            if world.replay is not None:
                key = hashlib.sha256(world.replay.tobytes()).digest()
                self.index[b, 1] = distinct.setdefault(key, (len(distinct) + 1, world.replay))[0]
        steps = max([1, *(len(tracks) for _, tracks in distinct.values())])
        bank = np.full((len(distinct) + 1, steps, self.people, 4), np.nan, np.float32)
        for k, tracks in distinct.values():
            bank[k, : len(tracks), : tracks.shape[1]] = tracks
        return bank

    def load(self, b: int, world: World) -> None:
        """Put the initial state of ``world`` into place ``b``."""
        n = world.people
        columns = np.r_[0:n, self.people : self.people + world.agents.shape[1] - n]
        self.agents[b] = 0.0
        self.agents[b, layout.ENTER_TIME] = np.inf
        self.agents[b][:, columns] = world.agents
        self.flags[b] = 0
        self.flags[b][:, columns] = world.flags
        self.routes[b, :n, : world.routes.shape[1]] = world.routes
        self.route_length[b] = 0
        self.route_length[b, :n] = world.route_length
        self.robot_state[b] = world.robot_state
        self.body[b], self.limits[b], self.dynamics[b] = world.body, world.limits, world.dynamics
        self.goals[b], self.rules[b] = world.goals, world.rules.numbers
        self.waypoints[b, :, : world.rules.waypoints.shape[1]] = world.rules.waypoints
        for packed, values in zip(self.parameters, world.parameters, strict=True):
            packed[b] = values
        self.command[b] = self.applied[b] = 0.0
        self.contact[b], self.status[b], self.measures[b] = NO_CONTACT, 0, FAR
        self.clock[b], self.running[b] = 0, 1
        begin_judging(self.marks[b], self.notes[b], self.robot_state[b])
        self.redirect(b, world)

    @property
    def ending(self) -> IntArray:
        """(B, R) int32: 0 while a robot's episode goes on, else 1 + the number of its outcome."""
        return self.marks[:, :, ENDING]

    @property
    def news(self) -> IntArray:
        """(B, R) int32: what happened to each robot in the step judged last, bits of ``kernels.referee``."""
        return self.marks[:, :, NEWS]

    def fits(self, world: World) -> bool:
        """Whether :meth:`load` can put ``world`` here: same scene and rules, no recording, not more people or
        waypoints."""
        return (
            world.replay is None
            and world.scene is self.worlds[0].scene
            and world.rules is self.worlds[0].rules
            and len(world.robots) == self.robots
            and world.people <= self.people
            and world.routes.shape[1] <= self.routes.shape[2]
        )

    @property
    def initial(self) -> tuple[Any, ...]:
        """The arrays that hold an initial state, in the order of ``kernels.environment.restart_environments``."""
        return (
            self.agents, self.flags, self.routes, self.route_length, self.robot_state, self.body, self.limits,
            self.dynamics, self.goals, self.rules, self.index, self.waypoints,
        )  # fmt: skip

    def new_scratch(self) -> Any:
        """Working memory for one thread."""
        forces = any(part.model in FORCES for world in self.worlds for part in world.scenario.crowd)
        return (
            np.zeros((BEFORE_ROWS, self._agent_columns), np.float32),
            make_orca_scratch(self._agent_columns),
            make_social_force_scratch(self._agent_columns) if forces else None,
        )

    def step(self) -> None:
        """Advance every running world by one step under ``command`` (B, R, 2), in the robots' native units; directors
        write those of vehicles.

        ``directed`` then holds the events that directors caused in this step.
        """
        self.direct()
        if self._pool is None:
            self._step_range(0, self.size, 0)
            return
        parts = [
            self._pool.submit(self._step_range, self._bounds[k], self._bounds[k + 1], k)
            for k in range(1, self._threads)
        ]
        self._step_range(self._bounds[0], self._bounds[1], 0)
        for part in parts:
            part.result()

    def redirect(self, b: int, world: World) -> None:
        """A new director for place ``b``, where ``world`` begins."""
        self.directors[b] = None if world.direct is None else world.direct()
        self.directed[b] = []
        self._has_directors = any(director is not None for director in self.directors)

    def direct(self) -> None:
        """Let the directors of running worlds tell their people what to do in the coming step."""
        if not self._has_directors:
            return
        for b, director in enumerate(self.directors):
            if director is not None:
                self.directed[b] = director.direct(self, b) if self.running[b] else []

    def judge(self, robots: int = 1) -> None:
        """Judge the first ``robots`` robots of every running world by its rules, once after every step. ``ending`` and
        ``news`` (B, R) then say whether a robot's episode is over and what happened (``kernels.referee``); a robot that
        failed may have been put back on its route."""
        judge_worlds(
            self.running, self.clock, self.agents, self.flags, self.people, self.robot_state, self.body, self.contact,
            self.status, self.measures, self.rules, self.index, self.judging, robots,
        )  # fmt: skip

    def _step_range(self, first: int, last: int, thread: int) -> None:
        step_worlds(
            first, last, self.running, self.clock, self.agents, self.flags, self.people, self.routes, self.route_length,
            self.robot_state, self.body, self.limits, self.dynamics, self.goals, self.command, self.applied,
            self.contact, self.status, self.measures, self.rules, self.index, self.bank, self.replays, self.parameters,
            self._scratch[thread],
        )  # fmt: skip


@cache
def _compile_once() -> None:
    """Where nothing is compiled yet, say so and compile ahead, on two cores."""
    if needs_compiling():
        print("sidestep: compiling, once on this machine (about 20 s) …", file=sys.stderr, flush=True)
        compile_kernels()


def _scene_bank(scenes: Sequence[CompiledScene]) -> tuple[Any, list[int]]:
    """All distinct scenes' wall arrays end to end, with offsets; and which scene each world has."""
    distinct: dict[int, CompiledScene] = {id(scene): scene for scene in scenes}
    place = {key: k for k, key in enumerate(distinct)}
    listed = list(distinct.values())
    names = ("wall_points", "wall_dirs", "wall_next", "wall_prev", "wall_convex", "cell_start", "cell_items")
    types = (np.float32, np.float32, np.int32, np.int32, np.uint8, np.int32, np.int32)
    joined = [
        np.ascontiguousarray(np.concatenate([getattr(scene, name) for scene in listed]).astype(dtype))
        for name, dtype in zip(names, types, strict=True)
    ]
    sizes = [(len(scene.wall_points), len(scene.cell_start), len(scene.cell_items)) for scene in listed]
    offsets = np.concatenate([np.zeros((1, 3), np.int64), np.cumsum(np.array(sizes, np.int64), axis=0)])
    grids = np.stack([scene.grid for scene in listed]).astype(np.float32)
    shapes = np.stack([scene.grid_shape for scene in listed]).astype(np.int32)
    return (*joined, grids, shapes, offsets), [place[id(scene)] for scene in scenes]
