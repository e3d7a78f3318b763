"""Synthetic crowds: generated from fitted statistics, put on the simulation's clock like a recording.

The crowd is simulated once, without a robot: leaders walk from gate to gate by ORCA, companions keep their place beside
them. What results is replayed, so that policies meet recorded and generated people in the same way.
"""

from __future__ import annotations

from functools import lru_cache, partial

import numpy as np

from sidestep._util import exact
from sidestep.kernels import layout
from sidestep.scenes.compile import compile_scene
from sidestep.scenes.free_space import free_mask, shortest_path
from sidestep.scenes.plans import load_plan
from sidestep.simulation.crowd.synthetic import CrowdStatistics, load_statistics
from sidestep.simulation.crowd.synthetic.people import BODY_M, CrowdSampler, SyntheticPerson
from sidestep.simulation.replay import Replay
from sidestep.simulation.seeds import generator_for
from sidestep.types import CompiledScene, RobotPlacement, Scenario
from sidestep.types.base import FloatArray, IntArray, Point
from sidestep.types.outcome import Rules
from sidestep.types.scenario import CrowdPart, Person, SyntheticPlacement

MODEL = "orca"
PARAMETERS = {"horizon_people": 2.0, "horizon_walls": 1.0}
LOOK_AHEAD_M = 1.5
"""Distance ahead of their place of the point that companions head for, m."""
CATCH_UP = 0.8
"""Extra speed per metre that a companion lags behind, 1/s."""
TURNING = 0.1
"""Share of a leader's new direction that its company takes over in a step."""
STARTING_S = 0.5
"""How fast people come to the speed they want: the relaxation time of the social force model."""
GONE_M = 1.0
"""m; a person within this distance of the goal who makes no more progress has arrived: somebody stands there."""
SYNTHETIC_STEP_S = 0.05


def generate_crowd(
    placement: SyntheticPlacement,
    rules: Rules,
    suite: str,
    scenario: str,
    seed: int,
    part: int,
    keep_clear: tuple[Point, ...] = (),
) -> Replay:
    """The generated people, as ``load_replay`` gives recorded ones. Deterministic in all arguments. At time 0 nobody is
    near ``keep_clear``."""
    return _generate(placement.statistics, rules.step_s, rules.max_steps, suite, scenario, seed, part, keep_clear)


@lru_cache(maxsize=64)  # about 1 MB each
def _generate(
    statistics: str,
    step_s: float,
    steps: int,
    suite: str,
    scenario: str,
    seed: int,
    part: int,
    keep_clear: tuple[Point, ...],
) -> Replay:
    fit = load_statistics(statistics)
    scene = _site(fit.site)
    rng = generator_for(suite, scenario, seed, "placement", part)
    people = CrowdSampler(fit, partial(free_mask, scene), partial(_find_route, scene), rng, keep_clear).people()
    duration = min(step_s * steps, fit.duration_s)
    tracks = _simulate(fit, people, duration, rng)
    tracks = _resample(tracks, step_s, steps)
    seen = np.isfinite(tracks[:, :, 0]).any(axis=0)
    groups = np.array([person.party for person in people], np.int32)[seen]
    tracks = np.ascontiguousarray(tracks[:, seen])
    tracks.flags.writeable = False
    return Replay(tracks, np.arange(1, int(seen.sum()) + 1, dtype=np.int64), groups)


@lru_cache(maxsize=16)
def _site(plan: str) -> CompiledScene:
    return compile_scene(load_plan(plan), f"floor plan {plan}")


def _find_route(scene: CompiledScene, start: FloatArray, goal: FloatArray) -> FloatArray:
    """Straight where nothing is in the way, else round the walls."""
    pieces = max(2, int(exact.hypot(*(goal - start)) / 0.2))
    line = start + np.linspace(0.0, 1.0, pieces)[:, None] * (goal - start)
    if free_mask(scene, line, BODY_M).all():
        return goal[None]
    path: FloatArray = shortest_path(scene, start, goal, BODY_M)[1:]
    return path


