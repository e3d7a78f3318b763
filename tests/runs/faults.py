"""Runs that are killed on purpose, in a process of their own: ``python -m tests.runs.faults NAME FOLDER NUMBER SEED``
prints one JSON document. Everything is imported and compiled once, then every attempt is a fork of this process, so
that a kill and a resume take a fraction of a second. POSIX only.

``random``: NUMBER kills of a random process of a run (driver, worker, guest) at random moments. ``points``: a run is
killed before its k-th file operation, for every k. ``full`` and ``torn``: likewise, but the operation fails because the
disk is full, or a file is only half written when the process dies.
"""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import random
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from sidestep.errors import BadInput
from sidestep.records import load_record
from sidestep.runs import executors
from sidestep.runs.folder import RESULTS_FILE, load_results, load_run
from sidestep.runs.plan import Plan, make_plan
from sidestep.runs.runner import run_benchmark
from sidestep.suites.files import load_suite

SUITE = """
defaults:
  robots: [{start: [0, 0, 0], goal: [9, 0]}]
  rules: {time_limit_s: 1}
scenarios:
  - {name: alone}
  - {name: met, crowd: [{people: [{start: [4, 0.4], waypoints: [[-4, 0.4]]}]}]}
"""
POLICY = """
from sidestep.types import Velocity


class Mine:
    needs = frozenset({"goal"})

    def reset(self, task): ...

    def act(self, observation):
        return Velocity(0.4, 0.1)
"""
REFUSED, INTERRUPTED, FAILED = 2, 3, 70
PATIENCE_S = 120.0
EPISODES_EACH = 10
Key = tuple[str, str, int]
Fault = Callable[[Path], None]


def plan_of(folder: Path, policies: list[str], repeats: int) -> Plan:
    """Two scenarios of one second."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "mine.py").write_text(POLICY)
    (folder / "short.yaml").write_text(SUITE)
    names = [f"{folder}/{name}" if name.startswith("mine.py") else name for name in policies]
    return make_plan(load_suite(folder / "short.yaml"), names, repeats=repeats)


def attempt(plan: Plan, out: Path, workers: int = 1, fault: Fault | None = None) -> int:
    """Fork a process that runs the plan into ``out``; its number. It exits with 0, with ``REFUSED`` where Sidestep
    refuses (the message is in ``out`` + ``.log``), with ``FAILED`` on any other error."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    pid = os.fork()
    if pid:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        return pid
    log = out.with_suffix(".log").open("w")
    os.dup2(log.fileno(), 1)
    os.dup2(log.fileno(), 2)
    code = 0
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        if fault is not None:
            fault(out)
        run_benchmark(plan, out, workers)
    except BadInput as error:
        log.write(f"{error}\n")
        code = REFUSED
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BaseException:
        traceback.print_exc(file=log)
        code = FAILED
    log.flush()
    os._exit(code)


