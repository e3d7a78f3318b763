"""``--policy remote:ADDRESS``: a policy that another process serves."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

from sidestep.errors import BadInput
from sidestep.policies.remote.messages import Introduction, read_introduction
from sidestep.policies.remote.session import ClientFailed, Session, SessionPolicy
from sidestep.policies.remote.wire import (
    HELLO_S,
    POLICY_LIMIT,
    PROTOCOL,
    Address,
    Connection,
    Refused,
    WireError,
    check_version,
    connect,
)
from sidestep.types import Command, Observation, Task
from sidestep.version import __version__

TOKEN_VARIABLE = "SIDESTEP_TOKEN"
NOBODY = Introduction("", frozenset())


class RemotePolicy:
    """Connects to a policy server (``sidestep.policies.remote.client.serve_policy``), once per episode.

    Whether anybody listens is found out when the policy is planned (``check_reachable``). Later, in the middle of a
    run, a server that is gone is the policy's failure: it needs nothing then and fails in ``reset``, so that the
    episode is counted.
    """

    name = "remote"
    summary = "a policy that another process serves"
    citation = ""

    def __init__(self, address: str) -> None:
        try:
            self._address = Address.parse(address)
        except ValueError as error:
            raise BadInput(
                f"--policy remote:ADDRESS: {error} (a run of `sidestep serve` names its client so; only that client "
                "can drive it again)"
            ) from None
        self._policy: SessionPolicy | None = None
        self._introduction = NOBODY
        self._failure = ""

    def check_reachable(self) -> None:
        """Raise ``BadInput`` unless a policy answers."""
        self._connect()
        if self._failure:
            raise BadInput(f"--policy remote:{self._address}: {self._failure}")
        self.close()

    @property
    def needs(self) -> frozenset[str]:
        """As the policy declares them."""
        return self._introduced().needs

    @property
    def settings(self) -> dict[str, Any]:
        """As the policy declares them, with its own name."""
        policy = self._introduced()
        return {"remote_name": policy.name, **policy.settings} if policy is not NOBODY else {}

    @property
    def version(self) -> str:
        """As the policy declares it."""
        return self._introduced().version

    @property
    def dynamics(self) -> str | None:
        """As the policy declares them."""
        return self._introduced().dynamics

    @property
    def camera(self) -> dict[str, Any] | str | None:
        """As the policy declares it."""
        return self._introduced().camera

    def reset(self, task: Task) -> None:
        """Tell the policy of the new episode."""
        self._connected().reset(task)

    def act(self, observation: Observation) -> Command:
        """Ask the policy."""
        return self._connected().act(observation)

    def end_episode(self, scores: Any) -> None:
        """Tell the policy how the episode ended, and hang up."""
        if self._policy is not None:
            self._policy.end_episode(scores)
        self.close()

    def close(self) -> None:
        """Hang up."""
        if self._policy is not None:
            self._policy.session.close()
            self._policy = None

    def _introduced(self) -> Introduction:
        if self._introduction is NOBODY:
            self._connect()
        return self._introduction

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
                self._policy, self._introduction = SessionPolicy(session), session.policy
        return self._policy


def greet(address: Address) -> Session:
    """Connect as the benchmark, and hear who answers; ``WireError`` when nobody does or they do not fit."""
    connection = Connection(connect(address), POLICY_LIMIT, strict=True)
    try:
        hello = {"type": "hello", "sidestep": PROTOCOL, "role": "benchmark", "version": __version__}
        connection.send({**hello, "token": os.environ.get(TOKEN_VARIABLE)}, HELLO_S)
        answer = connection.receive(HELLO_S)
        check_version(answer, "policy")
        return Session(connection, read_introduction(answer))
    except Refused as error:
        with suppress(WireError):
            connection.send({"type": "refused", "sidestep": PROTOCOL, "reason": str(error)}, 1.0)
        connection.close()
        raise
    except WireError:
        connection.close()
        raise
