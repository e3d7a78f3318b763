"""No reader without a fuzz target: the table of readers, the source and the targets are compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.reached import reached_by
from tests.fuzz.scan import reading_functions
from tests.fuzz.table import NO_OUTSIDERS, READERS
from tests.fuzz.targets import TARGETS

HELPERS = frozenset({"_util/hdf5_probe.py:probe_hdf5"})
"""Readers by way of another process, which the source does not show."""
NAMED = sorted({target for targets in READERS.values() for target in targets})


def test_every_reader_has_a_target() -> None:
    found = reading_functions()
    unknown = {name: calls for name, calls in found.items() if name not in READERS and name not in NO_OUTSIDERS}
    assert not unknown, "add a fuzz target and a line in tests/fuzz/table.py for each of these readers"
    gone = (set(READERS) | set(NO_OUTSIDERS)) - set(found) - HELPERS
    assert not gone, "these functions read no more; take them out of tests/fuzz/table.py"
    assert not set(READERS) & set(NO_OUTSIDERS)
    assert set(NAMED) <= set(TARGETS)


def test_a_new_reader_is_found(tmp_path: Path) -> None:
    (tmp_path / "new.py").write_text(
        "import json\n\n\nclass Thing:\n    def load(self, path):\n        with path.open() as file:\n"
        "            return json.load(file)\n\n\ndef save(path):\n    path.open('wb').write(b'')\n\n\n"
        "def other(path):\n    def inner():\n        return read_mapping(path)\n    return inner\n"
    )
    assert reading_functions(tmp_path) == {
        "new.py:Thing.load": ["path.open", "json.load"],
        "new.py:other.inner": ["read_mapping"],
    }


@pytest.mark.parametrize("name", NAMED)
def test_targets_lead_to_their_readers(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("platformdirs.user_data_dir", lambda *_, **__: str(tmp_path))
    wanted = {reader for reader, targets in READERS.items() if name in targets}
    assert wanted <= reached_by(name, tmp_path)
