"""Forecasts of samples: fast and slow path agree, scenes hold everybody, files are checked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import h5py
import numpy as np
import pytest

from sidestep.errors import BadInput
from sidestep.prediction.data import make_samples
from sidestep.prediction.data.features import moments_of, scenes_of
from sidestep.prediction.data.store import read_interactions, write_interactions
from sidestep.prediction.forecasts import forecast_samples, frame_doubt, read_forecast, write_forecast
from sidestep.prediction.predictors.constant_velocity import ConstantVelocity
from sidestep.prediction.predictors.kalman import Kalman
from sidestep.types.forecast import MixtureForecast, SampleForecast
from sidestep.types.interactions import Interactions
from tests.prediction.data.walkers import FRAMES, walkers


class Asked:
    """Any predictor without a fast path: people go on straight, and the first of a scene has two alternatives."""

    needs: ClassVar[frozenset[str]] = frozenset({"ego", "head"})
    history_s: ClassVar[float] = 0.5

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def predict(self, history: Any, horizons_s: Any, scene: Any = None, ego: Any = None) -> Any:
        self.asked.append((history, scene, ego))
        line = history.position[-1][:, None] + horizons_s[None, :, None] * history.velocity[-1][:, None]
        return SampleForecast(horizons_s, np.repeat(line[:, None], 1 + len(history) % 2, axis=1))


def together(count: int) -> Interactions:
    """Everybody in one clip, one second after another."""
    data = walkers(count)
    return replace(data, clip=np.zeros(count), begin_s=1.0 * np.arange(count), person=np.arange(count))


def test_fast_and_slow_path_agree() -> None:
    samples = make_samples(together(5), every=7)
    slow, fast = Asked(), ConstantVelocity()
    found = forecast_samples(slow, samples)
    np.testing.assert_allclose(found.mean(), forecast_samples(fast, samples).mean(), atol=1e-9)
    assert found.paths.shape[1] == 2
    assert found.weights.min() == 0.0  # scenes of an even number of people have one alternative
    history, scene, ego = slow.asked[-1]
    assert history.position.shape[0] == 6
    assert (history.head is not None, history.body is None, scene is None) == (True, True, True)
    assert ego.past.shape == (6, 3)
    np.testing.assert_allclose(ego.past[-1], (ego.state.x, ego.state.y, ego.state.heading))


def test_a_scene_holds_everybody_who_is_there() -> None:
    data = together(3)
    samples = make_samples(data)
    scenes, scene = scenes_of(samples)
    row = int(np.flatnonzero((samples.track == 1) & (samples.frame == FRAMES + 30))[0])  # 4 s into the clip
    there = scenes[scene[row]]
    assert there.tracks.tolist() == [0, 1, 2]
    assert there.frames.tolist() == [40, FRAMES + 30, 2 * FRAMES + 20]
    moments = moments_of(samples)
    g, place = moments.member[row].tolist()
    assert place == 1
    np.testing.assert_array_equal(moments.crowd[g, :, :2], data.position[there.frames])


def test_many_samples_take_seconds() -> None:
    samples = make_samples(walkers(200))
    assert len(samples) > 10_000
    for predictor in (ConstantVelocity(), Kalman()):
        assert len(forecast_samples(predictor, samples)) == len(samples)


@pytest.mark.parametrize("predictor", [ConstantVelocity(), Asked()])
def test_a_file_gives_back_what_was_written(tmp_path: Path, predictor: Any) -> None:
    samples = make_samples(walkers(3), every=10)
    forecast = forecast_samples(predictor, samples)
    write_forecast(tmp_path / "f.h5", samples, forecast)
    some = samples.choose(np.array([7, 2, 5]))
    again = read_forecast(tmp_path / "f.h5", some)
    assert type(again) is (MixtureForecast if isinstance(forecast, MixtureForecast) else SampleForecast)
    np.testing.assert_array_equal(again.paths, forecast.paths[[7, 2, 5]])
    np.testing.assert_allclose(again.weights, forecast.weights[[7, 2, 5]])


def change_dataset(name: str, change: Any) -> Any:
    def apply(file: Any) -> None:
        values = change(file[name][()])
        del file[name]
        file[name] = values

    return apply


ARRAYS = ("frame", "paths", "weights", "covariances")


def put(values: Any, row: int, value: Any) -> Any:
    values[row] = value
    return values


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda file: file.attrs.update({"format": "mine"}), "not a forecast file"),
        (lambda file: file.attrs.update({"kind": "mine"}), "kind is 'mine'"),
        (lambda file: file.__delitem__("weights"), "'weights' is missing"),
        (change_dataset("paths", lambda v: v[:, :, :3]), r"paths has shape \(14, 1, 3, 2\)"),
        (change_dataset("weights", lambda v: v[:-1]), r"weights has shape \(13, 1\)"),
        (change_dataset("paths", lambda v: put(v, 1, np.nan)), "clip walk-0, track 0, frame 20: the forecast is not"),
        (change_dataset("weights", lambda v: put(v, 9, 0.9)), "clip walk-1, track 1, frame 30: weights must be"),
        (change_dataset("covariances", lambda v: put(v, 8, -1.0)), "clip walk-1, track 1, frame 20: a covariance"),
        (change_dataset("frame", lambda v: put(v, 0, 9999)), r"no forecast for clip walk-0, track 0, frame 10 \(1 of"),
        (change_dataset("frame", lambda v: put(v, 0, v[1])), "clip walk-0, track 0, frame 20 is there more than once"),
        (change_dataset("horizons_s", lambda v: v / 2), "expected .1.0, 2.0, 3.0, 4.0. s"),
        (change_dataset("frame", lambda v: v + np.where(v == v[3], 0.5, 0.0)), "frame: row 3 is 40.5; it must be"),
        (change_dataset("frame", lambda v: np.where(v == v[3], np.nan, v)), "frame: row 3 is nan; it must be"),
        (change_dataset("frame", lambda v: v[:, None]), "frame: not one column; it must be"),
        (change_dataset("frame", lambda v: [f"frame {each}" for each in v]), "frame holds no numbers"),
        (change_dataset("paths", lambda v: v.astype("S8")), "paths holds no numbers"),
        (lambda file: file.attrs.update({"version": 1}), "version 1 of forecast files; expected 2; version 1 did not"),
        (lambda file: file.attrs.update({"version": "two"}), "version two of forecast files; expected 2"),
        (lambda file: file.attrs.__delitem__("data"), r"`data` must be the digest .* \(`sidestep predict info`"),
        (lambda file: file.attrs.update({"format": [1, 2]}), "not a forecast file"),
        (lambda file: file.attrs.update({"version": [2, 2]}), "version .2 2. of forecast files"),
        (lambda file: file.attrs.update({"data": ["a", "b"]}), "`data` must be the digest"),
        (change_dataset("frame", lambda v: 3), "frame: not one column"),
        (change_dataset("frame", lambda v: h5py.Empty("f8")), "frame holds no numbers"),
        (change_dataset("frame", lambda v: 1e300 * v), "frame: row 0 is 1e.301; it must be"),
        (change_dataset("paths", lambda v: h5py.SoftLink("/gone")), "paths holds no numbers .it is a broken link"),
        (change_dataset("paths", lambda v: put(v, 1, 1e300)), "frame 20: the forecast is not finite, or no position"),
        (change_dataset("covariances", lambda v: put(v, 1, 1e300)), "frame 20: a covariance is not finite, or above"),
        (change_dataset("horizons_s", lambda v: v[0]), r"expected \(14, alternatives, 1, 2\)"),
        (lambda file: [change_dataset(name, lambda v: v[:0])(file) for name in ARRAYS], "there are no forecasts in it"),
    ],
)
def test_bad_files_are_refused(tmp_path: Path, change: Any, message: str) -> None:
    samples = make_samples(walkers(2), every=10)
    write_forecast(tmp_path / "f.h5", samples, forecast_samples(ConstantVelocity(), samples))
    with h5py.File(tmp_path / "f.h5", "a") as file:
        change(file)
    with pytest.raises(BadInput, match=message):
        read_forecast(tmp_path / "f.h5", samples)


def test_forecasts_of_another_data_set_are_refused(tmp_path: Path) -> None:
    """As many tracks of the same length, so that every row is found."""
    data = walkers(2)
    samples = make_samples(data, every=10)
    write_forecast(tmp_path / "f.h5", samples, forecast_samples(ConstantVelocity(), samples))
    moved = replace(data, position=data.position + 0.01)
    with pytest.raises(BadInput, match="forecasts of another data set"):
        read_forecast(tmp_path / "f.h5", make_samples(moved, every=10))


def test_the_digest_is_of_what_forecasts_are_about(tmp_path: Path) -> None:
    data = walkers(3)
    write_interactions(data, tmp_path / "data.h5")
    assert read_interactions(tmp_path / "data.h5").digest == data.digest == data.of_split("train").digest
    annotated = replace(data, body=np.ones_like(data.body), crossing=~data.crossing)
    assert annotated.digest == data.digest
    for changes in (
        {"ego_speed": data.ego_speed * 2},
        {"step_s": 0.2},
        {"clips": tuple(replace(each, length=9.0) for each in data.clips)},
    ):
        assert replace(data, **changes).digest != data.digest


def far_from_the_origin(count: int) -> Interactions:
    data = walkers(count)
    data = replace(data, grounds=(), clips=tuple(replace(each, ground=-1) for each in data.clips))
    return replace(data, position=data.position + np.array([30.0, 20.0]))


def test_forecasts_in_the_local_frame_are_refused(tmp_path: Path) -> None:
    samples = make_samples(far_from_the_origin(4), every=10)
    there = forecast_samples(ConstantVelocity(), samples)
    local = SampleForecast(samples.horizons_s, there.paths - samples.past[:, -1][:, None, None])
    write_forecast(tmp_path / "f.h5", samples, local)
    with pytest.raises(
        BadInput, match=r"f\.h5: half of the forecasts for 1 s are .* seem to count from the pedestrian"
    ):
        read_forecast(tmp_path / "f.h5", samples)

    class Local(Asked):
        def predict(self, history: Any, horizons_s: Any, scene: Any = None, ego: Any = None) -> Any:
            paths = super().predict(history, horizons_s, scene, ego).paths - history.position[-1][:, None, None]
            return SampleForecast(horizons_s, paths)

    with pytest.raises(BadInput, match="predictor Local: half of the forecasts"):
        forecast_samples(Local(), samples)
    assert len(forecast_samples(Asked(), samples)) == len(samples)


def test_forecasts_in_the_local_frame_are_refused_near_the_origin() -> None:
    """People about 4 m from the origin: forecasts near it are no farther from them than people get."""
    data = walkers(4)
    middle = data.position.reshape(4, FRAMES, 2).mean(axis=1)
    around = data.position - np.repeat(middle, FRAMES, axis=0) + [3.0, 2.0]
    samples = make_samples(replace(data, position=around), every=10)
    assert np.median(np.hypot(*samples.past[:, -1].T)) < 5.0

    class Local(ConstantVelocity):
        def predict_moments(self, moments: Any) -> Any:
            found = super().predict_moments(moments)
            paths = found.paths - samples.past[:, -1][:, None, None]
            return MixtureForecast(found.horizons_s, paths, found.covariances, found.weights)

    assert len(forecast_samples(ConstantVelocity(), samples)) == len(samples)
    with pytest.raises(BadInput, match=r"predictor Local: half of the forecasts for 1 s .* count from the pedestrian"):
        forecast_samples(Local(), samples)


def test_forecasts_in_another_frame_are_doubted() -> None:
    samples = make_samples(far_from_the_origin(4), every=10)
    there = forecast_samples(ConstantVelocity(), samples)
    assert frame_doubt(there, samples) == ""
    of_the_vehicle = SampleForecast(samples.horizons_s, there.paths - samples.ego[:, :2][:, None, None])
    assert "are they in the world frame, in metres?" in frame_doubt(of_the_vehicle, samples)


def test_what_is_no_forecast_is_named(tmp_path: Path) -> None:
    class ReturnsArray(Asked):
        def predict(self, history: Any, horizons_s: Any, scene: Any = None, ego: Any = None) -> Any:
            return super().predict(history, horizons_s, scene, ego).paths

    class ReturnsArrays(ConstantVelocity):
        def predict_moments(self, moments: Any) -> Any:
            return super().predict_moments(moments).paths

    class OneHorizon(Asked):
        def predict(self, history: Any, horizons_s: Any, scene: Any = None, ego: Any = None) -> Any:
            return super().predict(history, horizons_s[:1], scene, ego)

    class FailsAtOnce(ConstantVelocity):
        def predict_moments(self, moments: Any) -> Any:
            raise KeyError("speed")

    samples = make_samples(walkers(1), every=10)
    for predictor, told in (
        (FailsAtOnce(), "predictor FailsAtOnce failed: KeyError: 'speed'"),
        (ReturnsArray(), "predictor ReturnsArray returned ndarray; return a SampleForecast or a MixtureForecast"),
        (ReturnsArrays(), "predictor ReturnsArrays returned ndarray"),
        (OneHorizon(), r"OneHorizon forecast 1 people at \[1.0\] s; asked for 1 people at \[1.0, 2.0, 3.0, 4.0\] s"),
    ):
        with pytest.raises(BadInput, match=told):
            forecast_samples(predictor, samples)


def test_what_is_no_file_of_ours_is_refused(tmp_path: Path) -> None:
    (tmp_path / "f.h5").write_text("no")
    with pytest.raises(BadInput, match="cannot be read as HDF5"):
        read_forecast(tmp_path / "f.h5", make_samples(walkers(1)))


def test_a_map_that_does_not_cover_a_track_is_named() -> None:
    data = walkers(2)
    position = data.position.copy()
    position[FRAMES + 50] += 100.0
    with pytest.raises(BadInput, match=r"clip walk-1, track 1, frame 50: map 0 does not cover"):
        moments_of(make_samples(replace(data, position=position)))


def test_a_predictor_that_fails_is_named_with_the_place() -> None:
    class Fails(Asked):
        def predict(self, history: Any, horizons_s: Any, scene: Any = None, ego: Any = None) -> Any:
            raise ZeroDivisionError("oh")

    with pytest.raises(BadInput, match=r"clip walk-0, track 0, frame 10: predictor Fails failed: ZeroDivisionError"):
        forecast_samples(Fails(), make_samples(walkers(1)))
