"""The benchmark's side of a connection to a policy: one request at a time, each with a time limit. Also
``--policy remote:ADDRESS``, which connects to a policy that another process serves.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from contextlib import suppress
from typing import Any

from sidestep.errors import LONGEST_TRACEBACK, BadInput, GuestFailed, printable
from sidestep.interfaces import Policy
from sidestep.runs.remote.client import TOKEN_VARIABLE
from sidestep.runs.remote.messages import (
    Introduction,
    observation_message,
    read_command,
    read_introduction,
    task_message,
)
from sidestep.runs.remote.wire import (
    HELLO_S,
    POLICY_LIMIT,
    PROTOCOL,
    Address,
    Closed,
    Connection,
    Garbled,
    Message,
    Refused,
    TimedOut,
    WireError,
    check_version,
    connect,
)
from sidestep.types import Command, EpisodeEnd, Observation, Task
from sidestep.version import __version__

RESET_S = 100.0
"""Time limit for a policy to prepare an episode, s; below the simulator's own limit."""
ANSWER_S = 600.0
"""Time limit of an answer if the run sets none, s."""

GOODBYE_S = 1.0
NOT_INTRODUCED = Introduction("", frozenset())
OUTBOX = 4
"""Largest number of messages that wait while a request is open: the result of an episode and the next list fit."""


class ClientFailed(GuestFailed):
    """The remote policy raised an error, did not answer, sent an invalid message or closed the connection."""


class IntroducedPolicy(Policy):
    """A policy in another process, with what it declared about itself as attributes."""

    summary = "a policy in another process"

    def __init__(self, said: Introduction) -> None:
        self.name, self.version, self.camera = said.name, said.version, said.camera
        self.settings: dict[str, Any] = said.settings
        self.sensor_settings, self.resources = said.sensor_settings, said.resources
        self.needs, self.dynamics = said.needs, said.dynamics  # type: ignore[misc]  # of this object


class FailedPolicy(IntroducedPolicy):
    """Replaces a policy whose process ended or did not reconnect: it fails in ``reset`` with the reason, so that the
    episode is counted."""

    def __init__(self, reason: str) -> None:
        super().__init__(NOT_INTRODUCED)
        self._reason = reason

    def reset(self, task: Task) -> None:
        """Raise ``GuestFailed``."""
        raise GuestFailed(self._reason)

    def act(self, observation: Observation) -> Command:
        """Raise ``GuestFailed``; never called, as ``reset`` fails."""
        raise GuestFailed(self._reason)


class PolicySession:
    """One policy on one connection, through any number of episodes.

    A policy that is late keeps its connection the first time: its late answer is recognised by its number and ignored.
    The connection is closed if the policy sends an invalid message, disconnects, or is late twice in a row.
    """

    def __init__(self, connection: Connection, policy: Introduction) -> None:
        self.policy = policy
        self._connection = connection
        self._lock = threading.Lock()
        self._outbox: deque[Message] = deque(maxlen=OUTBOX)
        self._number = 0
        self._late = 0
        self._late_in_a_row = 0
        self.is_alive = True

    def announce(self, suite: str | None, mode: str | None, episodes: list[Message]) -> None:
        """Send the list of episodes."""
        self._tell({"type": "episodes", "suite": suite, "mode": mode, "episodes": episodes})

    def begin(self, task: Task, about: Message, limit_s: float = RESET_S) -> None:
        """Start a new episode; returns when the policy is ready."""
        self._ask({"type": "episode", **about, **task_message(task, self.policy.binary)}, "ready", limit_s)

    def act(self, observation: Observation, limit_s: float | None) -> Command:
        """The policy's answer to an observation."""
        message = {"type": "sense", **observation_message(observation, self.policy.binary)}
        answer = self._ask(message, "act", ANSWER_S if limit_s is None else limit_s)
        try:
            return read_command(answer)
        except Garbled as error:
            raise self._lost(error) from None

    def end(self, outcome: str, error: str, metrics: dict[str, float | None]) -> None:
        """Send the end of the episode."""
        self._tell({"type": "result", "outcome": outcome, "error": error[:1000], "metrics": metrics})

    def close(self, reason: str = "done") -> None:
        """End the session without waiting for an open request."""
        if self._lock.acquire(timeout=GOODBYE_S):
            with suppress(WireError):
                if self.is_alive:
                    self._connection.send({"type": "bye", "reason": reason}, GOODBYE_S)
            self._lock.release()
        self.is_alive = False
        self._connection.close()

    def _tell(self, message: Message) -> None:
        """Send a message that needs no answer; the next request detects whether it arrived. While a request is open (an
        asynchronous episode can end during one), the message is kept for later."""
        self._outbox.append(message)
        if self._lock.acquire(timeout=GOODBYE_S):
            try:
                self._send_outbox()
            except WireError as error:
                self._lost(error)
            finally:
                self._lock.release()

    def _send_outbox(self) -> None:
        while self._outbox and self.is_alive:
            self._connection.send(self._outbox.popleft())

    def _ask(self, message: Message, wanted: str, limit_s: float) -> Message:
        with self._lock:
            if not self.is_alive:
                raise ClientFailed("the policy's connection is closed")
            self._number += 1
            deadline = time.monotonic() + limit_s
            try:
                self._send_outbox()
                self._connection.send({**message, "id": self._number}, max(limit_s, 1e-3))
                answer = self._answer_before(deadline)
            except TimedOut:
                raise self._was_late(limit_s) from None
            except WireError as error:
                raise self._lost(error) from None
            self._late_in_a_row = 0
            if answer["type"] == "error":
                where = printable(str(answer.get("traceback", "")), LONGEST_TRACEBACK)
                raise ClientFailed(f"the policy failed: {answer.get('message', '')!s:.500}", where)
            if answer["type"] != wanted:
                raise self._lost(Garbled(f"expected {wanted!r}, got {answer['type']!r:.40}"))
            return answer

    def _answer_before(self, deadline: float) -> Message:
        """The answer to the last request; late answers to earlier requests are ignored."""
        while True:
            answer = self._connection.receive(max(deadline - time.monotonic(), 1e-3))
            if answer["type"] == "bye":
                raise Closed("the policy said goodbye")
            number = answer.get("id")
            if number == self._number and not isinstance(number, bool):
                return answer
            if self._late <= 0 or not isinstance(number, int) or not 0 < number < self._number:
                raise Garbled(f"an answer that nobody asked for: {answer['type']!r:.40} with id {number!r:.20}")
            self._late -= 1

    def _was_late(self, limit_s: float) -> ClientFailed:
        self._late += 1
        self._late_in_a_row += 1
        failure = ClientFailed(f"the policy did not answer within its limit of {limit_s:g} s")
        if self._late_in_a_row > 1:
            self._lost(failure)
        return failure

    def _lost(self, error: Exception) -> ClientFailed:
        """Close the connection, sending the reason if possible, and return the error."""
        if self.is_alive:
            self.is_alive = False
            if isinstance(error, Garbled):
                with suppress(WireError):
                    self._connection.send({"type": "refused", "reason": str(error)}, 1.0)
            self._connection.close()
        return ClientFailed(f"{error}; its connection was closed")


