"""``sidewalk-unit``: 10 to 20 m along a straight sidewalk, round a curve or over a crosswalk, with nobody there.

After SidewalkBench (Sec. 3.3): leaving the sidewalk or touching anything fails, 60 s are given.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from sidestep.suites.sidewalk.drawn_places import drawn_unit_ways, split_of_place
from sidestep.suites.sidewalk.places import Split, Way, sidewalk_places, split_of_town
from sidestep.suites.sidewalk.setting import SidewalkOptions, placement, rules, sensors
from sidestep.types.scenario import Scenario
from sidestep.types.sensors import Sensors

KINDS = ("straight", "curve", "crosswalk")


@dataclass(frozen=True)
class SidewalkUnit:
    """The suite under one choice of options. Scenarios of one town follow each other."""

    options: SidewalkOptions = field(default_factory=SidewalkOptions)
    name: str = "sidewalk-unit"
    summary: str = "keep to the sidewalk: 10-20 m straight, round a curve, over a crosswalk; nobody there"

    def with_options(self, options: dict[str, Any]) -> SidewalkUnit:
        """The same suite, run differently."""
        return SidewalkUnit(SidewalkOptions.parse({**self.options.model_dump(), **options}, f"options of {self.name}"))

    def scenarios(self) -> tuple[Scenario, ...]:
        """All of them, town by town, then those of the drawn places."""
        return tuple(self._all())

    def _all(self) -> Iterator[Scenario]:
        for number, town in enumerate(sidewalk_places().towns):
            for kind in KINDS if self.options.takes(split_of_town(number)) else ():
                yield self._scenario(kind, town.town, getattr(town, kind), "town", split_of_town(number))
        for kind, ways in drawn_unit_ways().items():
            for place, way in ways:
                if self.options.takes(split_of_place(place)):
                    yield self._scenario(kind, place, way, "real", split_of_place(place))

    def _scenario(self, kind: str, place: str, way: Way, where: str, split: Split) -> Scenario:
        return Scenario(
            name=f"{kind}-{place.lower()}",
            suite=self.name,
            summary=f"{kind} in {place}",
            scene=way.scene,
            robots=(placement(way, self.options),),
            rules=rules(way),
            sensors=Sensors.parse(sensors(self.options), self.name),
            tags=(kind, where, split),
            notes={"options": self.options.notes},
        )


SIDEWALK_UNIT = SidewalkUnit()
