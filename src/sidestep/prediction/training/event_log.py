"""Scalars over training steps in the event files that TensorBoard shows, without a dependency on it.

A file is a sequence of TFRecords (length, CRC of it, data, CRC of the data); the data are `Event` messages of
TensorFlow's ``event.proto`` in the protocol buffers' wire format, of which three fields are needed.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from sidestep.errors import BadInput

_POLYNOMIAL = 0x82F63B78
"""Of CRC-32C (Castagnoli), reversed."""


def _table() -> tuple[int, ...]:
    entries = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (_POLYNOMIAL if byte & 1 else 0)
        entries.append(byte)
    return tuple(entries)


_TABLE = _table()


def crc32c(data: bytes) -> int:
    """CRC-32C of ``data``."""
    value = 0xFFFFFFFF
    for byte in data:
        value = _TABLE[(value ^ byte) & 0xFF] ^ (value >> 8)
    return value ^ 0xFFFFFFFF


def _masked(data: bytes) -> bytes:
    value = crc32c(data)
    return struct.pack("<I", (((value >> 15) | (value << 17)) + 0xA282EAD8) & 0xFFFFFFFF)


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(found) + bytes([value])


def _bytes_field(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


class EventLog:
    """Appends scalars to ``folder/events.out.tfevents.…``, one file per start of the training."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        now = time.time()
        taken = len(list(folder.glob("events.out.tfevents.*")))
        self.path = folder / f"events.out.tfevents.{int(now)}.{taken}"
        self._append(struct.pack("<Bd", 0x09, now) + _bytes_field(3, b"brain.Event:2"))

    def write(self, step: int, scalars: Mapping[str, float]) -> None:
        """Add ``scalars`` at ``step``."""
        values = b""
        for tag, value in scalars.items():
            one = _bytes_field(1, tag.encode()) + struct.pack("<Bf", 0x15, value)
            values += _bytes_field(1, one)
        event = struct.pack("<Bd", 0x09, time.time()) + b"\x10" + _varint(step) + _bytes_field(5, values)
        self._append(event)

    def _append(self, event: bytes) -> None:
        length = struct.pack("<Q", len(event))
        with self.path.open("ab") as stream:
            stream.write(length + _masked(length) + event + _masked(event))


def read_records(path: Path) -> Iterator[bytes]:
    """The data of every whole record; ``BadInput`` for one that is damaged."""
    content = path.read_bytes()
    at = 0
    while at + 12 <= len(content):
        head = content[at : at + 8]
        (length,) = struct.unpack("<Q", head)
        data = content[at + 12 : at + 12 + length]
        check = content[at + 12 + length : at + 16 + length]
        if len(check) < 4:
            return
        if content[at + 8 : at + 12] != _masked(head) or check != _masked(data):
            raise BadInput(f"{path}: the record at byte {at} is damaged")
        yield data
        at += 16 + length
