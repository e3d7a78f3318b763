"""Watches one robot of one world: turns contacts and arrivals into events and says when the episode is over."""

from __future__ import annotations

import numpy as np

from sidestep.kernels import layout
from sidestep.kernels.dynamics import ROBOT_X, ROBOT_Y
from sidestep.kernels.world import AT_GOAL, AT_WALL, LIMITED, WALL_FRACTION
from sidestep.simulation.build import World
from sidestep.simulation.conduct import STANDING_MPS, Ground, groups_crossed, told_to_stop
from sidestep.simulation.resetting import Resets
from sidestep.simulation.worlds import Worlds
from sidestep.types import Event, Outcome
from sidestep.types.decide import decide_outcome, outcome_of_event
from sidestep.types.record import LIMIT_NAMES, EventKind

UNFORGIVEN = frozenset({Outcome.SUCCESS, Outcome.TIMEOUT, Outcome.POLICY_ERROR})
"""Ends of an episode after which nobody is put back on the route."""


class Referee:
    """Keeps the events of one episode, in order of time."""

    def __init__(self, world: World, robot: int = 0) -> None:
        self._world = world
        self._rules = world.scenario.rules
        self._robot = robot
        self._touching: set[str] = set()
        self._limits: set[str] = set()
        self._standing_steps = 0
        self._ending = frozenset(self._rules.ends_on)
        where = f"scenario {world.scenario.name!r}"
        assert not isinstance(world.scenario.scene, str)
        self._ground = Ground(world.scenario.scene, self._rules.stay_on, where) if self._rules.stay_on else None
        placement = world.scenario.robots[robot]
        self._resets = (
            Resets(placement, world.robots[robot].footprint.enclosing_radius)
            if self._rules.on_failure == "reset"
            else None
        )
        self._before = (placement.start[0], placement.start[1])
        self._off = False
        self._between: set[int] = set()
        self.events: list[Event] = []

    @property
    def outcome(self) -> Outcome:
        """The outcome of what has happened so far."""
        return decide_outcome(self.events, self._rules)

    def policy_failed(self, time: float, reason: str) -> None:
        """The policy broke; the episode is over."""
        self.events.append(Event(time, "policy_error", text=reason))

    def watch(self, worlds: Worlds, b: int) -> bool:
        """Note what happened in the step just made; True when the episode is over."""
        step = int(worlds.clock[b])
        start, end = (step - 1) * self._rules.step_s, step * self._rules.step_s
        known = len(self.events)
        self.events += worlds.directed[b]
        self._note_contacts(worlds, b, start)
        self._note_limits(int(worlds.status[b, self._robot, LIMITED]), start)
        x, y = (float(value) for value in worlds.robot_state[b, self._robot, [ROBOT_X, ROBOT_Y]])
        self._note_conduct(worlds, b, x, y, end)
        arrived = self._note_arrival(worlds, b, x, y, end)
        self._before = (x, y)
        failed = any(outcome_of_event(event) in self._ending - UNFORGIVEN for event in self.events[known:])
        if arrived or (failed and self._resets is None):
            return True
        if step >= self._rules.max_steps:
            self.events.append(Event(end, "timeout"))
            return True
        if failed:
            self._put_back(worlds, b, x, y, end)
        return False

    def _note_arrival(self, worlds: Worlds, b: int, x: float, y: float, end: float) -> bool:
        """Whether the task is done, one way or the other."""
        standing = self._is_standing(worlds, b)
        if worlds.status[b, self._robot, AT_GOAL]:
            self.events.append(Event(end, "goal_reached"))
            if self._rules.success == "stop":
                self.events.append(Event(end, "disobeyed"))
            return True
        if self._rules.success == "stop" and standing * self._rules.step_s >= self._rules.stop_for_s - 1e-9:
            asked = told_to_stop(worlds.agents[b], worlds.flags[b], worlds.people, x, y, self._rules.stop_within_m)
            if asked is not None:
                self.events.append(Event(end, "stopped", self._name_of(worlds, asked)))
                return True
        frozen_after = self._rules.frozen_after_s
        if frozen_after is not None and standing == round(frozen_after / self._rules.step_s):
            self.events.append(Event(end, "frozen"))
        return False

    def _note_conduct(self, worlds: Worlds, b: int, x: float, y: float, end: float) -> None:
        """Leaving the ground and passing through groups, once each time."""
        if self._ground is not None:
            off = not self._ground.holds(x, y)
            if off and not self._off:
                self.events.append(Event(end, "off_route"))
            self._off = off
        if self._rules.avoid_groups:
            n = worlds.people
            here = np.flatnonzero(worlds.flags[b, layout.ACTIVE, :n])
            position = worlds.agents[b, layout.PX : layout.PY + 1, :n].T.astype(np.float64)
            for group in groups_crossed(self._before, (x, y), position, worlds.flags[b, layout.GROUP, :n], here):
                if group not in self._between:
                    self.events.append(Event(end, "group_intrusion", f"group:{group}"))
                    self._between.add(group)

    def _put_back(self, worlds: Worlds, b: int, x: float, y: float, end: float) -> None:
        assert self._resets is not None
        n = worlds.people
        here = np.flatnonzero(worlds.flags[b, layout.ACTIVE, :n])
        people = worlds.agents[b][[layout.PX, layout.PY, layout.RADIUS]][:, here].T.astype(np.float64)
        pose = self._resets.place(x, y, people)
        worlds.place_robot(b, self._robot, pose)
        self.events.append(Event(end, "reset"))
        self._before, self._standing_steps, self._off = pose[:2], 0, False

    def _note_contacts(self, worlds: Worlds, b: int, start: float) -> None:
        fractions = worlds.contact[b, self._robot]
        now: dict[str, float] = {}
        for j in np.flatnonzero(fractions <= 1.0):
            now[self._name_of(worlds, int(j))] = float(fractions[j])
        if worlds.status[b, self._robot, AT_WALL]:
            now["wall"] = float(worlds.measures[b, self._robot, WALL_FRACTION])
        for subject in sorted(self._touching - now.keys()):
            self.events.append(Event(start, "collision_end", subject))
        begun = sorted((fraction, subject) for subject, fraction in now.items() if subject not in self._touching)
        for fraction, subject in begun:
            self.events.append(Event(start + fraction * self._rules.step_s, "collision_start", subject))
        self._touching = set(now)

    def _name_of(self, worlds: Worlds, column: int) -> str:
        if column < worlds.people:
            return f"person:{self._world.person_id[column]}"
        return f"robot:{column - worlds.people}"

    def _note_limits(self, bits: int, time: float) -> None:
        now = {name for bit, name in LIMIT_NAMES.items() if bits & bit}
        changes: list[tuple[EventKind, set[str]]] = [
            ("limit_end", self._limits - now),
            ("limit_start", now - self._limits),
        ]
        for kind, names in changes:
            self.events += [Event(time, kind, name) for name in sorted(names)]
        self._limits = now

    def _is_standing(self, worlds: Worlds, b: int) -> int:
        """For how many steps the robot has been standing."""
        column = worlds.people + self._robot
        speed = float(np.hypot(worlds.agents[b, layout.VX, column], worlds.agents[b, layout.VY, column]))
        self._standing_steps = self._standing_steps + 1 if speed < STANDING_MPS else 0
        return self._standing_steps
