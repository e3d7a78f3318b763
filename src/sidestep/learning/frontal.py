"""Demonstrations of the frontal approach: random corridors, an expert that yields early, and frames of what it saw and
where it then went.

The expert is the controller of ``ilqr`` with a rule for its waypoints: as soon as a person comes toward it within
``SIGHT_M``, it moves aside, to the right unless the left has more room, until ``BERTH_M`` are between the bodies or the
wall is near, and drives more slowly until they have passed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sidestep.errors import BadInput
from sidestep.policies.grid import bilinear
from sidestep.policies.ilqr.picture import CELLS, CHANNELS, BirdsEye
from sidestep.policies.ilqr.policy import NO_WAYPOINTS, WAYPOINT_TIMES, Ilqr
from sidestep.simulation.session import Session
from sidestep.types import Observation, Outcome, Scenario, Velocity
from sidestep.types.base import FloatArray, IntArray

RUNS = 300
SIGHT_M, NEAR_M = 7.5, 3.5
BERTH_M = 1.0
WALL_M = 0.12
"""Least distance between the expert's body and a wall, m."""
CLOSING_MPS = 0.2
"""People who come along the path faster than this come toward the robot."""
TO_THE_RIGHT_M = 0.8
"""People are passed on the left only if that leaves so much more room."""
SPEEDS = (0.85, 0.6)
"""Shares of the top speed while a person approaches at a distance and close by."""
CORRIDORS = 0.65
"""Share of the demonstrations in corridors up to 4.4 m wide; the others are in halls up to 12 m wide."""
SIDESTEP_S = 2.0
"""Time in which it moves aside, s."""
Progress = Callable[[int, int, str], None]


class YieldingExpert(Ilqr):
    """``ilqr`` that gives way early and widely to whoever comes toward it."""

    name = "yielding_expert"

    def _waypoints(self, observation: Observation) -> FloatArray:
        robot = observation.robot
        ux, uy = self._reference.directions[5].tolist()
        if ux == uy == 0.0:
            return NO_WAYPOINTS
        lines = self._crowd.lines
        dx, dy = lines[:, 0] - robot.x, lines[:, 1] - robot.y
        ahead, left = dx * ux + dy * uy, dy * ux - dx * uy
        closing = -(lines[:, 2] * ux + lines[:, 3] * uy)
        coming = (ahead > 0.0) & (ahead < SIGHT_M) & (closing > CLOSING_MPS) & (np.abs(left) < 3.0)
        if not coming.any():
            return NO_WAYPOINTS
        k = int(np.argmin(np.where(coming, ahead, np.inf)))
        speed = SPEEDS[int(ahead[k] < NEAR_M)] * self._limits.speed
        meeting_s = ahead[k] / (speed + closing[k])
        beside = left[k] + meeting_s * (lines[k, 3] * ux - lines[k, 2] * uy)
        berth = self._weights.radius + lines[k, 4] + BERTH_M
        x, y = robot.x + meeting_s * speed * ux, robot.y + meeting_s * speed * uy
        right = self._room(min(beside - berth, 0.0), x, y, ux, uy)
        left_side = self._room(max(beside + berth, 0.0), x, y, ux, uy)
        aside = right if beside - right + TO_THE_RIGHT_M > left_side - beside else left_side
        points = []
        for t in WAYPOINT_TIMES.tolist():
            along = speed * t
            shift = self._room(aside * min(t / SIDESTEP_S, 1.0), robot.x + along * ux, robot.y + along * uy, ux, uy)
            points.append((robot.x + along * ux - shift * uy, robot.y + along * uy + shift * ux))
        return np.array(points)

    def _room(self, shift: float, x: float, y: float, ux: float, uy: float) -> float:
        """The part of ``shift`` (m to the left of (x, y)) for which the walls leave room."""
        least = self._weights.radius + WALL_M
        for share in np.linspace(1.0, 0.0, 21).tolist():
            if bilinear(self._ground.clearance, self._ground, x - share * shift * uy, y + share * shift * ux) >= least:
                break
        return float(share * shift)


def frontal_scenario(rng: np.random.Generator) -> Scenario:
    """A corridor or a hall, the robot at one end and a person who comes from the other on about the same line."""
    half = float(rng.uniform(0.95, 2.2) if rng.random() < CORRIDORS else rng.uniform(2.2, 6.0))
    length, room = float(rng.uniform(7.0, 10.0)), half - 0.45
    corridor = [[-length, -half], [length, -half], [length, half], [-length, half]]
    line = float(rng.uniform(-room, room))
    to_the_side, beside, end = np.clip(line + rng.normal(0.0, [0.3, 0.4, 0.5]), -room, room).tolist()
    start, goal = [1.0 - length, line, float(rng.uniform(-0.3, 0.3))], [length - 1.0, to_the_side]
    speed = float(rng.uniform(0.7, 1.5))
    document: dict[str, Any] = {
        "name": "frontal", "suite": "frontal-demonstrations",
        "scene": {"name": "corridor", "enclosed": True, "regions": [{"kind": "walkable", "polygon": corridor}]},
        "robots": [{"spec": "pioneer_3dx", "start": start, "goal": goal}],
        "rules": {"step_s": 0.05, "control_every": 2, "time_limit_s": 45, "goal_radius_m": 0.3},
    }  # fmt: skip
    if rng.random() < 0.5:
        document["events"] = [{"kind": "frontal", "at": [length - 1.0, beside], "speed": speed}]
    else:
        person = {"start": [length - 1.0, beside], "waypoints": [[0.6 - length, end]], "speed": speed}
        sees = bool(rng.random() < 0.5)
        document["crowd"] = [{"model": "orca", "sees_robot": sees, "at_end": "leave", "people": [person]}]
    return Scenario.parse(document, "frontal demonstration")


