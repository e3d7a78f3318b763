"""Reading HDF5 files of others: what a file states is compared with its size before anything is unpacked.

A file of some kB can state arrays of any size, unpack a chunk without bound (filters), and name other files (links,
external and virtual datasets). All of that is a :class:`~sidestep.errors.BadInput` here.
"""

from __future__ import annotations

import math
import zlib
from pathlib import Path
from typing import Any

import h5py

from sidestep.errors import BadInput

LEAST_BYTES = 1 << 26
MOST_BYTES = 480_000_000
BYTES_PER_BYTE = 1024
"""A file of b bytes may state ``BYTES_PER_BYTE`` b bytes but no more than ``MOST_BYTES``; always ``LEAST_BYTES`` and
``HONEST`` b bytes, as much as numbers that hardly compress take."""
HONEST = 8
MOST_CHUNKS = 200_000
MOST_CHUNK_BYTES = 1 << 26
TRUSTED_BYTES = 400_000
"""A packed chunk of this size unpacks to 400 MB at most, whatever it is stated to hold; a larger one is tried first."""
MOST_ATTRIBUTE_VALUES = 4096
MOST_ATTRIBUTE_BYTES = 1 << 16
GZIP, LZF = h5py.h5z.FILTER_DEFLATE, 32000
FILTERS = {GZIP, LZF, h5py.h5z.FILTER_SHUFFLE, h5py.h5z.FILTER_FLETCHER32}
PIECE = 1 << 20
CHECKSUM_BYTES = 4


def find_item(group: Any, name: str) -> Any:
    """What ``name`` leads to in a file, or in a group of it; None if that is nothing, or a link to elsewhere."""
    item = group
    for part in name.strip("/").split("/"):
        if not isinstance(item, h5py.Group) or not isinstance(item.get(part, getlink=True), h5py.HardLink):
            return None
        item = item.get(part)
    return item


def read_attribute(item: Any, name: str) -> Any:
    """The value of an attribute; None if there is none, or if it is too large to be one."""
    if name not in item.attrs:
        return None
    about = item.attrs.get_id(name)
    if about.get_storage_size() > MOST_ATTRIBUTE_BYTES or math.prod(about.shape or ()) > MOST_ATTRIBUTE_VALUES:
        return None
    return item.attrs[name]


def check_packing(dataset: Any, where: str) -> None:
    """BadInput unless a dataset is stored in its file, in chunks that unpack to what they are stated to hold."""
    if dataset.is_virtual or dataset.external:
        raise BadInput(f"{where}: not a dataset that is stored in this file; copy the data into it")
    if dataset.chunks is None:
        return
    chunk_bytes = math.prod(dataset.chunks) * dataset.dtype.itemsize
    if chunk_bytes > MOST_CHUNK_BYTES:
        raise BadInput(
            f"{where}: chunks of {chunk_bytes:,} bytes, at most {MOST_CHUNK_BYTES:,} are read; write it with smaller "
            "ones (chunks=True in h5py)"
        )
    codes = _check_filters(dataset.id.get_create_plist(), chunk_bytes, where)
    if GZIP in codes:
        for place in _large_chunks(dataset):
            _try_chunk(dataset.id.read_direct_chunk(place)[1], codes, chunk_bytes, where)


def _large_chunks(dataset: Any) -> list[tuple[int, ...]]:
    """Places of the packed chunks that are larger than ``TRUSTED_BYTES``."""
    found: list[tuple[int, ...]] = []

    def note(chunk: Any) -> None:
        if chunk.size > TRUSTED_BYTES:
            found.append(chunk.chunk_offset)

    dataset.id.chunk_iter(note)
    return found


def _check_filters(made: Any, chunk_bytes: int, where: str) -> list[int]:
    """The filters of a dataset in order; BadInput for those that are not known, repeated, or ask for more than a
    chunk."""
    filters = [made.get_filter(k) for k in range(made.get_nfilters())]
    codes = [code for code, *_ in filters]
    if not set(codes) <= FILTERS or len(set(codes)) < len(codes):
        raise BadInput(f"{where}: packed by the filters {codes[:8]}, which are not read; write it with gzip or none")
    for code, _, values, _ in filters:
        if code == LZF and len(values) > 2 and values[2] > chunk_bytes:
            raise BadInput(f"{where}: its chunks unpack to {values[2]:,} bytes, not {chunk_bytes:,}; write it again")
    return codes


def _try_chunk(packed: bytes, codes: list[int], chunk_bytes: int, where: str) -> None:
    """BadInput if a chunk that is deflated unpacks to more than a chunk, with a checksum perhaps; found out piece by
    piece."""
    if codes[-1] != GZIP and codes[-2:] != [GZIP, h5py.h5z.FILTER_FLETCHER32]:
        raise BadInput(f"{where}: packed by the filters {codes} in this order; write it with gzip alone")
    unpack, count = zlib.decompressobj(), 0
    while packed and not unpack.eof and count <= chunk_bytes + CHECKSUM_BYTES:
        count += len(unpack.decompress(packed, PIECE))
        packed = unpack.unconsumed_tail
    if count > chunk_bytes + CHECKSUM_BYTES:
        raise BadInput(f"{where}: a chunk unpacks to more than the {chunk_bytes:,} bytes of a chunk; write it again")


def _chunks_along(size: int, step: int) -> int:
    return -(-size // step)


class Hdf5Room:
    """What is left of the bytes that a file may unpack to."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._size = path.stat().st_size
        self.bytes = max(LEAST_BYTES, HONEST * self._size, min(MOST_BYTES, BYTES_PER_BYTE * self._size))

    def take(self, dataset: Any, itemsize: int | None = None) -> None:
        """Count a dataset before it is read; ``itemsize``: of its values in memory, if they are converted."""
        where = f"{self._path}: {dataset.name.strip('/')}"
        check_packing(dataset, where)
        if dataset.chunks is not None and math.prod(map(_chunks_along, dataset.shape, dataset.chunks)) > MOST_CHUNKS:
            raise BadInput(
                f"{where}: more than {MOST_CHUNKS:,} chunks; write it with larger ones (chunks=True in h5py)"
            )
        self.take_bytes(dataset.size * max(itemsize or 0, dataset.dtype.itemsize), f"{where} states {dataset.size}")

    def take_bytes(self, count: int, stated: str) -> None:
        """Count bytes; ``stated`` begins the error."""
        self.bytes -= count
        if self.bytes < 0:
            raise BadInput(f"{stated} values, too many for the size of the file")

    def texts(self, dataset: Any) -> list[str]:
        """The texts of a dataset. Values of variable length may all lie in one place of the file, so that their sizes
        are known only when they are read; few are read at once."""
        self.take(dataset)
        found: list[str] = []
        step = max(1, LEAST_BYTES // max(1, self._size))
        for start in range(0, len(dataset), step):
            part = [str(text) for text in dataset.asstr()[start : start + step]]
            self.take_bytes(sum(map(len, part)), f"{self._path}: {dataset.name.strip('/')} states {len(dataset)}")
            found += part
        return found
