"""Messages on a socket: a length of four bytes (big-endian), then one msgpack map.

This module imports the standard library and msgpack only, so this file and ``client.py`` can be copied into another
project as they are. The protocol is specified in ``docs/remote.md``.
"""

from __future__ import annotations

import hmac
import ipaddress
import os
import socket
import stat
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from math import isfinite
from typing import Any

import msgpack

PROTOCOL = 1
HELLO_LIMIT = 16 * 1024
"""Largest first message, before the other side is trusted, bytes."""
POLICY_LIMIT = 256 * 1024
"""Largest message from a policy, bytes."""
BENCHMARK_LIMIT = 64 * 1024 * 1024
"""Largest message to a policy, bytes; maps and pictures are large."""
MAX_DEPTH = 16
HELLO_S = 5.0
"""Time limit of the handshake, s."""
SEND_S = 30.0
"""Time limit for the other side to accept a message, s."""

Message = dict[str, Any]


class WireError(Exception):
    """The connection cannot be used any more."""


class Closed(WireError):
    """The other side closed the connection or cannot be reached."""


class TimedOut(WireError):
    """The other side did not answer in time; the answer may still come."""


class Garbled(WireError):
    """The received bytes are not a message of this protocol."""


class Refused(WireError):
    """The other side refused the connection: another version, a wrong token or an unknown need."""


@dataclass(frozen=True)
class Address:
    """``host:port`` or ``unix:PATH``."""

    host: str = ""
    port: int = 0
    path: str = ""

    @classmethod
    def parse(cls, text: str) -> Address:
        """Parse ``text``; raises ``ValueError`` with the expected form."""
        if text.startswith("unix:"):
            path = text.removeprefix("unix:")
            if not path or "\0" in path or len(os.fsencode(path)) > 100:
                raise ValueError(f"{text!r:.120}: a Unix socket is unix:PATH with a path of 1 to 100 bytes")
            return cls(path=path)
        host, separator, port = text.rpartition(":")
        host = host.removeprefix("[").removesuffix("]")
        if (
            not separator
            or not host
            or not (port.isdecimal() and port.isascii() and len(port) < 6)
            or int(port) > 65535
        ):
            raise ValueError(f"{text!r:.120}: an address is HOST:PORT, such as 127.0.0.1:5577, or unix:PATH")
        return cls("127.0.0.1" if host == "localhost" else host, int(port))

    @property
    def is_local(self) -> bool:
        """Whether the address can be reached from this machine only."""
        if self.path:
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def __str__(self) -> str:
        if self.path:
            return f"unix:{self.path}"
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def connect(address: Address, timeout_s: float = 5.0) -> socket.socket:
    """Connect to ``address``; raises ``Closed`` if no process listens there."""
    try:
        if address.path:
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            sock.settimeout(timeout_s)
            sock.connect(address.path)
            return sock
        return socket.create_connection((address.host, address.port), timeout_s)
    except OSError as error:
        raise Closed(f"nobody answers at {address}: {error.strerror or error}") from error


def listen(address: Address, token: str | None = None, backlog: int = 16) -> socket.socket:
    """Open a listening socket; raises ``ValueError`` if other machines can reach it and there is no token."""
    if not address.is_local and not token:
        raise ValueError(
            f"{address} can be reached from other machines: set a token (--token, or SIDESTEP_TOKEN in the "
            "environment), or listen on 127.0.0.1 or unix:PATH"
        )
    if not address.path:
        family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        return socket.create_server((address.host, address.port), family=family, backlog=backlog)
    remove_stale(address.path)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o077)  # nobody else on this machine may connect
    try:
        sock.bind(address.path)
    except OSError:
        sock.close()
        raise
    finally:
        os.umask(before)
    sock.listen(backlog)
    return sock


