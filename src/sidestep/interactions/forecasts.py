"""Forecasts of all samples of a data set: by a predictor, or from a file that somebody else's model wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sidestep import exact
from sidestep.errors import BadInput, describe_error
from sidestep.interactions.features import SceneMoment, moments_of, scenes_of
from sidestep.interactions.samples import Samples
from sidestep.interfaces import MomentPredictor, Predictor
from sidestep.types.base import FloatArray
from sidestep.types.forecast import Ego, Forecast, MixtureForecast, SampleForecast, TrackHistory, as_forecast
from sidestep.types.observation import RobotState
from sidestep.writing import atomic

FORMAT = "sidestep-forecast"
VERSION = 2
FAR_M = 6.0
"""Farther from where people are than they get in a second."""


def forecast_samples(predictor: Predictor, samples: Samples) -> Forecast:
    """One forecast of all S samples at their horizons.

    A predictor with ``predict_moments`` is asked once. Any other one is asked for every scene: everybody who is in a
    clip at the same time. Such a predictor gets no ``scene``, because data sets have maps but no scenes.
    """
    if isinstance(predictor, MomentPredictor):
        moments = moments_of(samples, "map" in predictor.needs, predictor.looks_at_others)
        return _checked(as_forecast(predictor.predict_moments(moments), _name(predictor)), samples, predictor)
    scenes, scene = scenes_of(samples)
    order = np.argsort(scene, kind="stable")
    edges = np.searchsorted(scene[order], np.arange(len(scenes) + 1))
    parts: list[Forecast] = []
    for number, each in enumerate(scenes):
        rows = order[edges[number] : edges[number + 1]]
        forecast = _forecast_scene(predictor, samples, each)
        place = np.searchsorted(each.tracks, samples.track[rows])
        parts.append(choose_forecast(forecast, place))
    joined = _join(parts, samples.horizons_s)
    return _checked(choose_forecast(joined, np.argsort(order, kind="stable")), samples, predictor)


def write_forecast(path: Path, samples: Samples, forecast: Forecast) -> None:
    """Write a forecast of ``samples`` as HDF5; docs/predictors.md has the format."""
    import h5py

    _check_count(forecast, samples, str(path))
    with atomic(path) as whole, h5py.File(whole, "w") as file:
        is_mixture = isinstance(forecast, MixtureForecast)
        file.attrs["format"], file.attrs["version"] = FORMAT, VERSION
        file.attrs["kind"] = "mixture" if is_mixture else "samples"
        file.attrs["data"] = samples.data.digest
        columns: dict[str, Any] = {"frame": samples.frame, "horizons_s": forecast.horizons_s}
        columns |= {"paths": forecast.paths, "weights": forecast.weights}
        if isinstance(forecast, MixtureForecast):
            columns["covariances"] = forecast.covariances
        for name, values in columns.items():
            file.create_dataset(name, data=values, compression="gzip", compression_opts=1)


def read_forecast(path: Path, samples: Samples) -> Forecast:
    """The forecast of ``samples`` in a file. Rows may be in any order and there may be rows of other samples.

    ``BadInput``, with the clip, track and frame, for a sample without a row, a number that is not finite, a covariance
    that is not positive definite, or weights that do not sum to 1; and for forecasts of another data set.
    """
    kind, columns = _read_columns(path, samples.data.digest)
    frames = columns["frame"]
    if len(np.unique(frames)) != len(frames):
        values, counts = np.unique(frames, return_counts=True)
        raise BadInput(f"{path}: {_place(samples, int(values[np.argmax(counts)]))} is there more than once")
    order = np.argsort(frames, kind="stable")
    found = order[np.clip(np.searchsorted(frames, samples.frame, sorter=order), 0, max(len(frames) - 1, 0))]
    missing = frames[found] != samples.frame if len(frames) else np.ones(len(samples), bool)
    if missing.any():
        place = _place(samples, int(samples.frame[np.argmax(missing)]))
        raise BadInput(f"{path}: no forecast for {place} ({int(missing.sum())} of {len(samples)} samples have none)")
    chosen = {name: columns[name][found] for name in columns if name not in ("frame", "horizons_s")}
    _check_rows(path, samples, chosen)
    horizons_s = columns["horizons_s"]
    if len(horizons_s) != len(samples.horizons_s) or not np.allclose(horizons_s, samples.horizons_s, atol=1e-6):
        raise BadInput(f"{path}: horizons {horizons_s.tolist()} s; expected {samples.horizons_s.tolist()} s")
    if kind == "samples":
        forecast: Forecast = SampleForecast(samples.horizons_s, chosen["paths"], chosen["weights"])
    else:
        forecast = MixtureForecast(samples.horizons_s, chosen["paths"], chosen["covariances"], chosen["weights"])
    _check_frame(forecast, samples, str(path))
    return forecast


def _read_columns(path: Path, digest: str) -> tuple[str, dict[str, FloatArray]]:
    import h5py

    try:
        with h5py.File(path, "r") as file:
            if file.attrs.get("format") != FORMAT:
                raise BadInput(f"{path}: not a forecast file; its attribute `format` must be {FORMAT!r}")
            _check_data(path, file.attrs, digest)
            kind = str(file.attrs.get("kind"))
            if kind not in ("samples", "mixture"):
                raise BadInput(f"{path}: kind is {kind!r}; it must be 'samples' or 'mixture'")
            names = ["frame", "horizons_s", "paths", "weights", *(["covariances"] if kind == "mixture" else [])]
            absent = [name for name in names if name not in file]
            if absent:
                raise BadInput(f"{path}: the dataset {absent[0]!r} is missing")
            columns = {name: _numbers(path, name, file[name]) for name in names}
    except OSError as error:
        raise BadInput(f"{path}: cannot be read as HDF5: {error}") from None
    rows, horizons = len(columns["frame"]), len(np.atleast_1d(columns["horizons_s"]))
    paths = columns["paths"].shape
    if len(paths) != 4 or paths[0] != rows or paths[1] < 1 or paths[2:] != (horizons, 2):
        raise BadInput(f"{path}: paths has shape {paths}; expected ({rows}, alternatives, {horizons}, 2)")
    for name, shape in (("weights", paths[:2]), ("covariances", (*paths, 2))):
        if name in columns and columns[name].shape != shape:
            raise BadInput(f"{path}: {name} has shape {columns[name].shape}; expected {shape}")
    frames = columns["frame"]
    whole = np.isfinite(frames) & (frames == np.rint(frames))
    if frames.ndim != 1 or not whole.all():
        wrong = f"row {int(np.argmin(whole))} is {frames[np.argmin(whole)]}" if frames.ndim == 1 else "not one column"
        raise BadInput(f"{path}: frame: {wrong}; it must be the number of a frame of the data set, a whole number")
    return kind, {**columns, "frame": frames.astype(np.int64)}


def _check_data(path: Path, attributes: Any, digest: str) -> None:
    """``BadInput`` unless a file is of this version and its forecasts are of the data set with ``digest``."""
    version, made_for = attributes.get("version"), attributes.get("data")
    made_for = made_for.decode("ascii", "replace") if isinstance(made_for, bytes) else made_for
    told = f"the attribute `data` must be the digest of the data set, {digest} (`sidestep predict info` shows it)"
    if not isinstance(version, int | np.integer) or int(version) != VERSION:
        older = "; version 1 did not say of which data set its forecasts are: write it again" if version == 1 else ""
        raise BadInput(f"{path}: version {str(version)[:40]} of forecast files; expected {VERSION}{older}; {told}")
    if not isinstance(made_for, str):
        raise BadInput(f"{path}: {told}")
    if made_for != digest:
        raise BadInput(
            f"{path}: forecasts of another data set (digest {made_for[:16]}…, this one has {digest[:16]}…); make them "
            "from this data set, or evaluate them on the one that they are of"
        )


def _numbers(path: Path, name: str, item: Any) -> FloatArray:
    """The numbers of a dataset."""
    kind = getattr(getattr(item, "dtype", None), "kind", "")
    if kind not in "iuf" or not kind:
        raise BadInput(f"{path}: {name} holds no numbers (its type is {getattr(item, 'dtype', 'a group')})")
    return np.asarray(item[()], np.float64)


def _check_frame(forecast: Forecast, samples: Samples, where: str) -> None:
    """``BadInput`` where forecasts seem to count from each pedestrian's position instead of being in the world frame:
    half of them are farther away than anybody gets in the time, and the same positions counted from there are not."""
    if not len(samples):
        return
    now, mean, far = samples.past[:, -1], forecast.mean()[:, 0], FAR_M * float(forecast.horizons_s[0])
    as_world, as_local = (float(np.median(exact.norm(each))) for each in (mean - now, mean))
    if as_world > far and as_local < min(far, as_world / 3.0):
        raise BadInput(
            f"{where}: half of the forecasts for {forecast.horizons_s[0]:g} s are {as_world:.0f} m and more from where "
            f"the pedestrian is, but only {as_local:.1f} m from the origin: they seem to count from the pedestrian; "
            "give positions in the world frame, with the pedestrian's last position added"
        )


def _check_rows(path: Path, samples: Samples, columns: dict[str, FloatArray]) -> None:
    paths, weights = columns["paths"], columns["weights"]
    problems = [("the forecast is not finite", ~np.isfinite(paths).all(axis=(1, 2, 3)))]
    wrong = ~((weights >= 0.0).all(axis=1) & (np.abs(weights.sum(axis=1) - 1.0) <= 1e-3))
    problems.append(("weights must be at least 0 and sum to 1", wrong))
    if "covariances" in columns:
        xx, xy, yx, yy = (columns["covariances"][..., i, j] for i in (0, 1) for j in (0, 1))
        good = (np.abs(xy - yx) <= 1e-5 * (1.0 + np.abs(xy))) & (xx > 0.0) & (yy > 0.0) & (xx * yy - xy * yx > 0.0)
        problems.append(("a covariance is not symmetric and positive definite", ~good.all(axis=(1, 2))))
    for message, bad in problems:
        if bad.any():
            raise BadInput(f"{path}: {_place(samples, int(samples.frame[np.argmax(bad)]))}: {message}")
    columns["weights"] = weights / weights.sum(axis=1, keepdims=True)
    if "covariances" in columns:
        columns["covariances"] = (columns["covariances"] + np.swapaxes(columns["covariances"], -1, -2)) / 2.0


def _place(samples: Samples, frame: int) -> str:
    return samples.data.place_of(frame) if 0 <= frame < len(samples.data.position) else f"frame {frame}"


def _forecast_scene(predictor: Predictor, samples: Samples, scene: SceneMoment) -> Forecast:
    data = samples.data
    rows = scene.frames + np.arange(-round(predictor.history_s / data.step_s), 1)[:, None]
    known = rows >= data.start[scene.tracks]
    rows = np.where(known, rows, scene.frames)
    position = np.where(known[..., None], data.position[rows], np.nan)
    before = np.maximum(rows - 1, data.start[scene.tracks])
    velocity = np.where(known[..., None], (data.position[rows] - data.position[before]) / data.step_s, np.nan)
    body, head = (np.where(known, column[rows], np.nan) for column in (data.body, data.head))
    history = TrackHistory(
        data.person[scene.tracks], position, velocity, data.step_s,
        body if "body" in predictor.needs else None, head if "head" in predictor.needs else None,
    )  # fmt: skip
    ego = _ego(samples, scene, len(rows)) if "ego" in predictor.needs else None
    try:
        found = predictor.predict(history, samples.horizons_s, None, ego)
    except Exception as error:
        place = data.place_of(int(scene.frames[0]))
        raise BadInput(f"{place}: predictor {_name(predictor)} failed: {describe_error(error)}") from error
    forecast = as_forecast(found, _name(predictor))
    same = forecast.horizons_s.shape == samples.horizons_s.shape
    if len(forecast) != len(history) or not same or not np.allclose(forecast.horizons_s, samples.horizons_s):
        place = data.place_of(int(scene.frames[0]))
        raise BadInput(
            f"{place}: {_name(predictor)} forecast {len(forecast)} people at {forecast.horizons_s.tolist()} s; "
            f"asked for {len(history)} people at {samples.horizons_s.tolist()} s"
        )
    return forecast


def _ego(samples: Samples, scene: SceneMoment, times: int) -> Ego:
    data, clip = samples.data, samples.data.clips[scene.clip]
    longest = int(np.argmin(data.start[scene.tracks] - scene.frames))
    frame = int(scene.frames[longest])
    rows = np.maximum(np.arange(frame - times + 1, frame + 1), data.start[scene.tracks[longest]])
    x, y, heading = data.ego[frame].tolist()
    speed = float(data.ego_speed[frame])
    state = RobotState(x, y, heading, speed * float(np.cos(heading)), speed * float(np.sin(heading)), 0.0)
    radius = float(np.hypot(clip.length, clip.width)) / 2.0
    return Ego(state, radius, None, data.ego[rows], (clip.length, clip.width, 0.0))


def choose_forecast(forecast: Forecast, rows: Any) -> Forecast:
    """The forecast of some of the people."""
    if isinstance(forecast, MixtureForecast):
        return MixtureForecast(
            forecast.horizons_s, forecast.paths[rows], forecast.covariances[rows], forecast.weights[rows]
        )
    return SampleForecast(forecast.horizons_s, forecast.paths[rows], forecast.weights[rows])


def _join(parts: list[Forecast], horizons_s: FloatArray) -> Forecast:
    """One forecast of the people of all parts; who has fewer alternatives gets more of weight 0."""
    if not parts:
        return SampleForecast(horizons_s, np.zeros((0, 1, len(horizons_s), 2)))
    most = max(part.paths.shape[1] for part in parts)

    def padded(values: FloatArray) -> FloatArray:
        return np.concatenate([values, np.repeat(values[:, :1], most - values.shape[1], axis=1)], axis=1)

    paths = np.concatenate([padded(part.paths) for part in parts])
    weights = np.zeros(paths.shape[:2])
    first = 0
    for part in parts:
        weights[first : first + len(part), : part.weights.shape[1]] = part.weights
        first += len(part)
    mixtures = [part for part in parts if isinstance(part, MixtureForecast)]
    if not mixtures:
        return SampleForecast(horizons_s, paths, weights)
    if len(mixtures) < len(parts):
        raise BadInput("a predictor must return the same kind of forecast for all scenes")
    return MixtureForecast(horizons_s, paths, np.concatenate([padded(part.covariances) for part in mixtures]), weights)


def _checked(forecast: Forecast, samples: Samples, predictor: Predictor) -> Forecast:
    _check_count(forecast, samples, f"predictor {_name(predictor)}")
    _check_frame(forecast, samples, f"predictor {_name(predictor)}")
    return forecast


def _check_count(forecast: Forecast, samples: Samples, where: str) -> None:
    same = forecast.horizons_s.shape == samples.horizons_s.shape
    if len(forecast) != len(samples) or not same or not np.allclose(forecast.horizons_s, samples.horizons_s):
        raise BadInput(
            f"{where}: forecast of {len(forecast)} people at {forecast.horizons_s.tolist()} s; expected one of the "
            f"{len(samples)} samples at {samples.horizons_s.tolist()} s"
        )


def _name(predictor: Predictor) -> str:
    return type(predictor).__name__
