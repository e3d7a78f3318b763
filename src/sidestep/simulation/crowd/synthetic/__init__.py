"""Statistics of a crowd at a place, from which a synthetic one is drawn: counts, shares, means; no trajectories.

One YAML file per window of a recording, written by ``python -m tools.fit_synthetic``.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from typing import Annotated

from pydantic import Field, model_validator

from sidestep._util.reading import parse_mapping
from sidestep.errors import UnknownName
from sidestep.types.base import Finite, Model, NonNegative, Positive
from sidestep.types.scenario import Box

SUFFIX = ".yaml"
QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""The quantiles that a duration is described by."""

Share = Annotated[float, Field(ge=0, le=1)]
Quantiles = tuple[NonNegative, NonNegative, NonNegative, NonNegative, NonNegative]


class GateFlow(Model):
    """Parties that walk from one gate to another."""

    origin: Annotated[int, Field(ge=0)]
    destination: Annotated[int, Field(ge=0)]
    share: Share
    """Share of all walking parties."""
    speed_mean: Positive
    """Walking speed, m/s, over the people of the flow."""
    speed_sd: NonNegative


class StandingArea(Model):
    """Where people stand."""

    box: Box
    share: Share


class Standing(Model):
    """People who stay in one place as long as they are there."""

    at_start: Annotated[int, Field(ge=0)] = 0
    """People who stand there at time 0."""
    share: Share = 0.0
    """Share of the people who come later."""
    stay_s: Quantiles = (0.0, 0.0, 0.0, 0.0, 0.0)
    """How long they stay, within the window."""
    places: tuple[StandingArea, ...] = ()


class Spacing(Model):
    """How the members of a party walk: where the nearest companion is."""

    distance_mean: Positive = 0.75
    """Centre to centre, m."""
    distance_sd: NonNegative = 0.15
    abreast: Share = 0.9
    """Part of that distance across the walking direction, on average: 1 side by side, 0 one behind the other."""


class CrowdStatistics(Model):
    """The fitted statistics of one window of a recording at one site."""

    name: str
    site: str
    """The floor plan."""
    recording: str
    start_s: Finite
    """The recording's time that is time 0."""
    duration_s: Positive
    bin_s: Positive
    at_start: Annotated[int, Field(ge=0)]
    """People on their way at time 0."""
    progress_at_start: Share
    """How much of their way they have done then, on average."""
    arrivals: tuple[NonNegative, ...]
    """People who come in each bin."""
    gates: tuple[Box, ...]
    flows: tuple[GateFlow, ...]
    party_sizes: tuple[Share, ...]
    """Share of parties of 1, 2, 3 … people."""
    spacing: Spacing = Spacing()
    pause_share: Share = 0.0
    """Share of the walking parties that stop on their way."""
    pause_s: Quantiles = (0.0, 0.0, 0.0, 0.0, 0.0)
    speed_wobble: Share = 0.0
    """Standard deviation of a person's speed about its mean, as a share of the mean."""
    wobble_s: Positive = 1.0
    """How long such a deviation lasts (correlation time)."""
    standing: Standing = Standing()

    @model_validator(mode="after")
    def _check(self) -> CrowdStatistics:
        known = len(self.gates)
        if any(max(flow.origin, flow.destination) >= known for flow in self.flows):
            raise ValueError(f"a flow names a gate beyond the {known} there are")
        if not self.flows and (self.at_start or any(self.arrivals)):
            raise ValueError("people who come need at least one flow")
        if len(self.arrivals) != round(self.duration_s / self.bin_s):
            raise ValueError("arrivals must have one number per bin")
        return self


def statistics_names() -> list[str]:
    """Names of the fitted crowds, sorted."""
    return sorted(item.name.removesuffix(SUFFIX) for item in files(__name__).iterdir() if item.name.endswith(SUFFIX))


@lru_cache(maxsize=64)
def load_statistics(name: str) -> CrowdStatistics:
    """The fitted statistics called ``name``; an unknown name is an error with the nearest known ones."""
    if name not in statistics_names():
        raise UnknownName("synthetic crowd", name, statistics_names())
    text = files(__name__).joinpath(name + SUFFIX).read_text(encoding="utf-8")
    return CrowdStatistics.parse(parse_mapping(text, f"synthetic crowd {name}"), f"synthetic crowd {name}")
