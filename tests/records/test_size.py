"""How large the file of a record is."""

from __future__ import annotations

from sidestep.records.write import encode_record
from tests.records.example import example_record


def test_metadata_is_stored_once() -> None:
    data = encode_record(example_record(steps=20, people=0))
    for key in (b"sidestep.scenario", b"sidestep.robot", b"sidestep.policy", b"sidestep.digest", b"ARROW:schema"):
        assert data.count(key) == (0 if key == b"ARROW:schema" else 1)
    assert len(data) < 13_000


def test_a_person_takes_at_most_twenty_two_bytes_a_state_of_noise() -> None:
    """The worst case, five random float32 numbers, a bit and a group: nothing is stored twice."""
    few, many = (len(encode_record(example_record(steps=400, people=people))) for people in (4, 44))
    assert (many - few) / (40 * 401) < 22.0
