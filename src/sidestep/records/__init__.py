"""Episode records on disk: one Parquet file per episode, self-describing, with checksum and digest.

``save_record`` and ``load_record`` are all that most packages need, ``encode_record`` and ``decode_record`` what places
without files need; ``docs/records.md`` describes the columns.
What a record *is* lives in ``sidestep.types.record``; nothing here simulates or scores.
"""

from sidestep._util.writing import atomic
from sidestep.records.read import decode_record, load_record
from sidestep.records.write import encode_record, save_record

__all__ = ["atomic", "decode_record", "encode_record", "load_record", "save_record"]
