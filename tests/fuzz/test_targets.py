"""Whatever the bytes are, every reader returns something or says what is wrong, soon and in bounded memory."""

from __future__ import annotations

import json
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidestep.errors import BadInput
from tests.fuzz.cases import MORE_BYTES, Defect, find_defect, place_of, run_cases
from tests.fuzz.driver import prepared_in
from tests.fuzz.guard import limit_memory
from tests.fuzz.target import Prepared, Target, case, check
from tests.fuzz.targets import TARGETS
from tests.fuzz.trees import change_tree, write_yaml

SLOW = {
    "worlds": 40, "intersection": 40, "driving_place": 40, "saved_model": 60, "predictor": 60,
    "demonstrations_fields": 60, "pack": 100, "forecasts": 20, "forecasts_fields": 20,
    "interactions_foreign": 20,
}  # fmt: skip
"""Cases of targets that take more than some milliseconds each."""
CASES = 250


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder to work in, in a process of bounded memory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("platformdirs.user_data_dir", lambda *_, **__: str(tmp_path))
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit_memory(MORE_BYTES)
    yield tmp_path
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def defects(name: str, folder: Path, numbers: range) -> list[Defect]:
    found: list[Defect] = []
    run_cases(TARGETS[name], prepared_in(name, folder), numbers, folder, found.append)
    return found


@pytest.mark.parametrize("name", sorted(TARGETS))
def test_damaged_inputs(name: str, folder: Path) -> None:
    assert defects(name, folder, range(SLOW.get(name, CASES))) == []


@pytest.mark.full
@pytest.mark.parametrize("name", sorted(TARGETS))
def test_very_many_damaged_inputs(name: str, folder: Path) -> None:
    assert defects(name, folder, range(10_000, 10_000 + 20 * SLOW.get(name, CASES))) == []


QUICK = (
    "command",
    "introduction",
    "plans",
    "joystick",
    "drive_page",
    "walk_page",
    "answer",
    "form",
    "study",
)


@pytest.mark.parametrize("name", QUICK)
@settings(max_examples=150)
@given(data=st.data())
def test_any_bytes(name: str, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Bytes that no seed leads to: hypothesis draws and shrinks them."""
    target = TARGETS[name]
    prepared = target.prepare(tmp_path_factory.getbasetemp())
    start = data.draw(st.sampled_from([b"", *prepared.seeds]))
    cut = data.draw(st.integers(0, len(start)))
    content = start[:cut] + data.draw(st.binary(max_size=60)) + start[cut + data.draw(st.integers(0, 20)) :]
    assert len(check(target, prepared, content)) < 2_000


def test_a_case_is_the_same_every_time(tmp_path: Path) -> None:
    for name in ("run", "osm", "command", "ratings_csv", "glb"):
        prepared = TARGETS[name].prepare(tmp_path)
        numbers = range(40)
        first = [case(TARGETS[name], prepared, number) for number in numbers]
        assert first == [case(TARGETS[name], prepared, number) for number in numbers]
        assert len(set(first)) > 25


def failing(content: bytes) -> None:
    """Reads JSON and forgets that a list has no keys."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise BadInput("not JSON") from error
    document["a"]["b"]


def test_a_defect_is_found_and_named(tmp_path: Path) -> None:
    target = Target(lambda folder: Prepared((b'{"a": {"b": 1}}',), failing), TARGETS["run"].damage)
    found: list[Defect] = []
    run_cases(target, target.prepare(tmp_path), range(200), tmp_path, found.append)
    assert {defect.place.split()[0] for defect in found} >= {"TypeError", "KeyError"}
    again = find_defect(target, target.prepare(tmp_path), found[0].number, tmp_path)
    assert again == found[0]


def test_long_messages_are_defects(tmp_path: Path) -> None:
    def read(content: bytes) -> None:
        raise BadInput(f"{content!r}" * 50)

    target = Target(lambda folder: Prepared((b"x" * 40,), read))
    defect = find_defect(target, target.prepare(tmp_path), 1, tmp_path)
    assert defect is not None
    assert defect.place == "a long message"


def test_places_are_files_of_ours() -> None:
    with pytest.raises(TypeError) as caught:
        failing(b"[]")
    assert place_of(caught.value).startswith("TypeError at ")


def test_yaml_has_infinite_numbers_of_its_own() -> None:
    import random

    assert write_yaml({"a": [float("nan"), float("-inf")], "b": "NaN"}) == b'{"a": [.nan, -.inf], "b": "NaN"}'
    trees = {write_yaml(change_tree(random.Random(seed), {"a": [1, {"b": "x"}]})) for seed in range(50)}
    assert len(trees) > 30
