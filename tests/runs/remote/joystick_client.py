"""A client that behaves as SocNavBench's do, written from the facts of its protocol.

Like them it connects once without saying anything and keeps that connection until it has something to say, listens
with a backlog of one, closes the connection that comes back at once, sends each message over a connection of its own,
asserts that the episodes come under their names and in order, and assumes that a state has every key that theirs has.
The Python client cannot listen where a file is; the C++ client removes it (``removes_file``).

Run as a program it starts again and again: ``joystick_client.py PREFIX STARTS SEED LONGEST_PAUSE_S``.
"""

from __future__ import annotations

import json
import math
import os
import random
import socket
import sys
import time
from collections.abc import Callable
from typing import Any

Plan = Callable[["JoystickClient", list[float], float], list[list[list[float]]]]
"""(client, robot, step) → messages, each a list of commands."""


class JoystickClient:
    """``plan`` decides; ``states`` keeps all that came."""

    def __init__(
        self,
        prefix: str,
        plan: Plan,
        algorithm: str = "straight",
        wait_s: float = 20.0,
        pause: Callable[[], None] = lambda: None,
        removes_file: bool = False,
    ) -> None:
        self.to_robot, self.from_robot = f"{prefix}_recv", f"{prefix}_send"
        self.plan, self.algorithm, self.wait_s = plan, algorithm, wait_s
        self.pause, self.removes_file = pause, removes_file
        self.first: socket.socket | None = None
        self.episodes: list[str] = []
        self.metadata: list[dict[str, Any]] = []
        self.states: list[dict[str, Any]] = []
        self.causes: list[str] = []
        self.goal = [0.0, 0.0, 0.0]

    def run(self) -> None:
        self.shake_hands()
        self.episodes = self.hear()["episodes"]
        for name in self.episodes:
            self.drive(name)
        self.listener.close()

    def shake_hands(self) -> None:
        self.first = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.first.connect(self.to_robot)
        self.pause()
        if self.removes_file and os.path.exists(self.from_robot):
            os.remove(self.from_robot)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.settimeout(self.wait_s)
        self.listener.bind(self.from_robot)
        self.pause()
        self.listener.listen(1)
        self.pause()
        self.listener.accept()[0].close()  # nobody keeps it, so it is closed at once
        self.pause()

    def drive(self, name: str) -> None:
        world = self.hear()
        self.metadata.append(world)
        assert world["episode_name"] == name
        assert world["environment"]
        [robot] = world["robots"].values()
        self.goal = robot["goal_config"]
        assert len(robot["start_config"]) == len(self.goal) == 3
        self.say("algo: " + self.algorithm)
        self.say("ready")
        self.listener.listen(1)
        while True:
            self.say("sense")
            state = self.hear()
            if not state["robot_on"]:
                self.causes.append(state["termination_cause"])
                assert "sim_t" in state
                return
            self.states.append(state)
            for person in state["pedestrians"].values():
                assert {"name", "current_config", "radius"} <= set(person)
                assert len(person["current_config"]) == 3
            assert {"sim_t", "delta_t", "episode_max_time"} <= set(state)
            [robot] = state["robots"].values()
            for commands in self.plan(self, robot["current_config"], state["delta_t"]):
                self.say(json.dumps({"j_input": commands}, indent=1))

    def say(self, text: str) -> None:
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            sock.connect(self.to_robot)
        except OSError:
            return
        sock.sendall(text.encode())
        sock.close()
        if self.first is not None:
            self.first.close()
            self.first = None

    def hear(self) -> Any:
        sock, _ = self.listener.accept()
        data = b""
        while part := sock.recv(1024):
            data += part
        sock.close()
        return json.loads(data.decode())


def one_position(client: JoystickClient, robot: list[float], step: float) -> list[list[list[float]]]:
    """The next position on the straight line, as its ORCA and social-force clients answer."""
    dx, dy = client.goal[0] - robot[0], client.goal[1] - robot[1]
    reach = min(1.0, 1.2 * step / max(math.hypot(dx, dy), 1e-9))
    return [[[robot[0] + dx * reach, robot[1] + dy * reach, math.atan2(dy, dx), 0.0]]]


def ten_positions(client: JoystickClient, robot: list[float], step: float) -> list[list[list[float]]]:
    """Ten steps ahead, a message each, as its planner answers."""
    messages = []
    for _ in range(10):
        [message] = one_position(client, robot, step)
        messages.append(message)
        robot = message[0][:3]
    return messages


def velocity(client: JoystickClient, robot: list[float], step: float) -> list[list[list[float]]]:
    """Forward and turn rate under kinematic constraints."""
    turn = math.atan2(client.goal[1] - robot[1], client.goal[0] - robot[0]) - robot[2]
    turn = (turn + math.pi) % (2 * math.pi) - math.pi
    return [[[0.8, max(-1.1, min(1.1, 2 * turn))]]]


def start_again_and_again(prefix: str, starts: int, seed: int, longest_pause_s: float) -> None:
    """Shake hands and hear the names of the episodes; with pauses at random places, as on a busy machine."""
    draw = random.Random(seed)

    def pause() -> None:
        if longest_pause_s and draw.random() < 0.3:
            time.sleep(draw.uniform(0.0, longest_pause_s))

    for number in range(starts):
        client = JoystickClient(prefix, one_position, pause=pause)
        client.shake_hands()
        assert client.hear() == {"episodes": [f"start {number}"]}
        client.listener.close()
        os.remove(client.from_robot)
        if client.first is not None and number % 2:
            client.first.close()


if __name__ == "__main__":
    start_again_and_again(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
