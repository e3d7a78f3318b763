"""From a logged drive to an episode record: resampled, judged by the referee, with a note of what the log is and what
it does not tell. Metrics that need what is not known have no value (``sidestep.metrics.unknown``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import nan
from typing import Any, NamedTuple

import numpy as np

from sidestep._util import exact
from sidestep.errors import BadInput
from sidestep.metrics.unknown import NOTE
from sidestep.records.logs.drive import LoggedDrive, Track, scaled
from sidestep.records.logs.resample import States, choose_step, hold, longest_gap, make_grid, pieces, sample
from sidestep.runs.from_logs.judge import judge_drive
from sidestep.scenes.compile import compile_scene
from sidestep.scenes.free_space import path_length, shortest_path
from sidestep.types.base import FloatArray
from sidestep.types.command import COMMAND_KINDS, Velocity
from sidestep.types.outcome import Outcome, Rules
from sidestep.types.record import EpisodeRecord, PolicyInfo
from sidestep.types.robot import Footprint, RobotLimits, RobotSpec
from sidestep.types.scenario import CrowdPart, ReplayPlacement, RobotPlacement, Scenario
from sidestep.types.scene import CompiledScene, SceneSpec
from sidestep.version import __version__

SUITE = "log"
RADIUS_M = 0.3
"""Radius of a robot whose body is not given."""
PERSON_RADIUS_M = 0.25
GOAL_RADIUS_M = 0.3
FASTEST_MPS = 3.0
"""Speed limit in the spec of a robot that has none; pictures colour its path by it."""
FARTHEST_M = 1e5
SHORTEST_INTERVAL_S = 1e-9
ENDS_ON = (Outcome.SUCCESS, Outcome.TIMEOUT, Outcome.POLICY_ERROR)
"""A log goes on after a contact."""


@dataclass(frozen=True)
class BuildOptions:
    """What the records of a log take from the person who imports it."""

    policy: str
    scenario: str | None = None
    """Name of the scenarios in place of the log's: logs of one task then pair in comparisons."""
    radius_m: float = RADIUS_M
    person_radius_m: float = PERSON_RADIUS_M
    spec: RobotSpec | None = None
    """Body and limits of the robot in place of a disc of ``radius_m``."""
    step_s: float | None = None
    gap_s: float | None = None
    goal: tuple[float, float] | None = None
    goal_radius_m: float = GOAL_RADIUS_M
    scene: SceneSpec | None = None
    scale: float = 1.0


class LogFile(NamedTuple):
    """Which log a record is made of."""

    name: str
    sha256: str
    format: str


def make_records(log: LogFile, stem: str, drive: LoggedDrive, options: BuildOptions) -> Iterator[EpisodeRecord]:
    """One record per piece of the drive between gaps of the robot's track. ``stem`` opens the scenarios' names unless
    ``options`` name them."""
    drive = _windowed(scaled(drive, options.scale))
    goal = options.goal if options.goal is not None else drive.goal
    scene = options.scene if options.scene is not None else drive.scene
    drive = replace(drive, goal=goal, scene=scene)
    name = options.scenario or (f"{stem}-{drive.name}" if drive.name else stem)
    robot = drive.robot
    if len(robot.time) < 2:
        raise BadInput(f"{log.name}: the robot has {len(robot.time)} positions; a drive needs at least two")
    _check_near(log, "the robot", robot)
    for number, track in (drive.people or {}).items():
        _check_near(log, f"person {number}", track)
    step_s = options.step_s if options.step_s is not None else choose_step(robot.time)
    gap_s = options.gap_s if options.gap_s is not None else longest_gap(robot.time)
    long_enough = [part for part in pieces(robot.time, gap_s) if robot.time[part][-1] - robot.time[part][0] >= step_s]
    if not long_enough:
        raise BadInput(
            f"{log.name}: between its gaps the robot's track is nowhere as long as a step of {step_s:g} s; give a "
            "shorter --step or a longer --max-gap"
        )
    for number, part in enumerate(long_enough, start=1):
        named = f"{name}-part{number}" if len(long_enough) > 1 else name
        times = make_grid(float(robot.time[part][0]), float(robot.time[part][-1]), step_s, log.name)
        yield _record(log, named, drive, times, step_s, gap_s, options)


