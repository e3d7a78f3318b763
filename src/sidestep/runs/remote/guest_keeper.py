"""The keeper of one guest: a small process between the benchmark and the process of the policy. It starts the guest,
reads its output, watches its limits, and ends it with everything that it has started, also when the benchmark itself
has been killed.

It runs as a script and imports only light modules of the standard library and ``guest_sandbox`` beside it, so that it
starts in a few hundredths of a second. The benchmark's side is ``sidestep.runs.remote.guest_process``; both exchange
lines of JSON over a socket pair, the first of which says what to start.
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

if __name__ == "__main__":  # isolated, so without the folder of the script
    sys.path.append(os.path.dirname(os.path.abspath(__file__)))
    import guest_sandbox  # type: ignore[import-not-found]  # beside this file
else:
    from sidestep.runs.remote import guest_sandbox

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
LARGEST_FILE = 1 << 30
"""Largest file that a guest can write, bytes."""
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

    def __init__(self, control: int) -> None:
        self._parent = os.getppid()
        self._control = socket.socket(fileno=control)
        self._control.set_inheritable(False)
        self._heard = b""
        order = self._first_order() | {"control": control}
        self._limits: dict[str, Any] = order["limits"]
        self._cpu_before = 0.0
        self._reason = ""
        self._output = Output()
        self._scratch: str = order["scratch"]
        self._held: list[str] = []
        self._code: int | None = None
        self._news_read = b""
        sandbox = order["sandbox"]
        self._is_namespace = sandbox is not None and sandbox["namespaces"] and guest_sandbox.enter_namespaces()
        self._guest, self._pipe, self._news = start(order, self._is_namespace)
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
        self._obey(b"")  # what came with the first order
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
        remove_folder(self._scratch)

    def _first_order(self) -> dict[str, Any]:
        """What to start."""
        while b"\n" not in self._heard:
            part = self._control.recv(65536)
            if not part:
                sys.exit(0)
            self._heard += part
        line, self._heard = self._heard.split(b"\n", 1)
        order: dict[str, Any] = json.loads(line)
        return order

    def _serve(self) -> bool:
        """Execute the benchmark's orders; False if it has disconnected."""
        try:
            part = self._control.recv(65536)
        except OSError:
            return False
        return self._obey(part) and bool(part)

    def _obey(self, part: bytes) -> bool:
        """Execute the orders that ``part`` completes."""
        *lines, self._heard = (self._heard + part).split(b"\n")
        for line in lines:
            order = json.loads(line)
            if order["do"] == "begin":
                self._read_output()
                self._limits, self._output = order["limits"], Output()
                self._cpu_before = cpu_seconds(descendants())
            elif not self._report():
                return False
        return True

    def _report(self) -> bool:
        self._read_output()
        code = self._exit_code()
        report = {
            "pid": self._guest,
            "exit_code": code if self._is_swept else None,
            "held": self._held,
            "is_namespace": self._is_namespace,
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

    def _exit_code(self) -> int | None:
        """How the guest ended; None: it lives."""
        code = exit_code(self._guest)
        with suppress(BlockingIOError):
            while part := os.read(self._news, READ_BYTES):
                self._news_read += part
        *lines, self._news_read = self._news_read.split(b"\n")
        for news in map(json.loads, lines):
            self._held = news.get("held", self._held)
            self._code = news.get("exit_code", self._code)
        return code if code is None or self._code is None else self._code

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
        if len(pids) - self._is_namespace > limits["processes"]:
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


def start(order: dict[str, Any], is_namespace: bool) -> tuple[int, int, int]:
    """Start the guest; returns the process id (in a namespace, of the first process, which waits for the guest), the
    reading end of its output, and that of the pipe on which its start and end are reported."""
    output, printing = os.pipe()
    news, telling = os.pipe()
    keeper = os.getpid()
    first = os.fork()
    if first == 0:
        try:
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if not is_namespace and os.getppid() != keeper:
                os._exit(NOT_STARTED)
            os.close(output)
            os.close(news)
            held: list[str] = []
            if is_namespace:
                os.setsid()
                held = guest_sandbox.seal_namespace(order["scratch"])
                guest = os.fork()
                if guest:
                    wait_as_first(guest, telling, {order["talk"], order["control"], printing})
            become_guest(order, held, printing, telling)
        finally:
            os._exit(NOT_STARTED)
    os.close(printing)
    os.close(telling)
    if order["talk"] is not None:
        os.close(order["talk"])
    os.set_blocking(output, False)
    os.set_blocking(news, False)
    return first, output, news


def wait_as_first(guest: int, telling: int, others: set[int | None]) -> None:
    """The life of the first process of a namespace: it waits for orphans and for the guest, whose end is its own."""
    for number in others:
        if number is not None:
            os.close(number)
    while True:
        pid, status = os.wait()
        if pid == guest:
            os.write(telling, json.dumps({"exit_code": os.waitstatus_to_exitcode(status)}).encode() + b"\n")
            os._exit(0)


def become_guest(order: dict[str, Any], held: list[str], printing: int, telling: int) -> None:
    """Turn this process into the guest, as far from everything else as the system allows."""
    os.setsid()
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("800")  # the first to go when memory runs out
    limit_resources(order["limits"]["memory_bytes"])
    os.dup2(printing, 1)
    os.dup2(printing, 2)
    sandbox: dict[str, Any] | None = order["sandbox"]
    scratch: str = order["scratch"]
    environment = dict(os.environ)
    if sandbox is not None:
        environment |= dict.fromkeys(("TMPDIR", "XDG_CACHE_HOME", "MPLCONFIGDIR", "NUMBA_CACHE_DIR"), scratch)
        environment["SIDESTEP_CACHE_READ_ONLY"] = sandbox["kernels"]
        guest_sandbox.drop_capabilities()
        seen = ["/proc"] if "processes" in held else [f"/proc/{os.getpid()}"]
        shared = ["/dev/shm"] if "processes" in held else []
        held += guest_sandbox.restrict_files(
            [*sandbox["readable"], *seen], sandbox["listable"], [*sandbox["writable"], *shared, scratch]
        )
        hidden = "processes" in held
        if {"files", "signals"} <= {*held}:
            held.append("processes")  # Landlock lets nobody outside be traced, and nothing in /proc be opened
        held += guest_sandbox.restrict_calls(hidden, signals_held="signals" in held)
    os.write(telling, json.dumps({"held": sorted({*held})}).encode() + b"\n")
    os.execve(order["command"][0], order["command"], environment)


def remove_folder(folder: str) -> None:
    """Remove the folder for temporary files with all that is in it."""
    import shutil  # not needed before

    shutil.rmtree(folder, ignore_errors=True)


def limit_resources(memory: int | None) -> None:
    """Forbid core dumps, files without end, and allocations too large to be noticed in time by the check of the
    resident memory."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(ValueError):  # a lower limit is set already
        resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE, LARGEST_FILE))
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
    Keeper(int(sys.argv[1])).keep()
