"""A detector that reports the states of the people it can see."""

from __future__ import annotations

import numpy as np

from sidestep.kernels import layout
from sidestep.kernels.visibility import visible_people
from sidestep.types import Pedestrians
from sidestep.types.base import BoolArray, FloatArray, IntArray
from sidestep.types.sensors import PedestrianSensing


class PedestrianDetector:
    """Exact states of everybody in range, in the field of view and, if asked, not hidden."""

    def __init__(self, settings: PedestrianSensing, person_id: IntArray, segments: FloatArray) -> None:
        self._settings = settings
        self._person_id = person_id
        self._segments = np.ascontiguousarray(segments, np.float32)
        self._sees_all = settings.range_m is None and settings.field_of_view is None and not settings.occlusion

    def sense(self, agents: FloatArray, flags: IntArray, pose: tuple[float, float, float]) -> Pedestrians:
        """Who is seen from ``pose`` (x, y, heading). ``agents`` and ``flags`` are one world's (rows, columns)."""
        people = len(self._person_id)
        present = flags[layout.ACTIVE, :people].astype(bool)
        if not self._sees_all:
            present = self._visible(agents, present, pose)
        seen = np.flatnonzero(present)
        rows = agents[:, seen].astype(np.float64)
        return Pedestrians(
            id=self._person_id[seen],
            position=np.ascontiguousarray(rows[[layout.PX, layout.PY]].T),
            velocity=np.ascontiguousarray(rows[[layout.VX, layout.VY]].T),
            heading=rows[layout.HEADING],
            radius=rows[layout.RADIUS],
            group=flags[layout.GROUP, seen],
            gesture=flags[layout.GESTURE, seen],
            gaze=rows[layout.HEADING] + np.nan_to_num(rows[layout.HEAD_YAW]),
        )

    def _visible(self, agents: FloatArray, present: BoolArray, pose: tuple[float, float, float]) -> BoolArray:
        people = len(self._person_id)
        mask = np.zeros(people, np.uint8)
        visible_people(
            pose[0],
            pose[1],
            pose[2],
            self._settings.range_m if self._settings.range_m is not None else np.inf,
            self._settings.field_of_view if self._settings.field_of_view is not None else 2 * np.pi,
            self._settings.occlusion,
            self._segments,
            agents[layout.PX, :people],
            agents[layout.PY, :people],
            agents[layout.RADIUS, :people],
            present.astype(np.int32),
            -1,
            mask,
        )
        return mask.astype(bool)
