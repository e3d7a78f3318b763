"""The numbers that the SidewalkBench paper prints (``data/sidewalkbench_published.yaml``), to stand beside ours."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from sidestep.reading import read_mapping
from sidestep.types.base import Model, NonNegative

DATA = Path(__file__).parent / "data" / "sidewalkbench_published.yaml"

Printed = NonNegative | None
"""None where the paper prints a dash."""
Three = tuple[Printed, Printed, Printed]
Five = tuple[Printed, Printed, Printed, Printed, Printed]
Eight = tuple[Printed, Printed, Printed, Printed, Printed, Printed, Printed, Printed]
Nine = tuple[Printed, Printed, Printed, Printed, Printed, Printed, Printed, Printed, Printed]


class Averages(Model):
    """The rows called Avg, as printed."""

    success: Nine
    pedestrian_collision_rate: Eight
    minimum_pedestrian_distance: Eight


class PublishedModel(Averages):
    """One model's rows in Tables 2, 5, 6 and 7."""

    name: str
    unit_town: dict[str, Three]
    """Kind of sidewalk → SR, SPL, RC in procedurally generated scenes."""
    unit_real: dict[str, Three]
    """The same in scanned places."""
    long_town: Five
    """FC, C, OL, F per 100 m and V in m/s in procedurally generated scenes."""
    long_real: Five


class Published(Model):
    """The file as a whole."""

    citation: str
    notes: tuple[str, ...]
    models: tuple[PublishedModel, ...]
    average: Averages


@cache
def published() -> Published:
    """The paper's numbers."""
    return Published.parse(read_mapping(DATA), str(DATA))
