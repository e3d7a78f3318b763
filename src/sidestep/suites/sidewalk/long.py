"""``sidewalk-long``: hundreds of metres over several blocks, past everything that people do on sidewalks.

After SidewalkBench (Sec. 3.3): one way only, the others are closed by barriers. A failure does not end the episode: it
is counted, and the robot is put on the nearest waypoint.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import Field

from sidestep.suites.sidewalk.drawn_places import drawn_long_ways, split_of_place
from sidestep.suites.sidewalk.places import LongWay, Split, Way, sidewalk_places, split_of_town
from sidestep.suites.sidewalk.setting import SidewalkOptions, placement, rules, sensors
from sidestep.types.behaviour import Behaviour, BehaviourGraph, BehaviourNode, BehaviourPlacement, Choice
from sidestep.types.scenario import CrowdPart, Scenario
from sidestep.types.sensors import Sensors

FROZEN_AFTER_S = 10.0
PERSON_RADIUS_M = 0.3
NODE_EVERY, CLEAR_POINTS = 2, 5
"""Points of the way between two nodes of the walkers' graph; nobody starts on the first ones."""
SLOWEST_MPS, SPARE_S = 0.4, 60.0
"""The time limit: the whole way at that speed, and some."""


class LongOptions(SidewalkOptions):
    """What can be chosen with ``--set``."""

    people: bool = True
    """Whether anybody on the way does something because of the robot."""
    walkers: Annotated[int, Field(ge=0, le=200)] = 6
    """People who walk up and down the same sidewalks and give way."""


def walkers_on(way: Way, count: int) -> CrowdPart:
    """People who walk along the way, both ways, and keep to their right."""
    points = way.points[CLEAR_POINTS::NODE_EVERY]
    nodes = tuple(BehaviourNode(at=point) for point in points)
    graph = BehaviourGraph(nodes=nodes, edges=tuple((k, k + 1) for k in range(len(nodes) - 1)))
    placement = BehaviourPlacement(
        count=min(count, len(nodes) - 2), graph=graph, behaviour=Behaviour(after_walk=Choice(walk=1.0), meet=0.0)
    )
    return CrowdPart(model="orca", placement=placement, radius=PERSON_RADIUS_M)


@dataclass(frozen=True)
class SidewalkLong:
    """The suite under one choice of options."""

    options: LongOptions = field(default_factory=LongOptions)
    name: str = "sidewalk-long"
    summary: str = "hundreds of metres over several blocks past people; failures are counted, and the robot is put back"

    def with_options(self, options: dict[str, Any]) -> SidewalkLong:
        """The same suite, run differently."""
        return SidewalkLong(LongOptions.parse({**self.options.model_dump(), **options}, f"options of {self.name}"))

    def scenarios(self) -> tuple[Scenario, ...]:
        """All of them, town by town, then those of the drawn places."""
        return tuple(self._all())

    def _all(self) -> Iterator[Scenario]:
        for number, town in enumerate(sidewalk_places().towns):
            if self.options.takes(split_of_town(number)):
                yield self._scenario(town.town, town.long, "town", split_of_town(number))
        for place, way in drawn_long_ways():
            if self.options.takes(split_of_place(place)):
                yield self._scenario(place, way, "real", split_of_place(place))

    def _scenario(self, place: str, way: LongWay, where: str, split: Split) -> Scenario:
        return Scenario(
            name=f"long-{place.lower()}",
            suite=self.name,
            summary=f"{way.length:.0f} m through {place}",
            scene=way.scene,
            robots=(placement(way, self.options),),
            events=way.events if self.options.people else (),
            crowd=(walkers_on(way, self.options.walkers),) if self.options.walkers else (),
            rules=rules(
                way,
                on_failure="reset",
                frozen_after_s=FROZEN_AFTER_S,
                time_limit_s=round(way.length / SLOWEST_MPS + SPARE_S),
            ),
            sensors=Sensors.parse(sensors(self.options), self.name),
            tags=("long", where, split),
            notes={"options": self.options.notes, "length_m": way.length},
        )


SIDEWALK_LONG = SidewalkLong()
