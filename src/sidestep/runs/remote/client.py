"""Run a policy in its own process: :func:`run_client` connects to ``sidestep serve``, :func:`serve_policy` waits
for ``sidestep run --policy remote:ADDRESS``.

A policy is an object with ``needs`` (names of the observations that it needs), ``reset(task)`` and
``act(observation)``, as inside Sidestep. Optional attributes are ``name``, ``version``, ``settings``, ``dynamics``,
``camera`` (a map of camera settings or the name of a preset) and ``end_episode(end)``, which receives ``outcome``,
``error`` and ``metrics`` (name → value or None). Tasks and observations have the same attributes as inside Sidestep.
Arrays are NumPy arrays if NumPy is installed, else lists.

This module imports the standard library and msgpack only, so this file and ``wire.py`` can be copied into another
project as they are.
"""

from __future__ import annotations

import copy
import os
import socket
import threading
import traceback
from collections.abc import Callable
from functools import partial
from math import hypot
from types import SimpleNamespace
from typing import Any, NamedTuple

from .wire import (
    BENCHMARK_LIMIT,
    HELLO_LIMIT,
    HELLO_S,
    PROTOCOL,
    Address,
    Closed,
    Connection,
    Message,
    Refused,
    WireError,
    bound_address,
    check_version,
    connect,
    listen,
    same_token,
    unlinking,
)

numpy: Any
try:
    import numpy
except ImportError:  # arrays are lists then
    numpy = None

TOKEN_VARIABLE = "SIDESTEP_TOKEN"


class Velocity(NamedTuple):
    """Forward speed (m/s) and turn rate (rad/s)."""

    v: float
    omega: float


class Native(NamedTuple):
    """Command in the robot's own dynamics: (vx, vy), (v, ω) or (v, steering angle); m/s, rad/s, rad."""

    first: float
    second: float


class HolonomicVelocity(NamedTuple):
    """Velocity in the world frame (m/s)."""

    vx: float
    vy: float


class Position(NamedTuple):
    """Position after this step, world frame (m)."""

    x: float
    y: float


class Drive(NamedTuple):
    """Steer in [-1, 1], throttle and brake in [0, 1]."""

    steer: float
    throttle: float
    brake: float


class Waypoints(NamedTuple):
    """Points to pass, (x, y) in the robot's frame (m)."""

    points: Any


COMMANDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "Velocity": ("velocity", ("v", "omega")),
    "HolonomicVelocity": ("holonomic_velocity", ("vx", "vy")),
    "Position": ("position", ("x", "y")),
    "Drive": ("drive", ("steer", "throttle", "brake")),
    "Native": ("native", ("first", "second")),
}


class Robot(SimpleNamespace):
    """The robot's own state."""

    @property
    def position(self) -> tuple[float, float]:
        """(x, y), m."""
        return self.x, self.y

    @property
    def speed(self) -> float:
        """Speed over ground, m/s."""
        return hypot(self.vx, self.vy)


class People(SimpleNamespace):
    """The people that the robot observes."""

    def __len__(self) -> int:
        return len(self.id)


def run_client(policy: Any, address: str, token: str | None = None, wait_s: float = 10.0) -> list[Message]:
    """Connect to ``sidestep serve`` at ``address``, run all its episodes, and return their results.

    ``wait_s`` is the time to wait for the server to listen, s. ``token`` defaults to ``SIDESTEP_TOKEN`` in the
    environment.
    """
    connection = Connection(_connect_patiently(Address.parse(address), wait_s), BENCHMARK_LIMIT, strict=False)
    try:
        connection.send({**_introduce(policy), "token": token or os.environ.get(TOKEN_VARIABLE)})
        check_version(connection.receive(None), "benchmark")  # the server may be busy with another policy
        return _converse(connection, policy)
    finally:
        connection.close()


