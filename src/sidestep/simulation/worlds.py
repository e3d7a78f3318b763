"""Many worlds side by side, stepped in one compiled call. One world is a batch of one: there is no other simulator."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property

import numpy as np

from sidestep.errors import BadInput
from sidestep.kernels import layout
from sidestep.kernels.bodies import BEFORE_ROWS
from sidestep.kernels.jit import compile_for
from sidestep.kernels.layout import SceneBank, Scratch, Walls, WorldArrays, WorldBatch
from sidestep.kernels.orca import make_orca_scratch
from sidestep.kernels.referee import ENDING, HAND_ROWS, MARKS, NEWS, NOTES, begin_judging, judge_worlds
from sidestep.kernels.social_force import make_social_force_scratch
from sidestep.kernels.world import new_worlds, step_worlds
from sidestep.simulation.build import World
from sidestep.simulation.directors import Director
from sidestep.simulation.prepare import prepare_parts
from sidestep.simulation.referee import ground_bank
from sidestep.simulation.road_judge import road_bank
from sidestep.types import CompiledScene, Event
from sidestep.types.base import FloatArray, IntArray

FORCES = frozenset({"social_force_helbing", "social_force_moussaid"})


class Worlds:
    """B worlds in one ``WorldBatch``, whose arrays are attributes here as well. A world's course does not depend on its
    neighbours in the batch, on padding, or on the number of threads."""

    people: int
    robots: int
    """Robots and vehicles, vehicles last."""

    def __init__(self, worlds: Sequence[World], threads: int = 1, share: Worlds | None = None) -> None:
        """``share``: take scenes, recordings and sizes from a batch that holds these worlds already."""
        if not worlds:
            raise BadInput("a batch needs at least one world")
        robots = {len(world.robots) for world in worlds}
        if len(robots) != 1:
            raise BadInput(f"worlds of one batch need the same number of robots and vehicles, got {sorted(robots)}")
        self.worlds = list(worlds)
        self.size = len(worlds)
        known = self.worlds if share is None else share.worlds
        self.people = max(world.people for world in known)
        self.robots = robots.pop()
        self.columns = self.people + self.robots
        arrays = _allocate(known, self.size, self.people)
        bank = _fill_bank(known, self.people, arrays.scene_index) if share is None else share.batch.bank
        if share is not None:
            arrays.scene_index[:] = share.batch.worlds.scene_index[: self.size]
        self.batch: WorldBatch = WorldBatch(np.zeros(self.size, np.int64), np.ones(self.size, np.uint8), arrays, bank)
        self.clock, self.running = self.batch.clock, self.batch.running
        self.agents, self.flags, self.routes, self.route_length, self.robot_state = arrays[:5]
        self.goals, self.rules = arrays.goals, arrays.rules
        self.command, self.applied, self.contact, self.status, self.measures, self.marks, self.notes = arrays[-7:]
        self.directors: list[Director | None] = [None] * self.size
        self.directed: list[list[Event]] = [[] for _ in range(self.size)]
        self._threads = max(1, min(threads, self.size))
        self._scratch = [self.new_scratch() for _ in range(self._threads)]
        for b, world in enumerate(worlds):
            self.load(b, world)
        self._pool = ThreadPoolExecutor(self._threads - 1) if self._threads > 1 else None
        self._bounds = np.linspace(0, self.size, self._threads + 1).astype(int).tolist()

    def load(self, b: int, world: World) -> None:
        """Put the initial state of ``world`` into world ``b``."""
        n, w = world.people, self.batch.worlds
        columns = np.r_[0:n, self.people : self.people + world.agents.shape[1] - n]
        w.agents[b] = 0.0
        w.agents[b, layout.ENTER_TIME] = np.inf
        w.agents[b][:, columns] = world.agents
        w.flags[b] = 0
        w.flags[b][:, columns] = world.flags
        w.routes[b, :n, : world.routes.shape[1]] = world.routes
        w.route_length[b] = 0
        w.route_length[b, :n] = world.route_length
        w.robots[b], w.body[b], w.limits[b], w.dynamics[b] = world.robot_state, world.body, world.limits, world.dynamics
        w.goals[b], w.rules[b] = world.goals, world.rules.numbers
        w.waypoints[b, :, : world.rules.waypoints.shape[1]] = world.rules.waypoints
        for packed, values in zip(w.parameters, world.parameters, strict=True):
            packed[b] = values
        w.command[b] = w.applied[b] = 0.0
        w.contact[b], w.status[b], w.measures[b] = layout.NO_CONTACT, 0, layout.FAR
        self.clock[b], self.running[b] = 0, 1
        self.redirect(b, world)
        self._give_head_start(b, world)
        begin_judging(w.marks[b], w.notes[b], w.robots[b])

    def _give_head_start(self, b: int, world: World) -> None:
        """Let people and vehicles of world ``b`` move for the steps before time 0, in which robots stand."""
        steps, director, w = world.scenario.rules.head_start_steps, self.directors[b], self.batch.worlds
        for k in range(steps):
            self.clock[b] = k - steps
            if director is not None:
                director.direct(self, b)
            self._step(b, b + 1, self.batch, self._scratch[0])
        if steps:
            w.command[b] = w.applied[b] = 0.0
            w.contact[b], w.status[b], w.measures[b] = layout.NO_CONTACT, 0, layout.FAR

    @cached_property
    def _step(self) -> Callable[[int, int, WorldBatch, Scratch], None]:
        prepare_parts()
        return compile_for(step_worlds, 0, 0, self.batch, self._scratch[0])

    @cached_property
    def _judge(self) -> Callable[[WorldBatch, int], None]:
        return compile_for(judge_worlds, self.batch, 0)

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

    def new_scratch(self) -> Scratch:
        """Working memory for one thread."""
        forces = any(part.model in FORCES for world in self.worlds for part in world.scenario.crowd)
        return Scratch(
            np.zeros((BEFORE_ROWS, self.agents.shape[2]), np.float32),
            make_orca_scratch(self.agents.shape[2]),
            make_social_force_scratch(self.agents.shape[2]) if forces else None,
        )

    def step(self) -> None:
        """Advance every running world by one step under ``command`` (B, R, 2), in the robots' native units; directors
        write those of vehicles.

        ``directed`` then holds the events that directors caused in this step.
        """
        self.direct()
        bounds, scratch = self._bounds, self._scratch
        if self._pool is None:
            self._step(0, self.size, self.batch, scratch[0])
            return
        parts = [
            self._pool.submit(self._step, bounds[k], bounds[k + 1], self.batch, scratch[k])
            for k in range(1, self._threads)
        ]
        self._step(bounds[0], bounds[1], self.batch, scratch[0])
        for part in parts:
            part.result()

    def redirect(self, b: int, world: World) -> None:
        """A new director for world ``b``, where ``world`` begins."""
        self.directors[b] = None if world.direct is None else world.direct()
        self.directed[b] = []
        self._has_directors = any(director is not None for director in self.directors)

    def direct(self) -> None:
        """Let the directors of running worlds write what people and vehicles do in the coming step."""
        if not self._has_directors:
            return
        for b, director in enumerate(self.directors):
            if director is not None:
                self.directed[b] = director.direct(self, b) if self.running[b] else []

    def judge(self, robots: int = 1) -> None:
        """Judge the first ``robots`` robots of every running world by its rules, once after every step. ``ending`` and
        ``news`` (B, R) then say whether a robot's episode is over and what happened (``kernels.referee``); a robot that
        failed may have been put back on its route."""
        self._judge(self.batch, robots)


def _allocate(known: Sequence[World], b: int, people: int) -> WorldArrays:
    """Arrays of ``b`` worlds with room for any of the ``known`` ones and for what the referee keeps by their rules."""
    first, rules = known[0], [world.scenario.rules for world in known]
    columns = people + len(first.robots)
    groups = people if any(rule.avoid_groups for rule in rules) else 0
    hands = HAND_ROWS * people if any(rule.success == "stop" for rule in rules) else 0
    touches = columns + 1 if any(rule.on_failure == "reset" for rule in rules) else 0
    return new_worlds(
        b, people, len(first.robots),
        covers=max(world.agents.shape[1] - world.people for world in known) - len(first.robots),
        route=max(world.routes.shape[1] for world in known),
        waypoints=max(world.rules.waypoints.shape[1] for world in known),
        rules=len(first.rules.numbers),
        parameters=[len(values) for values in first.parameters],
        marks=MARKS + columns + 1 + groups,
        notes=NOTES + hands + touches,
    )  # fmt: skip


def _fill_bank(worlds: Sequence[World], people: int, index: IntArray) -> SceneBank:
    """What the worlds share, each distinct thing once; ``index (B, 4)`` gets the numbers of each world's."""
    walls, offsets, index[:, 0] = _join_walls([world.scene for world in worlds])
    replays, index[:, 1] = _join_replays([world.replay for world in worlds], people)
    grounds, index[:, 2] = ground_bank([world.rules.ground for world in worlds])
    roads, index[:, 3] = road_bank([world.rules.roads for world in worlds])
    return SceneBank(walls, offsets, replays, grounds, roads)


