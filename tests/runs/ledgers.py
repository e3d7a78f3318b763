"""Ledgers written anew, as somebody would who changes records and knows how a ledger is made."""

from __future__ import annotations

from pathlib import Path

from sidestep.records import load_record
from sidestep.runs.folder import EPISODES
from sidestep.runs.ledger import Ledger


def write_ledger(folder: Path) -> Path:
    """A ledger that agrees with the records of a run."""
    ledger = Ledger(folder / "ledger.jsonl")
    ledger.path.unlink(missing_ok=True)
    for path in sorted((folder / EPISODES).rglob("*.parquet")):
        ledger.add(path, load_record(path).digest)
    return ledger.path