def serve_policy(
    policy: Any,
    address: str,
    token: str | None = None,
    ready: Callable[[str], None] | None = None,
    stop: threading.Event | None = None,
) -> None:
    """Serve a policy to ``sidestep run --policy remote:ADDRESS`` until ``stop`` is set or the process is interrupted.

    Each connection is a separate session with its own policy: ``policy`` is a class or function that creates one, or an
    object that is copied. ``ready`` is called with the address as soon as clients can connect.
    """
    token = token or os.environ.get(TOKEN_VARIABLE)
    make = policy if callable(policy) else lambda: copy.deepcopy(policy)
    listener = listen(Address.parse(address), token)
    with unlinking(listener):
        if ready is not None:
            ready(str(bound_address(listener)))
        listener.settimeout(0.2)
        while stop is None or not stop.is_set():
            try:
                sock, _ = listener.accept()
            except TimeoutError:
                continue
            threading.Thread(target=_serve_one, args=(sock, make, token), daemon=True).start()


def _serve_one(sock: socket.socket, make: Callable[[], Any], token: str | None) -> None:
    connection = Connection(sock, HELLO_LIMIT, strict=False)
    try:
        policy = _admit(connection, make, token)
        if policy is not None:
            connection.limit = BENCHMARK_LIMIT
            _converse(connection, policy)
    except WireError:
        pass  # the benchmark closed the connection: the session ends
    finally:
        connection.close()


def _admit(connection: Connection, make: Callable[[], Any], token: str | None) -> Any:
    """Check the benchmark's hello and return a policy for it; None if it was refused, with the reason sent to it."""
    try:
        hello = connection.receive(HELLO_S)
        check_version(hello, "benchmark")
        if not same_token(hello.get("token"), token):
            raise Refused("wrong or missing token")
        policy = make()
        connection.send(_introduce(policy))
        return policy
    except Exception as error:  # including errors of the policy's constructor
        reason = str(error) if isinstance(error, WireError) else f"{type(error).__name__}: {error}"
        connection.send({"type": "refused", "sidestep": PROTOCOL, "reason": reason[:500]}, 1.0)
        return None


def _connect_patiently(address: Address, wait_s: float) -> socket.socket:
    pause = threading.Event()
    waited = 0.0
    while True:
        try:
            return connect(address)
        except Closed:
            if waited >= wait_s:
                raise
        pause.wait(0.1)
        waited += 0.1


def _introduce(policy: Any) -> Message:
    hello = {
        "type": "hello",
        "sidestep": PROTOCOL,
        "role": "policy",
        "name": str(getattr(policy, "name", type(policy).__name__)),
        "version": str(getattr(policy, "version", "")),
        "needs": sorted(policy.needs),
        "settings": getattr(policy, "settings", {}),
        "arrays": "list" if numpy is None else "binary",
    }
    own = {name: getattr(policy, name, None) for name in ("dynamics", "camera")}
    own["sensor_settings"] = {need: dict(said) for need, said in getattr(policy, "sensor_settings", {}).items()} or None
    return hello | {name: value for name, value in own.items() if value is not None}


def _converse(connection: Connection, policy: Any) -> list[Message]:
    """Answer requests until the benchmark ends the session, and return the results of the episodes."""
    results: list[Message] = []
    while True:
        message = connection.receive(None)
        match message["type"]:
            case "episode":
                connection.send(_answer(message, "ready", partial(_reset, policy)))
            case "sense":
                connection.send(_answer(message, "act", partial(_act, policy)))
            case "result":
                results.append(message)
                if callable(end := getattr(policy, "end_episode", None)):
                    end(SimpleNamespace(**{key: message[key] for key in ("outcome", "error", "metrics")}))
            case "bye":
                return results
            case "refused":
                raise Refused(str(message.get("reason")))


def _answer(question: Message, kind: str, work: Callable[[Message], Message]) -> Message:
    """Return the answer or, if the policy raises, an error: that episode counts as failed, and the session goes on."""
    try:
        return {"type": kind, "id": question["id"], **work(question)}
    except Exception as error:  # any error of the policy
        message = f"{type(error).__name__}: {error}"[:500]
        return {"type": "error", "id": question["id"], "message": message, "traceback": _traceback(error)}


