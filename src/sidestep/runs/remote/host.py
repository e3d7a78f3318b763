"""Hosts wait for a policy that connects to ``sidestep serve``, and wait again when it has gone. ``SidestepHost`` speaks
our own protocol."""

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
"""How long a policy that died may take to come back, s."""
PAUSE_S = 0.2


class RemoteEpisode(Protocol):
    """What a host needs to know about an episode; tasks of a run have these attributes."""

    @property
    def scenario(self) -> Scenario:
        """Its scenario."""

    @property
    def seed(self) -> int:
        """The seed of its random numbers."""

    @property
    def act_limit_s(self) -> float | None:
        """Time for an answer, s; None: not limited by the run."""

    @property
    def base(self) -> Path | None:
        """The folder that relative file names of the scenario start from."""


class Host(ABC):
    """Waits for a policy that connects, and gives it a seat in every episode. ``say`` gets lines for the person who
    runs it; a policy that has gone may take ``reconnect_s`` to come back."""

    def __init__(self, reconnect_s: float, say: Callable[[str], None]) -> None:
        self.reconnect_s, self.say = reconnect_s, say
        self._has_given_up = False

    @abstractmethod
    def admit(self) -> Introduction:
        """What the policy says about itself, with the name that it has in the run. Waits for it."""

    @abstractmethod
    def announce(self, suite: str, mode: str, episodes: Sequence[RemoteEpisode]) -> None:
        """Tell the policy which episodes are to come."""

    @abstractmethod
    def policy_for(self, episode: RemoteEpisode) -> Any:
        """The policy for an episode; one that fails if the policy has gone and does not come back in time."""

    @abstractmethod
    def close(self, reason: str) -> None:
        """Say goodbye and stop listening."""

    def wait_for_return(self, comes_back: Callable[[], bool]) -> bool:
        """Whether a policy that has gone is there again; it is waited for once."""
        if not self._has_given_up:
            self.say(f"the policy is gone; waiting {self.reconnect_s:g} s for it to come back")
            self._has_given_up = not comes_back()
            gone = "it did not come back; the remaining episodes count as policy_error"
            self.say(gone if self._has_given_up else "it is back")
        return not self._has_given_up

    def gone_policy(self) -> FailedPolicy:
        """Stands in for a policy that has not come back."""
        return FailedPolicy(f"the policy was gone and did not come back within {self.reconnect_s:g} s")


class SidestepHost(Host):
    """Listens on ``address`` for one policy at a time; others wait in the queue of the socket. ``name`` replaces the
    name that the policy announces."""

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
        """Wait, for as long as it takes, for a policy."""
        self.say(f"waiting for a policy at {self.address} (protocol {PROTOCOL})")
        self._session = self._next_session(None)
        assert self._session is not None
        self._first = self._session.policy
        name = f"remote:{self._name or self._first.name}"
        self.say(f"{name} is here; it needs {', '.join(sorted(self._first.needs)) or 'nothing'}")
        return replace(self._first, name=name)

    def announce(self, suite: str, mode: str, episodes: Sequence[RemoteEpisode]) -> None:
        """Tell the policy which episodes are to come."""
        self._suite, self._mode = suite, mode
        self._waiting = [_describe(episode) for episode in episodes]
        assert self._session is not None
        self._session.announce(self._suite, self._mode, self._waiting)

    def policy_for(self, episode: RemoteEpisode) -> Any:
        """The policy, if it is there or comes back in time."""
        described = _describe(episode)
        is_there = self._session is not None and self._session.is_alive
        is_there = is_there or self.wait_for_return(self._take_next_session)
        self._waiting = [one for one in self._waiting if one != described]
        if not is_there or self._session is None:
            return self.gone_policy()
        return SessionPolicy(self._session, described, episode.act_limit_s)

    def close(self, reason: str) -> None:
        """Say goodbye and stop listening."""
        if self._session is not None:
            self._session.close(reason)
        self._open.close()

    def _take_next_session(self) -> bool:
        self._session = self._next_session(self.reconnect_s)
        if self._session is not None:
            self._session.announce(self._suite, self._mode, self._waiting)
        return self._session is not None

    def _next_session(self, wait_s: float | None) -> PolicySession | None:
        """The next policy that gets through the handshake; None when the time is up."""
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
    """An episode as a list of episodes shows it."""
    rules = episode.scenario.rules
    return {
        "name": episode.scenario.name,
        "suite": episode.scenario.suite,
        "scenario_seed": None,  # with it a client could build the world, and see what is to come
        "time_limit_s": rules.time_limit_s,
        "step_s": rules.step_s * rules.control_every,
    }
