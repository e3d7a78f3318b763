"""Chooses a CVAE from a grid of sizes and seeds: the one with the highest In-ROI Sensitivity in validation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from sidestep.errors import BadInput
from sidestep.prediction.data.samples import Samples, make_samples
from sidestep.prediction.forecasts import forecast_samples
from sidestep.prediction.predictors.cvae import Cvae as CvaePredictor
from sidestep.prediction.roc import in_roi_sensitivity
from sidestep.prediction.scores import score_forecast
from sidestep.prediction.training.cvae import CvaeSizes, export_cvae
from sidestep.prediction.training.cvae_training import (
    CvaeTrained,
    CvaeTraining,
    Progress,
    about_of,
    long_tracks,
    train_cvae,
)
from sidestep.types.interactions import Interactions

VALIDATION_EVERY = 5
"""Frames between two samples of a track of the validation split."""


@dataclass(frozen=True)
class Candidate:
    """One network of a search."""

    file: Path
    settings: CvaeTraining
    trained: CvaeTrained
    irs: tuple[float, ...]
    """Validation IRS at each horizon; NaN: there is none."""

    @property
    def mean_irs(self) -> float:
        """Mean over the horizons that have one; NaN: none has."""
        known = [value for value in self.irs if np.isfinite(value)]
        return float(np.mean(known)) if known else float("nan")


def search_cvae(
    data: Interactions,
    settings: CvaeTraining,
    grid: list[CvaeSizes],
    seeds: list[int],
    folder: Path,
    progress: Progress,
    restart: bool = False,
) -> list[Candidate]:
    """Train every size of ``grid`` with every seed, best first: by mean validation IRS, then by NLL."""
    if not grid or not seeds:
        raise BadInput("search: give at least one size and one seed")
    samples = make_samples(long_tracks(data.of_split("validation")), VALIDATION_EVERY)
    found = []
    runs = [(sizes, seed) for sizes in grid for seed in seeds]
    for number, (sizes, seed) in enumerate(runs):
        own = replace(settings, sizes=sizes, seed=seed)
        place = folder / f"lstm{sizes.state}-mlp{sizes.width}-seed{seed}"

        def move(done: int, total: int, label: str, number: int = number) -> None:
            progress(number * total + done, len(runs) * total, label)

        trained = train_cvae(data, own, place, move, restart)
        file = place / "network.onnx"
        export_cvae(trained.network, file, about_of(trained, own))
        found.append(Candidate(file, own, trained, irs_of(file, samples)))

    def order(each: Candidate) -> tuple[float, float]:
        return (-each.mean_irs if np.isfinite(each.mean_irs) else 1.0, sum(each.trained.nll))

    return sorted(found, key=order)


def irs_of(file: Path, samples: Samples) -> tuple[float, ...]:
    """IRS of the network in ``file`` at each horizon."""
    forecast = forecast_samples(CvaePredictor(file=str(file)), samples)
    return tuple(each.value for each in in_roi_sensitivity(score_forecast(samples, forecast, name=file.stem)))