def _traceback(error: Exception) -> str:
    """The policy's innermost calls, with file names but no folders."""
    calls = traceback.extract_tb(error.__traceback__)[2:][-10:]  # without the two of this file
    shown = traceback.format_list([(os.path.basename(at.filename), at.lineno or 0, at.name, at.line) for at in calls])
    lines = ["Traceback (most recent call last):\n", *shown, *traceback.format_exception_only(error)]
    return "".join(lines).rstrip()[-4000:] if shown else ""


def _reset(policy: Any, message: Message) -> Message:
    policy.reset(task_of(message))
    return {}


def _act(policy: Any, message: Message) -> Message:
    return command_message(policy.act(observation_of(message)))


def command_message(command: Any) -> Message:
    """The message for a command; commands of Sidestep and of this module are recognised by the names of their
    classes."""
    name = type(command).__name__
    if name == "Waypoints":
        return {"command": "waypoints", "values": [[float(x), float(y)] for x, y in command.points]}
    if name not in COMMANDS:
        raise TypeError(f"act must return one of {', '.join(COMMANDS)} or Waypoints, not {name}")
    kind, fields = COMMANDS[name]
    return {"command": kind, "values": [float(getattr(command, each)) for each in fields]}


def task_of(message: Message) -> SimpleNamespace:
    """The task that is passed to ``reset``."""
    task = SimpleNamespace(**{key: value for key, value in message.items() if key not in ("type", "id")})
    task.robot = _namespace(message["robot"])
    task.start = tuple(message["start"])
    task.goal = None if message["goal"] is None else tuple(message["goal"])
    task.map = None if message["map"] is None else _fields(message["map"], SimpleNamespace)
    task.route = _array(message["route"])
    task.future = None if message["future"] is None else _fields(message["future"], SimpleNamespace)
    return task


def observation_of(message: Message) -> SimpleNamespace:
    """The observation that is passed to ``act``; parts that the policy does not need are None."""
    seen = SimpleNamespace(time=message["time"], robot=Robot(**message["robot"]), signals=message.get("signals"))
    seen.goal = tuple(message["goal"]) if "goal" in message else None
    seen.pedestrians = _fields(message["pedestrians"], People) if "pedestrians" in message else None
    seen.vehicles = _fields(message["vehicles"], SimpleNamespace) if "vehicles" in message else None
    seen.history = tuple(_fields(one, People) for one in message["history"]) if "history" in message else None
    seen.lidar = _fields(message["lidar"], SimpleNamespace) if "lidar" in message else None
    for name in ("rgb", "depth", "semantic"):
        setattr(seen, name, _array(message.get(name)))
    seen.picture_time = message.get("picture_time")
    seen.points = _fields(message["points"], SimpleNamespace) if "points" in message else None
    seen.extra = _arrays(message.get("extra"))
    return seen


def _arrays(value: Any) -> Any:
    """Readings of plug-in sensors: maps and lists of arrays, numbers and text."""
    if isinstance(value, dict) and value.keys() != {"dtype", "shape", "data"}:
        return {key: _arrays(item) for key, item in value.items()}
    return [_arrays(item) for item in value] if isinstance(value, list) and numpy is not None else _array(value)


def _fields(message: Message, make: Callable[..., Any]) -> Any:
    return make(**{key: _array(value) for key, value in message.items()})


def _array(value: Any) -> Any:
    """Decode an array; any other value is returned unchanged. Without NumPy, lists stay lists."""
    if isinstance(value, dict) and value.keys() == {"dtype", "shape", "data"}:
        if numpy is None:
            return value
        return numpy.frombuffer(value["data"], dtype=numpy.dtype(value["dtype"])).reshape(value["shape"])
    return value


def _namespace(value: Any) -> Any:
    if isinstance(value, dict):
        return SimpleNamespace(**{key: _namespace(item) for key, item in value.items()})
    return value


__all__ = [
    "Drive", "HolonomicVelocity", "Native", "Position", "Velocity", "Waypoints", "WireError", "run_client",
    "serve_policy",
]  # fmt: skip
