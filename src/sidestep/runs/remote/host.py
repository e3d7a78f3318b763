"""Hosts wait for a policy that connects to ``sidestep serve``, and wait again after it has disconnected.
``SidestepHost`` implements Sidestep's own protocol."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from sidestep.errors import BadInput
from sidestep.runs.remote.messages import Introduction, read_introduction
from sidestep.runs.remote.session import FailedPolicy, PolicySession, SessionPolicy
from sidestep.runs.remote.wire import (
    HELLO_LIMIT,
    HELLO_S,
    POLICY_LIMIT,
    PROTOCOL,
    Address,
    Connection,
    Message,
    Refused,
    WireError,
    bound_address,
    check_version,
    listen,
    same_token,
    unlinking,
)
from sidestep.types import Scenario
from sidestep.version import __version__

RECONNECT_S = 30.0
"""Time limit for a policy that has disconnected to reconnect, s."""
PAUSE_S = 0.2


class RemoteEpisode(Protocol):
    """The attributes of an episode that a host reads; tasks of a run have them."""

    @property
    def scenario(self) -> Scenario:
        """The scenario."""

    @property
    def seed(self) -> int:
        """The seed of its random numbers."""

    @property
    def act_limit_s(self) -> float | None:
        """Time limit of an answer, s; None if the run sets no limit."""

    @property
    def base(self) -> Path | None:
        """The folder that relative file names of the scenario start from."""


class Host(ABC):
    """Waits for a policy that connects, and provides it for each episode. ``say`` receives lines for the terminal; a
    policy that has disconnected has ``reconnect_s`` to reconnect."""

    def __init__(self, reconnect_s: float, say: Callable[[str], None]) -> None:
        self.reconnect_s, self.say = reconnect_s, say
        self._has_given_up = False

    @abstractmethod
    def admit(self) -> Introduction:
        """Wait for a policy and return its introduction, with its name in the run."""

    @abstractmethod
    def announce(self, suite: str, mode: str, episodes: Sequence[RemoteEpisode]) -> None:
        """Send the policy the list of episodes."""

    @abstractmethod
    def policy_for(self, episode: RemoteEpisode) -> Any:
        """The policy for an episode, or one that fails if the policy does not reconnect in time."""

    @abstractmethod
    def close(self, reason: str) -> None:
        """End the session and stop listening."""

    def wait_for_return(self, comes_back: Callable[[], bool]) -> bool:
        """Wait once for a policy that has disconnected, and return whether it has reconnected."""
        if not self._has_given_up:
            self.say(f"the policy is gone; waiting {self.reconnect_s:g} s for it to come back")
            self._has_given_up = not comes_back()
            gone = "it did not come back; the remaining episodes count as policy_error"
            self.say(gone if self._has_given_up else "it is back")
        return not self._has_given_up

    def gone_policy(self) -> FailedPolicy:
        """A policy that replaces one that has not reconnected."""
        return FailedPolicy(f"the policy was gone and did not come back within {self.reconnect_s:g} s")


class SidestepHost(Host):
    """Listens on ``address`` for one policy at a time; others wait in the queue of the socket. ``name`` replaces the
    name that the policy declares."""

    def __init__(
        self,
        address: str,
        *,
        token: str | None = None,
        name: str | None = None,
        reconnect_s: float = RECONNECT_S,
        say: Callable[[str], None] = lambda line: None,
    ) -> None:
        super().__init__(reconnect_s, say)
        self._token, self._name = token or None, name
        try:
            self._listener = listen(Address.parse(address), token)
        except (ValueError, OSError) as error:
            raise BadInput(f"--listen {address}: {error}") from None
        self._open = ExitStack()
        self._open.enter_context(unlinking(self._listener))
        self.address = str(bound_address(self._listener))
        self._session: PolicySession | None = None
        self._first: Introduction | None = None
        self._suite, self._mode = "", ""
        self._waiting: list[Message] = []

    def admit(self) -> Introduction:
        """Wait for a policy, without a time limit."""
        self.say(f"waiting for a policy at {self.address} (protocol {PROTOCOL})")
        self._session = self._next_session(None)
        assert self._session is not None
        self._first = self._session.policy
        name = f"remote:{self._name or self._first.name}"
        self.say(f"{name} is here; it needs {', '.join(sorted(self._first.needs)) or 'nothing'}")
        return replace(self._first, name=name)

    def announce(self, suite: str, mode: str, episodes: Sequence[RemoteEpisode]) -> None:
        """Send the policy the list of episodes."""
        self._suite, self._mode = suite, mode
        self._waiting = [_describe(episode) for episode in episodes]
        assert self._session is not None
        self._session.announce(self._suite, self._mode, self._waiting)

    def policy_for(self, episode: RemoteEpisode) -> Any:
        """The policy, if it is connected or reconnects in time."""
        described = _describe(episode)
        is_there = self._session is not None and self._session.is_alive
        is_there = is_there or self.wait_for_return(self._take_next_session)
        self._waiting = [one for one in self._waiting if one != described]
        if not is_there or self._session is None:
            return self.gone_policy()
        return SessionPolicy(self._session, described, episode.act_limit_s)

    def close(self, reason: str) -> None:
        """End the session and stop listening."""
        if self._session is not None:
            self._session.close(reason)
        self._open.close()

    def _take_next_session(self) -> bool:
        self._session = self._next_session(self.reconnect_s)
        if self._session is not None:
            self._session.announce(self._suite, self._mode, self._waiting)
        return self._session is not None

    def _next_session(self, wait_s: float | None) -> PolicySession | None:
        """The next policy that completes the handshake; None if the time is up."""
        deadline = None if wait_s is None else time.monotonic() + wait_s
        while deadline is None or time.monotonic() < deadline:
            left = PAUSE_S if deadline is None else min(PAUSE_S, max(deadline - time.monotonic(), 1e-3))
            self._listener.settimeout(left)  # short, so that an interrupt is noticed
            try:
                sock, _ = self._listener.accept()
            except TimeoutError:
                continue
            session = self._greet(Connection(sock, HELLO_LIMIT, strict=True))
            if session is not None:
                return session
        return None

    def _greet(self, connection: Connection) -> PolicySession | None:
        try:
            hello = connection.receive(HELLO_S)
            check_version(hello, "policy")
            if not same_token(hello.get("token"), self._token):
                raise Refused("wrong or missing token")
            policy = read_introduction(hello)
            if self._first is not None and (policy.name, policy.needs) != (self._first.name, self._first.needs):
                raise Refused(f"this run is of {self._first.name!r}; only it may come back")
            connection.send(
                {"type": "hello", "sidestep": PROTOCOL, "role": "benchmark", "version": __version__}, HELLO_S
            )
        except WireError as error:
            self.say(f"refused a connection: {error}")
            with suppress(WireError):
                connection.send({"type": "refused", "sidestep": PROTOCOL, "reason": str(error)}, 1.0)
            connection.close()
            return None
        connection.limit = POLICY_LIMIT
        return PolicySession(connection, policy)


def _describe(episode: RemoteEpisode) -> Message:
    """An episode as it appears in the list of episodes."""
    rules = episode.scenario.rules
    return {
        "name": episode.scenario.name,
        "suite": episode.scenario.suite,
        "scenario_seed": None,  # with it a client could build the world, and see what is to come
        "time_limit_s": rules.time_limit_s,
        "step_s": rules.step_s * rules.control_every,
    }