def _simulate(
    fit: CrowdStatistics, people: list[SyntheticPerson], duration: float, rng: np.random.Generator
) -> FloatArray:
    """The crowd step by step, (T, N, 4)."""
    from sidestep.simulation.build import build_world  # it builds worlds of synthetic crowds, so it imports this module
    from sidestep.simulation.worlds import Worlds

    world = build_world(_crowd_alone(fit, people, duration), 0)
    worlds = Worlds([world])
    count, steps = len(people), round(duration / SYNTHETIC_STEP_S)
    worlds.flags[0, layout.ACTIVE, count:] = 0
    noise = exact.normal(rng, size=(round(fit.duration_s / SYNTHETIC_STEP_S) + 1, count))  # the same for any time limit
    company = _Company(fit, people, worlds.agents[0], worlds.flags[0], worlds.route_length[0], noise)
    tracks = np.full((steps + 1, count, 4), np.nan, np.float32)
    rows = [layout.PX, layout.PY, layout.VX, layout.VY]
    for step in range(steps + 1):
        if step:
            company.decide(step)
            worlds.step()
        here = worlds.flags[0, layout.ACTIVE, :count] == 1
        tracks[step, here] = worlds.agents[0, rows][:, :count][:, here].T
    return tracks


def _crowd_alone(fit: CrowdStatistics, people: list[SyntheticPerson], duration: float) -> Scenario:
    """A scenario with the crowd only; the robot that it must have stands aside and is then taken away."""
    listed = tuple(
        Person(
            start=(float(person.start[0]), float(person.start[1])),
            waypoints=tuple((float(x), float(y)) for x, y in person.route),
            speed=person.speed,
            radius=person.radius,
            group=None if person.party < 0 else person.party,
            enter_s=person.enter_s,
        )
        for person in people
    )
    place = (float(people[0].start[0]), float(people[0].start[1])) if people else (0.0, 0.0)
    part = CrowdPart(model=MODEL, people=listed, sees_robot=False, at_end="leave", parameters=PARAMETERS)
    return Scenario(
        name=f"twin {fit.name}",  # random numbers follow from it, so the older word stays
        scene=fit.site,
        robots=(RobotPlacement(spec="point", start=(*place, 0.0), goal=place),),
        crowd=(part,) if people else (),
        rules=Rules(step_s=SYNTHETIC_STEP_S, time_limit_s=duration),
    )


