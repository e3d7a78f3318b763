"""The two sockets of SocNavBench's joystick protocol, and who is at the other end of them.

The protocol has no names for connections, and a client that starts again takes the first connection for our answer to
its handshake. The file that a client listens at stands for the client: what is said in an episode is sent to the file
of the last handshake only, never to one that another client has made since. On Linux, the process that a message comes
from stands for its sender: what a client says after another one has taken its place is not heard.
"""

from __future__ import annotations

import os
import socket
import stat
import struct
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress

from sidestep.errors import BadInput
from sidestep.runs.remote.host import PAUSE_S
from sidestep.runs.remote.session import ClientFailed
from sidestep.runs.remote.wire import Address, listen, remove_stale, unlinking

MESSAGE_LIMIT = 256 * 1024
MOST_WAITING = 10_000
"""Messages from before that are thrown away at once."""
FIRST_BYTE_S = 1.0
"""A connection that is silent for this time is a client that starts again, s."""
SEND_S = 10.0
GONE_S = 0.5
"""A client that nobody can connect to for this time has died, s."""
BACKLOG = 128
PEER = struct.Struct("3i")


class ClientRestarted(ClientFailed):
    """Somebody shakes hands again in the middle of a conversation."""


class ClientGone(ClientFailed):
    """The client of the last handshake listens no more, so that what was to be sent has reached nobody."""


