"""The intersection suite for learning: a Gymnasium environment.

``IntersectionEnv`` drives the same episodes as the benchmark does (``simulation.session.Session``): the same commands
give the same record. ``Env``, which takes and returns what IntersectNav's ``Env`` does, is in
:mod:`sidestep.gym.intersectnav`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded

from sidestep.errors import BadInput, UnknownName
from sidestep.simulation.session import Session
from sidestep.suites.intersection import INTERSECTION_SUITE, LIDAR_RANGE_M, LIDAR_RAYS
from sidestep.types import Drive, Observation, Scenario

if TYPE_CHECKING:
    from sidestep.gym.intersectnav import Env as Env

NEEDS = ("rgb", "lidar", "measurements", "high_level_command", "lane_markings", "route", "pedestrians", "vehicles")
PICTURE = (88, 200, 3)
PUBLISHED = ("Env", "published_state", "published_pose")
"""Names of :mod:`sidestep.gym.intersectnav` that can be imported from here, too."""


@dataclass(frozen=True)
class DrivingReward:
    """Reward of a step: metres driven along the route, and what an episode's end is worth."""

    progress: float = 0.1
    success: float = 10.0
    failure: float = -10.0
    """Collision, lane invasion, wrong exit, leaving the road; a timeout is worth nothing."""


def drive_from_action(action: Any, where: str = "action") -> Drive:
    """[steer, acceleration] or [steer, throttle, brake] as a command, clipped to what there is. Positive steer is to
    the left."""
    try:
        values = np.asarray(action, np.float64).ravel()
    except (TypeError, ValueError):
        values = np.zeros(0)
    if len(values) not in (2, 3) or not np.isfinite(values).all():
        raise BadInput(
            f"{where} is [steer, acceleration] or [steer, throttle, brake], finite numbers; got {action!r:.80}"
        )
    steer = float(np.clip(values[0], -1.0, 1.0))
    if len(values) == 3:
        return Drive(steer, float(np.clip(values[1], 0.0, 1.0)), float(np.clip(values[2], 0.0, 1.0)))
    push = float(np.clip(values[1], -1.0, 1.0))
    return Drive(steer, max(push, 0.0), max(-push, 0.0))


def choose_scenarios(
    scenes: Sequence[int] | None, branches: Sequence[int] | None, options: Mapping[str, Any]
) -> tuple[Scenario, ...]:
    """Scenarios of the suite by scene and branch, in order; ``BadInput`` for scenes or branches that do not exist."""
    every = INTERSECTION_SUITE.with_options({"split": "all", **options}).scenarios()
    known = {"scene": {each.notes["scene"] for each in every}, "branch": {each.notes["branch"] for each in every}}
    for what, wanted in (("scene", scenes), ("branch", branches)):
        for number in wanted or ():
            if number not in known[what]:
                raise UnknownName(what, str(number), sorted(map(str, known[what])), "intersection")
    chosen = tuple(
        each
        for each in every
        if (scenes is None or each.notes["scene"] in scenes) and (branches is None or each.notes["branch"] in branches)
    )
    if not chosen:
        raise BadInput(f"no route of scenes {scenes} has a branch of {branches}")
    return chosen


class IntersectionSuiteOptions(TypedDict, total=False):
    """Options of the suite ``intersection``, as keyword arguments of its environments: the fields of
    ``sidestep.suites.intersection.IntersectionOptions``."""

    flow: Literal["published", "continuous"]
    split: Literal["dev", "test", "all"]
    people: Literal["none", "few", "moderate", "standard", "many"]
    reacts: bool
    accepts_gap_s: float
    vehicles: bool
    weather: str
    full_camera: bool
    robot: str
    place: str | None
    invasions: Literal["readme", "program"]
    time_limit_s: float | None


