"""Forecasts of all samples of a data set: by a predictor, or from a file that somebody else's model wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sidestep import registry
from sidestep._util import exact
from sidestep._util.reading import is_file
from sidestep._util.writing import atomic
from sidestep.errors import BadInput, describe_error
from sidestep.interfaces import MomentPredictor, Predictor, PredictorMembers
from sidestep.prediction.data.features import SceneMoment, moments_of, scenes_of
from sidestep.prediction.data.samples import Samples
from sidestep.types.base import FloatArray
from sidestep.types.forecast import Ego, Forecast, MixtureForecast, SampleForecast, TrackHistory, as_forecast
from sidestep.types.observation import RobotState

FORMAT = "sidestep-forecast"
VERSION = 2
FAR_M = 6.0
"""Farther from where people get straight on than they turn in a second."""
ASIDE_M = 2.0
"""At the first horizon, at least half of a set of forecasts is nearer than this to straight on in the world frame."""
COLUMNS = ("frame", "horizons_s", "paths", "weights", "covariances")
MOST_HORIZONS = 1000
LARGEST = 1e9
"""Numbers of a file beyond this are no positions in metres, nor squares of their errors."""


def forecast_samples(predictor: Predictor | PredictorMembers, samples: Samples) -> Forecast:
    """One forecast of all S samples at their horizons.

    A ``MomentPredictor`` is asked once. Any other one is asked for every scene: everybody who is in a
    clip at the same time. Such a predictor gets no ``scene``, because data sets have maps but no scenes.
    """
    predictor = registry.as_predictor(predictor)
    if isinstance(predictor, MomentPredictor):
        moments = moments_of(samples, "map" in predictor.needs, predictor.looks_at_others)
        try:
            found = predictor.predict_moments(moments)
        except Exception as error:
            raise BadInput(f"predictor {_name(predictor)} failed: {describe_error(error)}") from error
        return _checked(as_forecast(found, _name(predictor)), samples, predictor)
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
    kind, columns = _read_columns(path, samples)
    frames = columns["frame"]
    if len(np.unique(frames)) != len(frames):
        values, counts = np.unique(frames, return_counts=True)
        raise BadInput(f"{path}: {_place(samples, int(values[np.argmax(counts)]))} is there more than once")
    if not len(frames):
        raise BadInput(f"{path}: there are no forecasts in it, and {len(samples)} samples need one")
    order = np.argsort(frames, kind="stable")
    found = order[np.clip(np.searchsorted(frames, samples.frame, sorter=order), 0, len(frames) - 1)]
    missing = frames[found] != samples.frame
    if missing.any():
        place = _place(samples, int(samples.frame[np.argmax(missing)]))
        raise BadInput(f"{path}: no forecast for {place} ({int(missing.sum())} of {len(samples)} samples have none)")
    chosen = {name: columns.pop(name)[found] for name in list(columns) if name not in ("frame", "horizons_s")}
    _check_rows(path, samples, chosen)
    horizons_s = columns["horizons_s"]
    if horizons_s.shape != samples.horizons_s.shape or not np.allclose(horizons_s, samples.horizons_s, atol=1e-6):
        stated = ", ".join(f"{each:g}" for each in horizons_s.ravel()[:8].tolist())
        raise BadInput(f"{path}: horizons [{stated}] s; expected {samples.horizons_s.tolist()} s")
    if kind == "samples":
        forecast: Forecast = SampleForecast(samples.horizons_s, chosen["paths"], chosen["weights"])
    else:
        forecast = MixtureForecast(samples.horizons_s, chosen["paths"], chosen["covariances"], chosen["weights"])
    _check_frame(forecast, samples, str(path))
    return forecast


def _read_columns(path: Path, samples: Samples) -> tuple[str, dict[str, FloatArray]]:
    """Kind and columns of a file; nothing is unpacked before its shape and its size are known to fit."""
    import h5py

    from sidestep._util.hdf5_probe import probe_hdf5

    if not is_file(path):
        raise BadInput(f"{path}: no such file; give the path of a file of forecasts")
    probe_hdf5(path, COLUMNS)
    try:
        with h5py.File(path, "r") as file:
            kind = _check_about(path, file, samples.data.digest)
            names = COLUMNS if kind == "mixture" else COLUMNS[:-1]
            absent = [name for name in names if name not in file]
            if absent:
                raise BadInput(f"{path}: the dataset {absent[0]!r} is missing")
            items = {name: _numeric(path, name, file) for name in names}
            _check_shapes(path, items, len(samples.data.position))
            columns = _unpacked(path, items)
    except BadInput:
        raise
    except Exception as error:  # h5py has a dozen ways to say it
        first = (str(error) or type(error).__name__).splitlines()[0]
        raise BadInput(f"{path}: cannot be read as HDF5: {first[:200]}; write it again") from None
    frames = columns["frame"]
    whole = (np.abs(frames) < LARGEST) & (frames == np.rint(frames))
    if not whole.all():
        wrong = f"row {int(np.argmin(whole))} is {frames[np.argmin(whole)]}"
        raise BadInput(f"{path}: frame: {wrong}; it must be the number of a frame of the data set, a whole number")
    return kind, {**columns, "frame": frames.astype(np.int64)}


def _check_about(path: Path, file: Any, digest: str) -> str:
    """The kind of forecasts in a file; ``BadInput`` unless its attributes fit."""
    if _text(file, "format") != FORMAT:
        raise BadInput(f"{path}: not a forecast file; its attribute `format` must be {FORMAT!r}")
    _check_data(path, file, digest)
    kind = _text(file, "kind")
    if kind not in ("samples", "mixture"):
        raise BadInput(f"{path}: kind is {kind[:40]!r}; it must be 'samples' or 'mixture'")
    return kind


def _check_shapes(path: Path, items: dict[str, Any], frames_of_data: int) -> None:
    if items["frame"].ndim != 1:
        raise BadInput(f"{path}: frame: not one column; it must be the numbers of frames of the data set")
    rows, horizons = len(items["frame"]), items["horizons_s"].size
    if rows > frames_of_data:
        raise BadInput(f"{path}: {rows:,} rows, but the data set has {frames_of_data:,} frames; write a row for each")
    if items["horizons_s"].size > MOST_HORIZONS:
        raise BadInput(f"{path}: {items['horizons_s'].size:,} horizons, at most {MOST_HORIZONS} are read")
    paths = items["paths"].shape
    if len(paths) != 4 or paths[0] != rows or paths[1] < 1 or paths[2:] != (horizons, 2):
        raise BadInput(f"{path}: paths has shape {paths}; expected ({rows}, alternatives, {horizons}, 2)")
    for name, shape in (("weights", paths[:2]), ("covariances", (*paths, 2))):
        if name in items and items[name].shape != shape:
            raise BadInput(f"{path}: {name} has shape {items[name].shape}; expected {shape}")


def _unpacked(path: Path, items: dict[str, Any]) -> dict[str, FloatArray]:
    from sidestep._util.hdf5 import Hdf5Room

    room = Hdf5Room(path)
    for item in items.values():
        room.take(item, np.dtype(np.float64).itemsize)
    return {name: np.asarray(item[()], np.float64) for name, item in items.items()}


def _check_data(path: Path, file: Any, digest: str) -> None:
    """``BadInput`` unless a file is of this version and its forecasts are of the data set with ``digest``."""
    from sidestep._util.hdf5 import read_attribute

    version, made_for = read_attribute(file, "version"), _text(file, "data")
    remedy = f"the attribute `data` must be the digest of the data set, {digest} (`sidestep predict info` shows it)"
    is_first = isinstance(version, int | np.integer) and int(version) == 1
    if not isinstance(version, int | np.integer) or int(version) != VERSION:
        older = "; version 1 did not say of which data set its forecasts are: write it again" if is_first else ""
        raise BadInput(f"{path}: version {str(version)[:40]} of forecast files; expected {VERSION}{older}; {remedy}")
    if not made_for:
        raise BadInput(f"{path}: {remedy}")
    if made_for != digest:
        raise BadInput(
            f"{path}: forecasts of another data set (digest {made_for[:16]}…, this one has {digest[:16]}…); make them "
            "from this data set, or evaluate them on the one that they are of"
        )


def _text(file: Any, name: str) -> str:
    """An attribute that is text, of variable or fixed length; empty for anything else."""
    from sidestep._util.hdf5 import read_attribute

    value = read_attribute(file, name)
    value = value.decode("ascii", "replace") if isinstance(value, bytes) else value
    return value[:200] if isinstance(value, str) else ""


def _numeric(path: Path, name: str, file: Any) -> Any:
    """A dataset of numbers in the file itself."""
    from sidestep._util.hdf5 import find_item

    item = find_item(file, name)
    kind = getattr(getattr(item, "dtype", None), "kind", "")
    if kind not in "iuf" or not kind or item.shape is None:
        what = (
            "it is a broken link, or one to elsewhere"
            if item is None
            else f"its type is {str(getattr(item, 'dtype', 'a group'))[:80]}"
        )
        raise BadInput(f"{path}: {name} holds no numbers ({what})")
    return item


def _check_frame(forecast: Forecast, samples: Samples, where: str) -> None:
    """``BadInput`` where forecasts seem to count from each pedestrian's position instead of being in the world frame:
    half of them are ``ASIDE_M`` and more from where people who walk straight on get, and the same positions counted
    from the pedestrian are three times as near."""
    as_world, as_local = (_distance_to_straight_on(forecast, samples, local) for local in (False, True))
    if as_world > ASIDE_M and as_local < as_world / 3.0:
        raise BadInput(
            f"{where}: half of the forecasts for {forecast.horizons_s[0]:g} s are {as_world:.1f} m and more from where "
            f"the pedestrian gets straight on, and {as_local:.1f} m counted from the pedestrian: they seem to count "
            "from the pedestrian; give positions in the world frame, with the pedestrian's last position added"
        )


def frame_doubt(forecast: Forecast, samples: Samples) -> str:
    """A warning where half of the forecasts are farther away than people get; else empty."""
    distance = _distance_to_straight_on(forecast, samples, False)
    if distance <= FAR_M * float(forecast.horizons_s[0]):
        return ""
    return (
        f"half of the forecasts for {forecast.horizons_s[0]:g} s are {distance:.0f} m and more from where the "
        "pedestrian gets straight on; are they in the world frame, in metres?"
    )


def _distance_to_straight_on(forecast: Forecast, samples: Samples, local: bool) -> float:
    """Median distance of the means at the first horizon to where the mean velocity of the history leads, m; ``local``:
    as if the forecasts counted from the pedestrian."""
    if not len(samples):
        return 0.0
    now, ahead_s = samples.past[:, -1], float(forecast.horizons_s[0])
    velocity = (now - samples.past[:, 0]) / (samples.data.step_s * (samples.past.shape[1] - 1))
    mean = forecast.mean()[:, 0] + (now if local else 0.0)
    return float(np.median(exact.norm(mean - (now + ahead_s * velocity))))


def _check_rows(path: Path, samples: Samples, columns: dict[str, FloatArray]) -> None:
    paths, weights = columns["paths"], columns["weights"]
    finite = (np.abs(paths) < LARGEST).all(axis=(1, 2, 3))
    problems = [("the forecast is not finite, or no position in metres", ~finite)]
    wrong = ~((weights >= 0.0).all(axis=1) & (np.abs(weights.sum(axis=1) - 1.0) <= 1e-3))
    problems.append(("weights must be at least 0 and sum to 1", wrong))
    if "covariances" in columns:
        xx, xy, yx, yy = (columns["covariances"][..., i, j] for i in (0, 1) for j in (0, 1))
        small = (np.abs(columns["covariances"]) < LARGEST).all(axis=(1, 2, 3, 4))
        problems.append((f"a covariance is not finite, or above {LARGEST:g} m²", ~small))
        with np.errstate(over="ignore", invalid="ignore"):
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
    own = predictor.wrapped if isinstance(predictor, registry.AdaptedPredictor) else predictor
    return type(own).__name__
