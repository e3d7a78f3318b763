"""SocNavBench's joystick protocol, so that its existing clients connect unchanged.

Two Unix sockets: the simulator listens at ``PREFIX_recv``, the client at ``PREFIX_send``. Every message is a connection
of its own, ended by end-of-file. Order: the client connects to ``_recv`` and says nothing, then listens at ``_send``;
the simulator connects there and says nothing, and the client closes that connection at once; then the names of the
episodes; then per episode the metadata, ``algo: NAME`` and ``ready`` from the client, and any number of ``sense`` →
state and ``{"j_input": [[x, y, θ, v], …]}`` (or ``[[v, ω], …]``), until the simulator sends ``{"robot_on": false,
"termination_cause": …}``. ``abandon`` gives an episode up.
"""

from __future__ import annotations

import json
import os
import socket
import stat
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from math import isfinite
from typing import Any

from sidestep.errors import BadInput
from sidestep.interfaces import Policy
from sidestep.runs.remote.host import PAUSE_S, RECONNECT_S, Host, RemoteEpisode
from sidestep.runs.remote.joystick_state import Contacts, MapFrame, metadata, power_off, state
from sidestep.runs.remote.messages import Introduction
from sidestep.runs.remote.session import ANSWER_S, RESET_S, ClientFailed
from sidestep.runs.remote.wire import Address, listen, remove_stale, unlinking
from sidestep.types import Command, EpisodeEnd, Observation, Position, Task, Velocity

DEFAULT_PREFIX = "/tmp/socnavbench_joystick"
MESSAGE_LIMIT = 256 * 1024
MAX_COMMANDS = 10_000
FIRST_BYTE_S = 1.0
"""A connection that is silent for this time is a restart of the client, s."""
SEND_S = 10.0
BACKLOG = 128
SETTINGS = {"protocol": "socnavbench"}


class ClientRestarted(ClientFailed):
    """A client starts a new handshake during an episode."""


class JoystickSockets:
    """A pair of sockets that carries one message at a time."""

    def __init__(self, prefix: str) -> None:
        self.here, self.there = f"{prefix}_recv", f"{prefix}_send"
        try:
            address = Address.parse(f"unix:{self.here}")
            remove_stale(self.here)  # from here on no client can get in before we listen
            self._clear_the_way()
            self._listener = listen(address, backlog=BACKLOG)
        except (ValueError, OSError) as error:
            raise BadInput(f"--listen unix:{prefix}: {error}") from None
        self.has_knocked = False
        """Whether a client has connected and waits for a connection back."""
        self._client_file: tuple[int, ...] | None = None
        """Identity of the socket file of the last client."""
        self._open = ExitStack()
        self._open.enter_context(unlinking(self._listener))

    def _clear_the_way(self) -> None:
        """Remove the socket of an earlier client, as SocNavBench's Python client cannot bind to an existing file."""
        with suppress(FileNotFoundError):
            if not stat.S_ISSOCK(os.lstat(self.there).st_mode):
                raise FileExistsError(f"{self.there} exists and is not a socket; choose another prefix")
            os.unlink(self.there)

    def forget_client(self) -> None:
        """Remove the socket file of the last client, unless a new client already listens at it."""
        if self._client_file is not None and self._client_file == self._file_there():
            with suppress(OSError):
                os.unlink(self.there)
        self._client_file = None

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
        """The next connection; raises ``TimeoutError`` at the deadline or if ``is_over()``. A connection that already
        waits is returned even after the deadline."""
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
        """Wait for a client to connect, if it has not connected yet, and connect back once it listens.

        Nothing is sent over the connection back, as the client closes it at once. Connections from before the client
        listened, including its own first one, carry no messages and are closed.
        """
        if not self.has_knocked:
            self.accept(deadline).close()
        self.has_knocked = False
        self.send(None, time.monotonic() + SEND_S)
        self._client_file = self._file_there()
        with suppress(TimeoutError):
            while True:
                self.accept(0.0).close()

    def throw_away(self) -> None:
        """Discard waiting messages; raises ``ClientRestarted`` if one is a new client's handshake."""
        with suppress(TimeoutError):
            for _ in range(MAX_COMMANDS):
                self.receive(time.monotonic() + 1e-3)

    def send(self, text: str | None, deadline: float) -> None:
        """Send one message: connect, write ``text`` unless it is None, close. Waits until the client listens."""
        while True:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
                sock.settimeout(max(deadline - time.monotonic(), 1e-3))
                try:
                    sock.connect(self.there)
                    if text is not None:
                        sock.sendall(text.encode())
                    return
                except (FileNotFoundError, ConnectionRefusedError, BlockingIOError) as error:
                    if time.monotonic() >= deadline:
                        raise ClientFailed(f"no process listens at {self.there}: {error.strerror}") from None
                except OSError as error:
                    raise ClientFailed(f"the client takes no messages: {error.strerror or error}") from None
            time.sleep(0.01)

    def receive(self, deadline: float, is_over: Callable[[], bool] = lambda: False) -> str:
        """The next message; raises ``TimeoutError`` at the deadline or if ``is_over()``."""
        with self.accept(deadline, is_over) as sock:
            parts = bytearray()
            while True:
                wait = FIRST_BYTE_S if not parts else max(deadline - time.monotonic(), 1e-3)
                sock.settimeout(wait)
                try:
                    part = sock.recv(65536)
                except TimeoutError:
                    if not parts:
                        self.has_knocked = True
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


