"""The CVAE: its layers, its loss, its training with resume, its export, and the predictor that runs the export."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.needs import reason_missing

torch = pytest.importorskip("torch", reason=reason_missing("torch"))
onnx = pytest.importorskip("onnx", reason=reason_missing("onnx"))

from scipy.stats import multivariate_normal  # noqa: E402

from sidestep.errors import BadInput  # noqa: E402
from sidestep.prediction import check_predictor  # noqa: E402
from sidestep.prediction.data import make_samples  # noqa: E402
from sidestep.prediction.data.store import write_interactions  # noqa: E402
from sidestep.prediction.forecasts import forecast_samples  # noqa: E402
from sidestep.prediction.predictors.cvae import Cvae as CvaePredictor  # noqa: E402
from sidestep.prediction.predictors.network_input import FEATURE_SETS  # noqa: E402
from sidestep.prediction.training.cvae import SIZES, Cvae, CvaeSizes, export_cvae, grid_of, log_density  # noqa: E402
from sidestep.prediction.training.cvae_training import (  # noqa: E402
    long_tracks,
    mixture_density,
    search_cvae,
    train_cvae,
    training_of,
)
from sidestep.types.forecast import TrackHistory  # noqa: E402
from tests.prediction.data.walkers import walkers  # noqa: E402

TINY = CvaeSizes(8, 16, 32, "heading", True, latent=3)
FULL = FEATURE_SETS[-1]


def settings(features: str = "motion", **changes: Any) -> Any:
    given = {"sizes": TINY, "epochs": 3, "samples": 512, "batch": 128, "validation": 200, "modes": 8}
    return training_of(features, "small", **{**given, **changes})


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An untrained network with all features."""
    torch.manual_seed(0)
    path: Path = tmp_path_factory.mktemp("cvae") / "full.onnx"
    export_cvae(Cvae(FULL, TINY), path, {"note": "untrained"})
    return path


def test_layers_are_those_of_the_paper() -> None:
    network = Cvae("motion+map", SIZES["paper"])
    shapes = [
        tuple(layer.weight.shape) for layer in network.map if isinstance(layer, torch.nn.Conv2d | torch.nn.Linear)
    ]
    filters = [(4, 8), (8, 4), (16, 8), (16, 16), (32, 16), (32, 32), (64, 32), (64, 64)]
    assert shapes == [*((out, into, 3, 3) for out, into in filters), (512, 64 * 8 * 8), (100, 512)]
    kinds = "".join({"Conv2d": "C", "ReLU": "r", "MaxPool2d": "P"}.get(_kind(layer), "") for layer in network.map)
    assert kinds == "CrPCrPCrCrPCrCrPCrCrPr"
    assert network.past.weight.shape == (128, 256)
    widths = [tuple(layer.weight.shape) for layer in network.predictive if isinstance(layer, torch.nn.Linear)]
    assert widths == [(384, 128 + 100 + 10), (384, 384), (384, 384), (20, 384)]
    plain = [name for name, _ in network.named_parameters() if name.endswith("weight")]
    assert plain == []  # all weights are normalised


def _kind(layer: Any) -> str:
    return type(layer).__name__.removeprefix("Parametrized")


def test_the_grid_of_the_paper() -> None:
    def pairs(features: str) -> set[tuple[int, int]]:
        return {(sizes.state, sizes.width) for sizes in grid_of(features, SIZES["paper"])}

    assert pairs("motion+map") == {(s, w) for s in (256, 384) for w in (256, 384, 512)}
    assert pairs("motion") == {(s, w) for s in (256, 384) for w in (384, 512, 640)}


def test_density_against_scipy() -> None:
    mean, factor = torch.zeros(1, 1, 2, 2), torch.tensor([0.5, 0.2, 0.8]).reshape(1, 1, 1, 3).expand(1, 1, 2, 3)
    future = torch.tensor([[[0.3, -0.4], [torch.nan, torch.nan]]])
    lower = np.array([[0.5, 0.0], [0.2, 0.8]])
    expected = multivariate_normal(np.zeros(2), lower @ lower.T).logpdf([0.3, -0.4])
    found = log_density(mean, factor, future)[0, 0]
    assert found.tolist() == [pytest.approx(expected, abs=1e-5), 0.0]


