"""What the robot's lidar saw, made again from a record: the scanner has no noise, so the ranges are the same."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sidestep.kernels import layout
from sidestep.metrics.series import present
from sidestep.sensors import Lidar
from sidestep.types import LidarScan
from sidestep.types.base import IntArray
from sidestep.types.record import EpisodeRecord


def has_lidar(record: EpisodeRecord) -> bool:
    """Whether the policy was given scans."""
    return "lidar" in record.policy.needs


def lidar_scans(record: EpisodeRecord, steps: IntArray) -> Iterator[LidarScan]:
    """The scan at each of ``steps``, of walls, people and other machines, seen from where the scanner is mounted."""
    lidar = Lidar(record.scenario.sensors.lidar, record.walls)
    people, others = len(record.person_id), len(record.other_radius)
    agents = np.zeros((layout.AGENT_ROWS, people + others), np.float32)
    flags = np.zeros((layout.FLAG_ROWS, people + others), np.int32)
    agents[layout.RADIUS] = np.concatenate([record.person_radius, record.other_radius])
    there = present(record)
    for step in steps:
        agents[layout.PX : layout.PY + 1, :people] = np.nan_to_num(record.person_position[step]).T
        agents[layout.PX : layout.PY + 1, people:] = record.other_pose[step, :, :2].T
        flags[layout.ACTIVE] = np.concatenate([there[step], np.ones(others, bool)])
        x, y, heading = record.robot_pose[step]
        yield lidar.sense(agents, flags, (float(x), float(y), float(heading)), own=-1)