class IntersectionEnv(gymnasium.Env[dict[str, Any], Any]):
    """A car at a crowded intersection.

    Observation: ``image`` (88, 200, 3) uint8, ``lidar`` (720,) in [0, 1] of 40 m, ``measurements`` (4,) and ``command``
    (2,) as in ``sidestep.policies.driving.measurements``. Action: [steer, acceleration] in [-1, 1], positive to the
    left and ahead. Every reset draws a route and a seed; ``reset(options={"scenario": NAME, "world_seed": K})`` asks
    for certain ones.

    ``info`` of every reset and step: ``scenario``, its name; ``termination_reason``, the outcome that the benchmark
    gives to the episode, empty until it ends; ``is_success``. After a reset also ``world_seed``.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 20}  # noqa: RUF012

    def __init__(
        self,
        scenes: Sequence[int] | None = (0, 1, 2, 3),
        branches: Sequence[int] | None = None,
        render_mode: str | None = None,
        reward: DrivingReward | None = None,
        scenarios: Sequence[Scenario] | None = None,
        needs: Sequence[str] = NEEDS,
        **options: Unpack[IntersectionSuiteOptions],
    ) -> None:
        """``options`` are those of the suite: people, vehicles, weather, … ``scenarios`` are driven in place of what
        ``scenes``, ``branches`` and ``options`` choose. ``needs``: what the session observes,
        at least :data:`NEEDS`."""
        if render_mode not in (None, "rgb_array"):
            raise BadInput(f"render_mode {render_mode!r} is unknown; use 'rgb_array' or None")
        self.render_mode = render_mode
        chosen = choose_scenarios(scenes, branches, options) if scenarios is None else scenarios
        self._scenarios = {each.name: each for each in chosen}
        rules = chosen[0].rules
        self.metadata = {**self.metadata, "render_fps": round(1.0 / (rules.step_s * rules.control_every))}
        self._needs = tuple(needs)
        self._reward = reward or DrivingReward()
        self._sessions: dict[str, Session] = {}
        self.session: Session | None = None
        """The episode under way: its ``record`` is that of the benchmark."""
        self.observation_space = spaces.Dict(
            {
                "image": spaces.Box(0, 255, PICTURE, np.uint8),
                "lidar": spaces.Box(0.0, 1.0, (LIDAR_RAYS,), np.float32),
                "measurements": spaces.Box(-np.inf, np.inf, (4,), np.float32),
                "command": spaces.MultiDiscrete([4, 3]),
            }
        )
        self.action_space = spaces.Box(-1.0, 1.0, (2,), np.float32)

    @property
    def scenarios(self) -> tuple[Scenario, ...]:
        """What episodes are drawn from."""
        return tuple(self._scenarios.values())

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """A new episode."""
        super().reset(seed=seed)
        given = {"scenario": None, "world_seed": None, **(options or {})}
        for name in given:
            if name not in ("scenario", "world_seed"):
                raise UnknownName("reset option", name, ["scenario", "world_seed"])
        names = list(self._scenarios)
        name = given["scenario"] or names[int(self.np_random.integers(len(names)))]
        if name not in self._scenarios:
            raise UnknownName("scenario", name, names, "intersection")
        world_seed = int(self.np_random.integers(2**31)) if given["world_seed"] is None else int(given["world_seed"])
        if name not in self._sessions:
            self._sessions = {name: Session(self._scenarios[name], needs=self._needs)}
        self.session = self._sessions[name]
        observation = self.session.reset(world_seed)
        self._left = _route_left(self.session)
        return as_spaces(observation), self._info(world_seed=world_seed)

    def step(self, action: Any) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Drive for one step."""
        if self.session is None or self.session.done:
            raise ResetNeeded("no episode is under way: call reset() before step()")
        observation, terminated, timed_out, _ = self.session.step(drive_from_action(action))
        done = terminated or timed_out
        left, before = _route_left(self.session), self._left
        self._left = left
        reward = self._reward.progress * (before - left)
        outcome = str(self.session.outcome)
        truncated = done and outcome == "timeout"
        if done and not truncated:
            reward += self._reward.success if outcome == "success" else self._reward.failure
        return as_spaces(observation), float(reward), done and not truncated, truncated, self._info()

    def render(self) -> Any:
        """What the car's camera sees."""
        if self.render_mode is None or self.session is None:
            return None
        return self.session.observation.rgb

    def _info(self, **more: Any) -> dict[str, Any]:
        assert self.session is not None
        done = self.session.done
        outcome = str(self.session.outcome) if done else ""
        scenario = self.session.scenario.name
        return {"scenario": scenario, "is_success": outcome == "success", "termination_reason": outcome, **more}


def as_spaces(observation: Observation) -> dict[str, Any]:
    """An observation with :data:`NEEDS` as arrays."""
    assert observation.lidar is not None
    assert observation.extra is not None
    return {
        "image": np.asarray(observation.rgb),
        "lidar": np.minimum(observation.lidar.ranges / np.float32(LIDAR_RANGE_M), np.float32(1.0), dtype=np.float32),
        "measurements": np.asarray(observation.extra["measurements"], np.float32),
        "command": np.asarray(observation.extra["high_level_command"], np.int64),
    }


def _route_left(session: Session) -> float:
    """Straight distance to where an expert left the area, m."""
    rule = session.scenario.rules.exit
    assert rule is not None
    robot = session.observation.robot
    return float(np.hypot(robot.x - rule.pose[0], robot.y - rule.pose[1]))


def __getattr__(name: str) -> Any:
    if name in PUBLISHED:
        from sidestep.gym import intersectnav

        return getattr(intersectnav, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
