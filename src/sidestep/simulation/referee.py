"""Turns what the referee's kernel says about one robot of one world into events, and says when the episode is over."""

from __future__ import annotations

import numpy as np

from sidestep.kernels import referee
from sidestep.kernels.layout import LIMITED, WALL_FRACTION
from sidestep.simulation.build import World
from sidestep.simulation.worlds import Worlds
from sidestep.types import Event, Outcome
from sidestep.types.decide import decide_outcome
from sidestep.types.record import LIMIT_NAMES, EventKind


class Referee:
    """Keeps the events of one episode, in order of time. The judging itself is ``Worlds.judge``."""

    def __init__(self, world: World, robot: int = 0) -> None:
        self._world = world
        self._rules = world.scenario.rules
        self._robot = robot
        self._limits: set[str] = set()
        self._groups = 0
        self.events: list[Event] = []

    @property
    def outcome(self) -> Outcome:
        """The outcome of what has happened so far."""
        return decide_outcome(self.events, self._rules)

    def policy_failed(self, time: float, reason: str) -> None:
        """The policy broke; the episode is over."""
        self.events.append(Event(time, "policy_error", text=reason))

    def watch(self, worlds: Worlds, b: int) -> bool:
        """Note what happened in the step just judged; True when the episode is over."""
        step = int(worlds.clock[b])
        start, end = (step - 1) * self._rules.step_s, step * self._rules.step_s
        news = int(worlds.news[b, self._robot])
        self.events += worlds.directed[b]
        if news & referee.CONTACT_NEWS:
            self._note_contacts(worlds, b, start)
        self._note_limits(int(worlds.status[b, self._robot, LIMITED]), start)
        if news & referee.OFF_NEWS:
            self.events.append(Event(end, "off_route"))
        if news & referee.GROUP_NEWS:
            self._note_groups(worlds, b, end)
        if news & referee.GOAL_NEWS:
            self.events.append(Event(end, "goal_reached"))
        if news & referee.DISOBEYED_NEWS:
            self.events.append(Event(end, "disobeyed"))
        if news & referee.STOPPED_NEWS:
            person = int(worlds.marks[b, self._robot, referee.STOPPED_FOR])
            self.events.append(Event(end, "stopped", self._name_of(worlds, person)))
        if news & referee.FROZEN_NEWS:
            self.events.append(Event(end, "frozen"))
        if news & referee.TIMEOUT_NEWS:
            self.events.append(Event(end, "timeout"))
        if news & referee.RESET_NEWS:
            self.events.append(Event(end, "reset", value=worlds.notes[b, self._robot, referee.CARRIED]))
        return bool(worlds.ending[b, self._robot] != referee.RUNNING)

    def _note_contacts(self, worlds: Worlds, b: int, start: float) -> None:
        """Contacts that ended, by name, then contacts that began, by time."""
        touch = worlds.marks[b, self._robot, referee.MARKS : referee.MARKS + worlds.columns + 1]
        ended = [self._name_of(worlds, j) for j in np.flatnonzero(touch == referee.ENDS).tolist()]
        self.events += [Event(start, "collision_end", subject) for subject in sorted(ended)]
        fractions = [*worlds.contact[b, self._robot].tolist(), worlds.measures.item(b, self._robot, WALL_FRACTION)]
        begun = [(fractions[j], self._name_of(worlds, j)) for j in np.flatnonzero(touch == referee.BEGINS).tolist()]
        for fraction, subject in sorted(begun):
            self.events.append(Event(start + fraction * self._rules.step_s, "collision_start", subject))

    def _note_groups(self, worlds: Worlds, b: int, end: float) -> None:
        mark, people = worlds.marks[b, self._robot], worlds.people
        count = int(mark[referee.CROSSED])
        crossed = [int(mark[len(mark) - people + k % people]) for k in range(self._groups, count)]
        self._groups = count
        self.events += [Event(end, "group_intrusion", f"group:{group}") for group in sorted(crossed)]

    def _name_of(self, worlds: Worlds, column: int) -> str:
        if column < worlds.people:
            return f"person:{self._world.person_id[column]}"
        return f"robot:{column - worlds.people}" if column < worlds.columns else "wall"

    def _note_limits(self, bits: int, time: float) -> None:
        now = {name for bit, name in LIMIT_NAMES.items() if bits & bit}
        changes: list[tuple[EventKind, set[str]]] = [
            ("limit_end", self._limits - now),
            ("limit_start", now - self._limits),
        ]
        for kind, names in changes:
            self.events += [Event(time, kind, name) for name in sorted(names)]
        self._limits = now
