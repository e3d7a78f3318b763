"""Prediction metrics: how long scores of 1,000 tracks and the bootstrap of eight predictors over 500 tracks take."""

from __future__ import annotations

from time import perf_counter

import numpy as np

from benchmarks.measure import Case, Effort, Figure, Notify
from sidestep.prediction.bootstrap import bootstrap_scores
from sidestep.prediction.data.samples import HORIZONS_S, Samples, make_samples
from sidestep.prediction.scores import Scores, score_forecast
from sidestep.types.forecast import Forecast, MixtureForecast, SampleForecast
from sidestep.types.interactions import Clip, Interactions

TRACKS, ALTERNATIVES = 1000, 100
FRAMES = 61
RESAMPLED_TRACKS, MOMENTS, MODELS = 500, 30, 8


def cases() -> list[Case]:
    """Scores of sampled and of Gaussian forecasts, and the bootstrap."""
    return [
        Case("prediction/scores/samples=100", lambda effort, note: _measure_scores(effort, False), quick=True),
        Case("prediction/scores/modes=100", lambda effort, note: _measure_scores(effort, True), quick=True),
        Case("prediction/bootstrap/models=8", measure_bootstrap),
    ]


def _measure_scores(effort: Effort, is_mixture: bool) -> Figure:
    """Seconds for all scores of one moment of 1,000 tracks at four horizons, with 100 alternatives each."""
    samples = _example_samples()
    forecast = _example_forecast(samples, is_mixture)
    seconds = []
    for _ in range(1 + effort.repeats):
        begin = perf_counter()
        score_forecast(samples, forecast)
        seconds.append(perf_counter() - begin)
    name = "modes" if is_mixture else "samples"
    return Figure(f"prediction/scores/{name}=100", "s", seconds[1:])


def measure_bootstrap(effort: Effort, note: Notify) -> Figure:
    """Seconds for 10,000 resamples of 500 tracks of 30 moments: IRS, NLL and ADE of eight predictors at four horizons,
    with all intervals and all paired differences."""
    scores = [_example_scores(number) for number in range(MODELS)]
    seconds = []
    for _ in range(1 if effort.quick else min(effort.repeats, 3)):
        begin = perf_counter()
        found = bootstrap_scores(scores)
        for name, metric in found.metrics.items():
            metric.interval()
            found.optimal(name)
        seconds.append(perf_counter() - begin)
    return Figure("prediction/bootstrap/models=8", "s", seconds)


def _example_samples() -> Samples:
    """One moment of each of 1,000 tracks about straight roads, each in a clip of its own."""
    rng = np.random.default_rng(0)
    t = 0.1 * np.arange(FRAMES)
    start = np.stack([rng.uniform(10.0, 60.0, TRACKS), rng.uniform(-6.0, 6.0, TRACKS)], axis=1)
    position = start[:, None] + t[None, :, None] * rng.normal(0.0, 0.8, (TRACKS, 1, 2))
    ego = np.zeros((TRACKS, FRAMES, 3))
    ego[..., 0] = 8.0 * t
    frames, stop = TRACKS * FRAMES, FRAMES * np.arange(1, TRACKS + 1)
    unknown, never, zeros = np.full(frames, np.nan), np.zeros(TRACKS, bool), np.zeros(TRACKS, np.uint8)
    path = np.array([[-50.0, 0.0], [150.0, 0.0]])
    data = Interactions(
        step_s=0.1, position=position.reshape(-1, 2), body=unknown, head=unknown, ego=ego.reshape(-1, 3),
        ego_speed=np.full(frames, 8.0), start=stop - FRAMES, stop=stop, person=np.arange(TRACKS),
        clip=np.arange(TRACKS), begin_s=np.zeros(TRACKS), crossing=never, passes=zeros, labelled=never, split=zeros,
        clips=tuple(Clip(str(k), path, 4.5, 1.8) for k in range(TRACKS)),
    )  # fmt: skip
    return make_samples(data, every=FRAMES)


def _example_forecast(samples: Samples, is_mixture: bool) -> Forecast:
    noise = np.random.default_rng(1).normal(0.0, 1.0, (len(samples), ALTERNATIVES, len(HORIZONS_S), 2))
    paths = samples.future[:, None] + noise
    if not is_mixture:
        return SampleForecast(HORIZONS_S, paths)
    covariances = np.broadcast_to(0.3 * np.eye(2), (*paths.shape, 2))
    return MixtureForecast(HORIZONS_S, paths, covariances, np.full(ALTERNATIVES, 1 / ALTERNATIVES))


def _example_scores(number: int) -> Scores:
    truth_rng, rng = np.random.default_rng(0), np.random.default_rng(1 + number)
    moments = RESAMPLED_TRACKS * MOMENTS
    shape = moments, len(HORIZONS_S)
    level = np.repeat(truth_rng.normal(size=(RESAMPLED_TRACKS, 1)), MOMENTS, axis=0)
    level = level + 0.3 * truth_rng.normal(size=shape)
    p = 1.0 / (1.0 + np.exp(2.0 - 2.0 * level - (1.0 + 0.1 * number) * rng.normal(size=shape)))
    error, nothing = rng.exponential(1.0, shape), np.zeros(shape)
    track = np.repeat(np.arange(RESAMPLED_TRACKS), MOMENTS)
    return Scores(
        f"model {number}", HORIZONS_S, track, np.ones(shape, bool), np.ones(moments), level > 1.0, p, error, error,
        nothing, nothing, nothing, nothing,
    )  # fmt: skip
