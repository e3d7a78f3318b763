"""One episode, driven by the caller: ``reset``, then ``step(command)`` until it ends, then its record.

The benchmark's own loop (:mod:`sidestep.simulation.loop`) asks a policy for commands; here the caller gives them. Both
move the same compiled worlds and make the same records: the same commands give the same digest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import nan
from pathlib import Path
from typing import Any, TypedDict

import numpy as np

from sidestep.errors import BadInput
from sidestep.kernels.referee import TIMEOUT_NEWS
from sidestep.registry import check_needs
from sidestep.simulation.build import World, WorldBuilder
from sidestep.simulation.observe import Observer, robot_state
from sidestep.simulation.recorder import Recorder
from sidestep.simulation.referee import Referee
from sidestep.simulation.robots import CommandConverter
from sidestep.simulation.worlds import Worlds
from sidestep.types import Command, EpisodeRecord, Observation, Outcome, PolicyInfo, Scenario, Task
from sidestep.types.command import checked_command
from sidestep.types.record import Event
from sidestep.types.sensors import CameraSettings, merge_camera_settings

DEFAULT_NEEDS = frozenset({"goal", "pedestrians"})


class StepInfo(TypedDict):
    """What a step says besides the observation, under the keys that learning environments use."""

    is_success: bool
    """Whether the episode has ended with the outcome ``success``."""
    termination_reason: str
    """The outcome of the episode (``sidestep.types.Outcome``); empty until the episode ends."""


class Session:
    """An episode of ``scenario``. ``needs`` names what observations hold, as it does for a policy."""

    world: World  # world as arrays
    worlds: Worlds  # the batch that holds this one world
    task: Task
    """What is known before the first step: the robot, the goal, and the map, route or future if they were asked for."""
    observation: Observation
    """What the robot sees now."""

    def __init__(
        self,
        scenario: Scenario,
        *,
        needs: Iterable[str] = DEFAULT_NEEDS,
        name: str = "session",
        base: Path | None = None,
    ) -> None:
        self._needs = frozenset(needs)
        check_needs(self._needs, name)
        self._info = PolicyInfo(name, {}, tuple(sorted(self._needs)), privileged="future" in self._needs)
        self._builder = WorldBuilder(scenario, base)
        self.scenario = self._builder.scenario
        self.reset()

    def reset(self, seed: int = 0) -> Observation:
        """Begin a new episode in the world of ``seed``."""
        self.world = self._builder.build(seed)
        rules = self.world.scenario.rules
        self.worlds = Worlds([self.world])
        self._observer = Observer(self.world, self._needs)
        self._converter = CommandConverter(self.world.robots[0], rules.step_s, rules.control_every)
        self._referee = Referee(self.world)
        self._recorder = Recorder(self.world)
        self._recorder.note_state(self.worlds, 0)
        self.task = self._observer.task()
        return self._look()

    def step(self, command: Command) -> tuple[Observation, bool, bool, StepInfo]:
        """Carry out ``command`` for one control step and return (observation, terminated, truncated, info).

        ``truncated`` is true if the time limit ended the episode, ``terminated`` if anything else did. ``info`` has
        ``is_success`` and ``termination_reason``, as in the learning environments.
        """
        if self.done:
            raise BadInput(f"the episode is over ({self.outcome}); call reset() to begin another")
        checked_command(command)
        for held in range(self.world.scenario.rules.control_every):
            if held:
                self._observer.watch(self.worlds, 0)
            state = robot_state(self.worlds, 0)
            self.worlds.command[0, 0] = self._converter.to_native(command, state, fresh=held == 0)
            self.worlds.step()
            if not np.isfinite(self.worlds.robot_state[0, 0]).all():
                raise BadInput(f"{command} has led to a pose of the robot that is not finite; call reset()")
            self._recorder.note_step(self.worlds, 0, command, nan if held else 0.0)
            self.worlds.judge()
            if self._referee.watch(self.worlds, 0):
                self.worlds.running[0] = 0
                break
        return self._look(), *self._ending()

    def _ending(self) -> tuple[bool, bool, StepInfo]:
        """Whether the step just made terminated or truncated the episode, and what is said about it."""
        is_late = bool(self.worlds.news[0, 0] & TIMEOUT_NEWS)
        reason = str(self.outcome) if self.done else ""
        info: StepInfo = {"is_success": reason == Outcome.SUCCESS, "termination_reason": reason}
        return self.done and not is_late, self.done and is_late, info

    def _look(self) -> Observation:
        self._observer.watch(self.worlds, 0)
        self.observation = self._observer.observe(self.worlds, 0)
        return self.observation

    @property
    def done(self) -> bool:
        """Whether the episode is over."""
        return not self.worlds.running[0]

    @property
    def time(self) -> float:
        """Simulated time since the first observation, s."""
        return float(self.worlds.clock[0]) * self.world.scenario.rules.step_s

    @property
    def outcome(self) -> Outcome:
        """How the episode ended; while it goes on, how it would end now."""
        return self._referee.outcome

    @property
    def events(self) -> tuple[Event, ...]:
        """What has happened so far."""
        return tuple(self._referee.events)

    def draw(self, camera: CameraSettings | Mapping[str, Any] | str) -> Any:
        """(H, W, 3) uint8: what another camera of the robot would see now; settings are laid over the scenario's."""
        where = "Session.draw: camera"
        settings = merge_camera_settings(self.world.scenario.sensors.camera, camera, where)
        return self._observer.draw(self.worlds, 0, settings)

    @property
    def record(self) -> EpisodeRecord:
        """The record of the episode so far, which metrics can score and ``save_record`` can save."""
        return self._recorder.finish(self._info, self.outcome, self._referee.events, "sync")