def _join_replays(replays: Sequence[FloatArray | None], people: int) -> tuple[FloatArray, list[int]]:
    distinct: dict[bytes, tuple[int, FloatArray]] = {}
    numbers = [0] * len(replays)
    for b, replay in enumerate(replays):
        if replay is not None:
            key = hashlib.sha256(replay.tobytes()).digest()
            numbers[b] = distinct.setdefault(key, (len(distinct) + 1, replay))[0]
    steps = max([1, *(len(tracks) for _, tracks in distinct.values())])
    bank = np.full((len(distinct) + 1, steps, people, 4), np.nan, np.float32)
    for k, tracks in distinct.values():
        bank[k, : len(tracks), : tracks.shape[1]] = tracks
    return bank, numbers


def _join_walls(scenes: Sequence[CompiledScene]) -> tuple[Walls, IntArray, list[int]]:
    distinct: dict[int, CompiledScene] = {id(scene): scene for scene in scenes}
    number = {key: k for k, key in enumerate(distinct)}
    listed = [layout.copy_walls(scene) for scene in distinct.values()]
    sizes = [(len(walls.points), len(walls.cell_start), len(walls.cell_items)) for walls in listed]
    offsets = np.concatenate([np.zeros((1, 3), np.int64), np.cumsum(np.array(sizes, np.int64), axis=0)])
    joined = [np.concatenate(arrays) for arrays in zip(*(walls[:7] for walls in listed), strict=True)]
    grids = [np.stack(arrays) for arrays in zip(*(walls[7:] for walls in listed), strict=True)]
    return Walls(*joined, *grids), offsets, [number[id(scene)] for scene in scenes]