def remove_stale(path: str) -> None:
    """Remove the socket file of a process that has ended; raises ``FileExistsError`` for any other file."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise FileExistsError(f"{path} exists and is not a socket; choose another path")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)
            return
    raise FileExistsError(f"another process already listens at unix:{path}; choose another path")


def bound_address(listener: socket.socket) -> Address:
    """Address of a listening socket; port 0 is replaced by the port that the system chose."""
    name = listener.getsockname()
    return Address(path=name) if isinstance(name, str) else Address(name[0], name[1])


@contextmanager
def unlinking(listener: socket.socket) -> Iterator[None]:
    """Close a listening socket on exit and remove its file if it has one."""
    address = bound_address(listener)
    try:
        yield
    finally:
        listener.close()
        if address.path:
            with suppress(OSError):
                os.unlink(address.path)


def same_token(given: Any, wanted: str | None) -> bool:
    """Whether ``given`` equals ``wanted``, compared in constant time. If no token is wanted, any is accepted."""
    if wanted is None:
        return True
    text = given if isinstance(given, str) else ""
    return hmac.compare_digest(text.encode(), wanted.encode())


def check_version(hello: Message, role: str) -> None:
    """Raise ``Refused`` unless ``hello`` is a hello of this protocol version from a ``role``."""
    version = hello.get("sidestep")
    if hello.get("type") == "refused":
        raise Refused(str(hello.get("reason", "the other side refused"))[:500])
    if hello.get("type") != "hello" or version is None:
        raise Refused("the first message must be a hello: {type: hello, sidestep: 1, role: policy, …}")
    if version != PROTOCOL or isinstance(version, bool):
        raise Refused(
            f"this side speaks Sidestep's protocol {PROTOCOL}, the other protocol {version!r:.20}; use the client "
            "library of the same version on both sides"
        )
    if hello.get("role") != role:
        raise Refused(f"expected the role {role!r} in the hello, got {hello.get('role')!r:.40}")


class Connection:
    """One connection. ``limit`` is the largest message that is read, bytes; ``strict`` checks all values of a
    message."""

    def __init__(self, sock: socket.socket, limit: int, strict: bool) -> None:
        self.limit = limit
        self._strict = strict
        self._sock = sock
        self._buffer = bytearray()
        if sock.family in (socket.AF_INET, socket.AF_INET6):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, message: Message, timeout_s: float = SEND_S) -> None:
        """Send one message; raises ``Closed`` if the other side does not accept it."""
        body = msgpack.packb(message, use_bin_type=True)
        try:
            self._sock.settimeout(timeout_s)
            self._sock.sendall(struct.pack(">I", len(body)) + body)
        except OSError as error:
            raise Closed(f"the other side takes no messages: {error.strerror or error}") from error

    def receive(self, timeout_s: float | None = None) -> Message:
        """Receive the next message. After ``TimedOut`` it can be called again: no received bytes are lost."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        self._fill(4, deadline)
        length = int.from_bytes(self._buffer[:4], "big")
        if not 0 < length <= self.limit:
            raise Garbled(f"a message of {length} bytes was announced; allowed are 1 to {self.limit}")
        self._fill(4 + length, deadline)
        body = bytes(self._buffer[4 : 4 + length])
        del self._buffer[: 4 + length]
        return decode(body, self._strict)

    def close(self) -> None:
        """Close the connection, also for a thread that waits for a message."""
        with suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)
        self._sock.close()

    def _fill(self, size: int, deadline: float | None) -> None:
        while len(self._buffer) < size:
            try:
                if deadline is None:
                    self._sock.settimeout(None)
                else:
                    self._sock.settimeout(max(deadline - time.monotonic(), 1e-4))
                part = self._sock.recv(65536)
            except TimeoutError:
                raise TimedOut("no answer in time") from None
            except OSError as error:
                raise Closed(f"the connection broke: {error.strerror or error}") from error
            if not part:
                raise Closed("the other side closed the connection")
            self._buffer += part


def decode(body: bytes, strict: bool) -> Message:
    """Decode the message in ``body``; raises ``Garbled`` if it is not a message."""
    try:
        message = msgpack.unpackb(body, raw=False, strict_map_key=True, ext_hook=_no_extensions)
    except Exception as error:  # msgpack raises a dozen kinds, and each means the same here
        raise Garbled(f"not msgpack: {type(error).__name__}: {error!s:.200}") from None
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        raise Garbled("a message is a map with a text under 'type'")
    if strict:
        check(message)
    return message


def _no_extensions(code: int, data: bytes) -> Any:
    raise ValueError(f"extension type {code} is not part of the protocol")


def check(message: Any) -> None:
    """Raise ``Garbled`` unless numbers are finite, keys text, values plain, and nesting at most ``MAX_DEPTH``."""
    stack = [(message, 1)]
    while stack:
        value, depth = stack.pop()
        if depth > MAX_DEPTH:
            raise Garbled(f"nested deeper than {MAX_DEPTH}")
        if isinstance(value, dict):
            if not all(isinstance(key, str) for key in value):
                raise Garbled("a key that is not text")
            stack.extend((item, depth + 1) for item in value.values())
        elif isinstance(value, list):
            stack.extend((item, depth + 1) for item in value)
        elif isinstance(value, float):
            if not isfinite(value):
                raise Garbled(f"a number that is {value}; all numbers must be finite")
        elif value is not None and not isinstance(value, bool | int | str | bytes):
            raise Garbled(f"a value of type {type(value).__name__}")
