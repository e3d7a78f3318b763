"""``predict loop``: any number of predictors, and everything checked before the first drive."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import Result

from sidestep.prediction.data.store import write_interactions
from tests.cli.conftest import document
from tests.cli.test_predict_evaluate import walkers

Call = Callable[..., Result]

OWN = """
from sidestep.prediction.predictors.constant_velocity import ConstantVelocity


class Mine(ConstantVelocity):
    pass


class Careless(ConstantVelocity):
    def predict(self, history, horizons_s, scene=None, ego=None):
        return history.position[-1]
"""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Half of the tracks for validation, half for tests."""
    made = walkers(60)
    write_interactions(replace(made, split=1 + np.arange(60) // 30), tmp_path / "data.h5")
    (tmp_path / "own.py").write_text(OWN)
    return tmp_path / "data.h5"


def test_a_predictor_by_file_and_class(call: Call, data: Path) -> None:
    """One predictor needs no label, drives, and is reported without rank correlations."""
    out = data.parent / "loop"
    arguments = ("--predictor", f"{data.parent / 'own.py'}:Mine", "--out", out, "--limit", 1, "--repeat", 1)
    result = call("predict", "loop", data, *arguments, "--alarms", 1.0, "--ends", "Mine", "--json")
    assert result.exit_code == 0, result.output
    found = document(result)
    assert [each["driver"] for each in found["drivers"]] == ["Mine", "Mine-low", "Mine-high", "human_driver"]
    assert found["drivers"][0]["episodes"] == 1
    assert len(found["drivers"][0]["working_points"]) == 4
    assert found["correlations"] == []
    assert "No rank correlations" in found["cautions"][0]
    assert {"loop.json", "loop.md", "loop.png"} <= {path.name for path in out.iterdir()}
    assert not (out / "loop_correlations.md").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--predictor", "kalman", "--suite", "stret"), "did you mean"),
        (("--predictor", "kalman", "--split", "exam"), "split"),
        (("--predictor", "kalmann"), "did you mean 'kalman'"),
        (("--predictor", "kalman", "--predictor", "kalman"), "same label"),
        (("--predictor", "nothing.h5"), "cannot drive"),
        (("--predictor", "nothing.onnx"), "no such file"),
        (("--predictor", "OWN:Careless"), "returned ndarray; return a SampleForecast"),
        (("--predictor", "kalman", "--ends", "kalma"), "did you mean 'kalman'"),
        (("--predictor", "human_driver=kalman"), "another driver"),
    ],
)
def test_bad_input_is_refused_before_anything_is_driven(
    call: Call, data: Path, options: tuple[str, ...], words: str
) -> None:
    own = str(data.parent / "own.py")
    result = call("predict", "loop", data, *(each.replace("OWN", own) for each in options), "--out", data.parent / "x")
    assert result.exit_code == 2, result.output
    assert words in " ".join(result.stderr.split())
    assert not (data.parent / "x").exists()


def test_data_without_a_validation_split(call: Call, data: Path) -> None:
    write_interactions(walkers(10), data)
    result = call("predict", "loop", data, "--predictor", "kalman", "--out", data.parent / "x")
    assert result.exit_code == 2
    assert "'validation' has 0 tracks" in result.stderr
