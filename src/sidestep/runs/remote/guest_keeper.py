"""The keeper of one guest: a small process between the benchmark and the process of the policy. It starts the guest,
reads its output, watches its limits, and ends it with everything that it has started, also when the benchmark itself
has been killed.

It runs as a script and imports only light modules of the standard library, so that it starts in a few hundredths of a
second. The benchmark's side is ``sidestep.runs.remote.guest_process``; both exchange lines of JSON over a socket pair.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import select
import signal
import socket
import sys
import time
from contextlib import suppress
from typing import Any

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
TICK_S = 0.1
"""Time between two checks of the limits, s."""
SWEEP_S = 10.0
"""Time limit for ending everything that a guest has started, s."""
HEAD_BYTES, TAIL_BYTES = 1024, 2944
"""Bytes of the beginning and the end of an episode's output that are kept."""
READ_BYTES = 65536
"""Bytes read at once; a pipe holds no more."""
FAST_BYTES = 64 << 20
"""Output of an episode that is read immediately; the rest is read once per tick, so that a guest that prints without
end takes no processor time from others."""
NOT_STARTED = 127
"""Exit code of a guest whose program cannot be executed."""


def prctl(option: int, value: int) -> None:
    """Set an attribute of this process on systems that support it (Linux)."""
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).prctl(option, value)


class Output:
    """The beginning, the end and the length of a guest's output."""

    def __init__(self) -> None:
        self.head = self.tail = b""
        self.printed = 0

    def add(self, part: bytes) -> None:
        """Add the next bytes."""
        self.printed += len(part)
        room = HEAD_BYTES - len(self.head)
        self.head += part[:room]
        self.tail = (self.tail + part[room:])[-TAIL_BYTES:]


class Keeper:
    """Watches one guest, from its start until the benchmark disconnects."""

    def __init__(self, order: dict[str, Any]) -> None:
        self._parent = os.getppid()
        self._control = socket.socket(fileno=order["control"])
        self._control.set_inheritable(False)
        self._heard = b""
        self._limits: dict[str, Any] = order["limits"]
        self._cpu_before = 0.0
        self._reason = ""
        self._output = Output()
        self._guest, self._pipe = start(order["command"], order["talk"], self._limits["memory_bytes"])
        self._is_printing = True
        self._is_swept = False
        self._watched = select.poll()
        self._watched.register(self._control, select.POLLIN)
        self._guest_ends: int | None = None
        if hasattr(os, "pidfd_open"):
            with suppress(OSError):
                self._guest_ends = os.pidfd_open(self._guest)
                self._watched.register(self._guest_ends, select.POLLIN)

    def keep(self) -> None:
        """Serve the benchmark until it disconnects; then end the guest."""
        next_tick = time.monotonic() + TICK_S
        while os.getppid() == self._parent:
            is_fast = self._is_printing and self._output.printed < FAST_BYTES
            if is_fast:
                self._watched.register(self._pipe, select.POLLIN)
            ready = {fd for fd, _ in self._watched.poll(max(0.0, 1000 * (next_tick - time.monotonic())))}
            if is_fast:
                self._watched.unregister(self._pipe)
            if self._pipe in ready:
                self._read_output()
            if self._control.fileno() in ready and not self._serve():
                break
            if time.monotonic() >= next_tick or self._guest_ends in ready:
                self._look()
                next_tick = time.monotonic() + TICK_S
        self._sweep()

    def _serve(self) -> bool:
        """Execute the benchmark's orders; False if it has disconnected."""
        try:
            part = self._control.recv(65536)
        except OSError:
            return False
        *lines, self._heard = (self._heard + part).split(b"\n")
        for line in lines:
            order = json.loads(line)
            if order["do"] == "begin":
                self._read_output()
                self._limits, self._output = order["limits"], Output()
                self._cpu_before = cpu_seconds(descendants())
            elif not self._report():
                return False
        return bool(part)

    def _report(self) -> bool:
        self._read_output()
        code = exit_code(self._guest)
        report = {
            "pid": self._guest,
            "exit_code": code if self._is_swept else None,
            "reason": self._reason,
            "printed": self._output.printed,
            "head": self._output.head.decode("latin-1"),
            "tail": self._output.tail.decode("latin-1"),
        }
        try:
            self._control.sendall(json.dumps(report).encode() + b"\n")
        except OSError:
            return False
        return True

    def _read_output(self) -> None:
        try:
            part = os.read(self._pipe, READ_BYTES) if self._is_printing else b""
        except BlockingIOError:
            return
        self._is_printing = bool(part)
        self._output.add(part)

    def _look(self) -> None:
        """Check the limits and whether the guest is alive; if it is not, its children are ended."""
        if self._is_swept:
            return
        if self._output.printed >= FAST_BYTES:
            self._read_output()
        if exit_code(self._guest) is None:
            self._reason = self._excess()
        if self._reason or exit_code(self._guest) is not None:
            self._sweep()

    def _excess(self) -> str:
        """The limit that the guest has exceeded, in words; empty if none."""
        limits, pids = self._limits, descendants()
        reap(self._guest)
        if len(pids) > limits["processes"]:
            return f"the policy had more than {limits['processes']} processes (--limit-processes)"
        if limits["memory_bytes"] is not None and memory_bytes(pids) > limits["memory_bytes"]:
            return f"the policy used more than {size_text(limits['memory_bytes'])} of memory (--limit-memory)"
        if limits["cpu_s"] is not None and cpu_seconds(pids) - self._cpu_before > limits["cpu_s"]:
            return f"the policy used more than {limits['cpu_s']:g} s of processor time in an episode (--limit-cpu)"
        if limits["output_bytes"] is not None and self._output.printed > limits["output_bytes"]:
            return f"the policy printed more than {size_text(limits['output_bytes'])} in an episode (--limit-output)"
        return ""

    def _sweep(self) -> None:
        """End the guest and all its descendants, including those that left its process group."""
        with suppress(OSError):
            os.killpg(self._guest, signal.SIGKILL)
        end = time.monotonic() + SWEEP_S
        alive = [self._guest]
        while alive and time.monotonic() < end:
            for pid in alive:
                with suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.002)
            reap(self._guest)
            alive = [pid for pid in descendants() if pid != self._guest or exit_code(pid) is None]
        if self._guest_ends is not None:
            self._watched.unregister(self._guest_ends)
            self._guest_ends = None
        self._is_swept = True


