"""How fast the iLQR policies answer among twenty people in a hall, on one core."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time

from benchmarks.measure import Case, Effort, Figure, Notify
from sidestep import registry
from sidestep.simulation.session import Session
from sidestep.types import Scenario

POLICIES = ("ilqr", "ilqr_bc")
PEOPLE, STEPS = 20, 100


def cases() -> list[Case]:
    """Answers per second of each policy."""
    return [Case(f"answers/{policy}/people={PEOPLE}", _measure(policy), quick=True) for policy in POLICIES]


def hall_scenario() -> Scenario:
    """Twenty people who walk about in a hall of 16 m; the robot goes from corner to corner."""
    square = [[-8, -8], [8, -8], [8, 8], [-8, 8]]
    placement = {"kind": "random", "count": PEOPLE, "area": [-7, -7, 7, 7], "goals": 2}
    document = {
        "name": "hall", "suite": "bench",
        "scene": {"name": "hall", "enclosed": True, "regions": [{"kind": "walkable", "polygon": square}]},
        "robots": [{"spec": "pioneer_3dx", "start": [-7, -7, 0.8], "goal": [7, 7]}],
        "crowd": [{"model": "orca", "at_end": "loop", "placement": placement}],
        "rules": {"step_s": 0.05, "time_limit_s": 60},
    }  # fmt: skip
    return Scenario.parse(document, "bench scenario")


def _measure(name: str) -> Callable[[Effort, Notify], Figure]:
    def measure(effort: Effort, note: Notify) -> Figure:
        """Answers per second of processor time during the first steps of an episode."""
        rates = []
        for repeat in range(effort.repeats):
            policy = registry.make_policy(name)
            session = Session(hall_scenario(), needs=policy.needs)
            observation = session.reset(repeat)
            policy.reset(session.task)
            seconds, answers = 0.0, 0
            while answers < STEPS and not session.done:
                begin = process_time()
                command = policy.act(observation)
                seconds, answers = seconds + process_time() - begin, answers + 1
                observation, *_ = session.step(command)
            rates.append(answers / seconds)
        return Figure(f"answers/{name}/people={PEOPLE}", "answers/s of one core", rates)

    return measure
