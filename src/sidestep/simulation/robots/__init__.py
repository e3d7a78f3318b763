"""Robots: what they are, what they may do, and how any command becomes what their dynamics execute.

* ``library`` – named specs (data files under ``specs/``), files of a user, URDF files: :func:`load_robot`; a spec as
  the numbers that kernels take
* ``controllers`` – any command on any dynamics: :class:`CommandConverter`; its encoding in the record
* ``urdf`` – a footprint from a robot description

The motion itself is :mod:`sidestep.kernels.dynamics`; nothing here knows pedestrians, scenes or policies.
"""

from sidestep.simulation.robots.controllers import CommandConverter, encode_command
from sidestep.simulation.robots.library import (
    DYNAMICS_CODES,
    action_scale,
    load_robot,
    native_bounds,
    pack_limits,
    robot_names,
)

__all__ = [
    "DYNAMICS_CODES",
    "CommandConverter",
    "action_scale",
    "encode_command",
    "load_robot",
    "native_bounds",
    "pack_limits",
    "robot_names",
]
