"""A policy in a process of its own. Either side can wait for the other.

The policy connects to a benchmark that waits:

    sidestep serve core --listen 127.0.0.1:5577 --out runs/remote
    python examples/remote/policy.py connect 127.0.0.1:5577

or it waits for a benchmark that connects, with any number of workers:

    python examples/remote/policy.py listen 127.0.0.1:5578
    sidestep run core --policy remote:127.0.0.1:5578 --policy orca --workers 2 --out runs/remote
"""

from __future__ import annotations

import sys
from math import hypot
from typing import Any

from sidestep.runs.remote.client import HolonomicVelocity, run_client, serve_policy


class Careful:
    """Straight to the goal, but waits while a person is near."""

    name = "careful"
    needs = frozenset({"goal", "pedestrians"})
    dynamics = "holonomic"

    def reset(self, task: Any) -> None:
        self.speed = task.robot.limits.max_speed

    def act(self, observation: Any) -> HolonomicVelocity:
        robot, people = observation.robot, observation.pedestrians
        dx, dy = observation.goal[0] - robot.x, observation.goal[1] - robot.y
        if any(hypot(x - robot.x, y - robot.y) < 1.5 for x, y in people.position):
            return HolonomicVelocity(0.0, 0.0)
        scale = self.speed / max(hypot(dx, dy), 1e-6)
        return HolonomicVelocity(dx * scale, dy * scale)

    def end_episode(self, end: Any) -> None:
        print(end.outcome, f"{end.metrics.get('path_length') or 0:.1f} m", flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("connect", "listen"):
        sys.exit("usage: policy.py connect ADDRESS | policy.py listen ADDRESS")
    if sys.argv[1] == "connect":
        run_client(Careful(), sys.argv[2])
    else:
        serve_policy(Careful, sys.argv[2], ready=lambda address: print(f"listening on {address}", flush=True))
