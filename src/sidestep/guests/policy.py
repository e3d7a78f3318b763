"""A guest looks like any other policy to the loop: every call is a question to its process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sidestep.errors import GuestFailed, printable
from sidestep.guests.messages import ObservationSender, command_of, plans_of, task_message
from sidestep.guests.process import GRACE_S, GuestProcess
from sidestep.policies.remote.wire import Garbled
from sidestep.types import Command, MetricResult, Observation, Task

RESET_S = 120.0
"""Time for ``reset``, s, as for bundled policies."""
ANSWER_S = 600.0
"""Time for an answer where a run sets no limit, s."""
END_S = 5.0
"""Time for ``end_episode``, s."""


class GuestPolicy:
    """The policy of one episode in a guest's process, which makes a new object for it."""

    summary = "a policy in a process of its own"
    citation = ""

    def __init__(self, process: GuestProcess, act_limit_s: float | None = None) -> None:
        said = process.introduced
        self.process = process
        self.name = process.reference
        self.needs = said.policy.needs
        self.settings = said.policy.settings
        self.version = said.policy.version
        self.camera = said.policy.camera
        self.privileged = said.privileged
        if said.policy.dynamics is not None:
            self.dynamics = said.policy.dynamics
        self._act_s = (ANSWER_S if act_limit_s is None else act_limit_s) + GRACE_S
        self._sender = ObservationSender()
        self.forecast: Any = None
        self.plan_step_s: float | None = None

    def reset(self, task: Task) -> None:
        """A new object in the guest takes the task."""
        self.process.ask({"type": "episode", **task_message(task)}, "ready", RESET_S + GRACE_S)

    def act(self, observation: Observation) -> Command:
        """Ask the guest."""
        answer = self.process.ask({"type": "sense", **self._sender.message(observation)}, "act", self._act_s)
        try:
            return command_of(answer)
        except Garbled as error:
            self.process.kill(f"the policy's process had to be ended: {error}")
            raise GuestFailed(f"the policy's process had to be ended: {error}") from None

    @property
    def plan(self) -> Any:
        """What the guest publishes now; ``forecast`` and ``plan_step_s`` come with it."""
        plan, self.forecast, self.plan_step_s = plans_of(self.process.ask({"type": "plans"}, "plans", self._act_s))
        return plan

    def end_episode(self, scores: Any) -> None:
        """Tell the guest how the episode ended, if it wants to know. It gets a copy and has ``END_S``."""
        if not self.process.introduced.ends_episodes or not self.process.is_usable:
            return
        metrics = {
            name: [result.value if result.valid else None, result.unit, result.reason]
            for name, result in scores.metrics.items()
        }
        message = {"type": "result", "outcome": scores.outcome, "error": scores.error, "metrics": metrics}
        self.process.ask(message, "done", END_S)

    def close(self) -> None:
        """The episode is over: a process that still owes an answer is of no more use."""
        self.process.empty_output()
        if not self.process.is_usable:
            self.process.kill()

    @property
    def output(self) -> str:
        """The end of what the guest has printed so far."""
        return printable(self.process.output.decode("utf-8", "replace"), len(self.process.output) + 1)


@dataclass(frozen=True, eq=False)
class EpisodeEnd:
    """What ``end_episode`` of a guest gets: a copy."""

    outcome: str
    error: str
    metrics: Mapping[str, MetricResult]


@dataclass(eq=False)
class Guests:
    """Holds the guest that was asked for last, since a run goes policy by policy. Travels to other processes empty."""

    _process: GuestProcess | None = field(default=None, init=False)

    def policy(self, reference: str, settings: dict[str, Any], act_limit_s: float | None = None) -> GuestPolicy:
        """The policy for one episode, in a process that is there already or a new one; ``GuestFailed`` when that
        cannot be had."""
        held = self._process
        same = held is not None and (held.reference, held.settings) == (reference, settings)
        if held is None or not same or not held.is_usable:
            self.close()
            held = self._process = GuestProcess(reference, settings)
        held.output = b""
        return GuestPolicy(held, act_limit_s)

    def close(self) -> None:
        """End the guest."""
        if self._process is not None:
            self._process.kill()
            self._process = None

    def __enter__(self) -> Guests:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return Guests, ()
