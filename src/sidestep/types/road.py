"""Roads of a scene: lanes with what follows on them, painted markings, pedestrian crossings, traffic signals and
parking bays."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from sidestep.types.base import Angle, FarPoint, Model, NonNegative, Positive, PositiveSpeed

Turn = Literal["left", "straight", "right"]
MarkingKind = Literal["broken", "solid", "double_solid", "kerb"]


class Lane(Model):
    """One lane: its centre line in the direction of travel."""

    name: str
    points: Annotated[tuple[FarPoint, ...], Field(min_length=2)]
    width: Positive = 3.5
    speed_limit: PositiveSpeed = 13.9
    """m/s."""
    next: tuple[str, ...] = ()
    """Names of the lanes that begin where this one ends."""
    turn: Turn | None = None
    """What a lane through a junction does; None: no lane of a junction."""
    priority: int = 0
    """Where two lanes meet or cross in a junction, the lower number waits; equal numbers: first come, first served."""


class Marking(Model):
    """A painted line, or the kerb. ``broken`` lines may be crossed, the others may not."""

    kind: MarkingKind
    points: Annotated[tuple[FarPoint, ...], Field(min_length=2)]
    colour: Literal["white", "yellow"] = "white"


class Crossing(Model):
    """A pedestrian crossing: people walk between the middles of its two ends."""

    name: str
    ends: tuple[FarPoint, FarPoint]
    """Middle of the crossing at either kerb."""
    width: Positive = 4.0


class Signal(Model):
    """A traffic light at the end of some lanes: green, then yellow, then red for the rest of the cycle."""

    name: str
    lanes: Annotated[tuple[str, ...], Field(min_length=1)]
    cycle_s: Positive = 40.0
    green_at_s: NonNegative = 0.0
    """When in the cycle green begins."""
    green_s: Positive = 15.0
    yellow_s: NonNegative = 3.0

    @model_validator(mode="after")
    def _check(self) -> Signal:
        if self.green_s + self.yellow_s > self.cycle_s:
            raise ValueError("green_s and yellow_s together are longer than cycle_s")
        if self.green_at_s >= self.cycle_s:
            raise ValueError("green_at_s is not within the cycle")
        return self


class ParkingBay(Model):
    """Where a car may stand at the kerb without being in anybody's way."""

    middle: FarPoint
    heading: Angle
    """rad, of the lane beside it."""


class Roads(Model):
    """All that is to know about a scene's roads besides their surface, which is a region."""

    lanes: tuple[Lane, ...] = ()
    markings: tuple[Marking, ...] = ()
    crossings: tuple[Crossing, ...] = ()
    signals: tuple[Signal, ...] = ()
    parking: tuple[ParkingBay, ...] = ()

    @model_validator(mode="after")
    def _check(self) -> Roads:
        names = [lane.name for lane in self.lanes]
        for what, found in (
            ("lane", names),
            ("crossing", [crossing.name for crossing in self.crossings]),
            ("signal", [signal.name for signal in self.signals]),
        ):
            twice = sorted({name for name in found if found.count(name) > 1})
            if twice:
                raise ValueError(f"two {what}s have the name {twice[0]!r}")
        for lane in self.lanes:
            for name in lane.next:
                if name not in names:
                    raise ValueError(f"lane {lane.name!r} continues on {name!r}, which is not a lane of these roads")
        for signal in self.signals:
            for name in signal.lanes:
                if name not in names:
                    raise ValueError(f"signal {signal.name!r} is for {name!r}, which is not a lane of these roads")
        return self
