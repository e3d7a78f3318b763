"""Run a plan with a policy that connects over a socket (``sidestep serve``). The hosts that admit such a policy
are in ``sidestep.remote``; here they are put in front of the ordinary runner.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol
from sidestep.runs.episode import EpisodeTask
from sidestep.runs.plan import Plan, PolicyPlan
from sidestep.runs.runner import Progress, RunResult, run_benchmark, tasks_of
from sidestep.remote.host import SidestepHost
from sidestep.remote.joystick import JoystickHost


class Host(Protocol):
    """Waits for a policy, and gives it a seat in every episode."""

    def admit(self) -> PolicyPlan:
        """The policy that came, as a run names it. Waits for it."""

    def announce(self, plan: Plan, tasks: Sequence[EpisodeTask]) -> None:
        """Which episodes are to come."""

    def policy_for(self, task: EpisodeTask) -> Any:
        """The policy for an episode; if it is gone and does not come back, one that fails."""

    def close(self, reason: str) -> None:
        """Say goodbye and stop listening."""


def serve_plan(host: Host, plan_for: Callable[[PolicyPlan], Plan], out: Path, progress: Progress | None = None) -> RunResult:
    """Run the plan with the policy that ``host`` admits, into the folder ``out``. Episodes whose record is already
    there are not run again. A KeyboardInterrupt passes through and leaves a run that can be resumed."""
    reason = "interrupted"
    try:
        policy = host.admit()
        plan = plan_for(policy)
        host.announce(plan, [task for task in tasks_of(plan, out) if not task.path.exists()])

        def make_policy(task: EpisodeTask) -> Any:  # the folder's plan may have more policies, made as in any run
            return host.policy_for(task) if task.policy.name == policy.name else None

        result = run_benchmark(plan, out, progress=progress, make_policy=make_policy)
        reason = "done"
        return result
    finally:
        host.close(reason)


__all__ = ["Host", "JoystickHost", "SidestepHost", "serve_plan"]