def ending(pid: int) -> int:
    """Exit code of a forked process, negative for a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def finish(plan: Plan, out: Path, workers: int = 1) -> None:
    """Resume until the run is through. Orphans of a killed run may hold the folder for a moment."""
    deadline = time.monotonic() + PATIENCE_S
    while code := ending(attempt(plan, out, workers)):
        text = out.with_suffix(".log").read_text()
        if code != REFUSED or "another run is under way" not in text or time.monotonic() > deadline:
            raise AssertionError(f"resuming ended with {code}: {text}")
        time.sleep(0.02)


def digests(out: Path) -> dict[Key, tuple[str, str]]:
    """Digest and error of every record that is there; each must be whole, and so must the other files."""
    if (out / "run.json").exists():
        load_run(out)
    if (out / RESULTS_FILE).exists():
        load_results(out / RESULTS_FILE)
    return dict(_digest(path, path.stat().st_mtime_ns) for path in sorted(out.glob("episodes/*/[!.]*.parquet")))


@cache
def _digest(path: Path, changed_ns: int) -> tuple[Key, tuple[str, str]]:
    record = load_record(path)
    return (record.policy.name, record.scenario.name, record.seed), (record.digest, record.error)


def check_end(plan: Plan, out: Path, expected: dict[Key, tuple[str, str]]) -> list[Key]:
    """A finished folder: every episode once, in records and results, nothing else; those that differ."""
    found = digests(out)
    rows = [(each.policy, each.scenario, each.seed) for each in load_results(out / RESULTS_FILE)[0]]
    assert found.keys() == expected.keys(), f"episodes: {found.keys() ^ expected.keys()}"
    assert len(rows) == len(set(rows)) == plan.size, "rows of the results"
    assert load_run(out).complete
    assert not list(out.rglob("*.tmp")), "leftovers"
    assert not (out / "running.json").exists()
    return [key for key, value in found.items() if value != expected[key]]


GROWS = ("os.rename", "os.mkdir")
SHRINKS = ("os.remove", "os.rmdir", "os.truncate")


def file_operation(when: int, strike: Callable[[], None], events: tuple[str, ...]) -> Fault:
    """A fault that calls ``strike`` before the ``when``-th operation on the run folder: a file is opened for writing,
    or one of ``events``."""

    def install(out: Path) -> None:
        count = 0

        def hook(event: str, arguments: tuple[Any, ...]) -> None:
            nonlocal count
            writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
            if not writes and event not in events:
                return
            named = [os.fsdecode(each) for each in arguments[:2] if isinstance(each, str | bytes | os.PathLike)]
            if any(name.startswith(f"{out}/") or name == str(out) for name in named):
                count += 1
                if count == when:
                    out.with_suffix(".struck").touch()
                    strike()

        sys.addaudithook(hook)

    return install


def kill_self() -> None:
    """End at once, as ``kill -9`` does."""
    os.kill(os.getpid(), signal.SIGKILL)


def disk_full() -> None:
    """What an operation on a full disk raises."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def half_written(when: int) -> Fault:
    """The ``when``-th file is written to the half; then the process dies."""

    def install(out: Path) -> None:
        write, count = Path.write_bytes, iter(range(1, 10**9))

        def torn(path: Path, data: bytes) -> int:
            if next(count) != when:
                return write(path, data)
            write(path, data[: len(data) // 2])
            kill_self()
            return 0

        Path.write_bytes = torn  # type: ignore[assignment,method-assign]

    return install


def every_point(name: str, folder: Path, most: int) -> dict[str, Any]:
    """Strike at the first, second, … point of a run, each time in a new folder, until there are no more points."""
    plan = plan_of(folder, ["stop"], 1)
    expected = undisturbed(plan, folder)
    messages: Counter[str] = Counter()
    for when in range(1, most + 1):
        out = folder / f"{name}{when}"
        fault = {
            "points": file_operation(when, kill_self, GROWS + SHRINKS),
            "full": file_operation(when, disk_full, GROWS),
            "torn": half_written(when),
        }[name]
        code = ending(attempt(plan, out, fault=fault))
        if code == 0:
            assert not check_end(plan, out, expected)
            if not out.with_suffix(".struck").exists():
                return {"points": when - 1, "messages": messages}
        text = out.with_suffix(".log").read_text()
        allowed = (0, REFUSED) if name == "full" else (-signal.SIGKILL,)  # a folder that exists needs no space
        assert code in allowed, f"point {when}: {code}: {text}"
        if text:
            messages[text.strip().replace(str(folder), "")] += 1
        assert all(expected[key] == value for key, value in digests(out).items())
        finish(plan, out)
        assert not check_end(plan, out, expected)
    raise AssertionError(f"more than {most} points")


def undisturbed(plan: Plan, folder: Path) -> dict[Key, tuple[str, str]]:
    """The digests of a run that nothing happens to."""
    run_benchmark(plan, folder / "undisturbed", 1)
    return digests(folder / "undisturbed")


def family(pid: int) -> list[int]:
    """The living descendants of a process, and itself."""
    found, waiting = [], [pid]
    while waiting:
        found.append(waiting.pop())
        try:
            for task in Path(f"/proc/{found[-1]}/task").iterdir():
                waiting += map(int, (task / "children").read_text().split())
        except OSError:
            found.pop()
    return found


def role(pid: int, driver: int) -> str:
    """What a process of the run is. What a worker has started is a guest: its keeper, or the policy itself."""
    if pid == driver:
        return "driver"
    try:
        parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return "gone"
    return "worker" if parent == driver else "guest"


def random_kills(folder: Path, number: int, seed: int) -> dict[str, Any]:
    """Kill random processes of runs with two workers and a guest, resume at once, until ``number`` kills are done and
    the last run is complete."""
    executors.get_context = lambda _: multiprocessing.get_context("fork")  # type: ignore[attr-defined]
    draw = random.Random(seed)
    undisturbed(plan_of(folder / "warm", ["stop"], 1), folder / "warm")  # in this process: loads what forks share
    plan = plan_of(folder, ["mine.py:Mine", "stop"], EPISODES_EACH)
    expected = undisturbed(plan, folder)
    killed: Counter[str] = Counter()
    failed_by_kill = folders = 0
    while killed.total() < number:
        out, folders, before = folder / f"random{folders}", folders + 1, killed["guest"]
        is_open = True
        while is_open and killed.total() < number:
            driver = attempt(plan, out, 2)
            struck = [kill_one(driver, draw, {"driver", "worker", "guest"})]
            if struck[0] in ("worker", "guest"):
                struck.append(kill_one(driver, draw, {"driver"}))
            killed.update(kind for kind in struck if kind)
            is_open = struck[-1] == "driver"
            if is_open:
                code = ending(driver)
                assert code in (0, -signal.SIGKILL, INTERRUPTED), f"{code}: {out.with_suffix('.log').read_text()}"
            for key, (digest, error) in digests(out).items():
                assert (digest, error) == expected[key] or (killed["guest"] > before and "SIGKILL" in error), error
        finish(plan, out, 2)
        failed = check_end(plan, out, expected)
        assert len(failed) <= killed["guest"] - before, "a killed guest costs one episode"
        failed_by_kill += len(failed)
        for path in out.glob("episodes/*/*.parquet"):
            if load_record(path).error:
                path.unlink()
        finish(plan, out, 2)
        assert not check_end(plan, out, expected)
    return {"kills": killed, "runs": folders, "failed_by_kill": failed_by_kill}


def kill_one(driver: int, draw: random.Random, roles: set[str]) -> str:
    """Wait for a random time and kill (a driver: at times interrupt) a process of a random one of ``roles``. Returns
    which, or an empty text if the run has ended before."""
    time.sleep(draw.choice([draw.uniform(0.0, 0.3), draw.uniform(0.3, 1.5)]))
    by_role: dict[str, list[int]] = {}
    for pid in family(driver):
        by_role.setdefault(role(pid, driver), []).append(pid)
    ended, status = os.waitpid(driver, os.WNOHANG)
    if ended:
        assert os.waitstatus_to_exitcode(status) in (0, REFUSED)
        return ""
    kind = draw.choice(sorted(by_role.keys() & roles))
    number = signal.SIGINT if kind == "driver" and draw.random() < 0.25 else signal.SIGKILL
    with suppress(ProcessLookupError):
        os.kill(draw.choice(by_role[kind]), number)
    return kind


def main(name: str, folder: str, number: str, seed: str) -> None:
    """Run one of the campaigns."""
    if name == "random":
        found = random_kills(Path(folder), int(number), int(seed))
    else:
        found = every_point(name, Path(folder), int(number))
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
