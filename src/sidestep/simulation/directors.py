"""Directors: people and vehicles that do something because of what they see, step by step.

A director belongs to one episode of one world. Before every step it may change its people: their waypoints, speeds,
crowd model, gesture, where they face and look. What it does must follow from the world and its own seed alone.
``BackgroundDirector`` moves people on a behaviour graph, ``CrossingDirector`` those who cross a road,
``StreetDirector`` those of a street,
``CrowdModelDirector`` those of a plug-in model, ``EventDirector`` plays the act of one event;
``road_users.TrafficDirector`` drives vehicles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Protocol

import numpy as np

from sidestep._util import exact
from sidestep.errors import BadInput, plug_in_errors
from sidestep.interfaces import CrowdModel, CrowdView
from sidestep.kernels import layout
from sidestep.kernels.dynamics import ROBOT_OMEGA
from sidestep.kernels.layout import RULE_DT
from sidestep.kernels.referee import DISOBEYED, HAPPENED
from sidestep.scenes.free_space import free_mask
from sidestep.simulation.crowd.behaviour.background import Background
from sidestep.simulation.crowd.behaviour.network import Network, WalkableSpace, make_network
from sidestep.simulation.crowd.behaviour.stops import PeopleView
from sidestep.simulation.crowd.events import Actor, EventScene, FreeActor, Script, Setting, write_script
from sidestep.simulation.crowd.people import People, join_people, make_people
from sidestep.simulation.crowd.road_crossing import CrossingWalkers
from sidestep.simulation.crowd.street_walking import StreetWalkers
from sidestep.simulation.seeds import generator_for
from sidestep.types import CompiledScene, Event, Scenario
from sidestep.types.base import FloatArray, IntArray
from sidestep.types.behaviour import BehaviourGraph
from sidestep.types.events import PluginEvent

if TYPE_CHECKING:
    from sidestep.simulation.worlds import Worlds


FASTEST_MPS = 1e3
"""Velocities of a plug-in model beyond this are an error; below, the person's own limit counts."""


class Director(Protocol):
    """Tells people what to do."""

    def direct(self, worlds: Worlds, b: int) -> list[Event]:
        """Change the people of world ``b`` before its next step; the events (``trigger``, ``disobeyed``) of that."""


class Cast:
    """Several directors of one world, one after the other; a later one has the last word."""

    def __init__(self, directors: Sequence[Director]) -> None:
        self.directors = tuple(directors)

    def direct(self, worlds: Worlds, b: int) -> list[Event]:
        """All of them, in order."""
        return [event for director in self.directors for event in director.direct(worlds, b)]


def make_cast(makers: Sequence[Callable[[], Director]]) -> Callable[[], Director] | None:
    """What makes the director of an episode out of what makes each of several; None if there are none."""
    if not makers:
        return None
    return lambda: Cast([make() for make in makers])


@lru_cache(maxsize=16)
def background_network(
    scene: CompiledScene, graph: BehaviourGraph, radius: float, lane_m: float, where: str
) -> Network:
    """The graph on the scene's ground, for people of ``radius``; remembered, as many scenarios share a town."""
    walled = len(scene.wall_points) > 0
    ground = WalkableSpace(
        partial(free_mask, scene) if walled else None, np.ascontiguousarray(scene.segments, np.float64).reshape(-1, 4)
    )
    return make_network(graph, ground, radius, lane_m, where)


def view_people(worlds: Worlds, b: int, who: slice) -> PeopleView:
    """The people in the columns ``who`` of world ``b``."""
    return PeopleView(
        worlds.agents[b][:, who],
        worlds.flags[b][:, who],
        worlds.routes[b, who],
        worlds.route_length[b, who],
        float(worlds.clock[b]) * float(worlds.rules[b, RULE_DT]),
        worlds.agents[b],
        worlds.flags[b],
        who.start,
        worlds.people,
    )


class BackgroundDirector:
    """Directs the people of one crowd part, who are in the columns ``first … last - 1``."""

    def __init__(self, background: Background, first: int, last: int) -> None:
        self.background = background
        self.columns = slice(first, last)

    def direct(self, worlds: Worlds, b: int) -> list[Event]:
        """Write what the people do in the coming step. Causes no events."""
        self.background.advance(view_people(worlds, b, self.columns), float(worlds.rules[b, RULE_DT]))
        return []


