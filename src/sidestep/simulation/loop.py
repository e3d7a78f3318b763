"""Episodes of the benchmark: :func:`run_episodes` asks policies for commands until all episodes are over.

``session`` and ``live`` step an episode whose caller gives the commands of the robot or of a person, ``counterfactual``
one without the robot, and the learning environments a batch without policies. All of them use the same worlds
(``worlds``), the same referee (``referee``) and, where they make records, the same ``recorder``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np

from sidestep.errors import BadInput
from sidestep.interfaces import Policy, describe_policy
from sidestep.registry import as_policy
from sidestep.simulation.build import World, build_world
from sidestep.simulation.driver import Driver, PolicyFailure, Timing
from sidestep.simulation.observe import Observer, robot_state
from sidestep.simulation.recorder import Recorder
from sidestep.simulation.referee import Referee
from sidestep.simulation.robots import DYNAMICS_CODES, CommandConverter
from sidestep.simulation.sensors.camera import with_policy_camera
from sidestep.simulation.worlds import Worlds
from sidestep.types import Command, EpisodeRecord, PolicyInfo, Scenario
from sidestep.types.record import Mode


@dataclass(frozen=True)
class Episode:
    """A world, the policy that drives in it, and how its planning time is charged."""

    world: World
    policy: Any
    """A ``Policy``, or whatever ``as_policy`` makes one of."""
    info: PolicyInfo
    timing: Timing = field(default_factory=Timing)


class RunningEpisode:
    """The collaborators of one episode that is under way in world ``b`` of a batch."""

    def __init__(self, episode: Episode) -> None:
        self.episode = episode
        rules = episode.world.scenario.rules
        policy = as_policy(episode.policy)
        self.observer = Observer(episode.world, policy.needs)
        self.driver = Driver(policy, episode.timing, rules.step_s, rules.control_every)
        self.converter = CommandConverter(episode.world.robots[0], rules.step_s, rules.control_every)
        self.referee = Referee(episode.world)
        self.recorder = Recorder(episode.world)
        self.last: tuple[Command | None, float] = (None, 0.0)
        self.traceback = ""

    def begin(self, worlds: Worlds, b: int) -> None:
        """Record the first state and reset the policy."""
        self.recorder.note_state(worlds, b)
        try:
            self.driver.reset(self.observer.task())
        except PolicyFailure as failure:
            self._fail(worlds, b, failure)

    def decide(self, worlds: Worlds, b: int) -> None:
        """Ask the policy, if it is its turn, and write the command of the coming step."""
        step = int(worlds.clock[b])
        self.observer.watch(worlds, b)
        try:
            command, spent = self.driver.decide(step, lambda: self.observer.observe(worlds, b))
        except PolicyFailure as failure:
            self._fail(worlds, b, failure)
            return
        news = self.driver.news()
        if news is not None:
            self.recorder.note_intent(news)
        # with latency a command is recorded when returned and holds later: it is new when it is another than before
        fresh = command is not self.last[0] if self.episode.timing.mode == "latency" else not isnan(spent)
        self.last = command, spent
        if command is None:
            worlds.command[b, 0] = 0.0
        else:
            worlds.command[b, 0] = self.converter.to_native(command, robot_state(worlds, b), fresh=fresh)

    def note(self, worlds: Worlds, b: int) -> None:
        """Record the step just made."""
        if not np.isfinite(worlds.robot_state[b, 0]).all():  # that step is no part of the record
            self._fail(worlds, b, PolicyFailure("the commands have led to a pose of the robot that is not finite"))
            return
        self.recorder.note_step(worlds, b, *self.last)

    def judge(self, worlds: Worlds, b: int) -> None:
        """Note what the referee saw in that step; stop the world when the episode is over."""
        if self.referee.watch(worlds, b):
            worlds.running[b] = 0

    def finish(self) -> EpisodeRecord:
        """End the policy's worker; the record."""
        self.driver.close()
        return self.record()

    def record(self) -> EpisodeRecord:
        """The record of the episode so far."""
        return self.recorder.finish(
            self.episode.info, self.referee.outcome, self.referee.events, self.episode.timing.mode, self.traceback
        )

    def _fail(self, worlds: Worlds, b: int, failure: PolicyFailure) -> None:
        self.traceback = failure.traceback
        self.referee.policy_failed(float(worlds.clock[b]) * self.episode.world.scenario.rules.step_s, str(failure))
        worlds.running[b] = 0