class JoystickSockets:
    """The pair of sockets, and one message at a time over them."""

    def __init__(self, prefix: str) -> None:
        self.here, self.there = f"{prefix}_recv", f"{prefix}_send"
        self.send_s = SEND_S
        try:
            address = Address.parse(f"unix:{self.here}")
            remove_stale(self.here)  # from here on no client can get in before we listen
            self._clear_the_way()
            self._listener = listen(address, backlog=BACKLOG)
        except (ValueError, OSError) as error:
            raise BadInput(f"--listen unix:{prefix}: {error}") from None
        self.has_knocked = False
        """A client has connected and waits for us to connect back."""
        self._client_file: tuple[int, ...] | None = None
        """Which file the client of the last handshake listens at; None: nobody has shaken hands, or who has is gone."""
        self._answered: tuple[int, ...] | None = None
        """The file of a client whose handshake was answered by a message that was meant for the one before it."""
        self._process: int | None = None
        """The process of the last client that greeted."""
        self._replaced: set[int] = set()
        """Processes of those before it."""
        self._open = ExitStack()
        self._open.enter_context(unlinking(self._listener))

    def _clear_the_way(self) -> None:
        """Remove the socket of an earlier client: SocNavBench's Python client cannot bind where a file is."""
        with suppress(FileNotFoundError):
            if not stat.S_ISSOCK(os.lstat(self.there).st_mode):
                raise FileExistsError(f"{self.there} exists and is not a socket; choose another prefix")
            os.unlink(self.there)

    def forget_client(self) -> None:
        """Make room for a new client where the last one listened; one that listens there already stays."""
        if self._client_file is not None and self._client_file == self._file_there():
            with suppress(OSError):
                os.unlink(self.there)
        self._client_file = None

    def _is_same_client(self) -> bool:
        """Whether no other client listens where that of the last handshake did."""
        return self._client_file is not None and self._file_there() in (self._client_file, None)

    def _file_there(self) -> tuple[int, ...] | None:
        try:
            about = os.lstat(self.there)
        except OSError:
            return None
        return about.st_dev, about.st_ino, about.st_ctime_ns

    def close(self) -> None:
        """Stop listening."""
        self._open.close()

    def accept(self, deadline: float | None, is_over: Callable[[], bool] = lambda: False) -> socket.socket:
        """The next connection; ``TimeoutError`` at the deadline, or when ``is_over`` says so. One that waits already is
        returned even after the deadline."""
        while not is_over():
            left = PAUSE_S if deadline is None else min(PAUSE_S, deadline - time.monotonic())
            self._listener.settimeout(max(left, 0.0))  # short, so that an interrupt is noticed
            try:
                return self._listener.accept()[0]
            except (TimeoutError, BlockingIOError):
                if left <= 0:
                    break
        raise TimeoutError

    def shake_hands(self, deadline: float | None) -> None:
        """Wait for a client to connect, if it has not yet, and connect back once it listens.

        Nothing is sent over the connection back: the client closes it at once. Connections that came before the client
        listened, its own first one among them, carry nothing that matters and are thrown away.
        """
        while not self.has_knocked:
            with self.accept(deadline) as sock:
                if not _says_something(sock):
                    self._note_greeting(sock)
        self.has_knocked = False
        if self._answered is None or self._answered != self._file_there():
            self._deliver(None, time.monotonic() + self.send_s, self.send_s, lambda: True)
        self._client_file, self._answered = self._file_there(), None
        with suppress(TimeoutError):
            while True:
                self.accept(0.0).close()

    def throw_away(self) -> None:
        """Take what lies waiting from before; ``ClientRestarted`` when that is a new client's greeting."""
        with suppress(TimeoutError):
            for _ in range(MOST_WAITING):
                self.receive(time.monotonic() + 1e-3)

    def send(self, text: str, deadline: float) -> None:
        """One message to the client of the last handshake. ``ClientGone`` if it has died, ``ClientRestarted`` if there
        is another one in its place, which then has heard nothing."""
        self._deliver(text, deadline, GONE_S, self._is_same_client)

    def _deliver(self, text: str | None, deadline: float, gone_s: float, fits: Callable[[], bool]) -> None:
        """Connect, write (nothing: only connect), close. Whoever does not listen is waited for ``gone_s``; nothing is
        written unless the file ``fits``, before and after connecting."""
        gone_at: float | None = None
        while True:
            if not fits():
                raise ClientRestarted("the client started again in the middle of an episode")
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
                sock.settimeout(max(deadline - time.monotonic(), 1e-3))
                try:
                    sock.connect(self.there)
                    if not fits():
                        self._answered = self._file_there()  # its handshake is answered by this connection
                        continue
                    if text is not None:
                        sock.sendall(text.encode())
                    return
                except (FileNotFoundError, ConnectionRefusedError) as error:
                    gone_at = min(deadline, time.monotonic() + gone_s) if gone_at is None else gone_at
                    if time.monotonic() >= gone_at:
                        raise ClientGone(f"no process listens at {self.there}: {error.strerror}") from None
                except OSError as error:
                    if not isinstance(error, BlockingIOError) or time.monotonic() >= deadline:
                        raise ClientFailed(f"the client takes no messages: {error.strerror or error}") from None
            time.sleep(0.01)

    def receive(self, deadline: float, is_over: Callable[[], bool] = lambda: False) -> str:
        """The next message; ``TimeoutError`` at the deadline, or when ``is_over`` says so."""
        while True:
            sock = self.accept(deadline, is_over)
            if _process_of(sock) not in self._replaced:
                return self._read(sock, deadline)
            sock.close()

    def _note_greeting(self, sock: socket.socket) -> None:
        """Somebody waits for us to connect back; who greeted before is not heard any more."""
        self.has_knocked = True
        process = _process_of(sock)
        if self._process is not None and self._process != process:
            self._replaced.add(self._process)
        self._replaced.discard(process)
        self._process = process

    def _read(self, sock: socket.socket, deadline: float) -> str:
        """The message of a connection."""
        with sock:
            parts = bytearray()
            while True:
                wait = FIRST_BYTE_S if not parts else max(deadline - time.monotonic(), 1e-3)
                sock.settimeout(wait)
                try:
                    part = sock.recv(65536)
                except TimeoutError:
                    if not parts:
                        self._note_greeting(sock)
                        raise ClientRestarted("the client started again in the middle of an episode") from None
                    raise
                except OSError as error:
                    raise ClientFailed(f"the connection broke: {error.strerror or error}") from None
                if not part:
                    break
                parts += part
                if len(parts) > MESSAGE_LIMIT:
                    raise ClientFailed(f"a message of more than {MESSAGE_LIMIT} bytes")
        try:
            return parts.decode()
        except UnicodeDecodeError:
            raise ClientFailed("a message that is not UTF-8") from None


def _process_of(sock: socket.socket) -> int:
    """The process at the other end; -1 where the system does not tell."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return -1
    try:
        return int(PEER.unpack(sock.getsockopt(socket.SOL_SOCKET, option, PEER.size))[0])
    except OSError:
        return -1


def _says_something(sock: socket.socket) -> bool:
    """Whether a connection is a message, as one that a client has sent before it died; a greeting is silent."""
    sock.settimeout(0.0)
    try:
        return bool(sock.recv(1))
    except OSError:
        return False
