"""A client that hangs, floods, talks nonsense or dies loses the episode and never the run."""

from __future__ import annotations

import socket
import struct
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep.runs.remote.client import run_client
from sidestep.runs.remote.messages import read_command
from sidestep.runs.remote.wire import POLICY_LIMIT, Address, Closed, Connection, Garbled, TimedOut, connect, decode
from sidestep.types.command import Command
from tests.runs.remote.worlds import Ahead, serve_to

HELLO = {"type": "hello", "sidestep": 1, "role": "policy", "name": "ahead", "needs": ["goal", "pedestrians"]}


def framed(body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + body


def packed(message: Any) -> bytes:
    return framed(msgpack.packb(message))


def nested(depth: int) -> Any:
    value: Any = 0.0
    for _ in range(depth):
        value = [value]
    return value


GARBAGE: dict[str, tuple[bytes, str]] = {
    "a length beyond the limit": (struct.pack(">I", 2**31) + b"x", "2147483648 bytes"),
    "a length just beyond the limit": (struct.pack(">I", POLICY_LIMIT + 1), "allowed are"),
    "a length of zero": (struct.pack(">I", 0), "0 bytes"),
    "no msgpack": (framed(b"\xc1\xc1\xc1"), "not msgpack"),
    "msgpack and more": (framed(msgpack.packb({"type": "act"}) + b"\x00"), "not msgpack"),
    "cut msgpack": (framed(b"\x9f"), "not msgpack"),
    "no map": (packed([1, 2, 3]), "a message is a map"),
    "no type": (packed({"id": 1}), "a message is a map"),
    "an unknown type": (packed({"type": "dance", "id": 2}), "expected 'act', got 'dance'"),
    "NaN": (packed({"type": "act", "id": 2, "command": "velocity", "values": [float("nan"), 0.0]}), "finite"),
    "infinity": (packed({"type": "act", "id": 2, "command": "velocity", "values": [1e999, 0.0]}), "finite"),
    "text for a number": (packed({"type": "act", "id": 2, "command": "velocity", "values": ["1", 0]}), "2 numbers"),
    "truth for a number": (packed({"type": "act", "id": 2, "command": "velocity", "values": [True, 0]}), "2 numbers"),
    "too few numbers": (packed({"type": "act", "id": 2, "command": "velocity", "values": [1.0]}), "2 numbers"),
    "no values": (packed({"type": "act", "id": 2, "command": "velocity"}), "must be a list"),
    "an unknown command": (packed({"type": "act", "id": 2, "command": "velocitty", "values": [1, 2]}), "did you mean"),
    "no waypoints": (packed({"type": "act", "id": 2, "command": "waypoints", "values": []}), "waypoints are"),
    "deep nesting": (packed({"type": "act", "id": 2, "command": "velocity", "values": nested(40)}), "nested deeper"),
    "very deep nesting": (framed(b"\x91" * 100_000 + b"\x00"), "not msgpack"),
    "an extension type": (packed({"type": "act", "id": 2, "x": msgpack.ExtType(5, b"abc")}), "not msgpack"),
    "a timestamp": (packed({"type": "act", "id": 2, "x": msgpack.Timestamp(1, 2)}), "Timestamp"),
    "a key that is a number": (framed(b"\x81\x01\x02"), "not msgpack"),
    "an answer to no question": (packed({"type": "act", "id": 9, "command": "drive", "values": [1]}), "nobody asked"),
    "an old answer": (packed({"type": "act", "id": 1, "command": "velocity", "values": [1, 0]}), "nobody asked"),
    "ready again": (packed({"type": "ready", "id": 2}), "expected 'act', got 'ready'"),
}  # fmt: skip


def first_sense(address: str) -> socket.socket:
    """A client by hand, up to the first question of the first episode (number 2)."""
    sock = connect(Address.parse(address))
    connection = Connection(sock, 10**8, strict=False)
    connection.send(HELLO)
    assert connection.receive(10)["type"] == "hello"
    announced = connection.receive(10)
    assert announced["type"] == "episodes"
    episode = connection.receive(60)
    assert (episode["type"], episode["id"]) == ("episode", 1)
    assert {each["scenario_seed"] for each in (*announced["episodes"], episode)} == {None}, "it builds the world"
    connection.send({"type": "ready", "id": 1})
    sense = connection.receive(60)
    assert (sense["type"], sense["id"]) == ("sense", 2)
    return sock


@pytest.mark.parametrize("what", GARBAGE)
def test_garbage_costs_the_episode_and_the_connection(what: str, suite: Path, tmp_path: Path) -> None:
    data, reason = GARBAGE[what]
    told: list[Any] = []

    def client(address: str) -> None:
        sock = first_sense(address)
        sock.sendall(data)
        connection = Connection(sock, 10**8, strict=False)
        told.append(connection.receive(10))
        with pytest.raises(Closed):
            connection.receive(10)
        run_client(Ahead(), address)  # comes back, and gets the rest

    served = serve_to(client, suite, tmp_path / "run", limit=2)
    assert served.client.error is None, served.client.error
    assert served.outcomes == ["policy_error", "success"]
    assert reason in served.errors[0]
    assert told[0]["type"] == "refused"
    assert "it is back" in served.said


def test_a_client_that_dies_in_an_episode_may_come_back(suite: Path, tmp_path: Path) -> None:
    def client(address: str) -> list[Any]:
        first_sense(address).close()
        return run_client(Ahead(), address)

    served = serve_to(client, suite, tmp_path / "run")
    assert served.outcomes == ["policy_error", "success", "success"]
    assert len(served.client.value) == 2


@pytest.mark.parametrize("pause_s", [0.0, 0.3, 0.8])
def test_who_returns_hears_nothing_of_the_old_episode(pause_s: float, suite: Path, tmp_path: Path) -> None:
    """A session is a connection: what was meant for one that broke is sent to nobody."""
    heard: list[str] = []

    def client(address: str) -> None:
        first_sense(address).close()
        time.sleep(pause_s)
        again = Connection(connect(Address.parse(address)), 10**8, strict=False)
        again.send(HELLO)
        heard.extend(again.receive(10)["type"] for _ in range(3))
        again.close()

    serve_to(client, suite, tmp_path / "run", act_limit_s=0.2, host_options={"reconnect_s": 1.5})
    assert heard == ["hello", "episodes", "episode"]


def test_a_client_that_stays_away_costs_all_that_is_left(suite: Path, tmp_path: Path) -> None:
    started = time.monotonic()
    served = serve_to(
        lambda address: first_sense(address).close(), suite, tmp_path / "run", host_options={"reconnect_s": 0.3}
    )
    assert served.outcomes == ["policy_error"] * 3
    assert "within 0.3 s" in served.errors[1]
    assert time.monotonic() - started < 10  # waited once, not for every episode
    assert len(served.result.episodes) == 3


def test_another_policy_cannot_take_the_seat(suite: Path, tmp_path: Path) -> None:
    answers: list[Any] = []

    def client(address: str) -> None:
        first_sense(address).close()
        other = Connection(connect(Address.parse(address)), 10**6, strict=False)
        other.send({**HELLO, "name": "somebody_else"})
        answers.append(other.receive(10))

    served = serve_to(client, suite, tmp_path / "run", host_options={"reconnect_s": 0.5})
    assert "this run is of 'ahead'" in answers[0]["reason"]
    assert served.outcomes == ["policy_error"] * 3


def test_a_client_that_is_late_once_goes_on(suite: Path, tmp_path: Path) -> None:
    def doze(policy: Ahead, asked: int) -> None:
        if len(policy.tasks) == 1 and asked == 3:
            time.sleep(1.0)

    policy = Ahead(doze)
    served = serve_to(lambda address: run_client(policy, address), suite, tmp_path / "run", act_limit_s=0.4)
    assert served.outcomes == ["policy_error", "success", "success"], served.errors
    assert "limit of 0.4 s" in served.errors[0]
    assert not any("gone" in line for line in served.said)


def test_a_client_that_hangs_for_good_is_dropped(suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sidestep.runs.remote.session.PolicySession.begin.__defaults__", (0.3,))
    kept: list[socket.socket] = []
    served = serve_to(
        lambda address: kept.append(first_sense(address)),
        suite,
        tmp_path / "run",
        act_limit_s=0.2,
        host_options={"reconnect_s": 0.2},
    )
    assert served.outcomes == ["policy_error"] * 3
    kept[0].close()


def test_a_client_that_raises_keeps_its_connection(suite: Path, tmp_path: Path) -> None:
    def stumble(policy: Ahead, asked: int) -> None:
        if len(policy.tasks) == 2:
            raise ZeroDivisionError("on purpose")

    policy = Ahead(stumble)
    served = serve_to(lambda address: run_client(policy, address), suite, tmp_path / "run")
    assert served.outcomes == ["success", "policy_error", "success"]
    assert "ZeroDivisionError: on purpose" in served.errors[1]
    assert policy.results[1]["outcome"] == "policy_error"


def test_a_flood_is_neither_read_nor_kept(suite: Path, tmp_path: Path) -> None:
    """Megabytes that nobody asked for: the first message ends the conversation, the rest stays in the socket."""
    message = packed({"type": "act", "id": 2, "command": "velocity", "values": [0.1, 0.0]})
    sent = [0]

    def client(address: str) -> None:
        sock = first_sense(address)
        sock.settimeout(5)
        try:
            while sent[0] < 200_000_000:
                sock.sendall(message * 1000)
                sent[0] += 1000 * len(message)
        except OSError:
            pass

    served = serve_to(client, suite, tmp_path / "run", host_options={"reconnect_s": 0.2})
    assert served.outcomes == ["policy_error"] * 3
    assert "nobody asked for" in served.errors[0]
    assert sent[0] < 50_000_000


def test_strangers_that_say_nothing_sensible_are_passed_over(suite: Path, tmp_path: Path) -> None:
    def client(address: str) -> None:
        for data in (b"GET / HTTP/1.1\r\n\r\n", struct.pack(">I", 2**30), b"", framed(b"\xc1")):
            with connect(Address.parse(address)) as sock:
                sock.sendall(data)
        run_client(Ahead(), address)

    served = serve_to(client, suite, tmp_path / "run", limit=1)
    assert served.outcomes == ["success"]
    assert sum("refused a connection" in line for line in served.said) == 4


def test_a_slow_message_arrives_whole() -> None:
    ours, theirs = socket.socketpair()
    connection = Connection(ours, 1000, strict=True)
    data = packed({"type": "act", "id": 3}) * 2
    arrived: list[Any] = []
    for byte in data[:-1]:
        theirs.sendall(bytes([byte]))
        with suppress(TimedOut):
            arrived.append(connection.receive(1e-4))
    theirs.sendall(data[-1:])
    arrived.append(connection.receive(1))
    assert [message["id"] for message in arrived] == [3, 3]
    connection.close()
    theirs.close()


@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_garbled(body: bytes) -> None:
    with suppress(Garbled):
        assert isinstance(decode(body, strict=True), dict)


plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.text(max_size=5) | st.just(b"x"),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=10,
)  # fmt: skip


@given(st.sampled_from(["velocity", "position", "drive", "waypoints", "holonomic_velocity", "", None]), plain)
def test_any_values_are_a_command_or_garbled(kind: Any, values: Any) -> None:
    with suppress(Garbled):
        assert isinstance(read_command({"type": "act", "id": 1, "command": kind, "values": values}), Command)
