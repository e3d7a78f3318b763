"""The verbs ``predict dataset``, ``predict info`` and ``predict gaps``."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image
from typer.testing import Result

from sidestep.prediction.data.store import read_interactions, write_interactions
from sidestep.records import save_record
from tests.cli.conftest import document
from tests.prediction.data.made import one_track
from tests.prediction.data.test_from_records import street_record
from tests.prediction.data.test_gaps import crossing
from tests.prediction.data.test_recorded import annotate, write_golf_cart, write_ind, write_vci_dut

Call = Callable[..., Result]


def test_recorded_data_with_attributes(tmp_path: Path, call: Call) -> None:
    write_ind(tmp_path)
    out = tmp_path / "ind.h5"
    attributes = annotate(tmp_path, "ind/07/0,1,0,180,90,0")
    arguments = ("--folder", tmp_path, "--place", "zebra", "--attributes", attributes, "--out", out, "--json")
    info = document(call("predict", "dataset", "--from", "ind", *arguments))["info"]
    assert (info["tracks"], info["origins"], info["splits"]["test"]["places"]) == (1, ["recorded"], {"zebra": 1})
    assert info["splits"]["test"]["labelled"] == 1
    assert len(read_interactions(out)) == 1
    assert document(call("predict", "info", out, "--json"))["info"] == info
    shown = call("predict", "info", out)
    assert shown.exit_code == 0
    assert "zebra" in shown.stdout


def test_vci_dut_in_a_folder(tmp_path: Path, call: Call) -> None:
    write_vci_dut(tmp_path)
    arguments = ("--from", "vci_dut", "--folder", tmp_path, "--out", tmp_path / "v.h5", "--json")
    assert document(call("predict", "dataset", *arguments))["info"]["splits"]["test"]["tracks"] == 1


def test_gaps_of_a_folder_of_recordings(tmp_path: Path, call: Call) -> None:
    """The golf cart's gap is 2.25 s; see ``test_the_golf_cart_of_vci_citr``."""
    folder = tmp_path / "citr"
    folder.mkdir()
    write_golf_cart(folder)
    found = document(call("predict", "gaps", folder, "--json"))
    assert found["gaps"]["p50"] == pytest.approx(2.25, abs=1e-3)
    assert found["source"] == "recorded"
    assert found["files"]["citr"]["read_as"].startswith("vci_citr: 29.97 frames per second, vehicles of 2.2 m")
    own = ("--fps", 29.97, "--vehicle-length", 2.2, "--vehicle-width", 1.2, "--front-m", 1.0)
    assert document(call("predict", "gaps", folder, *own, "--json"))["gaps"] == found["gaps"]
    named = document(call("predict", "gaps", folder, "--source", "vci_citr", "--json"))
    assert named["gaps"] == found["gaps"]
    out = tmp_path / "citr.h5"
    made = call("predict", "dataset", "--from", "vci_citr", "--folder", folder, "--out", out)
    assert "vci_citr: 29.97 frames per second" in made.stderr
    assert document(call("predict", "gaps", out, "--json"))["gaps"] == found["gaps"]
    for arguments, words in (
        ((folder, "--source", "vci_dut"), "0.80 times as far"),
        ((folder, "--fps", 50), "give --vehicle-length"),
        ((folder, "--source", "vci_cit"), "did you mean 'vci_citr'"),
        ((out, "--fps", 30), "--fps is for folders of recordings"),
    ):
        result = call("predict", "gaps", *arguments)
        assert result.exit_code == 2, arguments
        assert words in " ".join(result.stderr.split()), arguments


def test_gaps_of_a_run_and_of_an_empty_folder(tmp_path: Path, call: Call) -> None:
    save_record(street_record(seed=0), tmp_path / "run" / "episodes" / "orca" / "made__seed0.parquet")
    found = document(call("predict", "gaps", tmp_path / "run", "--json"))
    assert (found["source"], found["files"]["run"]["read_as"]) == ("generated", "records of a run")
    (tmp_path / "empty").mkdir()
    result = call("predict", "gaps", tmp_path / "empty")
    assert result.exit_code == 2
    assert "a folder without recordings" in result.stderr


def test_records_of_a_run(tmp_path: Path, call: Call) -> None:
    for seed in range(4):
        save_record(street_record(seed=seed), tmp_path / "run" / "episodes" / "orca" / f"made__seed{seed}.parquet")
    arguments = ("--from", tmp_path / "run", "--test-tracks", "4", "--out", tmp_path / "r.h5", "--json")
    info = document(call("predict", "dataset", *arguments))["info"]
    assert info["splits"]["test"]["tracks"] == 4
    assert info["splits"]["train"]["clips"] == 3
    assert info["drivers"] == ["orca"]
    result = call("predict", "dataset", "--from", tmp_path / "run", "--out", tmp_path / "s.h5")
    assert result.exit_code == 2
    assert "too few for 1500 test tracks" in result.stderr


def test_gaps(tmp_path: Path, call: Call) -> None:
    write_interactions(crossing(), tmp_path / "one.h5")
    write_interactions(one_track([[0.0, 9.0]] * 30, [0.0] * 30, 1.0), tmp_path / "none.h5")
    files = (tmp_path / "one.h5", tmp_path / "none.h5")
    gaps = document(call("predict", "gaps", *files, "--out", tmp_path / "out", "--json"))["files"]
    assert gaps["one"]["quartiles_s"] == pytest.approx([1.1] * 3)
    assert (gaps["none"]["encounters"], gaps["none"]["share_below_2_s"]) == (0, None)
    names = sorted(file.name for file in (tmp_path / "out").iterdir())
    assert names == [
        "none-encounters.csv", "none-gaps.json", "none-gaps.png", "none-gaps.svg", "one-encounters.csv",
        "one-gaps.json", "one-gaps.png", "one-gaps.svg", "one-scenes.png", "one-scenes.svg",
    ]  # fmt: skip
    [row] = csv.DictReader((tmp_path / "out" / "one-encounters.csv").open())
    assert float(row["gap_s"]) == pytest.approx(1.1)
    assert json.loads((tmp_path / "out" / "one-gaps.json").read_text())["all"][0]["person"] == 7
    with Image.open(tmp_path / "out" / "one-scenes.png") as picture:
        assert len(picture.convert("RGB").getcolors(1 << 24) or []) > 20
    assert "1.10" in call("predict", "gaps", tmp_path / "one.h5").stdout


def test_bad_input_ends_with_2_and_a_remedy(tmp_path: Path, call: Call) -> None:
    (tmp_path / "b").mkdir()
    for folder in (tmp_path, tmp_path / "b"):
        write_interactions(crossing(), folder / "one.h5")
    out = ("--out", tmp_path / "x.h5")
    for arguments, words in (
        (("info", tmp_path / "no.h5"), "no such file"),
        (("gaps", tmp_path / "one.h5", tmp_path / "b" / "one.h5"), "two files have the same name"),
        (("dataset", "--from", "ind", *out), "--folder"),
        (("dataset", "--from", "ind", "--folder", tmp_path, "--place", "zebr", *out), "did you mean 'zebra'"),
        (("dataset", "--from", tmp_path / "b", *out), "nor a run folder with records"),
        (("dataset", "--folder", tmp_path, *out), "--folder is for"),
    ):
        result = call("predict", *arguments)
        assert result.exit_code == 2, arguments
        assert words in " ".join(result.stderr.split()), arguments
    assert not (tmp_path / "x.h5").exists()
