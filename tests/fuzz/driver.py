"""Many cases of one or all targets, in processes of their own.

::

    python -m tests.fuzz --target command --cases 1000000
    python -m tests.fuzz --seconds 600 --workers 2        # all targets in turn, that long each
    python -m tests.fuzz --target run --case 1234         # one case again, with its traceback

The bytes of a defect are saved in ``--out``, and a line with the number of cases is added to ``counts.jsonl`` there. A
process that crashes or hangs in a library is replaced; the case counts as a defect.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import tempfile
import time
from collections import Counter
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tests.fuzz.cases import CASE_S, MORE_BYTES, Defect, run_cases
from tests.fuzz.guard import limit_memory
from tests.fuzz.target import Prepared, case
from tests.fuzz.targets import TARGETS

HANG_S = 3 * CASE_S
START_S = 300.0
LOOK_S = 0.05
CONTEXT = multiprocessing.get_context("spawn")
"""A fork of a process with threads may hang."""
REFUSED = ("other_networks", "saved_model", "scene_name", "detected", "detected_log")
"""Targets whose valid inputs may be refused in the end."""
SAME = 3
"""Inputs that are saved of one defect."""


def prepared_in(name: str, folder: Path) -> Prepared:
    """The reader, after its valid inputs were read."""
    found = TARGETS[name].prepare(folder)
    for content in found.seeds:
        try:
            found.call(content)
        except Exception as error:
            if name not in REFUSED:
                raise AssertionError(f"{name}: its valid input is refused: {error}") from error
    return found


def work(name: str, numbers: range, seconds: float, shared: Any, pipe: Connection) -> None:
    """A process: cases until ``numbers`` or ``seconds`` are over."""
    folder = Path(tempfile.mkdtemp(prefix="sidestep-fuzz-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
    os.chdir(folder)
    try:
        target, ready = TARGETS[name], prepared_in(name, folder)
    except AssertionError as error:
        pipe.send(Defect(-1, "its valid input is refused", str(error)))
        pipe.send(None)
        return
    limit_memory(MORE_BYTES)
    ended = time.monotonic() + seconds

    def before(number: int) -> None:
        shared[0], shared[1] = number, 1.0

    for start in range(numbers.start, numbers.stop, 500 * numbers.step):
        part = range(start, min(start + 500 * numbers.step, numbers.stop), numbers.step)
        shared[3] += run_cases(target, ready, part, folder, pipe.send, before)
        shared[2] += len(part)
        if time.monotonic() > ended:
            break
    pipe.send(None)


class Worker:
    """A process and what it is at."""

    def __init__(self, name: str, numbers: range, ended: float) -> None:
        self.name, self.numbers, self.ended, self.done = name, numbers, ended, 0
        self.seconds = 0.0
        self._start(numbers)

    def _start(self, numbers: range) -> None:
        self.shared = CONTEXT.Array("d", 4, lock=False)
        self.shared[0], self.looked_at, self.looks = numbers.start, -1.0, 0
        self.pipe, other = CONTEXT.Pipe(duplex=False)
        seconds = max(self.ended - time.monotonic(), 0.0)
        self.process = CONTEXT.Process(target=work, args=(self.name, numbers, seconds, self.shared, other))
        self.process.start()
        other.close()

    def _hangs(self) -> bool:
        """Whether the process is at one case for too long, by the number of looks: both may have been stopped."""
        is_new = self.shared[0] != self.looked_at
        self.looked_at, self.looks = self.shared[0], 0 if is_new else self.looks + 1
        return self.looks * LOOK_S > (HANG_S if self.shared[1] else START_S)

    def _count(self) -> None:
        self.done += int(self.shared[2])
        self.seconds += self.shared[3]

    def defects(self) -> tuple[list[Defect], bool]:
        """What was found since the last call, and whether the process has finished."""
        found: list[Defect] = []
        while self.pipe.poll():
            try:
                said = self.pipe.recv()
            except EOFError:
                break
            if said is None:
                self._count()
                self.process.join()
                return found, True
            found.append(said)
        crashed = not self.process.is_alive()
        if crashed or self._hangs():
            self.process.kill()
            self.process.join()
            number, what = int(self.shared[0]), f"exit code {self.process.exitcode}" if crashed else "hangs"
            found.append(Defect(number, f"process: {what}", f"the process ended or hung in case {number}: {what}"))
            self._count()
            if not self.shared[1]:  # it did not get to its first case
                return found, True
            rest = range(number + self.numbers.step, self.numbers.stop, self.numbers.step)
            if not rest or time.monotonic() > self.ended:
                return found, True
            self._start(rest)
        return found, False


def fuzz(name: str, first: int, cases: int, seconds: float, workers: int, out: Path) -> int:
    """Run a target; number of different defects."""
    started = time.monotonic()
    team = [Worker(name, range(first + k, first + cases, workers), started + seconds) for k in range(workers)]
    places: Counter[str] = Counter()
    active = list(team)
    while active:
        time.sleep(LOOK_S)
        for worker in list(active):
            found, over = worker.defects()
            for defect in found:
                places[defect.place] += 1
                if places[defect.place] <= SAME:
                    save(name, defect, out)
            if over:
                active.remove(worker)
    took, done = sum(worker.seconds for worker in team), sum(worker.done for worker in team)
    line = {"target": name, "first": first, "cases": done, "seconds": round(took, 1), "defects": dict(places)}
    with (out / "counts.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")
    rate = done / took if took else 0.0
    print(f"{name}: {done:,} cases, {rate:,.0f} a second and process, {len(places)} defects", flush=True)
    return len(places)


def save(name: str, defect: Defect, out: Path) -> None:
    """Print a defect and keep its input."""
    print(f"{name} {defect.number}: {defect.place}: {defect.told}", flush=True)
    folder = out / name
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        try:
            content = case(TARGETS[name], TARGETS[name].prepare(Path(scratch)), max(defect.number, 0))
        except Exception as error:  # the case itself cannot be made: a defect of the damage, not of the reader
            content = f"{type(error).__name__}: {error}".encode()
    (folder / f"{defect.number}.bin").write_bytes(content)


def again(name: str, number: int) -> None:
    """One case, with its traceback."""
    with tempfile.TemporaryDirectory() as scratch:
        ready = prepared_in(name, Path(scratch))
        content = case(TARGETS[name], ready, number)
        print(content[:3000])
        ready.call(content)
    print("returns")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Damaged inputs for every reader.")
    parser.add_argument("--target", action="append", choices=sorted(TARGETS), help="default: all, in turn")
    parser.add_argument("--cases", type=int, default=10**9, help="cases of each target")
    parser.add_argument("--seconds", type=float, default=1e9, help="time for each target")
    parser.add_argument("--seed", type=int, default=0, help="number of the first case")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--out", type=Path, default=Path("out/fuzz"), help="folder of counts and defects")
    parser.add_argument("--case", type=int, help="run only this case and show its traceback")
    options = parser.parse_args()
    names = options.target or sorted(TARGETS)
    if options.case is not None:
        for name in names:
            again(name, options.case)
        return
    if options.cases == 10**9 and options.seconds == 1e9:
        parser.error("give --cases or --seconds")
    out = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    defects = [fuzz(name, options.seed, options.cases, options.seconds, options.workers, out) for name in names]
    raise SystemExit(1 if any(defects) else 0)