class JoystickHost(Host):
    """Waits for a SocNavBench client. ``dynamics`` are used if a scenario leaves them to the policy.
    ``reason_not_built`` returns why an episode cannot be built; empty if it can."""

    def __init__(
        self,
        prefix: str = DEFAULT_PREFIX,
        *,
        name: str | None = None,
        dynamics: str = "holonomic",
        reason_not_built: Callable[[RemoteEpisode], str] = lambda episode: "",
        reconnect_s: float = RECONNECT_S,
        say: Callable[[str], None] = lambda line: None,
    ) -> None:
        super().__init__(reconnect_s, say)
        self.wires = JoystickSockets(prefix)
        self.dynamics, self._reason_not_built = dynamics, reason_not_built
        self._name = f"remote:{name or 'socnavbench'}"
        self._waiting: list[str] = []
        self.lock = threading.Lock()
        """Held while waiting for the client: an asynchronous episode can end while its last request is open."""
        self.is_there = False

    def admit(self) -> Introduction:
        """The introduction, with a fixed name: a client sends its name only in the first episode."""
        return Introduction(self._name, JoystickPolicy.needs, settings=dict(SETTINGS))

    def announce(self, suite: str, mode: str, episodes: Sequence[RemoteEpisode]) -> None:
        """Wait for the client and send it the names of the episodes. The client expects every one of them, so episodes
        that cannot be built are left out."""
        self._waiting = [episode.scenario.name for episode in episodes if self._can_be_built(episode)]
        if self._waiting:
            self.say(f"waiting for a SocNavBench client at {self.wires.here}")
            while not self._greet(None):
                pass

    def policy_for(self, episode: RemoteEpisode) -> Any:
        """The client, if it is connected or reconnects in time."""
        try:
            with self.lock:
                self.wires.throw_away()
        except ClientRestarted:
            self.is_there = False
        except ClientFailed:
            pass  # messages of an earlier episode
        if not self.is_there:
            self.wires.forget_client()
            self.wait_for_return(lambda: self._greet(time.monotonic() + self.reconnect_s))
        self._waiting = [name for name in self._waiting if name != episode.scenario.name]
        return JoystickPolicy(self, episode) if self.is_there else self.gone_policy()

    def close(self, reason: str) -> None:
        """Stop listening."""
        self.wires.close()

    def _can_be_built(self, episode: RemoteEpisode) -> bool:
        reason = self._reason_not_built(episode)
        if reason:
            self.say(f"left out: {reason}")
        return not reason

    def _greet(self, deadline: float | None) -> bool:
        try:
            self.wires.shake_hands(deadline)
            self.wires.send(json.dumps({"episodes": self._waiting}), time.monotonic() + SEND_S)
            self.is_there = True
        except TimeoutError:
            pass
        except ClientFailed as error:
            self.say(f"a client came, but: {error}")
        return self.is_there


