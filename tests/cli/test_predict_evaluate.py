"""``predict evaluate`` and ``predict toy``: tables, files, JSON and errors."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import Result

from sidestep.prediction.data.samples import make_samples
from sidestep.prediction.data.store import write_interactions
from sidestep.prediction.forecasts import write_forecast
from sidestep.prediction.toy import MODELS, ONE_MODE, TRUTH
from sidestep.types.forecast import MixtureForecast, SampleForecast
from sidestep.types.interactions import Interactions
from tests.cli.conftest import document
from tests.prediction.data.scenes import straight_road

Call = Callable[..., Result]


def walkers(count: int = 30) -> Interactions:
    """Pedestrians at the kerb of whom half cross at some time."""
    rng = np.random.default_rng(0)
    t = 0.1 * np.arange(70)
    tracks = []
    for number in range(count):
        walked = 1.4 * np.clip(t - rng.uniform(0.0, 4.0), 0.0, None) if number % 2 else 0.0 * t
        x = rng.uniform(15.0, 50.0) + rng.normal(0.0, 0.5) * t
        tracks.append(np.stack([x, walked - 4.0], axis=1))
    return straight_road(tracks, 8.0, clips=5)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data.h5"
    write_interactions(walkers(), path)
    return path


def test_tables_curves_and_document(call: Call, data: Path, tmp_path: Path) -> None:
    samples = make_samples(walkers(), 5)
    truth = np.nan_to_num(samples.future, nan=1000.0)[:, None]
    known = MixtureForecast(samples.horizons_s, truth, np.broadcast_to(0.01 * np.eye(2), (*truth.shape, 2)), [1.0])
    write_forecast(tmp_path / "oracle.h5", samples, known)
    asked = ("--predictor", "cv=constant_velocity", "--predictor", tmp_path / "oracle.h5")
    rest = ("--every", 5, "--resamples", 200, "--out", tmp_path / "out", "--json")
    result = call("predict", "evaluate", data, *asked, *rest)
    assert result.exit_code == 0, result.output
    found = document(result)
    assert found["predictors"] == ["cv", "oracle"]
    assert (found["tracks"], found["moments"]) == (30, len(samples))
    irs = np.array(found["metrics"]["irs"]["value"])
    assert irs[1] == pytest.approx(np.ones(4), abs=0.06)
    assert (irs[0] <= irs[1]).all()
    assert found["irs"][0][0]["positives"] > 0
    assert found["optimal"]["nll"] == ["oracle"] * 4
    assert np.array(found["better"]["ade"])[:, 1, 0].all()
    names = {path.name for path in (tmp_path / "out").iterdir()}
    tables = {
        f"{name}.{form}" for name in ("scores", "further", "optimal", "differences") for form in ("md", "csv", "tex")
    }
    assert names == tables | {"roc.png", "roc.svg"}
    rows = list(csv.DictReader((tmp_path / "out" / "scores.csv").read_text().splitlines()))
    assert len(rows) == 2 * 3 * 4
    first = next(row for row in rows if row["predictor"] == "cv" and row["metric"] == "nll_2s")
    assert float(first["value"]) == pytest.approx(found["metrics"]["nll"]["value"][0][1])
    assert float(first["low"]) <= float(first["value"]) <= float(first["high"])
    assert "| Predictor | IRS 1 s (%) ↑ |" in (tmp_path / "out" / "scores.md").read_text()
    differences = list(csv.DictReader((tmp_path / "out" / "differences.csv").read_text().splitlines()))
    pair = {(row["section"], row["predictor"], row["minus"]): row for row in differences}
    assert pair["ade_3s", "oracle", "cv"]["better"] == "yes"
    assert float(pair["ade_3s", "cv", "oracle"]["value"]) == -float(pair["ade_3s", "oracle", "cv"]["value"])


def test_tables_on_the_terminal_and_notes(call: Call, data: Path) -> None:
    result = call("predict", "evaluate", data, "--predictor", "kalman", "--every", 10, "--resamples", 50)
    assert result.exit_code == 0, result.output
    assert "IRS 1 s" in result.stdout
    assert "bootstrap over 5 clips" in result.stderr
    assert "Only 5 clips were resampled" in result.stderr


def test_no_positives_say_so(call: Call, tmp_path: Path) -> None:
    tracks = [np.full((60, 2), [30.0 + k, 9.0]) for k in range(3)]
    write_interactions(straight_road(tracks, 8.0), tmp_path / "far.h5")
    result = call("predict", "evaluate", tmp_path / "far.h5", "--predictor", "kalman", "--resamples", 20, "--json")
    assert result.exit_code == 0, result.output
    found = document(result)
    assert found["metrics"]["irs"]["value"][0] == [None] * 4
    assert "no relevant moment" in found["irs"][0][0]["reason"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--predictor", "kalmann"), "kalman"),
        (("--predictor", "kalman", "--split", "exam"), "split"),
        (("--predictor", "kalman", "--split", "train"), "no tracks"),
        (("--predictor", "kalman", "--predictor", "kalman"), "same label"),
        (("--predictor", "nothing.h5"), "nothing.h5"),
    ],
)
def test_bad_input_is_explained(call: Call, data: Path, options: tuple[str, ...], words: str) -> None:
    result = call("predict", "evaluate", data, *options)
    assert result.exit_code == 2
    assert words in result.stderr


def test_a_forecast_of_other_samples_is_refused(call: Call, data: Path, tmp_path: Path) -> None:
    some = make_samples(walkers(), 10)
    write_forecast(tmp_path / "some.h5", some, SampleForecast(some.horizons_s, np.zeros((len(some), 3, 4, 2))))
    result = call("predict", "evaluate", data, "--predictor", tmp_path / "some.h5")
    assert result.exit_code == 2
    assert "track 0, frame 11" in result.stderr


def test_an_array_is_no_forecast(call: Call, data: Path, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "class Mine:\n    needs = frozenset()\n    history_s = 0.0\n\n"
        "    def predict(self, history, horizons_s, scene=None, ego=None):\n        return history.position[-1]\n"
    )
    result = call("predict", "evaluate", data, "--predictor", f"{tmp_path / 'own.py'}:Mine", "--every", 10)
    assert result.exit_code == 2, result.output
    assert "Mine returned ndarray" in " ".join(result.stderr.split())


def test_another_frame_is_warned_of(call: Call, data: Path, tmp_path: Path) -> None:
    """Positions from the vehicle: neither the world's frame nor the pedestrian's."""
    (tmp_path / "own.py").write_text(
        "from sidestep.types.forecast import SampleForecast\n\n\n"
        "class Mine:\n    needs = frozenset({'ego'})\n    history_s = 0.0\n\n"
        "    def predict(self, history, horizons_s, scene=None, ego=None):\n"
        "        here = history.position[-1] - [ego.state.x, ego.state.y + 20.0]\n"
        "        return SampleForecast(horizons_s, here[:, None, None].repeat(4, 2))\n"
    )
    asked = ("--predictor", f"{tmp_path / 'own.py'}:Mine", "--predictor", "kalman")
    result = call("predict", "evaluate", data, *asked, "--every", 10, "--resamples", 20, "--json")
    assert result.exit_code == 0, result.output
    assert "warning: Mine: " in result.stderr
    assert "warning: kalman" not in result.stderr


def test_toy(call: Call, tmp_path: Path) -> None:
    result = call("predict", "toy", "--out", tmp_path / "toy", "--draws", 400, "--json")
    assert result.exit_code == 0, result.output
    found = document(result)
    assert all(found["findings"].values())
    assert {path.name for path in (tmp_path / "toy").iterdir()} == {"toy.md", "toy.csv", "toy.tex", "toy.png"}
    assert found["expected"]["truth"]["nll"] == pytest.approx(found["models"]["truth"]["nll"], abs=0.2)
    for seed in (3, 4):  # however few the draws, chance does not decide about the exit code
        assert call("predict", "toy", "--draws", 10, "--seed", seed).exit_code == 0


def test_toy_fails_where_a_finding_does(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MODELS, ONE_MODE, MODELS[TRUTH])
    shown = call("predict", "toy", "--draws", 10)
    assert shown.exit_code == 1
    assert "NO " in shown.stdout
