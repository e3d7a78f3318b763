"""Several robots in one world as a PettingZoo ``ParallelEnv``."""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, pi, sin
from typing import Any, ClassVar

import numpy as np

from sidestep.errors import BadInput, MissingExtra
from sidestep.gym.batch import ENDINGS, EnvironmentBatch, RewardWeights
from sidestep.gym.environment import draw_environment, make_top_view
from sidestep.gym.observation import GridOption, LidarOption, action_space, choose_sensors
from sidestep.gym.tasks import CONTACTS_END, room_for_people
from sidestep.kernels.referee import RUNNING, SUCCEEDED
from sidestep.render.top_view import TopView
from sidestep.simulation.build import World, WorldBuilder
from sidestep.types import Scenario

try:
    from pettingzoo import ParallelEnv
except ImportError as error:  # pragma: no cover
    raise MissingExtra("the several-robot environment", "learn") from error


def ring_of_robots(robots: int, people: int, robot: str = "point", radius: float = 5.0) -> Scenario:
    """``robots`` robots evenly on a circle, each bound for the opposite side, among ``people`` crossing people."""
    if robots < 1:
        raise BadInput(f"at least one robot is needed, got {robots}")
    placements = []
    for angle in (2 * pi * k / robots for k in range(robots)):
        x, y = radius * cos(angle), radius * sin(angle)
        placements.append({"spec": robot, "start": [x, y, angle + pi], "goal": [-x, -y]})
    crowd = [{"at_end": "loop", "placement": {"kind": "circle", "count": people, "radius": radius + 2}}]
    rules = {"step_s": 0.25, "time_limit_s": 30.0, "ends_on": CONTACTS_END}
    document = {
        "name": f"ring-{robots}",
        "suite": "gym",
        "robots": placements,
        "crowd": crowd if people else [],
        "rules": rules,
    }
    return Scenario.parse(document, "ring of robots")


class CrowdParallelEnv(ParallelEnv):  # type: ignore[misc]
    """Every robot of a scenario is an agent ``robot_K``.

    A robot whose episode is over, by the scenario's rules, leaves ``agents`` and the world: from the next step on
    nobody sees it, gives way to it or can touch it. Observations are those of
    :class:`sidestep.gym.environment.CrowdEnv` with two more entries: ``robots`` (R − 1, 5), the
    other robots by number in the same form as the people, and ``robots_mask`` (R − 1,), 1 for those that still drive.

    ``infos`` of a step have ``is_success`` and ``termination_reason`` for every robot that drove; of a reset nothing.
    """

    metadata: ClassVar[dict[str, Any]] = {
        "name": "sidestep_crowd_v0",
        "render_modes": ["rgb_array"],
        "render_fps": 10,
        "is_parallelizable": True,
    }

    def __init__(
        self,
        scenario: Scenario | None = None,
        robots: int = 4,
        people: int = 6,
        weights: RewardWeights | None = None,
        max_people: int | None = None,
        render_mode: str | None = None,
        picture_size: int = 480,
        sensors: Sequence[str] = (),
        lidar: LidarOption = None,
        grid: GridOption = None,
    ) -> None:
        """``robots`` and ``people`` are those of :func:`ring_of_robots`, which is used where no scenario is given;
        ``sensors``, of ``lidar`` and ``grid``, and their settings as for one robot."""
        if render_mode not in (None, "rgb_array"):
            raise BadInput(f"render_mode {render_mode!r} is unknown; use 'rgb_array' or None")
        self._builder = WorldBuilder(scenario if scenario is not None else ring_of_robots(robots, people))
        self.scenario = self._builder.scenario
        self.render_mode = render_mode
        self._weights = weights or RewardWeights()
        self._rows = room_for_people([self._builder], max_people)
        self._choice = choose_sensors([self.scenario], sensors, lidar, grid)
        if self._choice.pictures:
            raise BadInput(f"several robots have no cameras here: leave {self._choice.pictures} out of sensors")
        self._environments = self._batch(self._builder.build(0))
        self._rng = np.random.default_rng()
        self._picture_size = picture_size
        self._view: TopView | None = None
        count = len(self.scenario.robots)
        self.possible_agents = [f"robot_{k}" for k in range(count)]
        self.agents: list[str] = []
        self._number = {agent: k for k, agent in enumerate(self.possible_agents)}
        self.observation_spaces = {
            agent: self._choice.space(self._rows, max(count - 1, 1)) for agent in self.possible_agents
        }
        self.action_spaces = {agent: action_space() for agent in self.possible_agents}
        self.world_seed = 0

    def observation_space(self, agent: str) -> Any:
        """The same for every robot."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Any:
        """The same for every robot."""
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """A new world; with a seed, the same one every time."""
        if seed is not None:
            self._rng = np.random.default_rng(seed)
        self.world_seed = int(self._rng.integers(2**31))
        world = self._builder.build(self.world_seed)
        if self._environments.worlds.fits(world):
            self._environments.load(world)
        else:
            self._environments = self._batch(world)
        self.agents = list(self.possible_agents)
        return {agent: self._observe(agent) for agent in self.agents}, {agent: {} for agent in self.agents}

    def step(
        self, actions: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, float], dict[str, bool], dict[str, bool], dict[str, Any]]:
        """Carry out the actions of the robots that still drive."""
        if not self.agents:
            raise BadInput("no robot is under way: call reset() first")
        environments, agents = self._environments, self.agents
        for agent in agents:
            if agent not in actions:
                raise BadInput(f"there is no action for {agent}, which still drives")
            environments.action[0, self._number[agent]] = actions[agent]
        environments.step()
        endings = {agent: int(environments.ending[0, self._number[agent]]) for agent in agents}
        observations = {agent: self._observe(agent) for agent in agents}
        rewards = {agent: float(environments.reward[0, self._number[agent]]) for agent in agents}
        late = environments.timed_out()[0]
        truncated = {agent: bool(late[self._number[agent]]) for agent in agents}
        terminated = {agent: ending != RUNNING and not truncated[agent] for agent, ending in endings.items()}
        infos = {
            agent: {"is_success": ending == SUCCEEDED, "termination_reason": ENDINGS[ending]}
            for agent, ending in endings.items()
        }
        self.agents = [agent for agent in agents if endings[agent] == RUNNING]
        environments.action[0] = 0.0  # of robots that are gone no old number may stay
        return observations, rewards, terminated, truncated, infos

    def render(self) -> Any:
        """The world from above, (H, W, 3) uint8."""
        if self.render_mode is None:
            return None
        if self._view is None:
            self._view = make_top_view(self._environments.worlds.worlds[0], self._picture_size)
        return draw_environment(self._view, self._environments.worlds, 0)

    def _batch(self, world: World) -> EnvironmentBatch:
        lidar, grid = self._choice.lidar, self._choice.grid
        return EnvironmentBatch([world], self._weights, self._rows, lidar=lidar, grid=grid)

    def _observe(self, agent: str) -> dict[str, Any]:
        environments, own = self._environments, self._number[agent]
        return {
            **environments.observation(0, own),
            "robots": environments.views.robots[0, own].copy(),
            "robots_mask": environments.views.robots_mask[0, own].copy(),
        }
