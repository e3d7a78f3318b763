"""What draws records for ``EpisodeRecord.plot`` and ``play``. The package sets it when it is imported, so that the data
types need not know the report."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_load: Callable[[], Any] | None = None


def show_records_with(load: Callable[[], Any]) -> None:
    """Draw records with the module that ``load`` returns when one is first shown: it has ``plot_record``, ``Player``
    and ``record_html``."""
    global _load
    _load = load


def record_display() -> Any:
    """The module that draws records."""
    if _load is None:
        raise RuntimeError("nothing draws records: call sidestep._util.record_display.show_records_with first")
    return _load()
