"""Installing recordings: whole and checked, or not at all."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sidestep.datasets import find_dataset, load_dataset, load_tracks, sources
from sidestep.datasets.install import add_dataset, get_dataset
from sidestep.datasets.sources import DATASETS, Dataset, dataset_rows, installed_names
from sidestep.errors import BadInput, UnknownName
from tests.datasets.conftest import FILES, VSP, write


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Dataset:
    """A listed recording whose file is the small obsmat."""
    dataset = dataclasses.replace(
        DATASETS["eth-biwi"],
        name="small",
        file="some/where/obsmat.txt",
        sha256=sha256(FILES["biwi"]),
        fps=50.0,
        address="",
        companions=(("groups.txt", sha256("1 2\n")),),
    )
    monkeypatch.setitem(DATASETS, "small", dataset)
    sources.by_sha256.cache_clear()
    yield dataset
    sources.by_sha256.cache_clear()


def test_nothing_is_installed_at_first(user_data: Path) -> None:
    assert find_dataset("eth-biwi") is None
    assert find_dataset("no-such-name") is None
    assert not any(row["installed"] for row in dataset_rows())
    with pytest.raises(BadInput, match=r"sidestep data get eth-biwi.*sidestep data add PATH"):
        load_dataset("eth-biwi")
    with pytest.raises(BadInput, match=r"no public address is known to the project; .*data add"):
        load_dataset("socnavbench-eth")
    with pytest.raises(UnknownName, match="did you mean 'eth-biwi'"):
        load_dataset("eth-bivi")


def test_added_under_a_name_with_its_options(tmp_path: Path, user_data: Path) -> None:
    path = write(tmp_path, "socnavbench")
    added = add_dataset(path, name="mine", rate_hz=2.0)
    assert added.path == user_data / "mine" / "s.csv"
    about = json.loads((user_data / "mine" / "dataset.json").read_text())
    assert about["options"] == {"rate_hz": 2.0}
    assert about["sha256"] == sha256(FILES["socnavbench"])
    path.unlink()
    assert find_dataset("mine") == added.path
    assert load_dataset("mine").time.max() == 1.0
    assert installed_names() == ["mine"]
    assert dataset_rows()[-1]["name"] == "mine"


def test_what_lies_beside_comes_along(tmp_path: Path, user_data: Path) -> None:
    site = tmp_path / "Hall 3"
    site.mkdir()
    (site / "groups.txt").write_text("1 2\n")
    added = add_dataset(write(site, "ucy_vsp"), pixels="centred")
    assert added.name == "Hall-3"
    assert sorted(file.name for file in added.path.parent.iterdir()) == [
        "H.txt", "annotation.vsp", "dataset.json", "groups.txt",
    ]  # fmt: skip
    there = tmp_path / "there.txt"
    (site / "H.txt").rename(there)
    again = add_dataset(site / "annotation.vsp", name="by-option", homography=there, pixels="centred")
    there.unlink()
    assert load_dataset("by-option").group == {1: 0, 2: 0}
    assert np.array_equal(load_dataset("by-option").position, load_dataset("Hall-3").position)
    assert (again.path.parent / "H.txt").is_file()


def test_adding_twice_is_once(tmp_path: Path, user_data: Path) -> None:
    path = write(tmp_path, "plain")
    assert not add_dataset(path).already
    assert add_dataset(path).already
    path.write_text(FILES["plain"].replace("3", "4"))
    with pytest.raises(BadInput, match="already installed"):
        add_dataset(path)
    assert not add_dataset(path, name="other").already


@pytest.mark.parametrize("name", ["../up", "", ".hidden", "a/b", "x" * 65])
def test_names_that_are_no_names(tmp_path: Path, user_data: Path, name: str) -> None:
    with pytest.raises(BadInput, match="--name"):
        add_dataset(write(tmp_path, "plain"), name=name)
    assert not user_data.exists()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("plain", FILES["plain"] + "1 2 3\n"),
        ("biwi", FILES["biwi"] + FILES["biwi"]),
        ("ucy_vsp", VSP.replace("2 - Num", "99 - Num")),
        ("trajnet", FILES["trajnet"] + "{"),
        ("socnavbench", FILES["socnavbench"]),
    ],
)
def test_nothing_is_half_imported(tmp_path: Path, user_data: Path, name: str, text: str) -> None:
    with pytest.raises(BadInput):
        add_dataset(write(tmp_path, name, text))
    assert not user_data.exists()


def test_a_full_disk_leaves_nothing(tmp_path: Path, user_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(source: Path, target: Path) -> None:
        target.write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("shutil.copyfile", full)
    with pytest.raises(BadInput, match="No space left"):
        add_dataset(write(tmp_path, "plain"))
    assert list(user_data.iterdir()) == []


def test_a_damaged_installation_is_said(tmp_path: Path, user_data: Path) -> None:
    added = add_dataset(write(tmp_path, "plain"), name="mine")
    added.path.write_text(FILES["plain"] + "20 2 3 3\n")
    with pytest.raises(BadInput, match="is not the file that 'mine' names"):
        load_dataset("mine")
    (added.path.parent / "dataset.json").write_text("{")
    with pytest.raises(BadInput, match="install 'mine' again"):
        load_dataset("mine")


def test_a_known_file_gets_its_name_and_clock(tmp_path: Path, user_data: Path, small: Dataset) -> None:
    path = write(tmp_path, "biwi")
    with pytest.raises(BadInput, match="leave out rate_hz, or choose another --name"):
        add_dataset(path, rate_hz=25.0)
    assert add_dataset(path, rate_hz=25.0, name="mine").known is small
    assert load_dataset("mine").time[0] == 4.0
    (tmp_path / "groups.txt").write_text("2 1\n")
    with pytest.raises(BadInput, match=r"is not the groups\.txt that belongs to small"):
        add_dataset(path)
    (tmp_path / "groups.txt").write_text("1 2\n")
    assert add_dataset(path).name == "small"
    assert load_dataset("small").time[0] == 2.0
    path.write_text(FILES["biwi"] + "130 2 5 0 3 0 0 1\n")
    with pytest.raises(BadInput, match="is not the file that 'small' names"):
        add_dataset(path, name="small")


def test_folders_of_the_environment_come_first_and_are_read_when_asked(
    tmp_path: Path, user_data: Path, small: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_dataset(write(tmp_path, "biwi"))
    assert find_dataset("small") == user_data / "small" / "obsmat.txt"
    folder = tmp_path / "data"
    (folder / "some" / "where").mkdir(parents=True)
    file = write(folder / "some" / "where", "biwi")
    monkeypatch.setenv("SIDESTEP_DATA", os.pathsep.join([str(tmp_path / "none"), str(folder)]))
    assert find_dataset("small") == file
    file.write_text("other\n")
    with pytest.raises(BadInput, match="is not the file that 'small' names"):
        load_dataset("small")
    monkeypatch.delenv("SIDESTEP_DATA")
    assert len(load_dataset("small").people) == 2


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Callable[[dict[str, str]], str]]:
    """Serve files from the loopback address."""
    folder = tmp_path / "served"
    folder.mkdir()

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

        def do_GET(self) -> None:
            if not self.path.startswith("/cut"):
                super().do_GET()
                return
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b"100 1 0.0")

    http = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=http.serve_forever, daemon=True)
    thread.start()

    def serve(files: dict[str, str]) -> str:
        for name, text in files.items():
            (folder / name).write_text(text)
        return f"http://127.0.0.1:{http.server_address[1]}"

    yield serve
    http.shutdown()
    http.server_close()
    thread.join()


def test_download(user_data: Path, small: Dataset, server: Callable[[dict[str, str]], str]) -> None:
    address = server({"obsmat.txt": FILES["biwi"], "groups.txt": "1 2\n"})
    moves: list[tuple[int, int, str]] = []
    added = get_dataset("small", f"{address}/obsmat.txt", lambda *step: moves.append(step))
    assert (added.path, added.already) == (user_data / "small" / "obsmat.txt", False)
    size = len(FILES["biwi"])
    assert list(dict.fromkeys(moves)) == [(size, size, "obsmat.txt"), (4, 4, "groups.txt")]
    tracks = load_dataset("small")
    assert tracks.group == {1: 0, 2: 0}
    assert tracks.time[0] == 2.0
    assert get_dataset("small", "http://127.0.0.1:9/none").already


def test_download_from_the_known_address(
    user_data: Path, small: Dataset, server: Callable[[dict[str, str]], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Groups that are not there are done without."""
    with pytest.raises(BadInput, match="no public address is known to the project; give one with --url"):
        get_dataset("small")
    address = server({"obsmat.txt": FILES["biwi"]})
    monkeypatch.setitem(DATASETS, "small", dataclasses.replace(small, address=f"{address}/obsmat.txt"))
    get_dataset("small")
    assert load_dataset("small").group == {}


