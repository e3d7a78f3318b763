"""Guests: policies that are not bundled, each in a child process without the simulator. ``GuestProcess`` starts
the process, sends one request at a time and ends it, with everything that it started, if an answer is late or
malformed. ``GuestPolicy`` presents it to the episode loop like any other policy; ``GuestProcesses`` keeps a process
for the next episode of the same policy.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import sys
import time
import weakref
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from sidestep.errors import LONGEST_TRACEBACK, BadInput, GuestFailed, printable
from sidestep.runs.remote.guest_messages import ObservationSender, check_settings, plans_of, task_message
from sidestep.runs.remote.guest_process import KeptProcess, PlainProcess, Report, start_guest
from sidestep.runs.remote.guest_process import describe_exit as describe_exit  # for workers, which end likewise
from sidestep.runs.remote.isolation import Isolation
from sidestep.runs.remote.messages import Introduction, read_command, read_introduction
from sidestep.runs.remote.sandbox import SandboxPaths, hidden_folders, readable_paths
from sidestep.runs.remote.session import ANSWER_S, IntroducedPolicy
from sidestep.runs.remote.wire import (
    PROTOCOL,
    Address,
    Connection,
    Garbled,
    Message,
    Refused,
    TimedOut,
    WireError,
    bound_address,
    check_version,
    listen,
    same_token,
)
from sidestep.types import Command, EpisodeEnd, Observation, Task
from sidestep.types.record import WALLS

START_S = 120.0
"""Time limit for a guest to start, import and create its policy, s."""
DESCRIBE_S = 10.0
"""Time limit for a policy to declare its needs, and to be deleted after its episode, s."""
GRACE_S = 5.0
"""Time beyond its limit that a guest may take before it is killed, s."""
ENDING_S = 0.5
"""Time for a process that has closed its connection to end, s."""
ANSWER_LIMIT = 8 * 1024 * 1024
"""Largest message from a guest, bytes."""


_RUNNING: weakref.WeakSet[GuestProcess] = weakref.WeakSet()


class GuestRefused(GuestFailed):
    """The policy cannot be created with these settings, or the object is not a policy."""


@dataclass(frozen=True)
class GuestIntroduction:
    """What a guest declared about itself at its start; it cannot change later."""

    policy: Introduction
    privileged: bool = False


@dataclass(eq=False)
class GuestProcess:
    """One process with the policy ``reference`` in it, from its start to its end."""

    reference: str
    settings: dict[str, Any] = field(default_factory=dict)
    over_loopback: bool = os.name == "nt"
    """Connect over 127.0.0.1 with a one-time token, on systems where sockets cannot be inherited."""
    isolation: Isolation = field(default_factory=Isolation)

    def __post_init__(self) -> None:
        check_settings(self.reference, self.settings)
        self.output = b""
        """The beginning and the end of the guest's output in this episode, as of the last report."""
        self._asking = False
        self._is_killed = False
        self._waited_s = 0.0
        self._failure = "the policy's process has ended"
        self._paths: SandboxPaths | None = None
        if self.isolation.sandbox != "off" and sys.platform == "linux" and not self.over_loopback:
            self._paths = readable_paths(self.reference, self.settings, self.isolation.allow_read, hidden_folders())
        self._process, self._connection = self._start()
        _RUNNING.add(self)
        try:
            self.introduced = self._introduce()
            report = self.look()  # the process id is known from now on, even if the keeper ends
            self.sandbox = self._held(report)
        except BaseException:
            self.kill()
            raise

    @property
    def is_usable(self) -> bool:
        """Whether the process is alive and no request is open."""
        if self._is_killed or self._asking:
            return False
        return self._process.report().exit_code is None

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.report().pid

    def begin(self) -> None:
        """Start a new episode: the counts per episode are set to zero."""
        self._waited_s = 0.0
        self.output = b""
        self._process.begin(self.isolation)

    def ask(self, message: Message, wanted: str, limit_s: float) -> Message:
        """Send a request and return the answer. Raises ``GuestFailed`` if there is none in time; the guest is then
        killed, unless it reported the error itself."""
        if self._is_killed:
            raise GuestFailed(self._failure)
        self._asking = True
        number = secrets.randbits(62)  # not to be guessed: an answer cannot be given before it is asked for
        begun = time.monotonic()
        left_s = limit_s if self.isolation.wall_s is None else self.isolation.wall_s - self._waited_s
        try:
            self._connection.send({**message, "id": number}, max(min(limit_s, left_s), 1e-3))
            answer = self._connection.receive(max(min(limit_s, left_s), 1e-3))
            if answer["type"] not in (wanted, "error") or answer.get("id") != number:
                raise Garbled(f"expected {wanted!r}, got {answer['type']!r:.40}")
        except TimedOut:
            self.kill(self._why_late(limit_s, left_s))
            raise GuestFailed(self._failure) from None
        except WireError as error:
            raise self._lost(error) from None
        self._asking = False
        self._waited_s += time.monotonic() - begun
        if answer["type"] == "error":
            where = printable(str(answer.get("traceback", "")), LONGEST_TRACEBACK)
            raise GuestFailed(printable(str(answer.get("message", ""))), where)
        return answer

    def kill(self, reason: str = "") -> None:
        """End the process and everything that it has started. Later requests fail with ``reason``."""
        if self._is_killed:
            return
        self._is_killed = True
        self._failure = reason or self._failure
        self.look()
        self._connection.close()
        self._process.end()

    def __del__(self) -> None:
        with suppress(Exception):
            self.kill()

    def _start(self) -> tuple[KeptProcess | PlainProcess, Connection]:
        if not self.over_loopback:
            ours, theirs = socket.socketpair()
            with theirs:
                process = start_guest(f"fd:{theirs.fileno()}", theirs.fileno(), self.isolation, self._paths)
            return process, Connection(ours, ANSWER_LIMIT, strict=True)
        token = secrets.token_hex(16)
        with listen(Address("127.0.0.1", 0)) as listener:
            process = start_guest(f"{bound_address(listener)}|{token}", None, self.isolation, self._paths)
            return process, _accept(listener, token, process)

    def _introduce(self) -> GuestIntroduction:
        """What the guest declares about the policy that it created; raises ``GuestFailed`` if it created none."""
        hello = {"type": "hello", "sidestep": PROTOCOL, "role": "benchmark", "reference": self.reference}
        modules = None if self._paths is None else self._paths.modules
        self.ask({**hello, "settings": json.dumps(self.settings), "modules": modules}, "made", START_S)
        answer = self.ask({"type": "describe"}, "hello", DESCRIBE_S)
        if answer.get("refused"):
            raise GuestRefused(printable(str(answer["refused"])))
        try:
            check_version(answer, "policy")
            policy = read_introduction({**answer, "name": "guest"})
        except Refused as error:
            raise GuestRefused(printable(f"policy {self.reference!r}: {error}")) from None
        return GuestIntroduction(policy, answer.get("privileged") is True)

    def _held(self, report: Report) -> tuple[str, ...]:
        """The walls that stand around the guest; ``GuestRefused`` if one is missing and all are required."""
        missing = [wall for wall in WALLS if wall not in report.held]
        if missing and self.isolation.sandbox == "require":
            raise GuestRefused(
                f"policy {self.reference!r}: this system cannot hold a guest in a sandbox ({', '.join(missing)} "
                "missing), which --sandbox require asks for; see `sidestep doctor`"
            )
        return report.held

    def _why_late(self, limit_s: float, left_s: float) -> str:
        if left_s < limit_s:
            return f"the policy took more than {self.isolation.wall_s:g} s in an episode (--limit-wall)"
        return f"the policy did not answer within its limit of {limit_s:g} s"

    def _lost(self, error: WireError) -> GuestFailed:
        """The error for a lost connection, with the way in which the guest ended; the guest is ended if it is alive."""
        end = time.monotonic() + ENDING_S
        report = self.look()
        while report.exit_code is None and time.monotonic() < end:
            time.sleep(0.01)
            report = self.look()
        if self._is_killed:  # by another thread, meanwhile
            return GuestFailed(self._failure)
        self.kill(_why_lost(report, error))
        return GuestFailed(self._failure)

    def look(self) -> Report:
        """Read the state of the guest."""
        report = self._process.report()
        self.output = report.output
        return report


