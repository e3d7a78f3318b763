"""Several robots in one world as a PettingZoo ``ParallelEnv``."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from sidestep.errors import BadInput, MissingExtra
from sidestep.gym.environments import (
    ENDINGS,
    Environments,
    RewardWeights,
    action_space,
    observation_of,
    observation_space,
)
from sidestep.gym.picture import draw_environment, make_top_view
from sidestep.kernels.environment import OUT_OF_TIME, REACHED_GOAL, RUNNING
from sidestep.simulation.build import WorldBuilder
from sidestep.types import RobotPlacement, Scenario

try:
    from pettingzoo import ParallelEnv
except ImportError as error:  # pragma: no cover
    raise MissingExtra("the several-robot environment", "learn") from error


def ring_of_robots(robots: int, people: int, robot: str = "point", radius: float = 5.0) -> Scenario:
    """``robots`` robots evenly on a circle, each bound for the opposite side, among ``people`` crossing people."""
    if robots < 1:
        raise BadInput(f"at least one robot is needed, got {robots}")
    placements = []
    for angle in 2 * np.pi * np.arange(robots) / robots:
        x, y = float(radius * np.cos(angle)), float(radius * np.sin(angle))
        placements.append({"spec": robot, "start": [x, y, float(angle + np.pi)], "goal": [-x, -y]})
    crowd = [{"at_end": "loop", "placement": {"kind": "circle", "count": people, "radius": radius + 2}}] if people else []
    rules = {"step_s": 0.25, "time_limit_s": 30.0}
    document = {"name": f"ring-{robots}", "suite": "gym", "robots": placements, "crowd": crowd, "rules": rules}
    return Scenario.parse(document, "ring of robots")


class CrowdParallelEnv(ParallelEnv):  # type: ignore[misc]
    """Every robot of a scenario is an agent ``robot_K``. A robot that arrived or collided stops and leaves ``agents``.

    Observations are those of :class:`sidestep.gym.environment.CrowdEnv` with one more entry, ``robots`` (R − 1, 5) and
    ``robots_mask``: the other robots in the same form as the people.
    """

    metadata: ClassVar[dict[str, Any]] = {"name": "sidestep_crowd_v0", "render_modes": ["rgb_array"]}

    def __init__(
        self, scenario: Scenario | None = None, robots: int = 4, people: int = 6, weights: RewardWeights | None = None,
        render_mode: str | None = None,
    ) -> None:  # fmt: skip
        self._builder = WorldBuilder(scenario if scenario is not None else ring_of_robots(robots, people))
        self.scenario = self._builder.scenario
        self.render_mode = render_mode
        self.possible_agents = [f"robot_{k}" for k in range(len(self.scenario.robots))]
        self.agents: list[str] = []
        self._weights = weights or RewardWeights()
        self._environments = Environments([self._builder.build(0)], self._weights)
        self._rows = self._environments.worlds.people
        self._rng = np.random.default_rng(0)
        self._view: Any = None

    @property
    def placements(self) -> tuple[RobotPlacement, ...]:
        """Where each robot starts and where it is to go."""
        return self.scenario.robots

    def observation_space(self, agent: str) -> Any:
        """The same for every robot."""
        from gymnasium import spaces

        base = observation_space(self._rows).spaces
        others = max(len(self.possible_agents) - 1, 1)
        robots = spaces.Box(-np.inf, np.inf, (others, 5), np.float32)
        return spaces.Dict({**base, "robots": robots, "robots_mask": spaces.MultiBinary(others)})

    def action_space(self, agent: str) -> Any:
        """The same for every robot."""
        return action_space()

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
        """A new world."""
        if seed is not None:
            self._rng = np.random.default_rng(seed)
        world = self._builder.build(int(self._rng.integers(2**31)))
        if self._environments.worlds.fits(world):
            self._environments.load(world)
        else:
            self._environments = Environments([world], self._weights)
        self.agents = list(self.possible_agents)
        return {agent: self._observe(agent) for agent in self.agents}, {agent: {} for agent in self.agents}

    def step(self, actions: dict[str, Any]) -> tuple[dict[str, Any], ...]:
        """Carry out the actions of the robots that still drive; the others stand."""
        if not self.agents:
            raise BadInput("no robot is under way: call reset() first")
        environments = self._environments
        action = environments.standing_action()
        for agent in self.agents:
            action[0, self._number(agent)] = actions[agent]
        if not np.isfinite(action).all():
            raise BadInput("an action has a number that is not finite")
        environments.step(action)
        endings = {agent: int(environments.ending[0, self._number(agent)]) for agent in self.agents}
        observations = {agent: self._observe(agent) for agent in self.agents}
        rewards = {agent: float(environments.reward[0, self._number(agent)]) for agent in self.agents}
        terminated = {agent: ending not in (RUNNING, OUT_OF_TIME) for agent, ending in endings.items()}
        truncated = {agent: ending == OUT_OF_TIME for agent, ending in endings.items()}
        infos = {
            agent: {"is_success": ending == REACHED_GOAL, "termination_reason": ENDINGS[ending]}
            for agent, ending in endings.items()
        }
        self.agents = [agent for agent in self.agents if endings[agent] == RUNNING]
        return observations, rewards, terminated, truncated, infos

    def render(self) -> Any:
        """The world from above, (H, W, 3) uint8."""
        if self.render_mode != "rgb_array":
            return None
        if self._view is None:
            self._view = make_top_view(self._environments.worlds.worlds[0], 480)
        return draw_environment(self._view, self._environments.worlds, 0)

    def _number(self, agent: str) -> int:
        return self.possible_agents.index(agent)

    def _observe(self, agent: str) -> dict[str, Any]:
        own = self._number(agent)
        observation = observation_of(self._environments, 0, own, rows=self._rows)
        robots, mask = self._environments.other_robots(own)
        return {**observation, "robots": robots, "robots_mask": mask}
