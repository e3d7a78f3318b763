"""Policies that misbehave where the goal is far, and drive well elsewhere; loaded by path, as a user's are."""

from __future__ import annotations

import ctypes
import gc
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from sidestep.types import Position, Velocity


class Drives:
    """Straight ahead; ``misbehave`` is called in the scenario with the far goal."""

    needs = frozenset({"goal"})

    def __init__(self, folder: str = "") -> None:
        self.folder = Path(folder)

    def reset(self, task: Any) -> None:
        self.task = task
        self.is_bad = task.goal[0] > 1.0

    def act(self, observation: Any) -> Any:
        if self.is_bad and observation.time > 0.15:
            answer = self.misbehave(observation)
            if answer is not None:
                return answer
        return Velocity(1.0, 0.0)

    def misbehave(self, observation: Any) -> Any: ...


class Raises(Drives):
    def misbehave(self, observation: Any) -> Any:
        raise ZeroDivisionError("on purpose")


class RaisesAnything(Drives):
    def misbehave(self, observation: Any) -> Any:
        class Doom(BaseException): ...

        raise Doom("no Exception")


class Interrupts(Drives):
    def misbehave(self, observation: Any) -> Any:
        raise KeyboardInterrupt


class Exits(Drives):
    def misbehave(self, observation: Any) -> Any:
        sys.exit(3)


class ExitsHard(Drives):
    def misbehave(self, observation: Any) -> Any:
        os._exit(7)


class Segfaults(Drives):
    def misbehave(self, observation: Any) -> Any:
        ctypes.string_at(0)


class Aborts(Drives):
    def misbehave(self, observation: Any) -> Any:
        os.abort()


class Sleeps(Drives):
    def misbehave(self, observation: Any) -> Any:
        time.sleep(1000)


class HoldsTheInterpreter(Drives):
    def misbehave(self, observation: Any) -> Any:
        ctypes.PyDLL(None).sleep(1000)


class StopsItself(Drives):
    def misbehave(self, observation: Any) -> Any:
        os.kill(os.getpid(), signal.SIGSTOP)


class FarAway(Drives):
    def misbehave(self, observation: Any) -> Any:
        return Position(1e200, 0.0)


class TooFast(Drives):
    def misbehave(self, observation: Any) -> Any:
        return Velocity(1e308, -1e308)


class NotFinite(Drives):
    def misbehave(self, observation: Any) -> Any:
        return Velocity(float("nan"), 0.0)


class Wordy(Drives):
    def misbehave(self, observation: Any) -> Any:
        raise ValueError("\0\ud800\x1b[31mred\x1b]0;title\x07\x08" + "x" * 10**6)


class Speechless(Drives):
    def misbehave(self, observation: Any) -> Any:
        class Mute(Exception):
            def __str__(self) -> str:
                raise RuntimeError("nothing to say")

        raise Mute


class NoNumber(Drives):
    def misbehave(self, observation: Any) -> Any:
        class Evil(float):
            def __float__(self) -> float:
                raise RuntimeError("no")

            def __repr__(self) -> str:
                raise RuntimeError("no")

        return Velocity(Evil(), 0.0)


class Spams(Drives):
    def misbehave(self, observation: Any) -> Any:
        while True:
            print("spam " * 1000)


class ClosesFiles(Drives):
    def misbehave(self, observation: Any) -> Any:
        os.closerange(0, 256)


class TakesMemory(Drives):
    def misbehave(self, observation: Any) -> Any:
        resource.setrlimit(resource.RLIMIT_AS, (2 * 10**9, 2 * 10**9))
        return bytearray(10**11)


class Recurses(Drives):
    def misbehave(self, observation: Any) -> Any:
        return self.misbehave(observation)


class LeavesChildren(Drives):
    def misbehave(self, observation: Any) -> Any:
        child = subprocess.Popen(["sleep", "1000"])
        (self.folder / "left_behind").write_text(str(child.pid))
        os._exit(1)


