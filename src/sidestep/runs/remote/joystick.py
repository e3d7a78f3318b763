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
"""A connection that is silent for this time is a client that starts again, s."""
SEND_S = 10.0
GONE_S = 0.5
"""A client that nobody can connect to for this time has died, s."""
BACKLOG = 128
SETTINGS = {"protocol": "socnavbench"}


class ClientRestarted(ClientFailed):
    """Somebody shakes hands again in the middle of a conversation."""


class ClientGone(ClientFailed):
    """The client of the last handshake listens no more, so that what was to be sent has reached nobody."""


class JoystickSockets:
    """The pair of sockets, and one message at a time over them.

    The protocol has no names for connections, and a client that starts again takes the first connection for our answer
    to its handshake. The file that a client listens at stands for the client: what is said in an episode is sent to the
    file of the last handshake only, never to one that another client has made since.
    """

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
        """A client has connected and waits for us to connect back."""
        self._client_file: tuple[int, ...] | None = None
        """Which file the client of the last handshake listens at; None: nobody has shaken hands, or who has is gone."""
        self._answered: tuple[int, ...] | None = None
        """The file of a client whose handshake was answered by a message that was meant for the one before it."""
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
                self.has_knocked = not _says_something(sock)
        self.has_knocked = False
        if self._answered is None or self._answered != self._file_there():
            self._deliver(None, time.monotonic() + SEND_S, SEND_S, lambda: True)
        self._client_file, self._answered = self._file_there(), None
        with suppress(TimeoutError):
            while True:
                self.accept(0.0).close()

    def throw_away(self) -> None:
        """Take what lies waiting from before; ``ClientRestarted`` when that is a new client's greeting."""
        with suppress(TimeoutError):
            for _ in range(MAX_COMMANDS):
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


def _says_something(sock: socket.socket) -> bool:
    """Whether a connection is a message, as one that a client has sent before it died; a greeting is silent."""
    sock.settimeout(0.0)
    try:
        return bool(sock.recv(1))
    except OSError:
        return False


class JoystickHost(Host):
    """Waits for a SocNavBench client. ``dynamics``: how it moves where a scenario leaves that to the policy.
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
        """Held by whoever waits for the client: an asynchronous episode ends while its last question is open."""
        self.is_there = False

    def admit(self) -> Introduction:
        """A client tells its name only inside the first episode, so the run's name is fixed beforehand."""
        return Introduction(self._name, JoystickPolicy.needs, settings=dict(SETTINGS))

    def announce(self, suite: str, mode: str, episodes: Sequence[RemoteEpisode]) -> None:
        """Wait for the client and tell it the names of the episodes. It insists that each of them comes, so that those
        which cannot be built are left out."""
        self._waiting = [episode.scenario.name for episode in episodes if self._can_be_built(episode)]
        if self._waiting:
            self.say(f"waiting for a SocNavBench client at {self.wires.here}")
            while not self._greet(None):
                pass

    def policy_for(self, episode: RemoteEpisode) -> Any:
        """The client, if it is there or comes back in time."""
        try:
            with self.lock:
                self.wires.throw_away()
        except ClientRestarted:
            self.is_there = False
        except ClientFailed:
            pass  # rubbish from before
        if not self.is_there:
            self.wait_for_return(lambda: self._greet_within(self.reconnect_s))
        self._waiting = [name for name in self._waiting if name != episode.scenario.name]
        return JoystickPolicy(self, episode) if self.is_there else self.gone_policy()

    def greets_again(self, episode: RemoteEpisode) -> bool:
        """Whether a client greets in the time that ``reset`` has; ``episode``, which has not begun, is told as the
        first of those that are to come."""
        self.is_there = False
        names, self._waiting = self._waiting, [episode.scenario.name, *self._waiting]
        self.say("the policy is gone; waiting for it to come back")
        try:
            return self._greet_within(min(self.reconnect_s, RESET_S / 2))
        finally:
            self._waiting = names

    def close(self, reason: str) -> None:
        """Stop listening."""
        self.wires.close()

    def _greet_within(self, seconds: float) -> bool:
        """Whether a client greets; one that greets and dies may be followed by one that stays."""
        self.wires.forget_client()
        deadline = time.monotonic() + seconds
        while not self.is_there and time.monotonic() < deadline:
            self._greet(deadline)
        return self.is_there

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
            self.wires.forget_client()
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
        """Clients say that they are ready before they build maps and controllers: the first command may take longer."""
        self._contacts = Contacts(episode.scenario.rules.collision_cooldown_s)
        self._has_answered = False
        self._commands: deque[Command] = deque()
        self._time = 0.0
        self._is_over = False

    def reset(self, task: Task) -> None:
        """Send the metadata and wait until the client is ready. A client that has died since the last episode may come
        back: of this one it has heard nothing. What comes before its name is from the last episode."""
        assert task.map is not None
        self._task, self._frame = task, MapFrame.around(task.map, task)
        document = json.dumps(metadata(self._episode.scenario.name, task, self._frame), allow_nan=False)
        deadline = time.monotonic() + RESET_S
        try:
            with self._host.lock:
                try:
                    self._wires.send(document, time.monotonic() + SEND_S)
                except (ClientGone, ClientRestarted):
                    if not self._host.greets_again(self._episode):
                        raise
                    self._wires.send(document, time.monotonic() + SEND_S)
                self._wait_until_ready(deadline)
        except ClientFailed:
            self._host.is_there = False
            raise

    def _wait_until_ready(self, deadline: float) -> None:
        try:
            while (message := self._wires.receive(deadline)) != "ready":
                if message.startswith("algo: "):
                    self._host.say(f"{self._episode.scenario.name}: algorithm {message[6:]!r:.80}")
        except TimeoutError:
            raise ClientFailed(f"the client was not ready within {RESET_S:g} s") from None

    def act(self, observation: Observation) -> Command:
        """The next command; on ``sense``, the world as it is now. Messages come in order, so that a state is sent when
        all commands from before have been executed, as SocNavBench does it."""
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
        except (ClientGone, ClientRestarted):
            self._host.is_there = False
            raise
        self._has_answered = True
        return self._commands.popleft()

    def end_episode(self, end: EpisodeEnd) -> None:
        """Switch the robot off."""
        self._is_over = True
        if self._host.is_there:
            try:
                self._wires.send(json.dumps(power_off(end.outcome, self._time)), time.monotonic() + 1.0)
            except (ClientGone, ClientRestarted):  # the next episode waits for it
                self._host.is_there = False

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