def _why_lost(report: Report, error: WireError) -> str:
    if report.reason:
        return report.reason
    if report.exit_code is None:
        return f"the policy's process had to be ended: {error}"
    return f"the policy ended its process: {describe_exit(report.exit_code)}"


def _accept(listener: socket.socket, token: str, process: KeptProcess | PlainProcess) -> Connection:
    """The connection of the process that knows the token; all other connections are closed."""
    listener.settimeout(1.0)
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and process.report().exit_code is None:
        with suppress(TimeoutError):
            connection = Connection(listener.accept()[0], ANSWER_LIMIT, strict=True)
            with suppress(WireError):
                if same_token(connection.receive(1.0).get("token"), token):
                    return connection
            connection.close()
    process.end()
    raise GuestFailed("the process of the policy did not start")


def end_all() -> None:
    """End all guests of this process and everything that they have started, before this process ends."""
    for guest in list(_RUNNING):
        guest.kill()


def introduce(reference: str, settings: dict[str, Any], isolation: Isolation | None = None) -> GuestIntroduction:
    """What a policy declares about itself, read from a process that then ends; raises ``BadInput`` if the policy cannot
    be created."""
    try:
        guest = GuestProcess(reference, settings, isolation=isolation or Isolation())
    except GuestRefused as error:
        raise BadInput(str(error)) from None
    except GuestFailed as error:
        raise BadInput(f"policy {reference!r} cannot be made: {error}") from None
    guest.kill()
    return guest.introduced


