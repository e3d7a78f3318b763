"""A small suite, policies for the other end, and a host with a client in a thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from sidestep import registry
from sidestep.runs.episode import EpisodeTask
from sidestep.runs.plan import Mode, make_plan
from sidestep.runs.remote.host import Host, SidestepHost
from sidestep.runs.runner import RunResult, serve_plan
from sidestep.suites.files import load_suite
from sidestep.types import HolonomicVelocity, Velocity

SUITE = """
summary: Small worlds
defaults:
  robots: [{spec: pioneer_3dx, dynamics: policy, start: [0, 0, 0], goal: [1.5, 0]}]
  rules: {time_limit_s: 4}
scenarios:
  - {name: alone}
  - {name: met, crowd: [{people: [{start: [4, 1.4], waypoints: [[-4, 1.4]]}]}]}
  - {name: round, crowd: [{placement: {kind: circle, count: 3}}]}
"""


class Ahead:
    """Drives to the goal at the other end of a socket."""

    name = "ahead"
    version = "7"
    needs = frozenset({"goal", "pedestrians"})
    dynamics = "holonomic"
    camera: ClassVar[dict[str, Any]] = {"width": 32}

    def __init__(self, trouble: Callable[[Any, int], Any] | None = None) -> None:
        self.settings = {"eager": True}
        self.trouble = trouble
        self.results: list[Any] = []
        self.tasks: list[Any] = []
        self.asked = 0

    def reset(self, task: Any) -> None:
        self.tasks.append(task)
        self.asked = 0

    def act(self, observation: Any) -> Any:
        self.asked += 1
        if self.trouble is not None:
            self.trouble(self, self.asked)
        assert observation.lidar is None
        assert observation.pedestrians is not None
        dx, dy = (observation.goal[axis] - observation.robot.position[axis] for axis in (0, 1))
        scale = 1.0 / max((dx * dx + dy * dy) ** 0.5, 1e-6)
        return HolonomicVelocity(dx * scale, dy * scale)

    def end_episode(self, end: Any) -> None:
        self.results.append({"type": "result", **vars(end)})


class Turning:
    """Answers with numbers in lists, needs nothing."""

    name = "turning"
    needs: frozenset[str] = frozenset()

    def reset(self, task: Any) -> None:
        assert task.goal is None
        assert task.map is None

    def act(self, observation: Any) -> Any:
        assert observation.goal is None
        assert observation.pedestrians is None
        return Velocity(0.1, 0.1)


@dataclass
class Served:
    """What came out."""

    result: RunResult
    said: list[str]
    client: Any = None

    @property
    def outcomes(self) -> list[str]:
        return [episode.outcome for episode in self.result.episodes]

    @property
    def errors(self) -> list[str]:
        return [episode.error for episode in self.result.episodes]


@dataclass
class Client:
    """A function in a thread, and what came of it."""

    work: Callable[[], Any]
    value: Any = None
    error: BaseException | None = None
    thread: threading.Thread = field(init=False)

    def __post_init__(self) -> None:
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        try:
            self.value = self.work()
        except BaseException as error:
            self.error = error

    def join(self) -> Client:
        self.thread.join(30)
        assert not self.thread.is_alive(), "the client never ended"
        return self


def run_host(
    host: Host,
    suite: Path,
    out: Path,
    *,
    limit: int | None = None,
    mode: Mode = "sync",
    act_limit_s: float = 10.0,
    latency_s: float | None = None,
) -> RunResult:
    """All episodes with whoever connects."""
    chosen = load_suite(str(suite))
    return serve_plan(
        host,
        lambda policy: make_plan(
            chosen, [policy], limit=limit, mode=mode, act_limit_s=act_limit_s, latency_s=latency_s
        ),
        out,
    )


def made_here(task: EpisodeTask) -> Any:
    """The policy of a task, in this process: workers take seconds to start."""
    return registry.make_policy(task.policy.name, task.policy.settings)


def serve_to(
    client: Callable[[str], Any], suite: Path, out: Path, *, host_options: dict[str, Any] | None = None, **options: Any
) -> Served:
    """Run the suite with ``client(address)`` in a thread at the other end."""
    said: list[str] = []
    settings = {"reconnect_s": 1.0, "say": said.append} | (host_options or {})
    host = SidestepHost("127.0.0.1:0", **settings)
    running = Client(lambda: client(host.address))
    result = run_host(host, suite, out, **options)
    return Served(result, said, running.join())
