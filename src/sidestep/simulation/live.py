"""An episode in which a participant drives one of the people while a policy drives the robot.

:class:`LiveEpisode` steps the benchmark's own worlds, so the record is an ordinary one: metrics score
it, viewers show it, and the same inputs give the same digest. The participant's body is as hard as everybody's: it
stops at walls and does not walk into robots, vehicles and other people. A robot that drives into the participant
touches a person as usual.

    episode = LiveEpisode(scenario, "orca", seed=1)
    while not episode.done:
        state = episode.step(PersonInput(forward_mps=1.2))
    record = episode.record
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite, sqrt
from pathlib import Path
from typing import Any

import numpy as np

from sidestep._util import exact
from sidestep.errors import BadInput
from sidestep.interfaces import describe_policy
from sidestep.kernels import layout
from sidestep.kernels.layout import RULE_DT
from sidestep.registry import as_policy
from sidestep.simulation.build import World, build_world
from sidestep.simulation.directors import Cast, Director, EventDirector
from sidestep.simulation.driver import Timing
from sidestep.simulation.loop import Episode, RunningEpisode, for_policy
from sidestep.simulation.worlds import Worlds
from sidestep.types import EpisodeRecord, Event, Outcome, PolicyInfo, Scenario, SceneSpec
from sidestep.types.base import FloatArray
from sidestep.types.events import GESTURE_NAMES, GESTURES

FASTEST_MPS = 2.0
"""A participant walks no faster than this, m/s."""
FASTEST_TURN_RAD_S = 4.0
SKIN_M = 0.02
"""What the participant keeps from other bodies."""
WAVE = GESTURES["go_on"]
"""A wave of the hand along the robot's path: the robot may go on."""
MODEL_NAME = "live"
"""Stands in ``EpisodeRecord.person_model`` for the participant."""


@dataclass(frozen=True, slots=True)
class PersonInput:
    """What a participant does in one step. Speeds beyond the limits are cut."""

    forward_mps: float = 0.0  # along the heading
    sideways_mps: float = 0.0  # to the left of it
    turn_rad_s: float = 0.0  # counter-clockwise
    heading: float | None = None
    """New heading, rad, in place of a turn."""
    wave: bool = False
    """Whether the participant waves to the robot: go on."""

    def __post_init__(self) -> None:
        for name in ("forward_mps", "sideways_mps", "turn_rad_s", "heading"):
            value = getattr(self, name)
            if value is not None and not isfinite(value):
                raise BadInput(f"PersonInput.{name} must be a finite number, got {value!r}")


STANDING = PersonInput()


@dataclass(frozen=True, slots=True)
class PersonState:
    """One person now, world frame."""

    id: int
    x: float  # m
    y: float  # m
    heading: float  # rad, where the body faces
    radius: float  # m
    gesture: str  # name of ``types.events.GESTURES``
    is_participant: bool


@dataclass(frozen=True, slots=True)
class LiveState:
    """The world after a step."""

    time: float  # s
    robot: tuple[float, float, float]  # x, y (m), heading (rad)
    robot_speed: float  # m/s
    others: tuple[tuple[float, float, float], ...]  # x, y, heading of the other robots and vehicles present
    people: tuple[PersonState, ...]  # people present
    started: bool
    """Whether the participant may set off: an event of the scenario was triggered, or there is none to wait for."""
    done: bool
    outcome: Outcome
    """How the episode ended; while it goes on, how it would end now."""


