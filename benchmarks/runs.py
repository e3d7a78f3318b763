"""Whole runs of suite ``socnav``: how long 33 episodes with five policies take, what an answer of each policy costs,
what the frame round the episodes adds, and how Ray compares with worker processes. On recordings where they are
installed, else on generated twins."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, thread_time
from typing import Literal

import numpy as np

from benchmarks.measure import Case, Effort, Figure, Notify, measure_cold_start
from sidestep.records import load_record
from sidestep.runs.episode import EpisodeTask, TaskResult, run_task
from sidestep.runs.executors import Executor, WorkerProcesses
from sidestep.runs.folder import EPISODES
from sidestep.runs.plan import Plan, make_plan
from sidestep.runs.ray_executor import LOCAL, Ray
from sidestep.runs.remote.guests import GuestPolicy, GuestProcess
from sidestep.runs.remote.isolation import Isolation
from sidestep.runs.runner import run_benchmark, tasks_of
from sidestep.simulation import build_world
from sidestep.simulation.observe import Observer
from sidestep.suites.files import load_suite
from sidestep.types import Observation, RobotState, Task

Sandbox = Literal["auto", "off"]
POLICIES = ("social_force", "orca", "cadrl", "sampling", "mpc")
PUBLISHED_S = {"social_force": 18.23, "orca": 48.84, "cadrl": 46.78, "sampling": 51.12}
"""Planning wall time per step in SocNavBench's Table 2, s: on its authors' machine, not measured here."""
RUN_REPEATS = 3
SAMPLE = "t_zara*"
WORKERS = 2
EPISODE_S = 0.5
RAY_EPISODES, GAIN_EPISODES = 80, 120
START_ID = "run_start/cold"
START = """
import subprocess, sys, tempfile
with tempfile.TemporaryDirectory() as folder:
    subprocess.run([sys.executable, "-m", "sidestep", "run", "core", "--policy", "orca", "--limit", "1",
                    "--out", folder + "/run"], check=True, stdout=subprocess.DEVNULL)
