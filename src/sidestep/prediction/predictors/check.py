"""Tries a predictor out: does it keep the contract of ``sidestep.interfaces.Predictor``?"""

from __future__ import annotations

import numpy as np

from sidestep import registry
from sidestep.errors import BadInput, describe_error
from sidestep.interfaces import Predictor, PredictorMembers
from sidestep.types.base import FloatArray
from sidestep.types.forecast import Ego, Forecast, TrackHistory, as_forecast
from sidestep.types.observation import RobotState

HORIZONS_S = np.array([0.4, 1.0, 2.5, 4.0])
STEP_S = 0.1
PEOPLE = (0, 1, 7)


def check_predictor(predictor: Predictor | PredictorMembers) -> None:
    """``BadInput`` with the reason unless ``predictor`` keeps the contract.

    It is asked for forecasts of nobody, of one person and of several, of whom one came into sight late, with and
    without what it does not need. Each answer must be a checked ``Forecast`` of these people and horizons, the same
    when asked again, and leave its input as it was.
    """
    predictor = registry.as_predictor(predictor)
    name = predictor.name or type(predictor).__name__
    for people in PEOPLE:
        history = example_history(people, predictor.history_s)
        before = history.position.copy(), history.velocity.copy()
        first, again = (_ask(predictor, name, history) for _ in range(2))
        where = f"predictor {name!r}, {people} people"
        if first.paths.shape[0] != people or not np.array_equal(first.horizons_s, HORIZONS_S):
            raise BadInput(
                f"{where}: the forecast is of {first.paths.shape[0]} people at {first.horizons_s.tolist()} s; expected "
                f"{people} people at {HORIZONS_S.tolist()} s"
            )
        if not (np.array_equal(first.paths, again.paths) and np.array_equal(first.weights, again.weights)):
            raise BadInput(
                f"{where}: two forecasts of the same history differ; draw from a generator with a fixed seed"
            )
        after = history.position, history.velocity
        if not all(np.array_equal(*pair, equal_nan=True) for pair in zip(before, after, strict=True)):
            raise BadInput(f"{where}: the history was changed; work on a copy")


def example_history(people: int, history_s: float) -> TrackHistory:
    """People who walk in different directions; the last of several was first seen in the last row."""
    rows = 1 + round(history_s / STEP_S)
    number = np.arange(people)
    velocity = np.stack([1.0 - 0.3 * number, 0.4 * (number % 3)], axis=1)
    back = STEP_S * np.arange(rows)[::-1, None, None]
    position = np.stack([2.0 * number, -1.5 * number], axis=1) - back * velocity
    velocities: FloatArray = np.repeat(velocity[None], rows, axis=0)
    if people > 1:
        position[:-1, -1], velocities[:-1, -1] = np.nan, np.nan
    return TrackHistory(number, position, velocities, STEP_S)


def _ask(predictor: Predictor, name: str, history: TrackHistory) -> Forecast:
    ego = Ego(RobotState(-3.0, 0.0, 0.0, 1.0, 0.0, 0.0), 0.3) if "ego" in predictor.needs else None
    try:
        forecast = predictor.predict(history, HORIZONS_S, scene=None, ego=ego)
    except Exception as error:
        raise BadInput(f"predictor {name!r} failed for {len(history)} people: {describe_error(error)}") from error
    return as_forecast(forecast, repr(name))