class SessionPolicy(IntroducedPolicy):
    """A policy for one episode, at the other end of a session."""

    def __init__(self, session: PolicySession, about: Message | None = None, act_limit_s: float | None = None) -> None:
        super().__init__(session.policy)
        self.session = session
        self._about = {"name": None, "suite": None, "scenario_seed": None} | (about or {})
        self._limit = act_limit_s

    def reset(self, task: Task) -> None:
        """Send the task of the new episode."""
        self.session.begin(task, self._about)

    def act(self, observation: Observation) -> Command:
        """Request a command from the policy."""
        return self.session.act(observation, self._limit)

    def end_episode(self, end: EpisodeEnd) -> None:
        """Send the policy the end of the episode."""
        metrics = {name: result.value if result.valid else None for name, result in end.metrics.items()}
        self.session.end(end.outcome, end.error, metrics)


class RemotePolicy(IntroducedPolicy):
    """Connects to a policy server (``sidestep.runs.remote.client.serve_policy``), once per episode.

    ``check_reachable`` checks when a run is planned whether the server listens. If the server cannot be reached later,
    during a run, the policy has no needs and fails in ``reset``, so that the episode is counted.
    """

    summary = "a policy that another process serves"

    def __init__(self, address: str) -> None:
        try:
            self._address = Address.parse(address)
        except ValueError as error:
            raise BadInput(
                f"--policy remote:ADDRESS: {error} (a run of `sidestep serve` names its client so; only that client "
                "can drive it again)"
            ) from None
        self._policy: SessionPolicy | None = None
        self._failure = ""
        policy = self._connect()
        super().__init__(NOT_INTRODUCED if policy is None else policy.session.policy)
        if policy is not None:
            self.settings = {"remote_name": self.name, **self.settings}
        self.name = "remote"

    def check_reachable(self) -> None:
        """Raise ``BadInput`` unless a policy answers."""
        if self._failure:
            raise BadInput(f"--policy remote:{self._address}: {self._failure}")
        self.close()

    def reset(self, task: Task) -> None:
        """Send the task of the new episode."""
        self._connected().reset(task)

    def act(self, observation: Observation) -> Command:
        """Request a command from the policy."""
        return self._connected().act(observation)

    def end_episode(self, end: EpisodeEnd) -> None:
        """Send the policy the end of the episode, and disconnect."""
        if self._policy is not None:
            self._policy.end_episode(end)
        self.close()

    def close(self) -> None:
        """Disconnect."""
        if self._policy is not None:
            self._policy.session.close()
            self._policy = None

    def _connected(self) -> SessionPolicy:
        policy = self._connect()
        if policy is None:
            raise ClientFailed(self._failure)
        return policy

    def _connect(self) -> SessionPolicy | None:
        if self._policy is None and not self._failure:
            try:
                session = greet(self._address)
            except WireError as error:
                self._failure = str(error)
            else:
                session.announce(None, None, [])
                self._policy = SessionPolicy(session)
        return self._policy


def greet(address: Address) -> PolicySession:
    """Connect as the benchmark and read the policy's hello; raises ``WireError`` if there is none or it is refused."""
    connection = Connection(connect(address), POLICY_LIMIT, strict=True)
    try:
        hello = {"type": "hello", "sidestep": PROTOCOL, "role": "benchmark", "version": __version__}
        connection.send({**hello, "token": os.environ.get(TOKEN_VARIABLE)}, HELLO_S)
        answer = connection.receive(HELLO_S)
        check_version(answer, "policy")
        return PolicySession(connection, read_introduction(answer))
    except Refused as error:
        with suppress(WireError):
            connection.send({"type": "refused", "sidestep": PROTOCOL, "reason": str(error)}, 1.0)
        connection.close()
        raise
    except WireError:
        connection.close()
        raise
