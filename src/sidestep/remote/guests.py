"""Guests: policies that are not bundled, each in a child process that holds no simulator. ``GuestProcess`` starts
the process, asks one question at a time and ends it, with everything that it started, when an answer is late or
malformed. ``GuestPolicy`` makes it look like any other policy to the episode loop; ``Guests`` keeps a process
for the next episode of the same policy.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from sidestep.errors import LONGEST_TRACEBACK, BadInput, GuestFailed, printable
from sidestep.remote.guest_messages import ObservationSender, check_settings, plans_of, task_message
from sidestep.remote.messages import Introduction, read_command, read_introduction
from sidestep.remote.session import ANSWER_S, IntroducedPolicy
from sidestep.remote.wire import (
    PROTOCOL,
    Address,
    Closed,
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

START_S = 120.0
"""Time for a guest to start, import and make its policy, s."""
GRACE_S = 5.0
"""What a guest may be late beyond its limit before it is killed, s."""
OUTPUT_INTERVAL_S = 0.05
"""How often the output of a guest that is thinking is emptied, s."""
ANSWER_LIMIT = 8 * 1024 * 1024
"""Bytes of a message from a guest."""
READS_AT_ONCE = 4
OUTPUT_KEPT = 4096
"""Bytes at the end of a guest's output that are kept."""
NO_TELEMETRY = {"ORT_DISABLE_TELEMETRY": "1"}
"""Guests may import ONNX Runtime themselves; it reports to its maker unless told not to before it is imported."""
NOT_FOR_GUESTS = ("SIDESTEP_TOKEN",)
_BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[2]); "
    "from sidestep.remote.guest_child import main; main(sys.argv[1])"
)  # fmt: skip


_RUNNING: weakref.WeakSet[GuestProcess] = weakref.WeakSet()


class GuestRefused(GuestFailed):
    """The policy cannot be made with these settings, or is none."""


@dataclass(frozen=True)
class GuestIntroduction:
    """What a guest said about itself, once: nothing of it can change later."""

    policy: Introduction
    privileged: bool = False


@dataclass(eq=False)
class GuestProcess:
    """One process with the policy ``reference`` in it, from its start to its end."""

    reference: str
    settings: dict[str, Any] = field(default_factory=dict)
    over_loopback: bool = os.name == "nt"
    """Talk over 127.0.0.1 with a token that is used once, where sockets cannot be handed on."""

    def __post_init__(self) -> None:
        check_settings(self.reference, self.settings)
        self.output = b""
        """The end of what the guest has printed."""
        self._asking = False
        self._is_killed = False
        self._reading = threading.Lock()
        self._failure = "the policy's process has ended"
        reading, writing = os.pipe()
        try:
            self._process, self._connection = self._start(writing)
        except BaseException:
            os.close(reading)
            raise
        finally:
            os.close(writing)
        self._output: int | None = reading
        _RUNNING.add(self)
        if os.name == "posix":
            os.set_blocking(reading, False)
        try:
            self.introduced = self._introduce()
        except BaseException:
            self.kill()
            raise

    @property
    def is_usable(self) -> bool:
        """Whether it lives and no question is open."""
        return not self._is_killed and not self._asking and self._process.poll() is None

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def ask(self, message: Message, wanted: str, limit_s: float) -> Message:
        """The answer to a question; ``GuestFailed`` when there is none in time. The guest has then been killed unless
        it told itself what went wrong."""
        if self._is_killed:
            raise GuestFailed(self._failure)
        self._asking = True
        number = secrets.randbits(62)  # not to be guessed: an answer cannot be given before it is asked for
        self.empty_output()
        try:
            self._connection.send({**message, "id": number}, max(limit_s, 1e-3))
            answer = self._receive(time.monotonic() + limit_s)
            if answer["type"] not in (wanted, "error") or answer.get("id") != number:
                raise Garbled(f"expected {wanted!r}, got {answer['type']!r:.40}")
        except TimedOut:
            if self._process.poll() is not None:
                raise self._lost(Closed("its process is gone")) from None
            self.kill(f"the policy did not answer within its limit of {limit_s:g} s")
            raise GuestFailed(self._failure) from None
        except WireError as error:
            raise self._lost(error) from None
        self._asking = False
        if answer["type"] == "error":
            where = printable(str(answer.get("traceback", "")), LONGEST_TRACEBACK)
            raise GuestFailed(printable(str(answer.get("message", ""))), where)
        return answer

    def kill(self, reason: str = "") -> None:
        """End the process and whatever it has started. Later questions are answered with ``reason``."""
        if self._is_killed:
            return
        self._is_killed = True
        self._failure = reason or self._failure
        self._connection.close()
        if os.name == "posix":
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)  # it leads a session of its own, so nobody else is in it
        with suppress(OSError):
            self._process.kill()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=GRACE_S)
        self.empty_output()
        with self._reading:
            if self._output is not None:
                os.close(self._output)
                self._output = None

    def __del__(self) -> None:
        with suppress(Exception):
            self.kill()

    def _start(self, output: int) -> tuple[subprocess.Popen[bytes], Connection]:
        environment = {**NO_TELEMETRY, **os.environ}
        for name in NOT_FOR_GUESTS:
            environment.pop(name, None)
        if not self.over_loopback:
            ours, theirs = socket.socketpair()
            with theirs:
                process = _spawn(f"fd:{theirs.fileno()}", environment, output, (theirs.fileno(),))
            return process, Connection(ours, ANSWER_LIMIT, strict=True)
        token = secrets.token_hex(16)
        with listen(Address("127.0.0.1", 0)) as listener:
            listener.settimeout(START_S)
            process = _spawn(f"{bound_address(listener)}|{token}", environment, output)
            return process, _accept(listener, token, process)

    def _introduce(self) -> GuestIntroduction:
        """What the guest says of the policy that it has made; ``GuestFailed`` where it has made none."""
        hello = {"type": "hello", "sidestep": PROTOCOL, "role": "benchmark", "reference": self.reference}
        answer = self.ask({**hello, "settings": json.dumps(self.settings)}, "hello", START_S)
        if answer.get("refused"):
            raise GuestRefused(printable(str(answer["refused"])))
        try:
            check_version(answer, "policy")
            policy = read_introduction({**answer, "name": "guest"})
        except Refused as error:
            raise GuestRefused(printable(f"policy {self.reference!r}: {error}")) from None
        return GuestIntroduction(policy, answer.get("privileged") is True)

    def _receive(self, deadline: float) -> Message:
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimedOut("no answer in time")
            try:
                return self._connection.receive(min(left, OUTPUT_INTERVAL_S))
            except TimedOut:
                self.empty_output()
                # a child of the guest may keep the connection open after it
                if self._process.poll() is not None and left > OUTPUT_INTERVAL_S:
                    deadline = min(deadline, time.monotonic() + OUTPUT_INTERVAL_S)

    def _lost(self, error: WireError) -> GuestFailed:
        """Nobody can talk with the guest any more: say how it ended, and see that it has."""
        if self._is_killed:  # by another thread, meanwhile
            return GuestFailed(self._failure)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=0.5 if isinstance(error, Closed) else 0.0)
        code = self._process.poll()
        talk = f"the policy's process had to be ended: {error}"
        self.kill(talk if code is None else f"the policy ended its process: {describe_exit(code)}")
        return GuestFailed(self._failure)

    def empty_output(self) -> None:
        """Read what the guest has printed, so that it can go on, and keep the end of it. Whoever prints faster than
        this reads has to wait."""
        with self._reading, suppress(BlockingIOError):
            for _ in range(READS_AT_ONCE if os.name == "posix" else 0):
                if self._output is None:
                    return
                part = os.read(self._output, 65536)
                self.output = (self.output + part)[-OUTPUT_KEPT:]
                if len(part) < 65536:
                    return


