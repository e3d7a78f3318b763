"""``sidewalk-long``: hundreds of metres over several blocks, past everything that people do on sidewalks.

After SidewalkBench (Sec. 3.3): one way only, the others are closed by barriers. A failure does not end the episode: it
is counted, and the robot is put on the nearest waypoint.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from sidestep.suites.sidewalk.places import TownWays, sidewalk_places
from sidestep.suites.sidewalk.setting import SidewalkOptions, placement, rules, sensors
from sidestep.types.scenario import Scenario
from sidestep.types.sensors import Sensors

FROZEN_AFTER_S = 10.0
SLOWEST_MPS, SPARE_S = 0.4, 60.0
"""The time limit: the whole way at that speed, and some."""


class LongOptions(SidewalkOptions):
    """What can be chosen with ``--set``."""

    people: bool = True
    """Whether anybody is on the way."""


@dataclass(frozen=True)
class SidewalkLong:
    """The suite under one choice of options."""

    options: LongOptions = field(default_factory=LongOptions)
    name: str = "sidewalk-long"
    summary: str = "250-450 m over several blocks past people; failures are counted, and the robot is put back"

    def with_options(self, options: dict[str, Any]) -> SidewalkLong:
        """The same suite, run differently."""
        return SidewalkLong(LongOptions.parse({**self.options.model_dump(), **options}, f"options of {self.name}"))

    def scenarios(self) -> tuple[Scenario, ...]:
        """All of them, town by town."""
        return tuple(self._all())

    def _all(self) -> Iterator[Scenario]:
        for town in sidewalk_places().towns:
            yield self._scenario(town)

    def _scenario(self, town: TownWays) -> Scenario:
        way = town.long
        return Scenario(
            name=f"long-{town.town.lower()}",
            suite=self.name,
            summary=f"{way.length:.0f} m through {town.town}",
            scene=way.scene,
            robots=(placement(way, self.options),),
            events=way.events if self.options.people else (),
            rules=rules(
                way,
                on_failure="reset",
                frozen_after_s=FROZEN_AFTER_S,
                time_limit_s=round(way.length / SLOWEST_MPS + SPARE_S),
            ),
            sensors=Sensors.parse(sensors(self.options), self.name),
            tags=("long", "town"),
            notes={"options": self.options.model_dump(), "length_m": way.length},
        )


SIDEWALK_LONG = SidewalkLong()
