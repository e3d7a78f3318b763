"""Simulated seconds per second of a town with background people, on one core."""

from __future__ import annotations

from functools import partial

from sidestep.bench.measure import Case, Effort, Figure, Note, rates
from sidestep.bench.town_streets import BUILDING_M, STREET_M, make_town
from sidestep.simulation.build import build_world
from sidestep.simulation.worlds import Worlds
from sidestep.types import Scenario

BLOCKS = 10
"""Of 96 m: a town of about 1 km."""
PEOPLE = (100, 500)
STEPS = 40  # of one run
SETTLING_STEPS = 400  # walked before anything is measured


def cases() -> list[Case]:
    """One per number of people."""
    return [Case(f"town/people={people}", partial(measure_town, people), quick=people == 100) for people in PEOPLE]


def measure_town(people: int, effort: Effort, note: Note) -> Figure:
    """How many times real time the town runs, all in: decisions, avoidance, walls, the robot."""
    note("building the town")
    (values,) = rates([Town(people)], effort)
    return Figure(f"town/people={people}", "s/s", values)


def town_scenario(people: int, blocks: int = BLOCKS, paths: str = "push_and_rotate") -> Scenario:
    """A robot that stands on the first street and ``people`` on the sidewalks."""
    scene, graph = make_town(blocks)
    return Scenario.parse(
        {
            "name": f"town-{people}",
            "scene": scene,
            "robots": [{"spec": "pioneer_3dx", "start": [-8.0, 0.0, 0.0], "goal": [-8.0, BUILDING_M]}],
            "crowd": [{"placement": {"kind": "behaviour", "count": people, "graph": graph, "paths": paths}}],
            "rules": {"time_limit_s": 36_000},
        },
        f"town of {blocks * (BUILDING_M + STREET_M):g} m",
    )


class Town:
    """A run is a few steps of one world."""

    def __init__(self, people: int) -> None:
        self._worlds = Worlds([build_world(town_scenario(people), seed=0)])
        for _ in range(SETTLING_STEPS):
            self._worlds.step()

    def prepare(self) -> None:
        """Nothing."""

    def run(self) -> float:
        """Some steps; the seconds that they simulate."""
        for _ in range(STEPS):
            self._worlds.step()
        return STEPS * float(self._worlds.rules[0, 0])
