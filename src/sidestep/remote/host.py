"""Waits for a policy that speaks our protocol, and waits again when it died."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from typing import Any, ClassVar

from sidestep.errors import BadInput
from sidestep.interfaces import Policy
from sidestep.remote.messages import Introduction, read_introduction
from sidestep.remote.session import ClientFailed, Session, SessionPolicy
from sidestep.remote.wire import (
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
from sidestep.runs.episode import EpisodeTask
from sidestep.runs.plan import Plan, PolicyPlan
from sidestep.types import Command, Observation, Task
from sidestep.version import __version__

RECONNECT_S = 30.0
"""How long a policy that died may take to come back, s."""
PAUSE_S = 0.2


class GonePolicy(Policy):
    """Stands in for a policy that died and did not come back: fails at once, so that the episode is counted."""

    needs: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, reason: str) -> None:
        self.settings: dict[str, Any] = {}
        self._reason = reason

    def reset(self, task: Task) -> None:
        """Fail."""
        raise ClientFailed(self._reason)

    def act(self, observation: Observation) -> Command:
        """Never reached."""
        raise ClientFailed(self._reason)


class SidestepHost:
    """Listens on ``address`` for one policy at a time; others wait in the queue of the socket.

    ``name`` replaces the name that the policy announces. ``say`` gets lines for the person who runs it.
    """

    def __init__(
        self,
        address: str,
        *,
        token: str | None = None,
        name: str | None = None,
        reconnect_s: float = RECONNECT_S,
        say: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._token, self._name, self._reconnect_s, self._say = token or None, name, reconnect_s, say
        try:
            self._listener = listen(Address.parse(address), token)
        except (ValueError, OSError) as error:
            raise BadInput(f"--listen {address}: {error}") from None
        self._open = ExitStack()
        self._open.enter_context(unlinking(self._listener))
        self.address = str(bound_address(self._listener))
        self._session: Session | None = None
        self._first: Introduction | None = None
        self._suite, self._mode = "", ""
        self._waiting: list[Message] = []
        self._gave_up = False

    def admit(self) -> PolicyPlan:
        """Wait, for as long as it takes, for a policy."""
        self._say(f"waiting for a policy at {self.address} (protocol {PROTOCOL})")
        self._session = self._next_session(None)
        assert self._session is not None
        self._first = self._session.policy
        name = f"remote:{self._name or self._first.name}"
        self._say(f"{name} is here; it needs {', '.join(sorted(self._first.needs)) or 'nothing'}")
        return PolicyPlan(name=name, settings=self._first.settings, version=self._first.version)

    def announce(self, plan: Plan, tasks: Sequence[EpisodeTask]) -> None:
        """Tell the policy which episodes are to come."""
        self._suite, self._mode = plan.suite, plan.mode
        self._waiting = [_about(task) for task in tasks]
        assert self._session is not None
        self._session.announce(self._suite, self._mode, self._waiting)

    def policy_for(self, task: EpisodeTask) -> Any:
        """The policy, if it is there or comes back in time."""
        session = self._session
        if session is None or not session.is_alive:
            session = self._session = self._wait_for_return()
        about = _about(task)
        self._waiting = [one for one in self._waiting if one != about]
        if session is None:
            return GonePolicy(f"the policy was gone and did not come back within {self._reconnect_s:g} s")
        return SessionPolicy(session, about, task.act_limit_s)

    def close(self, reason: str) -> None:
        """Say goodbye and stop listening."""
        if self._session is not None:
            self._session.close(reason)
        self._open.close()

    def _wait_for_return(self) -> Session | None:
        if self._gave_up:
            return None
        self._say(f"the policy is gone; waiting {self._reconnect_s:g} s for it to come back")
        session = self._next_session(self._reconnect_s)
        if session is None:
            self._gave_up = True
            self._say("it did not come back; the remaining episodes count as policy_error")
            return None
        self._say("it is back")
        session.announce(self._suite, self._mode, self._waiting)
        return session

    def _next_session(self, wait_s: float | None) -> Session | None:
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

    def _greet(self, connection: Connection) -> Session | None:
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
            self._say(f"refused a connection: {error}")
            with suppress(WireError):
                connection.send({"type": "refused", "sidestep": PROTOCOL, "reason": str(error)}, 1.0)
            connection.close()
            return None
        connection.limit = POLICY_LIMIT
        return Session(connection, policy)


def _about(task: EpisodeTask) -> Message:
    """An episode as a list of episodes shows it."""
    rules = task.scenario.rules
    return {
        "name": task.scenario.name,
        "suite": task.scenario.suite,
        "scenario_seed": task.seed,
        "time_limit_s": rules.time_limit_s,
        "step_s": rules.step_s * rules.control_every,
    }