def _check_near(log: LogFile, who: str, track: Track) -> None:
    """BadInput where positions or velocities are not those of anything that moves on the ground."""
    if len(track.position) and np.abs(track.position).max() > FARTHEST_M:
        raise BadInput(
            f"{log.name}: {who} is more than {FARTHEST_M / 1000:g} km from the origin; subtract an offset from the "
            "log's coordinates (they may be those of a country), or check --scale"
        )
    if len(track.time) > 1 and np.diff(track.time).min() < SHORTEST_INTERVAL_S:
        raise BadInput(f"{log.name}: {who} has two positions less than a nanosecond apart; check the unit of time")
    if track.velocity is not None and np.abs(track.velocity).max(initial=0.0) > FARTHEST_M:
        raise BadInput(f"{log.name}: {who} moves at more than {FARTHEST_M:g} m/s; check the columns and --scale")


def _windowed(drive: LoggedDrive) -> LoggedDrive:
    if drive.window is None:
        return drive
    start, end = drive.window
    inside = (drive.robot.time >= start) & (drive.robot.time <= end)
    return replace(drive, robot=cut_track(drive.robot, inside))


def cut_track(track: Track, chosen: Any) -> Track:
    """Some of the samples of a track."""
    return replace(
        track,
        time=track.time[chosen],
        position=track.position[chosen],
        heading=None if track.heading is None else track.heading[chosen],
        velocity=None if track.velocity is None else track.velocity[chosen],
    )


def _record(
    log: LogFile, name: str, drive: LoggedDrive, times: FloatArray, step_s: float, gap_s: float, options: BuildOptions
) -> EpisodeRecord:
    robot = sample(drive.robot, times, gap_s)
    spec = options.spec or _disc(drive, options.radius_m)
    scene = compile_scene(drive.scene, log.name) if drive.scene is not None else None
    scenario = _scenario(log, name, drive, robot, spec, step_s, len(times) - 1, options)
    ids, tracks = _people_of(drive, times, gap_s)
    radius = np.array([_person(drive, number).radius or options.person_radius_m for number in ids], np.float32)
    group = np.array([_person(drive, number).group for number in ids], np.int32)
    people, present = _stack(tracks, len(times))
    driven = np.column_stack([robot.position, robot.heading, robot.velocity])
    walls = scene.segments if scene is not None else np.zeros((0, 4), np.float32)
    person_id = np.array(ids, np.int64)
    events, outcome, last = judge_drive(
        scenario, spec, driven, person_id, radius, group, people, present, walls, drive.goal is not None
    )
    states, steps = slice(0, last + 1), slice(0, last)
    command = _commands(drive, times)
    return EpisodeRecord(
        scenario=scenario,
        robot=spec,
        policy=PolicyInfo(options.policy, version=f"log sha256:{log.sha256}"),
        seed=0,
        outcome=outcome,
        source="recorded",
        mode="sync",
        time=(np.arange(len(times)) * step_s)[states],
        robot_pose=driven[states, :3],
        robot_velocity=driven[states, 3:],
        command=command[steps],
        applied=np.full((last, 2), np.nan),
        limited=np.zeros(last, np.uint8),
        planning_time=np.full(last, np.nan),
        person_id=person_id,
        person_radius=radius,
        person_group=group,
        person_model=("replay",) * len(ids),
        person_position=people[states, :, :2],
        person_velocity=people[states, :, 2:4],
        person_heading=people[states, :, 4],
        person_present=present[states],
        walls=walls,
        events=events,
        shortest_path_m=_shortest_path(drive, robot, spec, scene),
        package_version=__version__,
    )


def _disc(drive: LoggedDrive, radius_m: float) -> RobotSpec:
    """A robot about which nothing is known but its size. Without headings it may drive in any direction."""
    if not (np.isfinite(radius_m) and radius_m > 0):
        raise BadInput(f"--radius {radius_m:g}: must be a positive number of metres")
    return RobotSpec(
        name="logged robot",
        dynamics="holonomic" if drive.robot.heading is None else "unicycle",
        footprint=Footprint(radius=drive.robot.radius or radius_m),
        limits=RobotLimits(max_speed=FASTEST_MPS),
        source="given with the log",
    )