def run_episodes(episodes: Sequence[Episode], threads: int = 1) -> list[EpisodeRecord]:
    """Run episodes side by side until all are over. A record does not depend on what runs beside it."""
    if len(episodes) > 1 and any(episode.timing.mode == "async" for episode in episodes):
        raise BadInput("asynchronous episodes run on the wall clock, one at a time")
    worlds = Worlds([episode.world for episode in episodes], threads)
    running = [RunningEpisode(episode) for episode in episodes]
    for b, one in enumerate(running):
        one.begin(worlds, b)
    while worlds.running.any():
        for b in np.flatnonzero(worlds.running).tolist():
            running[b].decide(worlds, b)
        active = np.flatnonzero(worlds.running).tolist()
        worlds.step()
        for b in active:
            running[b].note(worlds, b)
        worlds.judge()
        for b in active:
            running[b].judge(worlds, b)
    return [one.finish() for one in running]


def run_episode(
    scenario: Scenario,
    policy: Policy | Any,
    *,
    seed: int = 0,
    policy_info: PolicyInfo | None = None,
    mode: Mode = "sync",
    latency_s: float | None = None,
    act_limit_s: float | None = 10.0,
    base: Path | None = None,
) -> EpisodeRecord:
    """One episode of ``policy`` (a name, a class or an object, see ``as_policy``) in ``scenario`` under ``seed``.
    Raises ``BadInput`` if the scenario cannot be built or the policy is not one; any failure of the
    policy afterwards gives a record with the outcome ``policy_error``."""
    policy = as_policy(policy)
    world = build_world(for_policy(scenario, policy), seed, base)
    info = policy_info if policy_info is not None else describe_policy(policy)
    return run_episodes([Episode(world, policy, info, Timing(mode, latency_s, act_limit_s))])[0]


def begin_episode(
    scenario: Scenario, policy: Policy | Any, *, seed: int = 0, base: Path | None = None
) -> EpisodeRecord:
    """The record of an episode before its first step, as :func:`run_episode` would begin it. Nothing moves, so the
    simulator need not be compiled for it."""
    policy = as_policy(policy)
    world = build_world(for_policy(scenario, policy), seed, base)
    episode = RunningEpisode(Episode(world, policy, describe_policy(policy)))
    episode.begin(Worlds([world]), 0)
    return episode.finish()


def for_policy(scenario: Scenario, policy: Policy) -> Scenario:
    """The scenario with what it leaves to the policy: dynamics, camera, settings of sensors."""
    return with_policy_sensors(with_policy_camera(with_policy_dynamics(scenario, policy), policy), policy)


def with_policy_sensors(scenario: Scenario, policy: Policy) -> Scenario:
    """The scenario with the policy's ``sensor_settings`` laid over its ``sensors.extra``."""
    if not policy.sensor_settings:
        return scenario
    where = f"policy {(policy.name or type(policy).__name__)!r}: sensor_settings"
    extra = dict(scenario.sensors.extra)
    for need, settings in policy.sensor_settings.items():
        if need not in policy.needs:
            raise BadInput(f"{where}: has settings of {need!r}, which the policy does not need")
        extra[need] = {**extra.get(need, {}), **settings}
    sensors = scenario.sensors.model_copy(update={"extra": extra})
    return scenario.model_copy(update={"sensors": sensors})


def with_policy_dynamics(scenario: Scenario, policy: Policy) -> Scenario:
    """The scenario with the policy's own ``dynamics`` where the scenario leaves them to the policy."""
    declared = policy.dynamics
    if scenario.ego.dynamics != "policy" or declared is None:
        return scenario
    if declared not in DYNAMICS_CODES:
        raise BadInput(f"the policy's dynamics are {declared!r}; known are {', '.join(DYNAMICS_CODES)}")
    ego = scenario.ego.model_copy(update={"dynamics": declared})
    return scenario.model_copy(update={"robots": (ego, *scenario.robots[1:])})