RESET_S = 120.0
"""Time limit of ``reset``, s, as for bundled policies."""
END_S = 5.0
"""Time limit of ``end_episode``, s."""


class GuestPolicy(IntroducedPolicy):
    """The policy of one episode in a guest's process, which creates a new policy object for each episode."""

    def __init__(self, process: GuestProcess, act_limit_s: float | None = None) -> None:
        super().__init__(process.introduced.policy)
        self.process = process
        self.name = process.reference
        self.privileged = process.introduced.privileged  # type: ignore[misc]  # of this object
        self.sandbox = process.sandbox
        self._act_s = (ANSWER_S if act_limit_s is None else act_limit_s) + GRACE_S
        self._sender = ObservationSender()
        self.forecast: Any = None
        self.plan_step_s: float | None = None

    def reset(self, task: Task) -> None:
        """Pass the task to a new policy object in the guest, once the previous one is deleted."""
        self.process.ask({"type": "drop"}, "dropped", DESCRIBE_S)
        self.process.ask({"type": "episode", **task_message(task)}, "ready", RESET_S + GRACE_S)

    def act(self, observation: Observation) -> Command:
        """Request a command from the guest."""
        answer = self.process.ask({"type": "sense", **self._sender.message(observation)}, "act", self._act_s)
        try:
            return read_command(answer)
        except Garbled as error:
            self.process.kill(f"the policy's process had to be ended: {error}")
            raise GuestFailed(f"the policy's process had to be ended: {error}") from None

    @property
    def plan(self) -> Any:
        """The plan that the guest publishes now; this also updates ``forecast`` and ``plan_step_s``."""
        plan, self.forecast, self.plan_step_s = plans_of(self.process.ask({"type": "plans"}, "plans", self._act_s))
        return plan

    def end_episode(self, end: EpisodeEnd) -> None:
        """Send the guest the end of the episode. It has ``END_S`` for ``end_episode`` and ``close``."""
        if not self.process.is_usable:
            return
        metrics = {
            name: [result.value if result.valid else None, result.unit, result.reason]
            for name, result in end.metrics.items()
        }
        message = {"type": "result", "outcome": end.outcome, "error": end.error, "metrics": metrics}
        self.process.ask(message, "done", END_S)

    def close(self) -> None:
        """End the episode; a process with an open request is killed."""
        if not self.process.is_usable:
            self.process.kill()

    @property
    def output(self) -> str:
        """The beginning and the end of the guest's output in this episode."""
        self.process.look()
        return printable(self.process.output.decode("utf-8", "replace"), len(self.process.output) + 1)


@dataclass(eq=False)
class GuestProcesses:
    """Keeps the process of the last requested guest, as a run goes policy by policy. A copy in another process is
    empty."""

    _process: GuestProcess | None = field(default=None, init=False)

    def policy(
        self,
        reference: str,
        settings: dict[str, Any],
        act_limit_s: float | None = None,
        isolation: Isolation | None = None,
    ) -> GuestPolicy:
        """The policy for one episode, in the kept process or a new one; raises ``GuestFailed`` if it cannot start."""
        held, limits = self._process, isolation or Isolation()
        asked = (reference, settings, limits)
        same = held is not None and (held.reference, held.settings, held.isolation) == asked
        if held is None or not same or not held.is_usable:
            self.close()
            held = self._process = GuestProcess(reference, settings, isolation=limits)
        held.begin()
        return GuestPolicy(held, act_limit_s)

    def close(self) -> None:
        """End the guest."""
        if self._process is not None:
            self._process.kill()
            self._process = None

    def __enter__(self) -> GuestProcesses:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return GuestProcesses, ()
