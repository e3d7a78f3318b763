"""The report of a study."""

from __future__ import annotations

from sidestep.studies.store import Store


def report_of(store: Store, name: str) -> str:
    """The analysis of a study as an HTML page."""
    raise NotImplementedError