class Forks(Drives):
    """The child keeps every file open, the connection too."""

    def misbehave(self, observation: Any) -> Any:
        if os.fork() == 0:
            time.sleep(1000)
        os._exit(5)


class AnswersBefore(Drives):
    """Answers that nobody has asked for yet, so as to seem quick."""

    def misbehave(self, observation: Any) -> Any:
        [line] = [thing for thing in gc.get_objects() if _type_name(thing) == "Connection"]
        for number in range(100):
            line.send({"type": "act", "id": number, "command": "Velocity", "values": np.ones(2).tobytes()})


class Garbles(Drives):
    def misbehave(self, observation: Any) -> Any:
        [line] = [thing for thing in gc.get_objects() if _type_name(thing) == "Connection"]
        line._sock.sendall(b"\xff" * 1000)


class HangsInConstructor(Drives):
    """The second object of a process is never finished."""

    made = 0

    def __init__(self, folder: str = "") -> None:
        super().__init__(folder)
        HangsInConstructor.made += 1
        if HangsInConstructor.made > 1:
            time.sleep(1000)


# from here on nothing fails: what they do reaches nobody


class LowersLimits(Drives):
    def misbehave(self, observation: Any) -> Any:
        for limit in (resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE, resource.RLIMIT_CPU):
            resource.setrlimit(limit, (5, 5))


class Chats(Drives):
    def misbehave(self, observation: Any) -> Any:
        threading.Thread(target=lambda: [print("\x1b[2J" * 1000) for _ in range(10**9)], daemon=True).start()


class HangsAtTheEnd(Drives):
    def end_episode(self, scores: Any) -> None:
        if self.is_bad:
            time.sleep(1000)


class Forges(Drives):
    def end_episode(self, scores: Any) -> None:
        assert scores.outcome == "success"
        for name, result in scores.metrics.items():
            object.__setattr__(result, "value", 12345.0)
            scores.metrics[name] = result
        object.__setattr__(scores, "outcome", "forged")


class Lies(Drives):
    """Says that it needs the goal, and later much more."""

    asked = 0

    @property
    def needs(self) -> frozenset[str]:  # type: ignore[override]
        Lies.asked += 1
        return frozenset({"goal"}) if Lies.asked < 2 else frozenset({"goal", "future", "pedestrians", "map"})

    def misbehave(self, observation: Any) -> Any:
        assert self.needs > {"goal"}
        if self.task.future is not None or self.task.map is not None or observation.pedestrians is not None:
            raise AssertionError("got more than it said")


class Settled(Drives):
    def __init__(self, folder: str = "") -> None:
        super().__init__(folder)
        self.settings = {"object": object(), "nan": float("nan"), 3: {1}, "big": 10**400, "text": "\ud800\0"}


class Vandal(Drives):
    """Changes whatever it can reach, and looks for the simulator."""

    needs = frozenset({"goal", "map", "route", "pedestrians", "history", "lidar"})

    def misbehave(self, observation: Any) -> Any:
        for array in (
            self.task.map.distance,
            self.task.route,
            observation.pedestrians.position,
            observation.lidar.ranges,
        ):
            try:
                array -= 0.4
            except ValueError:
                continue
            raise AssertionError("an array can be written to")
        object.__setattr__(self.task.map, "distance_cell", 7.0)
        object.__setattr__(observation.robot, "x", 100.0)
        ctypes.CDLL(None).fesetround(0x800)  # upwards
        np.sqrt = np.add = lambda *_: 0.0  # type: ignore[assignment,misc]
        import sidestep.types.command as command

        command.Velocity.__init__ = command.Velocity.__init__
        found = [name for name in map(_type_name, gc.get_objects()) if name in ("World", "Worlds", "Referee")]
        assert not found, found
        frame: Any = sys._getframe()
        while frame is not None:
            assert "sidestep/simulation" not in frame.f_code.co_filename
            frame = frame.f_back
        assert not any(name.startswith("sidestep.simulation") for name in sys.modules)


def _type_name(thing: Any) -> str:
    return str(type(thing).__name__)
