"""Records below a URI: the same run as in a folder, resumed there, and never half a record."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import pytest
from pyarrow import fs

from sidestep._util.writing import CannotWrite
from sidestep.errors import BadInput, RecordError
from sidestep.records import load_record
from sidestep.runs import storage as storage_module
from sidestep.runs.folder import load_run
from sidestep.runs.runner import run_benchmark, tasks_of
from sidestep.runs.score import score_run
from sidestep.runs.storage import IN_FOLDER, FolderStorage, UriStorage, place_of, without_credentials
from tests.records.example import example_record
from tests.runs.fake import fake_episode, fake_plan


def test_a_folder_is_a_folder() -> None:
    assert place_of("runs/one") == (Path("runs/one"), IN_FOLDER)
    assert place_of("file:///data/my%20run") == (Path("/data/my run"), IN_FOLDER)


def test_a_uri_has_an_index_folder_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage_module, "_open", lambda uri: (fs.LocalFileSystem(), "bucket/run"))
    root, found = place_of("s3://user:secret@bucket/a/run/")
    assert root.parent == Path("runs")
    assert root.name.startswith("run-")
    assert isinstance(found, UriStorage)
    assert found.shown(root / "episodes/x.parquet") == "s3://bucket/a/run/episodes/x.parquet"
    assert place_of("s3://bucket/a/run")[0] == root, "the same place, whoever opens it"
    assert place_of("s3://bucket/b/run")[0] != root


def test_credentials_are_not_shown() -> None:
    assert without_credentials("s3://key:secret@bucket/run?endpoint_override=x") == "s3://bucket/run"
    assert without_credentials("gs://bucket/a@b") == "gs://bucket/a@b"


def test_an_unknown_kind_of_place_is_refused() -> None:
    with pytest.raises(BadInput, match=r"nowhere://x/y: .*pyarrow"):
        place_of("nowhere://x/y")


def test_storages_travel_to_workers() -> None:
    for each in (FolderStorage(), UriStorage("s3://bucket/run", Path("runs/x"))):
        assert pickle.loads(pickle.dumps(each)) == each


@pytest.mark.parametrize("is_object_store", [False, True])
def test_record_there_and_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_object_store: bool) -> None:
    if is_object_store:
        monkeypatch.setattr(storage_module, "ATOMIC_PUT", ("mock",))
    mock = fs._MockFileSystem()
    monkeypatch.setattr(storage_module, "_open", lambda uri: (mock, "run"))
    there, path = UriStorage("mock:///run", tmp_path), tmp_path / "episodes/p/a.parquet"
    mock.create_dir("run/episodes/p", recursive=True)
    record = example_record()
    assert not there.exists(path)
    there.save(record, path)
    assert there.exists(path)
    assert there.load(path).digest == record.digest
    there.save_log("words", path.with_suffix(".log"))
    assert _names(mock) == {"run/episodes/p/a.parquet", "run/episodes/p/a.log"}
    there.save_log("", path.with_suffix(".log"))
    assert _names(mock) == {"run/episodes/p/a.parquet"}, "nothing temporary is left"
    with mock.open_output_stream("run/episodes/p/a.parquet") as stream:
        stream.write(b"PAR1 half")
    with pytest.raises(RecordError, match=r"mock:///run/episodes/p/a\.parquet"):
        there.load(path)


def _names(system: fs.FileSystem) -> set[str]:
    found = system.get_file_info(fs.FileSelector("run", recursive=True))
    return {entry.path for entry in found if entry.type == fs.FileType.File}


def test_what_cannot_be_written_is_told_with_its_address(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("a file in the way")
    there = UriStorage((tmp_path / "store").as_uri(), tmp_path / "root")
    with pytest.raises(CannotWrite, match=r"store/episodes/a.parquet: cannot be written"):
        there.save(example_record(), tmp_path / "root/episodes/a.parquet")


def test_a_run_below_a_uri_is_the_run_in_a_folder(tmp_path: Path) -> None:
    """By two worker processes, through pyarrow; killed records are made again, another computer resumes it."""
    plan = fake_plan(tmp_path, "Steady", seeds=2)
    here = run_benchmark(plan, tmp_path / "here", 2, run_episode=fake_episode)
    store = tmp_path / "store"

    def run(root: Path) -> list[str]:
        there = UriStorage(store.as_uri(), root)
        result = run_benchmark(plan, root, 2, run_episode=fake_episode, storage=there)
        return [each.digest for each in result.episodes]

    digests = [each.digest for each in here.episodes]
    assert run(tmp_path / "index") == digests
    assert not list((tmp_path / "index").rglob("*__seed*.parquet")), "no record on the computer that drives the run"
    records = sorted(store.rglob("*__seed*.parquet"))
    assert [path.relative_to(store) for path in records] == [
        task.path.relative_to(tmp_path / "here")
        for task in sorted(tasks_of(plan, tmp_path / "here"), key=lambda t: t.path)
    ]
    records[0].write_bytes(records[0].read_bytes()[:100])
    records[1].unlink()
    assert run(tmp_path / "another computer") == digests
    assert load_run(tmp_path / "another computer").complete
    assert load_record(records[0]).digest in digests
    assert {each.digest for each in score_run(store).episodes} == set(digests), "the store is a run folder"


def test_a_task_is_told_where_its_record_goes(tmp_path: Path) -> None:
    there = UriStorage("s3://bucket/run", tmp_path)
    tasks = tasks_of(fake_plan(tmp_path, "Steady", seeds=1), tmp_path, there)
    assert {task.storage for task in tasks} == {there}
    assert replace(tasks[0], storage=IN_FOLDER).path == tasks[0].path