class CrossingDirector:
    """Directs people who cross a road, who are in the columns ``first … last - 1``."""

    def __init__(self, walkers: CrossingWalkers, first: int, last: int) -> None:
        self._walkers = walkers
        self._columns = slice(first, last)

    def direct(self, worlds: Worlds, b: int) -> list[Event]:
        """Write what the people do in the coming step. Causes no events."""
        self._walkers.advance(view_people(worlds, b, self._columns))
        return []


class StreetDirector:
    """Directs the people of a street, who are in the columns ``first … last - 1``."""

    def __init__(self, walkers: StreetWalkers, first: int, last: int) -> None:
        self._walkers = walkers
        self._columns = slice(first, last)

    def direct(self, worlds: Worlds, b: int) -> list[Event]:
        """Write what the people do in the coming step. Causes no events."""
        self._walkers.advance(view_people(worlds, b, self._columns), float(worlds.rules[b, RULE_DT]))
        return []


class CrowdModelDirector:
    """Moves the people of one crowd part, in the columns ``first … last - 1``, by a plug-in model."""

    def __init__(self, name: str, model: CrowdModel, first: int, person_id: IntArray, walls: FloatArray) -> None:
        """``person_id``: of the part's people."""
        self._name, self._model, self._first = name, model, first
        self._person_id, self._walls = person_id, walls

    def direct(self, worlds: Worlds, b: int) -> list[Event]:
        """Set the velocities of the people present. Causes no events."""
        agents, flags = worlds.agents[b], worlds.flags[b]
        here = flags[layout.ACTIVE] == 1
        part = slice(self._first, self._first + len(self._person_id))
        own = np.flatnonzero(here[part]) + self._first
        if not len(own):
            return []
        here[part] = False
        if not flags[layout.SEES_ROBOT, own].any():
            here[worlds.people :] = False
        mine, others = agents[:, own].astype(np.float64), agents[:, here].astype(np.float64)
        dt = float(worlds.rules[b, RULE_DT])
        view = CrowdView(
            time_s=float(worlds.clock[b]) * dt,
            step_s=dt,
            id=self._person_id[own - self._first],
            position=mine[[layout.PX, layout.PY]].T,
            velocity=mine[[layout.VX, layout.VY]].T,
            goal=mine[[layout.GOAL_X, layout.GOAL_Y]].T,
            wished_speed=np.where(worlds.route_length[b, own] > 0, mine[layout.PREF_SPEED], 0.0),
            max_speed=mine[layout.MAX_SPEED],
            radius=mine[layout.RADIUS],
            group=flags[layout.GROUP, own],
            others_position=others[[layout.PX, layout.PY]].T,
            others_velocity=others[[layout.VX, layout.VY]].T,
            others_radius=others[layout.RADIUS],
            walls=self._walls,
        )
        agents[layout.NEW_VX : layout.NEW_VY + 1, own] = self._velocities(view).T
        return []

    def _velocities(self, view: CrowdView) -> FloatArray:
        with plug_in_errors("crowd model", self._name, ()):
            found = np.array(self._model.velocities(view), np.float64)
        if found.shape != view.position.shape:
            raise BadInput(
                f"crowd model {self._name!r} must return velocities of shape {view.position.shape}, not {found.shape}"
            )
        if not (np.abs(found) < FASTEST_MPS).all():
            raise BadInput(f"crowd model {self._name!r} returned velocities that are not finite or no person's")
        speed = exact.hypot(found[:, 0], found[:, 1])
        limited: FloatArray = found * np.minimum(1.0, view.max_speed / np.maximum(speed, 1e-9))[:, None]
        return limited


def write_scripts(
    scenario: Scenario, scene: CompiledScene, seed: int, robots: FloatArray, where: str
) -> tuple[Script, ...]:
    """The scripts of a scenario's events, with everything drawn. ``robots`` (R, 3): x, y, radius at the start."""
    scripts = []
    for index, event in enumerate(scenario.events):
        name = event.name if isinstance(event, PluginEvent) else event.kind
        here = f"{where}: event {index} ({name})"
        ego = scenario.ego
        way = ((ego.start[0], ego.start[1]), *ego.route, ego.goal)
        setting = Setting(way, ego.start[2], scene.spec.regions, here, robot_radius=float(robots[0, 2]))
        script = write_script(event, setting, generator_for(scenario.suite, scenario.name, seed, "event", index))
        _check_positions(script, scene, robots, here)
        scripts.append(script)
    return tuple(scripts)