def test_the_paper_trains_with_the_bound_alone() -> None:
    paper, small = training_of("motion+map", "paper"), training_of("motion", "small")
    assert (paper.prior_weight, paper.batch, paper.epochs, paper.rate, paper.decays) == (0.0, 1024, 3000, 1e-3, False)
    assert paper.turn_sd is None
    assert training_of("motion", "paper").batch == 2048
    assert small.prior_weight > 0.0


def test_an_equal_mixture() -> None:
    density = torch.tensor([[[0.0], [-1.0], [-3.0]]])
    expected = np.log((1.0 + np.exp(-1.0) + np.exp(-3.0)) / 3.0)
    assert float(mixture_density(density)) == pytest.approx(expected, abs=1e-6)


def test_training_learns_and_goes_on_after_it_was_killed(tmp_path: Path) -> None:
    data, labels = walkers(40), []
    whole = train_cvae(data, settings(), tmp_path / "whole", lambda *told: labels.append(told))
    assert [told[:2] for told in labels] == [(1, 3), (2, 3), (3, 3)]

    class Killed(Exception):
        pass

    def kill(done: int, total: int, label: str) -> None:
        if done == 2:
            raise Killed

    with pytest.raises(Killed):
        train_cvae(data, settings(), tmp_path / "cut", kill)
    again = train_cvae(data, settings(), tmp_path / "cut", lambda *told: labels.append(told))
    assert labels[-1][0] == 3
    assert len(labels) == 4  # only the last epoch was left
    for one, other in zip(whole.network.state_dict().values(), again.network.state_dict().values(), strict=True):
        assert torch.equal(one, other)
    assert len(list((tmp_path / "cut").glob("events.out.tfevents.*"))) == 2
    longer = train_cvae(data, settings(epochs=12), None, lambda *told: None)
    assert sum(longer.nll) < sum(whole.nll)


def test_a_checkpoint_of_other_settings_is_refused(tmp_path: Path) -> None:
    data = walkers(20)
    train_cvae(data, settings(epochs=1), tmp_path, lambda *told: None)
    with pytest.raises(BadInput, match="checkpoint of other settings or data; restart"):
        train_cvae(data, settings(epochs=1, rate=1e-4), tmp_path, lambda *told: None)
    (tmp_path / "last.pt").write_bytes(b"no")
    with pytest.raises(BadInput, match="not a checkpoint"):
        train_cvae(data, settings(epochs=1), tmp_path, lambda *told: None)
    train_cvae(data, settings(epochs=1), tmp_path, lambda *told: None, restart=True)


def test_data_without_a_validation_split_is_refused() -> None:
    data = walkers(4)
    with pytest.raises(BadInput, match="in the splits `train` and `validation`"):
        train_cvae(replace(data, split=np.zeros(4)), settings(), None, lambda *told: None)


def test_the_search_takes_the_best_of_all_feature_sets(tmp_path: Path) -> None:
    data = walkers(20)
    grid = [TINY, replace(TINY, state=12)]
    found = search_cvae(data, settings("motion+map", epochs=1), grid, [1], tmp_path, lambda *told: None)
    assert len(found) == 2
    assert all(each.file.is_file() for each in found)
    irs = [each.mean_irs for each in found]
    assert not np.isfinite(irs).all() or irs[0] >= irs[1]


def test_the_export_is_the_network(file: Path) -> None:
    torch.manual_seed(0)
    network = Cvae(FULL, TINY).eval()
    history, z = torch.randn(5, 10, 8), torch.randn(5, 4, 3)
    window = torch.randint(0, 8, (5, 32, 32), dtype=torch.uint8)
    with torch.no_grad():
        mean, factor = network.predict(network.encode(history, window), history, z)
    predictor = CvaePredictor(file=str(file))
    inputs = {"history": history.numpy(), "z": z.numpy(), "window": window.numpy()}
    found_mean, found_factor = predictor._network.run(["mean", "cholesky"], inputs)
    np.testing.assert_allclose(found_mean, mean.numpy(), atol=1e-4)
    np.testing.assert_allclose(found_factor[..., 1, 0], factor[..., 1].numpy(), atol=1e-5)
    assert (found_factor[..., 0, 1] == 0.0).all()


