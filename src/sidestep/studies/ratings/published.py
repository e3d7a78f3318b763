"""Averages that publications print, as reference data (``reference/``), and whether they agree with themselves.

Printed averages are no answers: they are shown beside a study's own and enter no statistics.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from sidestep._util.reading import bundled_names, read_bundled
from sidestep.errors import BadInput, UnknownName
from sidestep.studies.ratings.questionnaire import Questionnaire, load_questionnaire
from sidestep.types.base import Model

REFERENCE = "sidestep.studies.ratings/reference"
ROUNDING = 0.1
"""Printed averages and the average made of them are each within half a printed unit, 0.05."""


class PrintedCell(Model):
    """A column block of a printed table: averages per item, and over the scenario."""

    table: str
    by: Literal["location", "participant", "set", "policy"]
    group: str
    scenario: str
    qavg: tuple[float, ...]
    """Averages of the answers before reversing, in the order of the items."""
    savg: float
    std: Annotated[float, Field(ge=0)]
    runs: int | None = None


class PrintedTables(Model):
    """The tables of a publication."""

    source: str
    questionnaire: str
    cells: tuple[PrintedCell, ...]


@dataclass(frozen=True)
class CheckedCell:
    """A printed cell with SAVG recomputed from its printed QAVG."""

    cell: PrintedCell
    raw: float
    """Mean of QAVG as printed."""
    reversed: float
    """Mean of QAVG with reversed items turned round: how SAVG is defined."""

    @property
    def consistent(self) -> bool:
        """Whether the printed SAVG is the reverse-coded mean, within rounding."""
        return abs(self.cell.savg - self.reversed) <= ROUNDING + 1e-9


def published_names() -> list[str]:
    """Those of the bundled tables."""
    return bundled_names(REFERENCE)


def load_published(name: str = "protocol_tables") -> PrintedTables:
    """The printed tables of that name."""
    if name not in published_names():
        raise UnknownName("published tables", name, published_names())
    return PrintedTables.parse(read_bundled(REFERENCE, name), f"bundled {name}")


def check_published(tables: PrintedTables, questionnaire: Questionnaire | None = None) -> list[CheckedCell]:
    """Every cell with its recomputed averages."""
    known = questionnaire or load_questionnaire(tables.questionnaire)
    found = []
    for cell in tables.cells:
        items = known.items_for(cell.scenario)
        if len(items) != len(cell.qavg):
            raise BadInput(
                f"published {cell.table} {cell.group}: {len(cell.qavg)} averages for {len(items)} items of "
                f"{cell.scenario}; use the questionnaire {tables.questionnaire}"
            )
        pairs = list(zip(items, cell.qavg, strict=True))
        turned = [known.scale.turned(value) if item.reverse else value for item, value in pairs]
        found.append(CheckedCell(cell, sum(cell.qavg) / len(pairs), sum(turned) / len(pairs)))
    return found
