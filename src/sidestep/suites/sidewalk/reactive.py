"""``sidewalk-reactive``: eight things that people do because of the robot, and the same ways with nobody.

After SidewalkBench (Sec. 3.3, Table 2). All behaviours but crossing are on the same 100 straight ways as the static
reference, so that what differs is the people. Conversing and queuing succeed when the robot goes round the whole
group; gesturing succeeds when it stops within 3 m in front of the person.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from sidestep.suites.sidewalk.places import Split, TownWays, sidewalk_places, split_of_town
from sidestep.suites.sidewalk.setting import ENDS, SidewalkOptions, placement, rules, sensors
from sidestep.types.outcome import Outcome
from sidestep.types.scenario import Scenario
from sidestep.types.sensors import Sensors

STATIC = "static"
BEHAVIOURS = (
    "obstructing", "conversing", "queuing", "frontal", "lateral", "overtaking", "crossing", "gesturing",
)  # fmt: skip
GROUPS = frozenset({"conversing", "queuing"})


@dataclass(frozen=True)
class SidewalkReactive:
    """The suite under one choice of options. Scenarios of one town follow each other."""

    options: SidewalkOptions = field(default_factory=SidewalkOptions)
    name: str = "sidewalk-reactive"
    summary: str = "eight behaviours of pedestrians towards the robot, and nobody as reference, once in every town"

    def with_options(self, options: dict[str, Any]) -> SidewalkReactive:
        """The same suite, run differently."""
        parsed = SidewalkOptions.parse({**self.options.model_dump(), **options}, f"options of {self.name}")
        return SidewalkReactive(parsed)

    def scenarios(self) -> tuple[Scenario, ...]:
        """All of them, town by town."""
        return tuple(self._all())

    def _all(self) -> Iterator[Scenario]:
        for number, town in enumerate(sidewalk_places().towns):
            for behaviour in (STATIC, *BEHAVIOURS) if self.options.takes(split_of_town(number)) else ():
                yield self._scenario(behaviour, town, split_of_town(number))

    def _scenario(self, behaviour: str, town: TownWays, split: Split) -> Scenario:
        way = town.crosswalk if behaviour == "crossing" else town.straight
        stops = behaviour == "gesturing"
        return Scenario(
            name=f"{behaviour}-{town.town.lower()}",
            suite=self.name,
            summary=f"{behaviour} in {town.town}",
            scene=way.scene,
            robots=(placement(way, self.options),),
            events=() if behaviour == STATIC else (town.events[behaviour],),
            rules=rules(
                way,
                avoid_groups=behaviour in GROUPS,
                success="stop" if stops else "goal",
                ends_on=(*ENDS, Outcome.DISOBEYED) if stops else ENDS,
            ),
            sensors=Sensors.parse(sensors(self.options), self.name),
            tags=(behaviour, "town", split),
            notes={"options": self.options.notes},
        )


SIDEWALK_REACTIVE = SidewalkReactive()