def _check_positions(script: Script, scene: CompiledScene, robots: FloatArray, where: str) -> None:
    places = np.array([(person.x, person.y) for person in script.people])
    free = free_mask(scene, places, script.radius) if len(scene.wall_points) else np.ones(len(places), bool)
    for k, (x, y) in enumerate(places):
        if not free[k]:
            raise BadInput(f"{where}: person {k} at ({x:.2f}, {y:.2f}) is inside a wall; move the event")
        gaps = exact.hypot(robots[:, 0] - x, robots[:, 1] - y) - robots[:, 2]
        if (gaps < script.radius).any():
            raise BadInput(f"{where}: person {k} at ({x:.2f}, {y:.2f}) touches a robot's start; move the event")


def add_event_people(crowd: People, part_of: IntArray, scripts: Sequence[Script], part: int) -> tuple[People, IntArray]:
    """The crowd with the events' people after it, as of crowd part ``part``; every social group gets a number."""
    if not scripts:
        return crowd, part_of
    performers = [person for script in scripts for person in script.people]
    first = int(crowd.group.max(initial=-1)) + 1
    added = make_people(
        np.array([(person.x, person.y) for person in performers]),
        np.zeros((len(performers), 1, 2)),
        np.zeros(len(performers), np.int64),
        np.array([person.speed for person in performers]),
        np.array([script.radius for script in scripts for _ in script.people]),
        group=np.array([first + k if p.together else -1 for k, script in enumerate(scripts) for p in script.people]),
        heading=np.array([person.heading for person in performers]),
    )
    return join_people([crowd, added]), np.concatenate([part_of, np.full(len(performers), part)]).astype(np.intp)


def event_directors(scripts: Sequence[Script], person_id: IntArray) -> list[Callable[[], Director]]:
    """What makes the director of each event; their people are the last of ``person_id``."""
    makers: list[Callable[[], Director]] = []
    column = len(person_id) - sum(len(script.people) for script in scripts)
    for script in scripts:
        makers.append(_maker(script, column, f"person:{person_id[column]}"))
        column += len(script.people)
    return makers


def _maker(script: Script, column: int, subject: str) -> Callable[[], Director]:
    return lambda: EventDirector(script, column, subject)


class EventDirector:
    """Plays one event's act in one episode. It refers to robot 0."""

    def __init__(self, script: Script, column: int, subject: str) -> None:
        self._kind = script.kind
        self._subject = subject
        self._act = script.act()
        self._people = [Actor(column + k, person.speed, script.radius) for k, person in enumerate(script.people)]
        self._stage: EventScene | None = None
        self._is_told = False

    def release(self, column: int) -> None:
        """Let somebody else move the person in ``column``: the act goes on and sees the person, but its word does not
        count any more."""
        self._people = [
            FreeActor(column, person.speed, person.radius) if person.column == column else person
            for person in self._people
        ]

    def direct(self, worlds: Worlds, b: int) -> list[Event]:
        """One step of the act; a ``trigger`` event, at the time of the state that triggered it, when it begins; a
        ``disobeyed`` event when the robot breaks the act's rules, once."""
        agents = worlds.agents[b]
        if self._stage is None:
            radius = agents.item(layout.RADIUS, worlds.people)
            self._stage = EventScene(self._people, radius, worlds.rules.item(b, RULE_DT))
        stage = self._stage
        time = worlds.clock.item(b) * stage.dt
        stage.update(time, worlds.robot_state[b, 0, :ROBOT_OMEGA].tolist(), agents, worlds.flags[b])
        events = [Event(time, "trigger", self._subject, text=self._kind)] if self._act.play(stage) else []
        if self._act.violation and not self._is_told:
            self._is_told = True
            worlds.marks[b, 0, HAPPENED] |= 1 << DISOBEYED
            events.append(Event(time, "disobeyed", self._subject, text=self._act.violation))
        return events
