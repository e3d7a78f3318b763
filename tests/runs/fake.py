"""A stand-in for the simulator: a robot on a line, no people, five steps; quick enough to run hundreds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sidestep.errors import BadInput
from sidestep.runs.plan import Plan, PolicyPlan
from sidestep.types import EpisodeRecord, Event, Footprint, Outcome, PolicyInfo, RobotLimits, RobotSpec, Scenario
from tests.records.example import example_scenario

STEPS = 5


def fake_episode(
    scenario: Scenario, policy: Any, *, seed: int, policy_info: PolicyInfo, mode: Any = "sync", **_: Any
) -> EpisodeRecord:
    """The policy's ``act`` gets the step's number and answers a speed."""
    if "impossible" in scenario.tags:
        raise BadInput(f"scenario {scenario.name!r}: the start is inside a wall")
    x, speeds, error = [0.0], [], ""
    try:
        policy.reset(None)
        for step in range(STEPS):
            speeds.append(float(policy.act((scenario.name, seed, step))))
            x.append(x[-1] + 0.1 * speeds[-1])
    except Exception as failure:
        error = f"{type(failure).__name__}: {failure}"
    steps = len(x) - 1
    speeds = speeds[:steps]
    nobody = np.zeros((steps + 1, 0), np.float32)
    return EpisodeRecord(
        scenario=scenario,
        robot=RobotSpec(
            name="disc",
            dynamics="unicycle",
            footprint=Footprint(radius=0.3),
            limits=RobotLimits(max_speed=1.0),
        ),
        policy=policy_info,
        seed=seed,
        outcome=Outcome.POLICY_ERROR if error else Outcome.SUCCESS,
        source="generated",
        mode=mode,
        time=np.arange(steps + 1) * 0.1,
        robot_pose=np.column_stack([x, np.zeros((steps + 1, 2))]),
        robot_velocity=np.column_stack([[0.0, *speeds], np.zeros((steps + 1, 2))]),
        command=np.column_stack([np.zeros(steps), speeds, np.zeros((steps, 2))]),
        applied=np.column_stack([speeds, np.zeros(steps)]),
        limited=np.zeros(steps),
        planning_time=np.full(steps, 0.001),
        person_id=np.zeros(0),
        person_radius=np.zeros(0),
        person_group=np.zeros(0),
        person_model=(),
        person_position=np.zeros((steps + 1, 0, 2)),
        person_velocity=np.zeros((steps + 1, 0, 2)),
        person_heading=nobody,
        person_present=nobody,
        walls=np.zeros((0, 4)),
        events=(Event(steps * 0.1, "policy_error", text=error) if error else Event(steps * 0.1, "goal_reached"),),
        error=error,
    )


POLICIES = '''
import os, time
from pathlib import Path


class Steady:
    """Drives at a speed that depends on the seed."""

    needs = frozenset({"goal"})

    def __init__(self, speed=1.0, folder=None):
        self.speed, self.folder = speed, folder
        self.settings = {"speed": speed}

    def reset(self, task):
        pass

    def act(self, observation):
        name, seed, step = observation
        if self.folder and step == 0:
            with open(Path(self.folder) / "asked.txt", "a") as file:
                file.write(f"{name} {seed}\\n")
        return self.speed + 0.1 * seed + 0.01 * step


class Raises(Steady):
    def act(self, observation):
        raise ZeroDivisionError("on purpose")


class Exits(Steady):
    """Ends its process in one scenario."""

    def act(self, observation):
        if observation[0] == "s1":
            os._exit(7)
        return super().act(observation)


class Killed(Steady):
    """Killed as the kernel kills what takes too much memory."""

    def act(self, observation):
        if observation[0] == "s1":
            os.kill(os.getpid(), 9)
        return super().act(observation)


class Unlucky(Steady):
    """Ends its process the first time only, as a neighbour's memory could make it."""

    def act(self, observation):
        mark = Path(self.folder) / "died"
        if observation[0] == "s1" and not mark.exists():
            mark.write_text("once")
            os._exit(1)
        return super().act(observation)


class Restless(Steady):
    """Never the same twice."""

    def act(self, observation):
        return 1.0 if observation[2] < 3 else time.perf_counter()


class Chatty(Steady):
    def act(self, observation):
        print("hello from the policy")
        return super().act(observation)


class Unknowing:
    def reset(self, task): ...
    def act(self, observation): ...
'''


def write_policies(folder: Path) -> Path:
    """The file with the policies above."""
    path = folder / "mine.py"
    path.write_text(POLICIES, encoding="utf-8")
    return path


def fake_plan(folder: Path, *classes: str, scenarios: int = 3, seeds: int = 2, **changes: Any) -> Plan:
    """A plan of scenarios s0, s1, … with policies from the file."""
    file = write_policies(folder)
    settings = changes.pop("settings", {})
    return Plan(
        suite="test",
        scenarios=changes.pop("items", tuple(example_scenario(f"s{i}") for i in range(scenarios))),
        policies=tuple(PolicyPlan(name=f"{file}:{name}", settings=settings) for name in classes),
        seeds=tuple(range(seeds)),
        **changes,
    )
