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
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any

from sidestep.interfaces import Policy
from sidestep.runs.remote.host import RECONNECT_S, Host, RemoteEpisode
from sidestep.runs.remote.joystick_sockets import ClientGone, ClientRestarted, JoystickSockets
from sidestep.runs.remote.joystick_state import Contacts, MapFrame, metadata, power_off, state
from sidestep.runs.remote.messages import Introduction
from sidestep.runs.remote.session import ANSWER_S, RESET_S, ClientFailed
from sidestep.types import Command, EpisodeEnd, Observation, Position, Task, Velocity

DEFAULT_PREFIX = "/tmp/socnavbench_joystick"
MAX_COMMANDS = 10_000
SETTINGS = {"protocol": "socnavbench"}


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
            if self._greet_within(min(self.reconnect_s, RESET_S / 2)):
                self.say("it is back")
            return self.is_there
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
            self.wires.send(json.dumps({"episodes": self._waiting}), time.monotonic() + self.wires.send_s)
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
        """Clients report ready before they build maps and controllers, so the first command may take longer."""
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
                    self._wires.send(document, time.monotonic() + self._wires.send_s)
                except (ClientGone, ClientRestarted):
                    if not self._host.greets_again(self._episode):
                        raise
                    self._wires.send(document, time.monotonic() + self._wires.send_s)
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
        except (ClientGone, ClientRestarted):
            self._host.is_there = False
            raise
        self._has_answered = True
        return self._commands.popleft()

    def end_episode(self, end: EpisodeEnd) -> None:
        """Send the last message of the episode, which switches the robot off."""
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
