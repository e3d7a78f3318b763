"""Episode records on disk: one Parquet file per episode, self-describing, with checksum and digest.

``save_record`` and ``load_record`` are all that other packages need; ``docs/records.md`` describes the columns.
What a record *is* lives in ``sidestep.types.record``; nothing here simulates or scores.
"""

from sidestep.records.read import load_record
from sidestep.records.write import save_record
from sidestep.writing import atomic

__all__ = ["atomic", "load_record", "save_record"]
