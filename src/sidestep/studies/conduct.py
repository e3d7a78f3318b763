"""Flags of walks whose outcome the participant decided alone, so that it is no result of the robot.

Both flags follow from the record, so that exported records can be checked again. A flagged walk is kept, with its
ratings and its flag, and counts neither as a success nor as a failure: the analysis leaves it out.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from sidestep.simulation.crowd.events.enacting import NOTICE_M, STANDING_MPS
from sidestep.simulation.live import MODEL_NAME, WAVE
from sidestep.types import EpisodeRecord
from sidestep.types.base import BoolArray, FloatArray
from sidestep.types.events import Enacting

NEVER_MOVED: Final = "never_moved"
"""The participant was asked to walk and stayed: the robot could not do what is expected."""
WAVED_EARLY: Final = "waved_early"
"""The participant waved before the robot had stopped at the crossing: a robot that never stops would succeed."""
MOVED_M = 0.5
"""A participant who stayed within this distance of the start has not moved."""
CHANCE_S = 3.0
"""Time in which a participant could have moved."""
EARLY_S = 1.0
"""A wave may begin this long before the robot stands."""


def flag_of(record: EpisodeRecord) -> str:
    """Why the outcome of a walk does not count; empty: it counts."""
    if MODEL_NAME not in record.person_model:
        return ""
    column = record.person_model.index(MODEL_NAME)
    since = _asked_to_walk_at(record)
    if record.duration - since >= CHANCE_S and _moved_m(record, column) < MOVED_M:
        return NEVER_MOVED
    enacting = next((each for each in record.scenario.events if isinstance(each, Enacting)), None)
    if enacting is not None and enacting.conduct == "wave_on" and _waved_early(record, column, enacting):
        return WAVED_EARLY
    return ""


def _asked_to_walk_at(record: EpisodeRecord) -> float:
    """Time at which the participant may set off, s; infinite: the robot never came to its mark."""
    if not record.scenario.events:
        return 0.0
    return next((event.time for event in record.events if event.kind == "trigger"), np.inf)


def _moved_m(record: EpisodeRecord, column: int) -> float:
    """The farthest from the start, m."""
    path = record.person_position[record.person_present[:, column], column].astype(np.float64)
    return float(np.hypot(*(path - path[0]).T).max()) if len(path) else 0.0


def _waved_early(record: EpisodeRecord, column: int, enacting: Enacting) -> bool:
    waves = np.zeros(len(record.time), bool)
    if record.person_gesture.size:
        waves = record.person_gesture[:, column] == WAVE
    waves[record.time >= _disobeyed_at(record)] = False  # too late to decide anything: the robot has failed
    if not waves.any():
        return False
    stands: BoolArray = np.hypot(*record.robot_velocity[:, :2].T) < STANDING_MPS
    stands &= _is_near(record, enacting)
    stands[record.time < _asked_to_walk_at(record)] = False
    if not stands.any():
        return True
    return bool(record.time[waves.argmax()] < record.time[stands.argmax()] - EARLY_S)


def _disobeyed_at(record: EpisodeRecord) -> float:
    """Time at which the robot broke a rule, s; infinite: it did not."""
    return next((event.time for event in record.events if event.kind == "disobeyed"), np.inf)


def _is_near(record: EpisodeRecord, enacting: Enacting) -> BoolArray:
    assert enacting.meet is not None
    apart: FloatArray = record.robot_pose[:, :2] - np.array(enacting.meet)
    near: BoolArray = np.hypot(*apart.T) < NOTICE_M
    return near