class LiveDirector:
    """Moves the participant, in one column, by the input that was given last."""

    def __init__(self, column: int, heading: float) -> None:
        self._column = column
        self.heading = heading
        """Where the body faces, rad."""
        self.input = STANDING
        """What to do in the coming step."""

    def direct(self, worlds: Worlds, b: int) -> list[Event]:
        """Turn, then walk. Causes no events."""
        given, dt = self.input, float(worlds.rules[b, RULE_DT])
        turn = min(max(given.turn_rad_s, -FASTEST_TURN_RAD_S), FASTEST_TURN_RAD_S)
        heading = self.heading + turn * dt if given.heading is None else given.heading
        self.heading = float(exact.wrap_angle(heading))
        vx, vy = self._velocity(given)
        agents, flags = worlds.agents[b], worlds.flags[b]
        vx, vy = keep_off_bodies(vx, vy, agents, flags[layout.ACTIVE] == 1, self._column, dt)
        agents[layout.NEW_VX, self._column], agents[layout.NEW_VY, self._column] = vx, vy
        flags[layout.MODEL, self._column] = layout.MODEL_SCRIPT
        flags[layout.GESTURE, self._column] = WAVE if given.wave else GESTURES["none"]
        agents[layout.HEAD_YAW, self._column] = 0.0
        return []

    def _velocity(self, given: PersonInput) -> tuple[float, float]:
        """In the world frame, m/s."""
        speed = float(exact.hypot(given.forward_mps, given.sideways_mps))
        scale = min(1.0, FASTEST_MPS / max(speed, 1e-9))
        forward, left = given.forward_mps * scale, given.sideways_mps * scale
        sine, cosine = exact.sincos(self.heading)
        return forward * cosine - left * sine, forward * sine + left * cosine

    def face(self, worlds: Worlds, b: int) -> None:
        """Keep the body's heading: the step turns everybody to where they walk."""
        worlds.agents[b, layout.HEADING, self._column] = self.heading


def keep_off_bodies(
    vx: float, vy: float, agents: FloatArray, present: Any, column: int, dt: float
) -> tuple[float, float]:
    """The velocity without what would lead the person in ``column`` into another body, m/s: the part toward a body that
    is too near is left out, so that the person slides along it. ``present`` (M,): whose bodies are there."""
    x, y = float(agents[layout.PX, column]), float(agents[layout.PY, column])
    for j in np.flatnonzero(present).tolist():
        dx, dy = float(agents[layout.PX, j]) - x, float(agents[layout.PY, j]) - y
        apart = sqrt(dx * dx + dy * dy)
        if j == column or apart < 1e-9:
            continue
        nx, ny = dx / apart, dy / apart
        gap = apart - float(agents[layout.RADIUS, j]) - float(agents[layout.RADIUS, column]) - SKIN_M
        excess = vx * nx + vy * ny - max(gap, 0.0) / dt
        if excess > 0.0:
            vx, vy = vx - excess * nx, vy - excess * ny
    return vx, vy


