"""What a robot's sensors can see. Part of a scenario, so that a record says what the policy got."""

from __future__ import annotations

from math import pi
from typing import Annotated

from pydantic import Field, model_validator

from sidestep.types.base import Finite, Model, NonNegative, Positive


class PedestrianSensing(Model):
    """A detector that reports people's states. The defaults see everybody."""

    range_m: Positive | None = None
    """Nobody farther is seen (centre to centre); None: no limit."""
    field_of_view: Annotated[float, Field(gt=0, le=2 * pi)] | None = None
    """Opening angle about the robot's heading, rad; None: all round."""
    occlusion: bool = False
    """People behind walls or wholly behind other people are not seen."""


class LidarSettings(Model):
    """A planar laser scanner at the robot's centre."""

    rays: Annotated[int, Field(ge=1, le=100_000)] = 720
    angle_min: Finite = -pi
    """Direction of the first ray in the robot's frame, rad."""
    field_of_view: Annotated[float, Field(gt=0, le=2 * pi)] = 2 * pi
    max_range: Positive = 20.0

    @property
    def angle_increment(self) -> float:
        """Angle between neighbouring rays; a full turn does not repeat the first ray."""
        if self.rays == 1:
            return self.field_of_view
        return self.field_of_view / (self.rays if self.field_of_view >= 2 * pi - 1e-9 else self.rays - 1)


class Sensors(Model):
    """All sensor settings of a scenario."""

    pedestrians: PedestrianSensing = Field(default_factory=PedestrianSensing)
    lidar: LidarSettings = Field(default_factory=LidarSettings)
    history_s: NonNegative = 2.0
    """How far back ``Observation.history`` reaches, s."""

    @model_validator(mode="after")
    def _check(self) -> Sensors:
        if self.history_s > 60:
            raise ValueError("history_s is limited to 60 s")
        return self
