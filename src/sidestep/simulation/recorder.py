"""Buffers one episode while it runs and makes its record."""

from __future__ import annotations

import numpy as np

from sidestep.kernels import layout
from sidestep.kernels.dynamics import ROBOT_HEADING, ROBOT_OMEGA, ROBOT_VX, ROBOT_VY, ROBOT_X, ROBOT_Y
from sidestep.simulation.build import World
from sidestep.simulation.intent import Intent, IntentLog
from sidestep.simulation.observe import shortest_path_length
from sidestep.simulation.robots import encode_command
from sidestep.simulation.worlds import Worlds
from sidestep.types import Command, EpisodeRecord, Event, Outcome, PolicyInfo
from sidestep.types.record import Mode
from sidestep.version import __version__

_POSE = [ROBOT_X, ROBOT_Y, ROBOT_HEADING]
_VELOCITY = [ROBOT_VX, ROBOT_VY, ROBOT_OMEGA]
_NONE = np.zeros((0, 0))


class Recorder:
    """Buffers for the longest possible episode of one robot of one world; cut to length at the end."""

    def __init__(self, world: World, robot: int = 0) -> None:
        steps, n, r = world.scenario.rules.max_steps, world.people, len(world.robots)
        self._world = world
        self._robot = robot
        self._steps = 0
        self._robots = np.zeros((steps + 1, r, world.robot_state.shape[1]))
        self._command = np.full((steps, 4), np.nan)
        self._applied = np.zeros((steps, 2))
        self._limited = np.zeros(steps, np.uint8)
        self._planning = np.full(steps, np.nan)
        self._people = np.zeros((steps + 1, 5, n), np.float32)
        self._present = np.zeros((steps + 1, n), bool)
        self._group = np.zeros((steps + 1, n), np.int32)
        reacts = bool((world.flags[layout.REACTIVITY, :n] != layout.REACT_NONE).any())
        self._cost = np.zeros((steps + 1, 2, n), np.float32) if reacts else None
        directed = world.directs_people
        self._intents = IntentLog(world.person_id)
        self._gesture = np.zeros((steps + 1, n), np.uint8) if directed else None
        self._head_yaw = np.zeros((steps + 1, n), np.float32) if directed else None

    def note_state(self, worlds: Worlds, b: int) -> None:
        """Where everybody is now."""
        k, n = self._steps, self._world.people
        self._robots[k] = worlds.robot_state[b]
        vehicles = slice(len(self._world.scenario.robots), None)
        has_left = worlds.flags[b, layout.ACTIVE, worlds.people : worlds.columns][vehicles] == 0
        if has_left.any():
            self._robots[k, vehicles][has_left] = np.nan
        self._people[k, :4] = worlds.agents[b, :4, :n]
        self._people[k, 4] = worlds.agents[b, layout.HEADING, :n]
        self._present[k] = worlds.flags[b, layout.ACTIVE, :n] == 1
        self._group[k] = worlds.flags[b, layout.GROUP, :n]
        if self._cost is not None:
            self._cost[k, 0] = worlds.agents[b, layout.DELAY, :n]
            self._cost[k, 1] = worlds.agents[b, layout.DETOUR, :n]
        if self._gesture is not None and self._head_yaw is not None:
            self._gesture[k] = np.where(self._present[k], worlds.flags[b, layout.GESTURE, :n], 0)
            self._head_yaw[k] = np.where(self._present[k], worlds.agents[b, layout.HEAD_YAW, :n], np.nan)

    def note_step(self, worlds: Worlds, b: int, command: Command | None, planning_time: float) -> None:
        """What was commanded and done in the step just made, and the state after it."""
        k = self._steps
        self._command[k] = encode_command(command) if command is not None else (-1.0, 0.0, 0.0, 0.0)
        self._applied[k] = worlds.applied[b, self._robot]
        self._limited[k] = worlds.status[b, self._robot, layout.LIMITED]
        self._planning[k] = planning_time
        self._steps += 1
        self.note_state(worlds, b)

    def note_intent(self, intent: Intent) -> None:
        """What the policy publishes of its plans at the present state."""
        here = self._robots[self._steps, self._robot]
        self._intents.note(self._steps, intent, here[[ROBOT_X, ROBOT_Y]])

    def finish(
        self,
        policy: PolicyInfo,
        outcome: Outcome,
        events: list[Event],
        mode: Mode,
        traceback: str = "",
    ) -> EpisodeRecord:
        """The record of the episode so far."""
        world, k = self._world, self._steps
        people = self._people[: k + 1].copy()
        present = self._present[: k + 1]
        people[np.broadcast_to(~present[:, None, :], people.shape)] = np.nan
        others = [r for r in range(len(world.robots)) if r != self._robot]
        own = self._robots[: k + 1, self._robot]
        cost = np.zeros((0, 2, 0), np.float32) if self._cost is None else self._cost[: k + 1]
        errors = [event.text for event in events if event.kind == "policy_error"]
        return EpisodeRecord(
            scenario=world.scenario,
            robot=world.robots[self._robot],
            policy=policy,
            seed=world.seed,
            outcome=outcome,
            source=world.scenario.source,
            mode=mode,
            time=np.arange(k + 1) * world.scenario.rules.step_s,
            robot_pose=own[:, _POSE],
            robot_velocity=own[:, _VELOCITY],
            command=self._command[:k],
            applied=self._applied[:k],
            limited=self._limited[:k],
            planning_time=self._planning[:k],
            person_id=world.person_id,
            person_radius=world.agents[layout.RADIUS, : world.people],
            person_group=self._group[: k + 1],
            person_model=world.person_model,
            person_position=np.moveaxis(people[:, 0:2], 1, 2),
            person_velocity=np.moveaxis(people[:, 2:4], 1, 2),
            person_heading=people[:, 4],
            person_present=present,
            person_delay=cost[:, 0],
            person_detour=cost[:, 1],
            person_gesture=_NONE.astype(np.uint8) if self._gesture is None else self._gesture[: k + 1],
            person_head_yaw=_NONE if self._head_yaw is None else self._head_yaw[: k + 1],
            plans=self._intents.plans(),
            walls=world.scene.segments,
            events=tuple(events),
            other_pose=self._robots[: k + 1, others][:, :, _POSE],
            other_radius=np.array([world.robots[r].footprint.enclosing_radius for r in others]),
            shortest_path_m=shortest_path_length(world, self._robot),
            error=errors[0] if errors else "",
            traceback=traceback,
            package_version=__version__,
        )