@dataclass(frozen=True, eq=False)
class Frames:
    """Inputs of the expert and its path: F frames with a person who comes toward it."""

    picture: IntArray  # (F, 5, 64, 64) int8
    motion: FloatArray  # (F, 4) float32
    waypoints: FloatArray  # (F, 3, 2) float32, shares of the path at top speed, robot's frame
    run: IntArray  # (F,) number of the run

    def __len__(self) -> int:
        return len(self.run)


PUSH_SHARE, PUSH_STEPS = 0.005, 4
"""Share of the answers that begin a push off course, and how many answers it lasts: the network has to see how the
expert comes back."""


def _drive(session: Session, expert: YieldingExpert, rng: np.random.Generator) -> Iterator[tuple[FloatArray, Any]]:
    """One run: the pose (x, y, heading) at every answer, and what the expert saw if it becomes a frame."""
    task, observation = session.task, session.observation
    expert.reset(task)
    assert task.goal is not None
    eye = BirdsEye(expert.ground, task.goal, task.robot.limits.max_speed)
    pushed, turn = 0, 0.0
    while not session.done:
        robot = observation.robot
        command = expert.act(observation)
        seen = None
        if pushed == 0 and eye.paint(robot, expert.people):
            seen = eye.picture.copy(), eye.motion(robot)
        yield np.array([robot.x, robot.y, robot.heading]), seen
        if pushed == 0 and rng.random() < PUSH_SHARE:
            pushed, turn = PUSH_STEPS, float(rng.uniform(-1.0, 1.0))
        if pushed:
            assert isinstance(command, Velocity)
            pushed, command = pushed - 1, Velocity(command.v, turn)
        observation, *_ = session.step(command)


def _frames_of(run: list[tuple[FloatArray, Any]], step_s: float, top_speed: float) -> Iterator[tuple[Any, Any, Any]]:
    """Picture, motion and waypoints of every frame whose future the run shows."""
    ahead = np.rint(WAYPOINT_TIMES / step_s).astype(int)
    poses = np.array([pose for pose, _ in run])
    for k, (pose, seen) in enumerate(run):
        if seen is None or k + ahead[-1] >= len(run):
            continue
        offset = poses[k + ahead, :2] - pose[:2]
        c, s = math.cos(pose[2]), math.sin(pose[2])
        local = np.stack([c * offset[:, 0] + s * offset[:, 1], c * offset[:, 1] - s * offset[:, 0]], axis=1)
        yield *seen, local / (top_speed * WAYPOINT_TIMES[:, None])


def collect_frames(runs: int = RUNS, seed: int = 0, progress: Progress = lambda done, of, text: None) -> Frames:
    """Frames of ``runs`` successful runs of the expert; runs that fail are left out and replaced."""
    if runs < 1:
        raise BadInput(f"runs must be at least 1, got {runs}")
    columns: tuple[list[Any], list[Any], list[Any]] = ([], [], [])
    owner: list[int] = []
    done, tries = 0, 0
    while done < runs:
        if tries >= 4 * runs + 10:
            raise BadInput(f"the expert reached the goal in only {done} of {tries} runs; use other scenarios")
        rng = np.random.default_rng([seed, tries])
        session = Session(frontal_scenario(rng), needs=YieldingExpert.needs, name=YieldingExpert.name)
        session.reset(tries)
        tries += 1
        run = list(_drive(session, YieldingExpert(), rng))
        if session.outcome is not Outcome.SUCCESS:
            continue
        for values in _frames_of(run, session.task.step_s, session.task.robot.limits.max_speed):
            for column, value in zip(columns, values, strict=True):
                column.append(value)
            owner.append(done)
        done += 1
        progress(done, runs, f"{len(owner)} frames, {tries - done} runs failed")
    shape = (-1, CHANNELS, CELLS, CELLS)
    return Frames(
        np.array(columns[0], np.int8).reshape(shape), np.array(columns[1], np.float32).reshape(-1, 4),
        np.array(columns[2], np.float32).reshape(-1, len(WAYPOINT_TIMES), 2), np.array(owner, np.int64),
    )  # fmt: skip
