"""What a policy said it meant to do and expected of others: annotations of a record, no part of what happened."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from math import nan
from typing import Any

import numpy as np

from sidestep.errors import BadInput
from sidestep.types.base import FloatArray, IntArray, frozen_array

MOST_POINTS = 40
"""Of a plan or a forecast; what a policy publishes beyond is cut off."""


def _nothing() -> IntArray:
    return np.zeros(0, np.int32)


def _no_points() -> FloatArray:
    return np.zeros((0, 0, 2), np.float32)


@dataclass(frozen=True, eq=False)
class Plans:
    """Plans of the robot and forecasts of people, as published at some of the steps.

    Point j of a plan or forecast is meant for (j + 1) ``step_s`` after the state ``step``, m, world frame; NaN pads
    what is shorter than the longest. A plan holds until the next; one of NaN only says that there was none any more.
    ``forecast_person`` is a column of the record's people; a person with two rows at one step may go either way.
    """

    step_s: float = nan  # s between two points; NaN where nothing was published
    step: IntArray = field(default_factory=_nothing)  # (P,) int32, rising
    robot: FloatArray = field(default_factory=_no_points)  # (P, H, 2) float32
    forecast_step: IntArray = field(default_factory=_nothing)  # (F,) int32, each one of ``step``
    forecast_person: IntArray = field(default_factory=_nothing)  # (F,) int32
    people: FloatArray = field(default_factory=_no_points)  # (F, G, 2) float32

    def __post_init__(self) -> None:
        p, f = len(self.step), len(self.forecast_step)
        shapes: dict[str, tuple[Any, tuple[int | None, ...]]] = {
            "step": (np.int32, (p,)),
            "robot": (np.float32, (p, None, 2)),
            "forecast_step": (np.int32, (f,)),
            "forecast_person": (np.int32, (f,)),
            "people": (np.float32, (f, None, 2)),
        }
        for name, (dtype, shape) in shapes.items():
            object.__setattr__(self, name, frozen_array(getattr(self, name), dtype, shape, f"plans.{name}"))
        if (np.diff(self.step) <= 0).any():
            raise BadInput("plans.step: the steps of plans must rise")
        if not np.isin(self.forecast_step, self.step).all():
            raise BadInput("plans.forecast_step: a forecast at a step without a plan")

    def __len__(self) -> int:
        return len(self.step)

    def __eq__(self, other: object) -> bool:
        """To the bit."""
        if not isinstance(other, Plans):
            return NotImplemented
        pairs = ((getattr(self, item.name), getattr(other, item.name)) for item in fields(self))
        return all(np.array_equal(mine, theirs, equal_nan=True) for mine, theirs in pairs)

    __hash__ = None  # type: ignore[assignment]

    def row_at(self, state: int) -> int:
        """The row of the plan that holds at a state; -1: none was published yet."""
        return int(np.searchsorted(self.step, state, side="right")) - 1

    def plan_at(self, state: int) -> FloatArray:
        """(K, 2) the points of the plan that holds at a state; none: (0, 2)."""
        row = self.row_at(state)
        return self.known(self.robot[row]) if row >= 0 else np.zeros((0, 2), np.float32)

    def forecasts_at(self, state: int) -> tuple[IntArray, FloatArray]:
        """(M,) columns of people and (M, G, 2) where they are expected, as published with the plan that holds."""
        row = self.row_at(state)
        rows = self.forecast_step == self.step[row] if row >= 0 else np.zeros(len(self.forecast_step), bool)
        return self.forecast_person[rows], self.people[rows]

    @staticmethod
    def known(points: FloatArray) -> FloatArray:
        """The points that are not padding."""
        found: FloatArray = points[np.isfinite(points).all(axis=-1)]
        return found