class LiveEpisode:
    """An episode of ``scenario`` in which ``policy`` drives the robot and the caller one person.

    ``person`` is the number of the person in the order of the scenario: people of the crowd, then of events. ``policy``
    is a name, a class or an object (``registry.as_policy``). A policy that raises, returns an invalid command or takes
    longer than ``timing.act_limit_s`` ends the episode with ``policy_error``.
    """

    def __init__(
        self,
        scenario: Scenario,
        policy: Any,
        seed: int = 0,
        person: int = 0,
        *,
        policy_info: PolicyInfo | None = None,
        timing: Timing | None = None,
        base: Path | None = None,
    ) -> None:
        driver = as_policy(policy)
        world = build_world(for_policy(scenario, driver), seed, base)
        _check_person(world, person)
        self.person = person
        self._live = LiveDirector(person, float(world.agents[layout.HEADING, person]))
        self.world = _hand_over(world, person, self._live)
        info = policy_info if policy_info is not None else describe_policy(driver)
        self._worlds = Worlds([self.world])
        self._running = RunningEpisode(Episode(self.world, driver, info, timing or Timing()))
        self._started = not self.world.scenario.events
        self._running.begin(self._worlds, 0)
        self.state = self._look()
        """The world now."""

    @property
    def scene(self) -> SceneSpec:
        """The static world."""
        return self.world.scene.spec

    @property
    def step_s(self) -> float:
        """Length of a step, s."""
        return self.world.scenario.rules.step_s

    @property
    def done(self) -> bool:
        """Whether the episode is over."""
        return not self._worlds.running[0]

    @property
    def outcome(self) -> Outcome:
        """How the episode ended; while it goes on, how it would end now."""
        return self._running.referee.outcome

    @property
    def record(self) -> EpisodeRecord:
        """The record of the episode so far, which metrics can score and ``save_record`` can save."""
        return self._running.record()

    def step(self, given: PersonInput = STANDING) -> LiveState:
        """Advance the world by one step of ``step_s`` in which the participant does ``given``."""
        if self.done:
            raise BadInput(f"the episode is over ({self.outcome}); make another LiveEpisode")
        self._live.input = given
        self._advance()
        self.state = self._look()
        if self.state.done:
            self.close()
        return self.state

    def _advance(self) -> None:
        worlds, running = self._worlds, self._running
        running.decide(worlds, 0)
        if worlds.running[0]:
            worlds.step()
            self._live.face(worlds, 0)
            running.note(worlds, 0)
            worlds.judge()
            running.judge(worlds, 0)

    def close(self) -> None:
        """Let the policy's worker end, also where the participant has left before the end."""
        self._running.driver.close()

    def _look(self) -> LiveState:
        worlds, world = self._worlds, self.world
        self._started = self._started or any(event.kind == "trigger" for event in self._running.referee.events)
        states = worlds.robot_state[0]
        here = worlds.flags[0, layout.ACTIVE, worlds.people : worlds.columns] == 1
        poses: Sequence[tuple[float, float, float]] = [(float(s[0]), float(s[1]), float(s[2])) for s in states]
        return LiveState(
            time=float(worlds.clock[0]) * self.step_s,
            robot=poses[0],
            robot_speed=float(exact.hypot(states[0, 3], states[0, 4])),
            others=tuple(pose for pose, is_there in zip(poses[1:], here[1:].tolist(), strict=True) if is_there),
            people=tuple(self._person(k) for k in range(world.people) if worlds.flags[0, layout.ACTIVE, k] == 1),
            started=self._started,
            done=self.done,
            outcome=self.outcome,
        )

    def _person(self, k: int) -> PersonState:
        agents, flags = self._worlds.agents[0], self._worlds.flags[0]
        return PersonState(
            id=int(self.world.person_id[k]),
            x=float(agents[layout.PX, k]),
            y=float(agents[layout.PY, k]),
            heading=float(agents[layout.HEADING, k]),
            radius=float(agents[layout.RADIUS, k]),
            gesture=GESTURE_NAMES[int(flags[layout.GESTURE, k])],
            is_participant=k == self.person,
        )


def _check_person(world: World, person: int) -> None:
    where = f"scenario {world.scenario.name!r}"
    there = np.flatnonzero(world.flags[layout.ACTIVE, : world.people] == 1).tolist()
    if not there:
        raise BadInput(f"{where}: nobody is present at time 0 for a participant to be; add a person or an event")
    if person not in there:
        known = ", ".join(map(str, there[:20]))
        raise BadInput(f"{where}: person {person} is not present at time 0; choose one of {known}")


def _hand_over(world: World, person: int, live: LiveDirector) -> World:
    """The world with ``person`` in the hands of ``live``."""
    flags, route_length = world.flags.copy(), world.route_length.copy()
    flags[layout.MODEL, person] = layout.MODEL_SCRIPT
    route_length[person] = 0
    agents = world.agents.copy()
    agents[[layout.VX, layout.VY], person] = 0.0
    names = list(world.person_model)
    names[person] = MODEL_NAME

    def direct() -> Director:
        cast = Cast([]) if world.direct is None else world.direct()
        if isinstance(cast, Cast):
            for director in cast.directors:
                if isinstance(director, EventDirector):
                    director.release(person)
        return Cast([cast, live])

    return replace(
        world,
        agents=agents,
        flags=flags,
        route_length=route_length,
        person_model=tuple(names),
        direct=direct,
        directs_people=True,
    )
