"""Poses and curves as short text: whole units, second differences, variable-length bytes, base64.

A person walking steadily costs about one byte per number, one who is absent costs nothing. The decoder is
``decodeTracks`` in ``static/data.js``.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence

import numpy as np

from sidestep.types.base import BoolArray, FloatArray, IntArray

LONGEST = 5
"""Bytes of the largest number: 35 bits, of which one is the sign."""


def encode_tracks(values: FloatArray, units: Sequence[float]) -> str:
    """(T, N, C) values, NaN where absent, each channel in whole multiples of its unit.

    Per track: the number of spans in which all channels are known; start and length of each; then span by span and
    channel by channel the second differences, v_k - 2 v_(k-1) + v_(k-2) with v = 0 before the span.
    """
    numbers: list[IntArray] = [np.zeros(0, dtype=np.int64)]
    known: BoolArray = np.asarray(np.isfinite(values).all(axis=-1))
    for track in range(values.shape[1]):
        spans = list(_spans(known[:, track]))
        numbers.append(np.array([len(spans), *(n for a, b in spans for n in (a, b - a))], dtype=np.int64))
        for start, end in spans:
            whole = np.rint(values[start:end, track] / np.asarray(units)).astype(np.int64)
            numbers += [np.diff(whole[:, channel], n=2, prepend=[0, 0]) for channel in range(whole.shape[1])]
    return base64.b64encode(_variable_length(np.concatenate(numbers))).decode()


def _spans(known: BoolArray) -> Iterator[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(known, prepend=False, append=False))
    yield from ((int(start), int(end)) for start, end in edges.reshape(-1, 2))


def _variable_length(numbers: IntArray) -> bytes:
    """Seven bits a byte, lowest first, the eighth says that more follow. Signs go into the lowest bit."""
    unsigned = ((numbers << 1) ^ (numbers >> 63)).astype(np.uint64)
    shifts = 7 * np.arange(LONGEST, dtype=np.uint64)
    groups = ((unsigned[:, None] >> shifts) & np.uint64(127)).astype(np.uint8)
    length = 1 + (unsigned[:, None] >> shifts[1:] > 0).sum(axis=1)
    place = np.arange(LONGEST)
    groups[place < length[:, None] - 1] |= 128
    return bytes(groups[place < length[:, None]])
