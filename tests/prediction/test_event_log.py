"""Event files: checksums, and what a reader of protocol buffers finds in them."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from sidestep.errors import BadInput
from sidestep.prediction.training.event_log import EventLog, crc32c, read_records


def test_checksums_are_those_of_the_standard() -> None:
    assert crc32c(b"123456789") == 0xE3069283  # the check value of CRC-32C
    assert crc32c(b"\x00" * 32) == 0x8A9136AA  # RFC 3720, B.4


def test_scalars_are_in_the_file(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "run")
    log.write(300, {"a": 0.5, "loss/b": -2.0})
    version, event = read_records(log.path)
    assert version[9:] == b"\x1a\x0dbrain.Event:2"
    one = b"\x0a\x01a\x15" + struct.pack("<f", 0.5)
    two = b"\x0a\x06loss/b\x15" + struct.pack("<f", -2.0)
    values = b"".join(b"\x0a" + bytes([len(each)]) + each for each in (one, two))
    assert event[0] == 0x09
    assert event[9:] == b"\x10\xac\x02" + b"\x2a" + bytes([len(values)]) + values  # 300 is AC 02


def test_a_second_start_writes_another_file(tmp_path: Path) -> None:
    first, second = EventLog(tmp_path), EventLog(tmp_path)
    assert first.path != second.path


def test_damage_is_found_and_half_a_record_is_left_out(tmp_path: Path) -> None:
    log = EventLog(tmp_path)
    log.write(1, {"a": 1.0})
    whole = log.path.read_bytes()
    log.path.write_bytes(whole[:-3])
    assert len(list(read_records(log.path))) == 1
    log.path.write_bytes(whole[:-8] + b"\xff" + whole[-7:])
    with pytest.raises(BadInput, match="is damaged"):
        list(read_records(log.path))
