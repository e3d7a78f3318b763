"""The guest's process: it creates the policy, answers requests, and ends with the connection."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from sidestep import registry
from sidestep.errors import BadInput, describe_error, place_of, printable, short_traceback
from sidestep.interfaces import Policy
from sidestep.runs.remote.client import command_message
from sidestep.runs.remote.guest_imports import guard_imports
from sidestep.runs.remote.guest_messages import (
    ObservationReceiver,
    as_plain_data,
    camera_message,
    plain_settings,
    plans_message,
    task_of,
)
from sidestep.runs.remote.wire import PROTOCOL, Address, Connection, Message, WireError, connect
from sidestep.types import EpisodeEnd, MetricResult
from sidestep.types.command import checked_command

OUTPUT_KEPT = 4096
"""Characters of a traceback that are printed, as more of the output is not kept."""
TASK_LIMIT = 2**30
"""Largest message from the benchmark, which is trusted here, bytes."""


def main(address: str) -> None:
    """Serve the benchmark at ``address`` until it disconnects; then end, with everything that the policy has
    started."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is handled by the run, which ends this process
    connection = _connect(address)
    try:
        Guest().converse(connection)
    except WireError:
        _leave()  # the benchmark has disconnected
    except BaseException:
        traceback.print_exc()
        os._exit(70)


def _connect(address: str) -> Connection:
    if address.startswith("fd:"):
        sock = socket.socket(fileno=int(address.removeprefix("fd:")))
        sock.set_inheritable(False)
        return Connection(sock, TASK_LIMIT, strict=False)
    place, _, token = address.partition("|")
    connection = Connection(connect(Address.parse(place)), TASK_LIMIT, strict=False)
    connection.send({"type": "token", "token": token})
    return connection


def _leave() -> None:
    """End at once, without exit handlers of the policy: they have no time limit."""
    with suppress(Exception):
        sys.stdout.flush()
        sys.stderr.flush()
    if os.name == "posix":
        os.killpg(os.getpgrp(), signal.SIGKILL)  # this process leads its own session
    os._exit(0)


class Guest:
    """One reference to a policy, with a new policy object for each episode."""

    def __init__(self) -> None:
        self._reference = ""
        self._make: registry.PolicyMaker | None = None
        self._built: Any = None
        self._refused = ""
        self._spare: Policy | None = None
        self._policy: Policy | None = None
        self._receiver = ObservationReceiver()

    def converse(self, connection: Connection) -> None:
        """Answer requests until the other side disconnects."""
        work: dict[str, Callable[[Message], Message]] = {
            "hello": self._make_policy,
            "describe": self._describe,
            "drop": self._drop,
            "episode": self._begin,
            "sense": self._act,
            "plans": self._publish,
            "result": self._end,
        }
        while True:
            question = connection.receive(None)
            connection.send(_answer(question, work[question["type"]]))

    def _make_policy(self, message: Message) -> Message:
        self._reference = message["reference"]
        if message["modules"] is not None:
            guard_imports(message["modules"])
        try:
            self._make = registry.policy_maker(self._reference, json.loads(message["settings"]))
            self._built = self._make.build()
        except BadInput as error:
            self._refused = printable(str(error))
        return {"type": "made"}

    def _describe(self, message: Message) -> Message:
        if self._make is None or self._refused:
            return {"type": "hello", "refused": self._refused}
        try:
            policy = self._spare = self._make.adapt(self._built)
            self._built = None
            registry.check_needs(policy.needs, self._reference)
            said = {
                "needs": sorted(str(need) for need in policy.needs),
                "dynamics": None if policy.dynamics is None else printable(str(policy.dynamics), 100),
                "camera": camera_message(policy.camera),
                "sensor_settings": {str(need): as_plain_data(said) for need, said in policy.sensor_settings.items()},
                "resources": as_plain_data(dict(policy.resources)),
            }
        except BadInput as error:
            return {"type": "hello", "refused": printable(str(error))}
        return {
            "type": "hello",
            "sidestep": PROTOCOL,
            "role": "policy",
            "version": printable(policy.version, 100),
            "settings": plain_settings(policy.settings),
            "arrays": "binary",
            "privileged": bool(policy.privileged),
            **said,
        }

    def _begin(self, message: Message) -> Message:
        assert self._make is not None
        self._policy, self._spare = self._spare if self._spare is not None else self._make(), None
        self._receiver = ObservationReceiver()
        self._policy.reset(task_of(message))
        return {"type": "ready"}

    def _drop(self, message: Message) -> Message:
        self._policy = None  # the last one goes before the next one comes
        return {"type": "dropped"}

    def _act(self, message: Message) -> Message:
        assert self._policy is not None
        answer = self._policy.act(self._receiver.observation(message))
        try:
            command = checked_command(answer)
        except BadInput as error:
            return {"type": "error", "message": printable(str(error))}
        return {"type": "act", **command_message(command)}

    def _publish(self, message: Message) -> Message:
        assert self._policy is not None
        return {"type": "plans", **plans_message(self._policy)}

    def _end(self, message: Message) -> Message:
        metrics = {
            name: MetricResult.invalid(unit, reason) if value is None else MetricResult(value, unit)
            for name, (value, unit, reason) in message["metrics"].items()
        }
        assert self._policy is not None
        try:
            self._policy.end_episode(EpisodeEnd(message["outcome"], message["error"], metrics))
        finally:
            self._policy.close()
        return {"type": "done"}


def _answer(question: Message, work: Callable[[Message], Message]) -> Message:
    """The answer, or the error that the policy raised; ``SystemExit`` and ``KeyboardInterrupt`` count as errors too."""
    try:
        answer = work(question)
    except BaseException as error:
        with suppress(BaseException):
            print(traceback.format_exc()[-OUTPUT_KEPT:], file=sys.stderr)  # into the log beside the record
        message = describe_error(error)
        where = short_traceback(error, message)
        answer = {"type": "error", "message": message + place_of(error), "traceback": where}
    return {**answer, "id": question["id"]}