class _Company:
    """What people do beyond walking to a gate: vary their speed, pause, keep beside their leader, leave with it."""

    def __init__(
        self,
        fit: CrowdStatistics,
        people: list[SyntheticPerson],
        agents: FloatArray,
        flags: IntArray,
        route_length: IntArray,
        noise: FloatArray,
    ) -> None:
        """``noise`` (T + 1, N): standard normal numbers, those of the start first."""
        self._agents, self._flags, self._count = agents, flags, len(people)
        self._noise = noise
        self._wobble = fit.speed_wobble * np.sqrt(1.0 + STARTING_S / fit.wobble_s)  # what starting up smooths away
        self._keep = float(exact.exp(-SYNTHETIC_STEP_S / fit.wobble_s))
        self._leader = np.array([i if p.leader < 0 else p.leader for i, p in enumerate(people)], np.intp)
        self._follows = self._leader != np.arange(self._count)
        self._offset = np.array([person.offset for person in people]).reshape(-1, 2)
        self._speed = np.array([person.speed for person in people])
        self._pause_at = np.array([person.pause_at_s for person in people])
        self._pause_s = np.array([person.pause_s for person in people])
        self._leave = np.array([person.leave_s for person in people])
        self._pace = self._speed.copy()
        self._since = np.full(self._count, np.inf)
        self._off = noise[0]
        self._stays = np.array([len(person.route) == 0 for person in people], bool)
        toward = agents[[layout.GOAL_X, layout.GOAL_Y], : self._count] - agents[[layout.PX, layout.PY], : self._count]
        self._heading = _unit(toward.T, np.tile([1.0, 0.0], (self._count, 1)))
        flags[layout.AT_END, : self._count][self._follows | self._stays] = layout.END_STAY
        agents[layout.MAX_SPEED, : self._count] = 1.6 * np.maximum(self._speed, 0.3)
        route_length[: self._count][self._follows] = 1
        self._last_waypoint = route_length[: self._count] - 1

    def decide(self, step: int) -> None:
        """Set goals and speeds of ``step``, counted from 1."""
        n, agents, now = self._count, self._agents, (step - 1) * SYNTHETIC_STEP_S
        active = self._flags[layout.ACTIVE, :n] == 1
        self._since[active & np.isinf(self._since)] = now
        self._off = self._keep * self._off + np.sqrt(1 - self._keep * self._keep) * self._noise[step]
        pausing = (now >= self._since + self._pause_at) & (now < self._since + self._pause_at + self._pause_s)
        wanted = np.where(pausing, 0.0, self._speed * np.maximum(1.0 + self._wobble * self._off, 0.2))
        self._pace += (wanted - self._pace) * (SYNTHETIC_STEP_S / STARTING_S)
        speed = self._pace.copy()
        velocity = agents[[layout.VX, layout.VY], :n].T.astype(np.float64)
        walks = exact.hypot(velocity[:, 0], velocity[:, 1]) > 0.2
        fresh = _unit(velocity, self._heading)
        turned = self._heading + TURNING * (fresh - self._heading)
        self._heading = np.where((walks & ~self._stays)[:, None], _unit(turned, self._heading), self._heading)
        self._follow(speed)
        agents[layout.PREF_SPEED, :n] = speed
        self._send_away(now)

    def _follow(self, speed: FloatArray) -> None:
        """Companions head for their place beside the leader; who lags walks faster. ``speed`` is changed in place."""
        n, agents, who = self._count, self._agents, self._follows
        position = agents[[layout.PX, layout.PY], :n].T.astype(np.float64)
        forward = self._heading[self._leader]
        left = np.stack([-forward[:, 1], forward[:, 0]], axis=1)
        place = position[self._leader] + self._offset[:, :1] * forward + self._offset[:, 1:] * left
        lag = ((place - position) * forward).sum(axis=1)
        own = speed[self._leader] + CATCH_UP * lag
        speed[who] = np.clip(own, 0.0, 1.6 * np.maximum(self._speed, 0.3))[who]
        goal = place + LOOK_AHEAD_M * forward
        agents[layout.GOAL_X, :n][who] = goal[who, 0]
        agents[layout.GOAL_Y, :n][who] = goal[who, 1]

    def _send_away(self, now: float) -> None:
        """Let people who have stood long enough leave; companions leave with their leader."""
        flags, agents, n = self._flags, self._agents, self._count
        gone = (flags[layout.ACTIVE, :n] == 0) & np.isfinite(self._since)
        remaining = agents[[layout.GOAL_X, layout.GOAL_Y], :n] - agents[[layout.PX, layout.PY], :n]
        left = exact.hypot(remaining[0], remaining[1])
        approach = (remaining * agents[[layout.VX, layout.VY], :n]).sum(axis=0) / np.maximum(left, 1e-3)
        stuck = (left < GONE_M) & (self._pace > 0.3) & (approach < 0.2 * self._pace) & (now > self._since + 1.0)
        through = stuck & (flags[layout.WAYPOINT, :n] == self._last_waypoint) & ~self._follows & ~self._stays
        out = (now >= self._leave) | through | (gone[self._leader] & self._follows)
        flags[layout.ACTIVE, :n][out] = 0
        agents[layout.ENTER_TIME, :n][out] = np.inf


def _unit(vectors: FloatArray, otherwise: FloatArray) -> FloatArray:
    length = exact.hypot(vectors[:, 0], vectors[:, 1])[:, None]
    unit: FloatArray = np.where(length > 1e-6, vectors / np.maximum(length, 1e-6), otherwise)
    return unit


def _resample(tracks: FloatArray, step_s: float, steps: int) -> FloatArray:
    """The crowd on another clock; beyond the fitted window nobody is there."""
    if step_s == SYNTHETIC_STEP_S and len(tracks) == steps + 1:
        return tracks
    at = step_s * np.arange(steps + 1) / SYNTHETIC_STEP_S
    low = np.minimum(np.floor(at + 1e-9).astype(int), len(tracks) - 1)
    high = np.minimum(low + 1, len(tracks) - 1)
    part = (at - low)[:, None, None].astype(np.float32)
    between = np.where(part > 1e-6, (1 - part) * tracks[low] + part * tracks[high], tracks[low])
    between[at > len(tracks) - 1 + 1e-6] = np.nan
    sampled: FloatArray = between.astype(np.float32)
    return sampled