print("done", flush=True)
"""
"""The first results, with an empty cache, by the command."""


def cases() -> list[Case]:
    """Runs with one and two workers, the frame's share, and each policy's answers."""
    return [
        Case("run/socnav/workers=2", lambda effort, note: measure_run(2, effort, note)),
        Case("run/socnav/workers=1", lambda effort, note: measure_run(1, effort, note)),
        Case("run/workers=2", measure_gain),
        Case("run/overhead", measure_overhead, quick=True),
        Case("guest/start", measure_guest_start),
        Case("guest/decision", measure_guest_decision),
        Case("run/ray", measure_ray, missing=_missing_ray),
        *(Case(f"plan/{policy}", _measure_planning(policy)) for policy in POLICIES),
        Case(START_ID, lambda effort, _: measure_cold_start(START_ID, START, effort, RUN_REPEATS)),
    ]


def _missing_ray() -> str | None:
    return None if find_spec("ray") else "needs Ray: pip install 'sidestep[ray]'"


def measure_run(workers: int, effort: Effort, note: Notify) -> Figure:
    """Seconds for 33 × 5 episodes, kernels compiled: worlds, planning, scoring and writing included."""
    _seconds(workers, POLICIES, "t_ETH*")  # compiles, and reads the recordings
    repeats = 1 if effort.quick else min(effort.repeats, RUN_REPEATS)
    return Figure(f"run/socnav/workers={workers}", "s", [_seconds(workers, POLICIES, "*") for _ in range(repeats)])


def measure_gain(effort: Effort, note: Notify) -> Figure:
    """How many times as fast two worker processes are as one, in a run of a minute: episodes of half a second of CPU
    time, the start of the workers included."""
    count = RAY_EPISODES if effort.quick else GAIN_EPISODES
    repeats = 1 if effort.quick else min(effort.repeats, RUN_REPEATS)
    gains = [
        _episodes_per_s(WorkerProcesses(WORKERS), count) / _episodes_per_s(WorkerProcesses(1), count)
        for _ in range(repeats)
    ]
    return Figure("run/workers=2", "times one worker", gains)


def measure_overhead(effort: Effort, note: Notify) -> Figure:
    """Milliseconds per episode with a policy that does nothing and a world without people, for one second: building,
    scoring, writing."""
    shares = []
    for _ in range(effort.repeats):
        with TemporaryDirectory() as folder:
            plan = _empty_episodes(Path(folder), 20)
            begin = perf_counter()
            run_benchmark(plan, Path(folder, "run"), 1)
            shares.append(1e3 * (perf_counter() - begin) / plan.size)
    return Figure("run/overhead", "ms per episode", shares)


def _empty_episodes(folder: Path, count: int) -> Plan:
    """Episodes of one second with a policy that does nothing in a world without people."""
    suite = folder / "empty.yaml"
    robot = "robots: [{spec: pioneer_3dx, start: [0, 0, 0], goal: [9, 0]}]"
    suite.write_text(f"name: empty\n{robot}\nrules: {{time_limit_s: 1}}\n", encoding="utf-8")
    return make_plan(load_suite(suite), ["stop"], repeats=count)


GUEST = "class Ahead:\n    needs = frozenset()\n    def reset(self, task): ...\n    def act(self, seen):\n"
GUEST += "        from sidestep.types import Velocity\n        return Velocity(0.5, 0.0)\n"
GUEST_DECISIONS = 2000


def measure_guest_start(effort: Effort, note: Notify) -> Figure:
    """Milliseconds to start a policy of others in its process, in the sandbox; the peer is without."""
    values: dict[Sandbox, list[float]] = {"auto": [], "off": []}
    with TemporaryDirectory() as folder:
        reference = _write_guest(folder)
        for _ in range(effort.repeats + 1):
            for sandbox, times in values.items():
                begin = perf_counter()
                guest = GuestProcess(reference, isolation=Isolation(sandbox=sandbox))
                times.append(1e3 * (perf_counter() - begin))
                guest.kill()
    return Figure("guest/start", "ms", values["auto"][1:], "no sandbox", values["off"][1:])


def measure_guest_decision(effort: Effort, note: Notify) -> Figure:
    """Milliseconds of a decision of such a policy, asked and answered; the peer is without the sandbox."""
    seen = Observation(time=0.1, robot=RobotState(0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    values: dict[Sandbox, list[float]] = {"auto": [], "off": []}
    with TemporaryDirectory() as folder:
        plan = _empty_episodes(Path(folder), 1)
        task = begin_observer(plan)
        for sandbox, times in values.items():
            guest = GuestProcess(_write_guest(folder), isolation=Isolation(sandbox=sandbox))
            policy = GuestPolicy(guest)
            policy.reset(task)
            for _ in range(effort.repeats + 1):
                begin = perf_counter()
                for _ in range(GUEST_DECISIONS):
                    policy.act(seen)
                times.append(1e3 * (perf_counter() - begin) / GUEST_DECISIONS)
            guest.kill()
    return Figure("guest/decision", "ms", values["auto"][1:], "no sandbox", values["off"][1:])


def _write_guest(folder: str) -> str:
    Path(folder, "ahead.py").write_text(GUEST, encoding="utf-8")
    return f"{folder}/ahead.py:Ahead"


def begin_observer(plan: Plan) -> Task:
    """What a policy is told before the first episode of a plan."""
    return Observer(build_world(plan.scenarios[0], 0, plan.base), frozenset()).task()


def measure_ray(effort: Effort, note: Notify) -> Figure:
    """Episodes per second of a Ray cluster with two CPUs on this computer; the peer are two worker processes. Each
    episode takes half a second of CPU time. Includes the start of workers, not that of the cluster."""
    repeats = 1 if effort.quick else min(effort.repeats, RUN_REPEATS)
    ray = Ray(LOCAL, WORKERS)
    try:
        begin = perf_counter()
        ray.connect()
        note(f"the cluster took {perf_counter() - begin:.1f} s to start, which is not part of the figure")
        pairs = [(_episodes_per_s(ray), _episodes_per_s(WorkerProcesses(WORKERS))) for _ in range(repeats)]
    finally:
        ray.close()
    ours, theirs = zip(*pairs, strict=True)
    return Figure("run/ray", "episodes/s", ours, "worker processes", theirs)


def _episodes_per_s(executor: Executor, count: int = RAY_EPISODES) -> float:
    with TemporaryDirectory() as folder:
        tasks = tasks_of(_empty_episodes(Path(folder), count), Path(folder, "run"))
        begin = perf_counter()
        done = sum(1 for _ in executor.run(half_second, tasks))
        return done / (perf_counter() - begin)


def half_second(task: EpisodeTask) -> TaskResult:
    """The episode, and then work until half a second of CPU time is over."""
    begin = thread_time()
    result = run_task(task)
    while thread_time() - begin < EPISODE_S:
        pass
    return result


def _measure_planning(policy: str) -> Callable[[Effort, Notify], Figure]:
    def measure(effort: Effort, note: Notify) -> Figure:
        """Microseconds per answer, the mean over an episode's answers, the median over episodes."""
        medians = []
        for _ in range(1 if effort.quick else min(effort.repeats, RUN_REPEATS)):
            with TemporaryDirectory() as folder:
                run_benchmark(make_plan(load_suite("socnav"), [policy], scenario_glob=SAMPLE), Path(folder), 1)
                records = [load_record(path) for path in sorted(Path(folder, EPISODES).rglob("*.parquet"))]
            medians.append(1e6 * float(np.median([np.nanmean(record.planning_time) for record in records])))
        if policy in PUBLISHED_S:
            note(f"{PUBLISHED_S[policy] * 1e6 / np.median(medians):,.0f} times below SocNavBench's published figure")
        return Figure(f"plan/{policy}", "µs", medians)

    return measure


def _seconds(workers: int, policies: tuple[str, ...], scenarios: str) -> float:
    plan = make_plan(load_suite("socnav"), list(policies), scenario_glob=scenarios)
    with TemporaryDirectory() as folder:
        begin = perf_counter()
        run_benchmark(plan, Path(folder), workers)
        return perf_counter() - begin