def test_a_download_that_grows_too_large(
    user_data: Path, small: Dataset, server: Callable[[dict[str, str]], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sidestep.datasets.install.LARGEST_BYTES", 1 << 20)
    address = server({"obsmat.txt": "x" * (2 << 20)})
    with pytest.raises(BadInput, match=r"obsmat\.txt: larger than 1 MB; nothing was installed"):
        get_dataset("small", f"{address}/obsmat.txt")
    assert list(user_data.iterdir()) == []


def test_refused_downloads_leave_nothing(
    user_data: Path, small: Dataset, server: Callable[[dict[str, str]], str]
) -> None:
    address = server({"obsmat.txt": FILES["biwi"], "wrong.txt": FILES["biwi"] + "\n", "groups.txt": "1 2 3\n"})
    for url, message in (
        (f"{address}/wrong.txt", "is not the known file"),
        (f"{address}/obsmat.txt", r"groups\.txt: is not the known file"),
        (f"{address}/none.txt", "404"),
        (f"{address}/cut", "cannot be fetched|ended after"),
        ("http://127.0.0.1:9/x", "cannot be fetched"),
        ("file:///etc/hostname", "only http and https"),
        ("nonsense", "only http and https"),
    ):
        with pytest.raises(BadInput, match=message):
            get_dataset("small", url)
        assert not user_data.exists() or list(user_data.iterdir()) == [], url
    with pytest.raises(UnknownName, match="did you mean 'small'"):
        get_dataset("smal")


def test_the_list_is_in_order() -> None:
    assert len(sources.by_sha256()) == len(DATASETS)
    for name, dataset in DATASETS.items():
        assert dataset.name == name
        assert len(dataset.sha256) == 64
        assert dataset.licence
        assert dataset.citation
        assert dataset.address.startswith("https://") or not dataset.address
        assert not Path(dataset.file).is_absolute()
    assert load_tracks.__doc__
