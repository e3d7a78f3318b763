"""Asks the policy for commands and measures its time. A policy that fails ends its episode with ``policy_error``, never
the run."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from math import nan
from typing import Any

from sidestep.errors import SidestepError, describe_error, printable, short_traceback
from sidestep.interfaces import Policy
from sidestep.simulation.intent import LOOK_EVERY_S, Intent, published
from sidestep.types import Command, Observation, Task
from sidestep.types.command import checked_command
from sidestep.types.record import Mode

RESET_LIMIT_S = 120.0


class PolicyFailure(SidestepError):
    """The policy raised, returned an invalid command or took too long. The text can be shown in terminals and files."""

    def __init__(self, reason: str, traceback: str = "") -> None:
        super().__init__(printable(reason))
        self.traceback = traceback


@dataclass(frozen=True)
class Timing:
    """How thinking time is charged. ``sync``: the world waits. ``latency``: a command takes effect ``latency_s`` after
    its observation (None: the measured time) on the simulated clock. ``async``: the world runs on the wall clock.
    In the last two the old command holds meanwhile, and the policy is asked again after it has returned."""

    mode: Mode = "sync"
    latency_s: float | None = None
    act_limit_s: float | None = 10.0


class Driver:
    """One policy in one episode."""

    def __init__(self, policy: Policy, timing: Timing, step_s: float, control_every: int) -> None:
        self._policy = policy
        self._timing = timing
        self._step_s = step_s
        self._control_every = control_every
        self._worker: _Worker | None = None
        self._held: Command | None = None
        self._coming: tuple[float, Command] | None = None
        self._pending = False
        self._started = 0.0
        self._look_at = 0.0
        self._news: Intent | None = None
        self._limit_s = timing.act_limit_s
        if timing.act_limit_s is not None:  # a remote client may need longer for its first answer, and only for that
            self._limit_s = max(timing.act_limit_s, policy.first_answer_s)

    def reset(self, task: Task) -> None:
        """Reset the policy for a new episode."""
        if self._timing.mode == "async" or self._timing.act_limit_s is not None:
            self._worker = _Worker()
        self._call(self._policy.reset, task, max(RESET_LIMIT_S, self._timing.act_limit_s or 0.0))
        self._started = time.perf_counter()

    def decide(self, step: int, observe: Callable[[], Observation]) -> tuple[Command | None, float]:
        """The command that holds during this step, and the planning time of an answer that arrived (NaN: none did)."""
        match self._timing.mode:
            case "sync":
                if step % self._control_every:
                    return self._held, nan
                self._held, spent = self._ask(observe())
                return self._held, spent
            case "latency":
                return self._decide_with_latency(step, observe)
            case "async":
                return self._decide_on_wall_clock(step, observe)

    def news(self) -> Intent | None:
        """What the policy has published since the last call; None: nothing was read."""
        news, self._news = self._news, None
        return news

    def close(self) -> None:
        """End the worker thread; one that hangs in the policy is left behind."""
        if self._worker is not None:
            self._worker.close()

    def _decide_with_latency(self, step: int, observe: Callable[[], Observation]) -> tuple[Command | None, float]:
        now = step * self._step_s
        spent = nan
        if self._coming is None and step % self._control_every == 0:
            command, spent = self._ask(observe())
            delay = spent if self._timing.latency_s is None else self._timing.latency_s
            self._coming = now + delay, command
        if self._coming is not None and self._coming[0] <= now + 1e-9:
            self._held, self._coming = self._coming[1], None
        return self._held, spent

    def _decide_on_wall_clock(self, step: int, observe: Callable[[], Observation]) -> tuple[Command | None, float]:
        assert self._worker is not None
        wait = self._started + step * self._step_s - time.perf_counter()
        if wait > 0:
            time.sleep(wait)
        spent = nan
        if self._pending:
            answer = self._worker.poll()
            if answer is not None:
                command, spent = self._checked(answer)
                self._held, self._pending = command, False
            elif self._limit_s is not None and self._worker.elapsed() > self._limit_s:
                raise _too_slow(self._limit_s)
        if not self._pending and step % self._control_every == 0:
            observation = observe()
            self._worker.submit(self._policy.act, observation, self._looks(observation))
            self._pending = True
        return self._held, spent

    def _ask(self, observation: Observation) -> tuple[Command, float]:
        look = self._looks(observation)
        return self._checked(self._call(self._policy.act, observation, self._limit_s, look))

    def _looks(self, observation: Observation) -> Policy | None:
        """The policy, when it is time to look at what it publishes."""
        if observation.time < self._look_at - 1e-9:
            return None
        self._look_at = observation.time + LOOK_EVERY_S
        return self._policy

    def _call(
        self, function: Callable[[Any], Any], argument: Any, limit_s: float | None, look: Policy | None = None
    ) -> _Answer:
        if self._worker is None or limit_s is None:
            answer = _run(function, argument, look)
        else:
            self._worker.submit(function, argument, look)
            found = self._worker.poll(limit_s)
            if found is None:
                raise _too_slow(limit_s)
            answer = found
        if answer.error:
            raise PolicyFailure(answer.error, answer.traceback)
        return answer

    def _checked(self, answer: _Answer) -> tuple[Command, float]:
        if answer.error:
            raise PolicyFailure(answer.error, answer.traceback)
        try:
            command = checked_command(answer.value)
        except SidestepError as error:
            raise PolicyFailure(str(error)) from None
        self._news = answer.intent
        self._limit_s = self._timing.act_limit_s
        return command, answer.seconds


def _too_slow(limit_s: float) -> PolicyFailure:
    return PolicyFailure(f"the policy did not answer within its limit of {limit_s:g} s")


@dataclass(frozen=True, slots=True)
class _Answer:
    value: Any
    seconds: float
    error: str = ""
    intent: Intent | None = None
    traceback: str = ""


def _run(function: Callable[[Any], Any], argument: Any, look: Policy | None = None) -> _Answer:
    """The answer and its time; then, outside that time but before anything else is asked, what ``look`` publishes."""
    start = time.perf_counter()
    try:
        value = function(argument)
    except BaseException as error:  # whatever a policy raises is its failure, and is recorded as such
        if isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread():
            raise  # somebody at the keyboard means the run
        spent = time.perf_counter() - start
        message = describe_error(error)
        return _Answer(None, spent, message, traceback=short_traceback(error, message))
    seconds = time.perf_counter() - start
    return _Answer(value, seconds, intent=None if look is None else published(look))


class _Worker:
    """A daemon thread that runs one call at a time, so that a call that hangs can be given up."""

    def __init__(self) -> None:
        self._calls: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[_Answer] = queue.SimpleQueue()
        self._since = 0.0
        threading.Thread(target=self._serve, daemon=True, name="sidestep-policy").start()

    def _serve(self) -> None:
        while True:
            call = self._calls.get()
            if call is None:
                return
            self._answers.put(_run(*call))

    def submit(self, function: Callable[[Any], Any], argument: Any, look: Policy | None = None) -> None:
        self._since = time.perf_counter()
        self._calls.put((function, argument, look))

    def poll(self, wait_s: float = 0.0) -> _Answer | None:
        try:
            return self._answers.get(timeout=wait_s) if wait_s > 0 else self._answers.get_nowait()
        except queue.Empty:
            return None

    def elapsed(self) -> float:
        return time.perf_counter() - self._since

    def close(self) -> None:
        self._calls.put(None)