def _spawn(
    address: str, environment: dict[str, str], output: int, handed_on: tuple[int, ...] = ()
) -> subprocess.Popen[bytes]:
    options: dict[str, Any] = {"pass_fds": handed_on, "start_new_session": True} if os.name == "posix" else {}
    return subprocess.Popen(
        [sys.executable, "-P", "-u", "-X", "faulthandler", "-c", _BOOT, address, json.dumps([*map(str, sys.path)])],
        stdin=subprocess.DEVNULL,
        stdout=output if os.name == "posix" else subprocess.DEVNULL,  # elsewhere a full pipe would block the guest
        stderr=subprocess.STDOUT,
        env=environment,
        **options,
    )


def _accept(listener: socket.socket, token: str, process: subprocess.Popen[bytes]) -> Connection:
    """The connection of the process that knows the token; whoever else knocks is sent away."""
    listener.settimeout(1.0)
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(TimeoutError):
            connection = Connection(listener.accept()[0], ANSWER_LIMIT, strict=True)
            with suppress(WireError):
                if same_token(connection.receive(1.0).get("token"), token):
                    return connection
            connection.close()
    process.kill()
    raise GuestFailed("the process of the policy did not start")


def describe_exit(code: int) -> str:
    """How a process ended, for people."""
    if code >= 0:
        return f"exit code {code}"
    name = signal.Signals(-code).name if -code in list(signal.Signals) else f"signal {-code}"
    return f"{name}{' (out of memory?)' if name == 'SIGKILL' else ''}"


def end_all() -> None:
    """End every guest of this process and what they have started; for a process that is about to end itself."""
    for guest in list(_RUNNING):
        guest.kill()


def introduce(reference: str, settings: dict[str, Any]) -> GuestIntroduction:
    """What a policy says about itself, from a process that is ended at once; ``BadInput`` when it cannot be made."""
    try:
        guest = GuestProcess(reference, settings)
    except GuestRefused as error:
        raise BadInput(str(error)) from None
    except GuestFailed as error:
        raise BadInput(f"policy {reference!r} cannot be made: {error}") from None
    guest.kill()
    return guest.introduced


RESET_S = 120.0
"""Time for ``reset``, s, as for bundled policies."""
END_S = 5.0
"""Time for ``end_episode``, s."""


class GuestPolicy(IntroducedPolicy):
    """The policy of one episode in a guest's process, which makes a new object for it."""

    def __init__(self, process: GuestProcess, act_limit_s: float | None = None) -> None:
        super().__init__(process.introduced.policy)
        self.process = process
        self.name = process.reference
        self.privileged = process.introduced.privileged  # type: ignore[misc]  # of this object
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
            return read_command(answer)
        except Garbled as error:
            self.process.kill(f"the policy's process had to be ended: {error}")
            raise GuestFailed(f"the policy's process had to be ended: {error}") from None

    @property
    def plan(self) -> Any:
        """What the guest publishes now; ``forecast`` and ``plan_step_s`` come with it."""
        plan, self.forecast, self.plan_step_s = plans_of(self.process.ask({"type": "plans"}, "plans", self._act_s))
        return plan

    def end_episode(self, end: EpisodeEnd) -> None:
        """Tell the guest how the episode ended. It has ``END_S`` for that, and for closing."""
        if not self.process.is_usable:
            return
        metrics = {
            name: [result.value if result.valid else None, result.unit, result.reason]
            for name, result in end.metrics.items()
        }
        message = {"type": "result", "outcome": end.outcome, "error": end.error, "metrics": metrics}
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