def test_the_predictor_keeps_the_contract(file: Path) -> None:
    predictor = CvaePredictor(file=str(file), modes=6)
    assert predictor.needs == {"map", "ego", "head", "body"}
    check_predictor(predictor)
    samples = make_samples(walkers(3), every=10)
    forecast = forecast_samples(predictor, samples)
    assert forecast.paths.shape == (len(samples), 6, 4, 2)
    again = forecast_samples(CvaePredictor(file=str(file), modes=6), samples)
    assert np.array_equal(forecast.paths, again.paths)
    other = forecast_samples(CvaePredictor(file=str(file), modes=6, seed=1), samples)
    assert not np.array_equal(forecast.paths, other.paths)


def walk(angle: float) -> TrackHistory:
    """One person who walks through (3, 4) in a slight curve."""
    t = 0.1 * np.arange(-10, 1)
    line = np.stack([1.2 * t, 0.1 * t * t], axis=1)
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    position = (line @ turn)[:, None] + [3.0, 4.0]
    return TrackHistory(np.array([0]), position, np.gradient(position, 0.1, axis=0), 0.1)


def test_forecasts_turn_with_the_world(tmp_path: Path) -> None:
    export_cvae(Cvae("motion", TINY), tmp_path / "m.onnx", {})
    predictor = CvaePredictor(file=str(tmp_path / "m.onnx"), modes=3)
    assert predictor.needs == frozenset()
    horizons = np.array([1.0, 2.0, 3.0, 4.0])
    plain, turned = (predictor.predict(walk(angle), horizons) for angle in (0.0, 2.0))
    turn = np.array([[np.cos(2.0), np.sin(2.0)], [-np.sin(2.0), np.cos(2.0)]])
    here = np.array([3.0, 4.0])
    np.testing.assert_allclose((plain.paths - here) @ turn, turned.paths - here, atol=1e-4)
    np.testing.assert_allclose(turn.T @ plain.covariances @ turn, turned.covariances, atol=1e-4)


def test_other_horizons_lie_between(file: Path) -> None:
    predictor = CvaePredictor(file=str(file), modes=3)
    whole = predictor.predict(walk(0.3), np.array([1.0, 2.0, 3.0, 4.0]))
    some = predictor.predict(walk(0.3), np.array([0.5, 2.0, 2.5, 5.0]))
    here = walk(0.3).position[-1, 0]
    np.testing.assert_allclose(some.paths[:, :, 0], (here + whole.paths[:, :, 0]) / 2)
    np.testing.assert_allclose(some.paths[:, :, 1], whole.paths[:, :, 1])
    np.testing.assert_allclose(some.paths[:, :, 2], (whole.paths[:, :, 1] + whole.paths[:, :, 2]) / 2)
    np.testing.assert_allclose(some.paths[:, :, 3], 2 * whole.paths[:, :, 3] - whole.paths[:, :, 2])
    np.testing.assert_allclose(some.covariances[:, :, 3], whole.covariances[:, :, 3])


def test_files_that_do_not_fit_are_refused(tmp_path: Path, file: Path) -> None:
    with pytest.raises(BadInput, match="no such file; write one with `sidestep predict train`"):
        CvaePredictor(file=str(tmp_path / "none.onnx"))
    (tmp_path / "text.onnx").write_text("no network")
    with pytest.raises(BadInput, match="not a network that onnxruntime can load"):
        CvaePredictor(file=str(tmp_path / "text.onnx"))
    model = onnx.load(str(file))
    spec = next(entry for entry in model.metadata_props if entry.key == "sidestep_predictor")
    for change, message in (
        (("motion+map", "motion+maps"), "unknown feature set"),
        (('"latent":3', '"latent":4'), "has the inputs"),
        (('"cells":32', '"cells":0'), "do not fit"),
        (('"frame":"heading"', '"frame":"sky"'), "sidestep_predictor"),
    ):
        before = spec.value
        spec.value = before.replace(*change)
        assert spec.value != before
        onnx.save(model, str(tmp_path / "other.onnx"))
        spec.value = before
        with pytest.raises(BadInput, match=message):
            CvaePredictor(file=str(tmp_path / "other.onnx"))
    del model.metadata_props[:]
    onnx.save(model, str(tmp_path / "bare.onnx"))
    with pytest.raises(BadInput, match="its metadata has no 'sidestep_predictor'"):
        CvaePredictor(file=str(tmp_path / "bare.onnx"))


