"""Watches one robot of one world: turns contacts and arrivals into events and says when the episode is over."""

from __future__ import annotations

import numpy as np

from sidestep.kernels.world import AT_GOAL, AT_WALL, LIMITED, WALL_FRACTION
from sidestep.simulation.build import World
from sidestep.simulation.worlds import Worlds
from sidestep.types import Event, Outcome
from sidestep.types.decide import decide_outcome
from sidestep.types.record import LIMIT_NAMES, EventKind

STANDING_MPS = 0.05

_ENDS: dict[Outcome, str] = {
    Outcome.PEDESTRIAN_COLLISION: "person",
    Outcome.ENVIRONMENT_COLLISION: "wall",
    Outcome.VEHICLE_COLLISION: "robot",
}


class Referee:
    """Keeps the events of one episode, in order of time."""

    def __init__(self, world: World, robot: int = 0) -> None:
        self._world = world
        self._rules = world.scenario.rules
        self._robot = robot
        self._touching: set[str] = set()
        self._limits: set[str] = set()
        self._standing_steps = 0
        self._ending = {_ENDS[outcome] for outcome in self._rules.ends_on if outcome in _ENDS}
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
        start = (step - 1) * self._rules.step_s
        self.events += worlds.directed[b]
        over = self._note_contacts(worlds, b, start)
        self._note_limits(int(worlds.status[b, self._robot, LIMITED]), start)
        end = step * self._rules.step_s
        if worlds.status[b, self._robot, AT_GOAL]:
            self.events.append(Event(end, "goal_reached"))
            over = True
        elif self._is_frozen(worlds, b):
            self.events.append(Event(end, "frozen"))
            over = over or Outcome.FROZEN in self._rules.ends_on
        if not over and step >= self._rules.max_steps:
            self.events.append(Event(end, "timeout"))
            over = True
        return over

    def _note_contacts(self, worlds: Worlds, b: int, start: float) -> bool:
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
        return any(subject.split(":")[0] in self._ending for _, subject in begun)

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

    def _is_frozen(self, worlds: Worlds, b: int) -> bool:
        if self._rules.frozen_after_s is None:
            return False
        column = worlds.people + self._robot
        speed = float(np.hypot(worlds.agents[b, 2, column], worlds.agents[b, 3, column]))
        self._standing_steps = self._standing_steps + 1 if speed < STANDING_MPS else 0
        return self._standing_steps == round(self._rules.frozen_after_s / self._rules.step_s)