def _scenario(
    log: LogFile, name: str, drive: LoggedDrive, robot: States, spec: RobotSpec, step_s: float, steps: int,
    options: BuildOptions,
) -> Scenario:  # fmt: skip
    """Where no goal is known, the field that has to be there holds the last position; the note says so."""
    x, y = robot.position[0].tolist()
    end_x, end_y = robot.position[-1].tolist()
    goal = drive.goal if drive.goal is not None else (end_x, end_y)
    unknown = [
        *(["goal"] if drive.goal is None else []),
        *(["people"] if drive.people is None else []),
        *(["walls"] if drive.scene is None else []),
        *(["groups"] if all(track.group < 0 for track in (drive.people or {}).values()) else []),
        *(["commands"] if drive.command is None else []),
        *(["heading"] if drive.robot.heading is None else []),
        "vehicles",
        "policy",
    ]
    note = {"file": log.name, "sha256": log.sha256, "format": log.format, "unknown": unknown}
    where = f"{log.name}: a scenario of it"
    data = {
        "name": name,
        "suite": SUITE,
        "summary": f"log {log.name}",
        "scene": drive.scene or SceneSpec(),
        "robots": (RobotPlacement.parse({"spec": spec, "start": (x, y, robot.heading[0]), "goal": goal}, where),),
        "crowd": (CrowdPart(model="replay", placement=ReplayPlacement(path=log.name)),),
        "rules": Rules.parse(
            {
                "step_s": step_s,
                "time_limit_s": steps * step_s,
                "goal_radius_m": options.goal_radius_m,
                "ends_on": ENDS_ON,
            },
            where,
        ),
        "notes": {NOTE: note},
    }
    return Scenario.parse(data, where)


def _person(drive: LoggedDrive, number: int) -> Track:
    assert drive.people is not None
    return drive.people[number]


def _people_of(drive: LoggedDrive, times: FloatArray, gap_s: float) -> tuple[list[int], list[States]]:
    """Everybody who is there at one of the times, in the order of their numbers."""
    ids, tracks = [], []
    for number in sorted(drive.people or {}):
        track = _person(drive, number)
        if len(track.time) == 0 or track.time[-1] < times[0] or track.time[0] > times[-1]:
            continue
        states = sample(track, times, max(gap_s, longest_gap(track.time)))
        if states.present.any():
            ids.append(number)
            tracks.append(states)
    return ids, tracks


def _stack(tracks: list[States], count: int) -> tuple[FloatArray, Any]:
    """(T+1, N, 5) float32 position, velocity and heading, and presence (T+1, N)."""
    people = np.full((count, len(tracks), 5), np.nan, np.float32)
    present = np.zeros((count, len(tracks)), bool)
    for column, states in enumerate(tracks):
        people[:, column, :2], people[:, column, 2:4] = states.position, states.velocity[:, :2]
        people[:, column, 4], present[:, column] = states.heading, states.present
    return people, present


def _commands(drive: LoggedDrive, times: FloatArray) -> FloatArray:
    """(T, 4) the command that held when each step began; kind -1 where there was none."""
    command = np.zeros((len(times) - 1, 4))
    command[:, 0] = -1.0
    if drive.command is None or drive.command_time is None:
        return command
    held = hold(drive.command_time, drive.command, times[:-1])
    known = np.isfinite(held).all(axis=1)
    command[known, 0] = COMMAND_KINDS.index(Velocity)
    command[known, 1:3] = held[known]
    return command


def _shortest_path(drive: LoggedDrive, robot: States, spec: RobotSpec, scene: CompiledScene | None) -> float:
    """From the first position to the goal round the walls, m; NaN where goal or path is not known."""
    if drive.goal is None:
        return nan
    start = robot.position[0]
    if scene is None or not len(scene.wall_points):
        return float(exact.hypot(drive.goal[0] - start[0], drive.goal[1] - start[1]))
    try:
        return path_length(shortest_path(scene, start, drive.goal, spec.footprint.enclosing_radius))
    except BadInput:
        return nan