def test_short_tracks_do_not_train() -> None:
    data = walkers(3)
    short = replace(data, stop=data.start + np.array([90, 51, 50]))
    assert len(long_tracks(short)) == 2


def test_predict_train_writes_a_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from typer.testing import CliRunner

    from sidestep.cli import app
    from sidestep.prediction.training import cvae

    monkeypatch.setitem(cvae.SIZES, "small", TINY)
    write_interactions(walkers(20), tmp_path / "data.h5")
    out = tmp_path / "net.onnx"
    arguments = ["predict", "train", str(tmp_path / "data.h5"), "--features", "motion", "--out", str(out)]
    done = CliRunner().invoke(app, [*arguments, "--epochs", "1", "--samples", "256"])
    assert done.exit_code == 0, done.output
    assert CvaePredictor(file=str(out)).spec.features == "motion"
    wrong = CliRunner().invoke(app, [*arguments[:4], "motoin", *arguments[5:]])
    assert wrong.exit_code == 2


def test_predict_ablate_writes_networks_tables_and_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from typer.testing import CliRunner

    from sidestep.cli import app
    from sidestep.prediction.training import cvae

    monkeypatch.setitem(cvae.SIZES, "small", TINY)
    write_interactions(walkers(30), tmp_path / "data.h5")
    out = tmp_path / "ablation"
    arguments = ["predict", "ablate", str(tmp_path / "data.h5"), "--out", str(out), "--epochs", "1", "--samples", "256"]
    arguments += ["--features", "motion", "--features", "map+motion", "--resamples", "20", "--every", "5"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert {path.name for path in (out / "networks").glob("*.onnx")} == {"motion.onnx", "motion+map.onnx"}
    assert {"roc.png", "examples.png"} <= {path.name for path in out.iterdir()}
    assert any("motion+map" in path.read_text() for path in out.glob("**/*.md"))
    trained = (out / "networks" / "motion.training").rglob("last.pt")
    before = {path: path.read_bytes() for path in trained}
    assert CliRunner().invoke(app, arguments).exit_code == 0
    assert before == {path: path.read_bytes() for path in before}  # nothing is trained again
    assert "Trained with one seed: motion, motion+map" in (out / "scores.md").read_text()
    again = CliRunner().invoke(app, [*arguments, "--seeds", "2"])
    assert again.exit_code == 0, again.output
    assert "2 training seeds of motion and 2 training seeds of motion+map" in (out / "scores.md").read_text()
    assert before == {path: path.read_bytes() for path in before}


def test_a_scene_is_seen_as_its_map_is(file: Path) -> None:
    """The same person on the same ground, told as a scene and as a data set."""
    from sidestep.prediction.ground import draw_ground
    from sidestep.scenes.compile import compile_scene
    from sidestep.types.moments import Moments
    from sidestep.types.scene import Region, SceneSpec

    def box(kind: Any, x0: float, y0: float, x1: float, y1: float) -> Region:
        return Region(kind=kind, polygon=((x0, y0), (x1, y0), (x1, y1), (x0, y1)))

    scene = SceneSpec(regions=(box("sidewalk", -20, -20, 20, 20), box("road", -20, 6, 20, 12)))
    predictor = CvaePredictor(file=str(file), modes=4)
    horizons = np.array([1.0, 2.0, 3.0, 4.0])
    history = walk(0.3)
    there = predictor.predict(history, horizons, compile_scene(scene))
    moments = Moments(
        0.1, horizons, history.position.transpose(1, 0, 2), np.full((1, 11, 3), np.nan), np.zeros(1), np.zeros((1, 2)),
        np.full((1, 11), np.nan), np.full((1, 11), np.nan), np.zeros(1, np.int64), (draw_ground(scene, 0.4),),
    )  # fmt: skip
    np.testing.assert_allclose(there.paths, predictor.predict_moments(moments).paths, atol=0.05)
    without = predictor.predict(history, horizons)
    assert np.abs(there.paths - without.paths).max() > 1e-3
