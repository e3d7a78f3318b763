"""Whatever is in a file, a loader returns tracks or says what is wrong; it never fails in another way."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidestep.datasets import load_tracks
from sidestep.datasets.sanity import describe_tracks
from sidestep.errors import BadInput
from tests.datasets.conftest import FILES, OPTIONS, write

JUNK = st.sampled_from(
    [b"", b"nan", b"inf", b"-", b",", b"\n", b"1e999", b"{}", b'"', b"\xff", b"\x00", b"#", b"9" * 30, b"0x1", b" "]
)


@pytest.mark.parametrize("name", sorted(FILES))
@settings(max_examples=60)
@given(data=st.data())
def test_damaged_files(tmp_path_factory: pytest.TempPathFactory, name: str, data: st.DataObject) -> None:
    folder = tmp_path_factory.getbasetemp() / f"fuzz-{name}"
    folder.mkdir(exist_ok=True)
    path = write(folder, name)
    content = FILES[name].encode()
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(content)))
        content = content[:start] + data.draw(JUNK) + content[start + data.draw(st.integers(0, 12)) :]
    path.write_bytes(content)
    for format_name in (name, None):
        tracks, message = None, ""
        try:
            tracks = load_tracks(path, format_name, **OPTIONS.get(name, {}))
        except BadInput as error:
            message = str(error)
        if tracks is None:
            assert path.name in message
        else:
            assert np.isfinite(tracks.position).all()
            assert describe_tracks(tracks)["people"] == len(tracks.people)