def start(command: list[str], talk: int | None, memory: int | None) -> tuple[int, int]:
    """Start the guest; returns its process id and the reading end of its output."""
    reading, writing = os.pipe()
    keeper = os.getpid()
    guest = os.fork()
    if guest == 0:
        try:
            os.setsid()
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != keeper:
                os._exit(NOT_STARTED)
            with suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
                file.write("800")  # the first to go when memory runs out
            limit_resources(memory)
            os.dup2(writing, 1)
            os.dup2(writing, 2)
            os.execv(command[0], command)
        finally:
            os._exit(NOT_STARTED)
    os.close(writing)
    if talk is not None:
        os.close(talk)
    os.set_blocking(reading, False)
    return guest, reading


def limit_resources(memory: int | None) -> None:
    """Forbid core dumps, and allocations too large to be noticed in time by the check of the resident memory."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory is not None:
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        most = 2 * memory if hard == resource.RLIM_INFINITY else min(2 * memory, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def exit_code(pid: int) -> int | None:
    """Exit code of a child, as in ``subprocess``; None while it lives. It is not reaped, so its process id stays
    valid."""
    ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if ended is None:
        return None
    return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status


def children(pid: int) -> list[int]:
    """Direct children of a process (Linux; empty on other systems)."""
    found: list[int] = []
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with suppress(OSError), open(f"/proc/{pid}/task/{thread}/children") as file:
                found += map(int, file.read().split())
    return found


def descendants() -> list[int]:
    """All descendants of this process, including orphans, which the keeper adopts."""
    found: list[int] = []
    waiting = [os.getpid()]
    while waiting:
        below = children(waiting.pop())
        found += below
        waiting += below
    return found


def reap(guest: int) -> None:
    """Reap adopted children that have ended."""
    for pid in children(os.getpid()):
        if pid != guest:
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)


def cpu_seconds(pids: list[int]) -> float:
    """Processor time of processes and of their children that have ended, s."""
    ticks = 0
    for pid in pids:
        with suppress(OSError), open(f"/proc/{pid}/stat", "rb") as file:
            ticks += sum(map(int, file.read().rpartition(b")")[2].split()[11:15]))
    adopted = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ticks / os.sysconf("SC_CLK_TCK") + adopted.ru_utime + adopted.ru_stime


def memory_bytes(pids: list[int]) -> int:
    """Sum of the resident memory of processes."""
    pages = 0
    for pid in pids:
        with suppress(OSError), open(f"/proc/{pid}/statm", "rb") as file:
            pages += int(file.read().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def size_text(size: int) -> str:
    """A size in words, such as ``1.5 GB``."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            return f"{size / factor:g} {unit}"
    return f"{size} bytes"


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    Keeper(json.loads(sys.argv[1])).keep()
