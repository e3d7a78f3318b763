"""The further machines of a record: what they are."""

from __future__ import annotations

from sidestep.errors import BadInput
from sidestep.robots import load_robot
from sidestep.types.record import EpisodeRecord
from sidestep.types.robot import RobotSpec


def other_machines(record: EpisodeRecord) -> tuple[RobotSpec, ...]:
    """Specs in the order of ``record.other_pose``, up to the first that cannot be found any more."""
    specs: list[RobotSpec] = []
    for placement in record.scenario.robots[1 : 1 + len(record.other_radius)]:
        try:
            specs.append(load_robot(placement.spec))
        except BadInput:  # a file of the suite, which need not lie beside the record
            break
    return tuple(specs)
