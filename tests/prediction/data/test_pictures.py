"""Pictures of forecasts: which moments are chosen, and that they show the horizons in their colours."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sidestep.errors import BadInput
from sidestep.prediction.data import make_samples
from sidestep.prediction.forecasts import forecast_samples
from sidestep.prediction.pictures import HORIZON_COLOURS, choose_examples, draw_forecasts
from sidestep.prediction.predictors.kalman import Kalman
from sidestep.render.top_view.palette import rgb
from sidestep.types.interactions import GROUND
from tests.prediction.data.walkers import FRAMES, walkers


def test_somebody_who_will_turn_onto_the_zebra_is_chosen() -> None:
    samples = make_samples(walkers(30, crossing=1.0), every=3)
    row = choose_examples(samples)["zebra"]
    ground = samples.data.grounds[0]
    assert GROUND[int(ground.at(samples.past[row, -1]))] == "sidewalk"
    assert GROUND[int(ground.at(samples.future[row, -1]))] == "zebra"
    assert "zebra" not in choose_examples(make_samples(walkers(10, crossing=0.0), every=3))


def test_somebody_who_will_start_to_walk_is_chosen() -> None:
    data = walkers(1)
    position = np.tile([10.0, 4.0], (FRAMES, 1))
    position[50:, 1] = 4.0 - 0.12 * np.arange(FRAMES - 50)
    samples = make_samples(replace(data, position=position))
    row = choose_examples(samples)["start"]
    assert 10 <= samples.frame[row] <= 52


def test_a_picture_has_the_colours_of_the_horizons(tmp_path: Path) -> None:
    samples = make_samples(walkers(2), every=20)
    forecast = forecast_samples(Kalman(), samples)
    draw_forecasts(samples, [0, 2], {"kalman": forecast, "again": forecast}, tmp_path / "p.png")
    picture = np.asarray(Image.open(tmp_path / "p.png").convert("RGB"), np.int64)
    for colour in HORIZON_COLOURS:
        assert (np.abs(picture - np.array(rgb(colour))).sum(axis=2) < 40).sum() > 20
    with pytest.raises(BadInput, match="at least one sample"):
        draw_forecasts(samples, [], {"kalman": forecast}, tmp_path / "none.png")