class JoystickPolicy(Policy):
    """One episode with a SocNavBench client."""

    needs = frozenset({"goal", "pedestrians", "map"})

    def __init__(self, host: JoystickHost, episode: RemoteEpisode) -> None:
        self.settings = dict(SETTINGS)
        self.dynamics = host.dynamics  # type: ignore[misc]  # of this object
        self._host, self._wires, self._episode = host, host.wires, episode
        self._limit = ANSWER_S if episode.act_limit_s is None else episode.act_limit_s
        self.first_answer_s = max(RESET_S, self._limit)
        """Clients report ready before they build maps and controllers, so the first command may take longer."""
        self._contacts = Contacts(episode.scenario.rules.collision_cooldown_s)
        self._has_answered = False
        self._commands: deque[Command] = deque()
        self._time = 0.0
        self._is_over = False

    def reset(self, task: Task) -> None:
        """Send the metadata and wait until the client is ready. Messages before its name are from the last episode."""
        assert task.map is not None
        self._task, self._frame = task, MapFrame.around(task.map, task)
        deadline = time.monotonic() + RESET_S
        try:
            document = json.dumps(metadata(self._episode.scenario.name, task, self._frame), allow_nan=False)
            with self._host.lock:
                self._wires.send(document, time.monotonic() + SEND_S)
                while (message := self._wires.receive(deadline)) != "ready":
                    if message.startswith("algo: "):
                        self._host.say(f"{self._episode.scenario.name}: algorithm {message[6:]!r:.80}")
        except TimeoutError:
            self._host.is_there = False
            raise ClientFailed(f"the client was not ready within {RESET_S:g} s") from None
        except ClientFailed:
            self._host.is_there = False
            raise

    def act(self, observation: Observation) -> Command:
        """The next command; a ``sense`` is answered with the current state. Messages come in order, so a state is sent
        after all earlier commands have been executed, as in SocNavBench."""
        self._time = observation.time
        self._contacts.note(observation, self._task.robot.footprint.enclosing_radius)
        limit = self._limit if self._has_answered else self.first_answer_s
        deadline = time.monotonic() + limit
        try:
            with self._host.lock:
                while not self._commands:
                    message = self._wires.receive(deadline, lambda: self._is_over)
                    self._take(message, observation, deadline)
        except TimeoutError:
            raise ClientFailed(f"the client did not answer within its limit of {limit:g} s") from None
        except ClientRestarted:
            self._host.is_there = False
            raise
        self._has_answered = True
        return self._commands.popleft()

    def end_episode(self, end: EpisodeEnd) -> None:
        """Send the last message of the episode, which switches the robot off."""
        self._is_over = True
        if self._host.is_there:
            self._wires.send(json.dumps(power_off(end.outcome, self._time)), time.monotonic() + 1.0)

    def _take(self, message: str, observation: Observation, deadline: float) -> None:
        if message == "sense":
            document = json.dumps(state(observation, self._task, self._frame, self._contacts), allow_nan=False)
            self._wires.send(document, deadline)
        elif message == "abandon":
            raise ClientFailed("the client abandoned the episode")
        elif message and message != "ready" and not message.startswith("algo: "):
            self._commands.extend(self._read(message))

    def _read(self, message: str) -> list[Command]:
        try:
            rows = json.loads(message)["j_input"]
            commands = [self._command([float(value) for value in row]) for row in rows]
        except (ValueError, TypeError, KeyError, RecursionError, OverflowError) as error:
            raise ClientFailed(f"not a joystick message: {error!s:.200} in {message!r:.80}") from None
        if not 0 < len(commands) <= MAX_COMMANDS:
            raise ClientFailed(f"j_input must hold 1 to {MAX_COMMANDS} commands, got {len(commands)}")
        return commands

    def _command(self, row: list[float]) -> Command:
        if not all(isfinite(value) for value in row):
            raise ValueError("a number that is not finite")
        if len(row) == 2:
            return Velocity(row[0], row[1])
        if len(row) == 4:
            return Position(row[0] + self._frame.x, row[1] + self._frame.y)
        raise ValueError(f"a command has 4 numbers (x, y, θ, v) or 2 (v, ω), got {len(row)}")
