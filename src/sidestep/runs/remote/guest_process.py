"""The process of a guest, started and watched by a keeper (``guest_keeper``). The keeper ends the guest and everything
that it has started on request, or when this process ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sidestep.runs.remote.isolation import Isolation, guest_environment
from sidestep.runs.remote.sandbox import SandboxPaths

KEEPER = Path(__file__).with_name("guest_keeper.py")
ANSWER_S = 10.0
"""Time limit of the keeper's answer, s; it never waits for the guest, so a millisecond is enough."""
END_S = 10.0
"""Time limit for the keeper to end all processes, s."""
USE_NAMESPACES = True
"""False in tests, which then see what is left where a container forbids namespaces."""
_BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[2]); "
    "from sidestep.runs.remote.guest_child import main; main(sys.argv[1])"
)  # fmt: skip


@dataclass(frozen=True)
class Report:
    """State of a guest as the keeper reports it."""

    pid: int
    exit_code: int | None = None
    """None while the guest lives."""
    reason: str = ""
    """The limit that the guest exceeded, in words, if the keeper ended it."""
    held: tuple[str, ...] = ()
    """Walls of the sandbox that hold."""
    is_namespace: bool = False
    """Whether the guest is in a namespace of processes, which ends as a whole."""
    printed: int = 0
    """Bytes printed in this episode."""
    head: bytes = b""
    tail: bytes = b""

    @property
    def output(self) -> bytes:
        """The beginning and the end of the output, with the number of bytes left out between them."""
        missing = self.printed - len(self.head) - len(self.tail)
        return self.head + (f"\n[… {missing:,} bytes left out …]\n".encode() if missing else b"") + self.tail


class KeptProcess:
    """A guest's process with its keeper (POSIX)."""

    def __init__(self, address: str, talk: int | None, isolation: Isolation, paths: SandboxPaths | None) -> None:
        ours, theirs = socket.socketpair()
        order = {
            "talk": talk,
            "command": _command(address),
            "limits": _limits(isolation),
            "scratch": tempfile.mkdtemp(prefix="sidestep-guest-"),
            "sandbox": None if paths is None else paths._asdict() | {"namespaces": USE_NAMESPACES},
        }
        with theirs:
            self._keeper = subprocess.Popen(
                [sys.executable, "-I", "-S", str(KEEPER), str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=guest_environment(),
                pass_fds=(theirs.fileno(), *(() if talk is None else (talk,))),
                start_new_session=True,
            )
        ours.settimeout(ANSWER_S)
        self._control = ours
        self._lock = threading.Lock()
        self._last = Report(0)
        with suppress(OSError):
            self._send(order)

    def begin(self, isolation: Isolation) -> None:
        """Start a new episode: counts of processor time and output are set to zero."""
        with self._lock, suppress(OSError):
            self._send({"do": "begin", "limits": _limits(isolation)})

    def report(self) -> Report:
        """Read the state of the guest. If the keeper has ended, the guest counts as ended with that reason."""
        with self._lock:
            try:
                self._wake()
                self._send({"do": "report"})
                line = b""
                while not line.endswith(b"\n"):
                    part = self._control.recv(65536)
                    if not part:
                        return self._unwatched()
                    line += part
            except OSError:
                self._control.close()  # an answer that comes now would be taken for the next one
                return self._unwatched()
        said = json.loads(line)
        output = {name: said[name].encode("latin-1") for name in ("head", "tail")}
        self._last = Report(**said | output | {"held": tuple(said["held"])})
        return self._last

    def _unwatched(self) -> Report:
        with suppress(subprocess.TimeoutExpired):
            self._keeper.wait(timeout=1.0)
        code = self._keeper.poll()
        how = "does not answer" if code is None else f"was ended: {describe_exit(code)}"
        reason = f"the process that watches over the policy {how}"
        return replace(self._last, exit_code=-signal.SIGKILL, reason=reason)

    def end(self) -> None:
        """End the guest and everything that it has started."""
        with self._lock:
            self._control.close()
            self._wake()
            try:
                self._keeper.wait(timeout=END_S if self._keeper.poll() is None else 0)
                is_kept = self._keeper.returncode == 0
            except subprocess.TimeoutExpired:
                is_kept = False
            if not is_kept and self._last.pid:  # somebody stopped or killed the keeper
                with suppress(OSError):
                    os.killpg(self._last.pid, signal.SIGKILL)
            self._keeper.kill()
            self._keeper.wait()

    def _wake(self) -> None:
        """Resume the keeper, which the guest may have stopped."""
        with suppress(OSError):
            self._keeper.send_signal(signal.SIGCONT)

    def _send(self, order: dict[str, Any]) -> None:
        self._control.sendall(json.dumps(order).encode() + b"\n")


class PlainProcess:
    """A guest's process on systems without a keeper (Windows): it has no limits, and its output is not kept."""

    def __init__(self, address: str, talk: int | None, isolation: Isolation, paths: SandboxPaths | None) -> None:
        del talk, isolation, paths
        self._process = subprocess.Popen(
            _command(address),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=guest_environment(),
        )

    def begin(self, isolation: Isolation) -> None:
        """Start a new episode; nothing is counted."""

    def report(self) -> Report:
        """Whether the guest lives."""
        return Report(self._process.pid, self._process.poll())

    def end(self) -> None:
        """End the guest."""
        self._process.kill()
        self._process.wait()


def start_guest(
    address: str, talk: int | None, isolation: Isolation, paths: SandboxPaths | None
) -> KeptProcess | PlainProcess:
    """Start a process that connects to the benchmark at ``address``; ``talk`` is the socket that it inherits, if any.
    It can open ``paths`` only; None: whatever its user can open."""
    return (KeptProcess if os.name == "posix" else PlainProcess)(address, talk, isolation, paths)


def _command(address: str) -> list[str]:
    return [
        sys.executable, "-P", "-u", "-X", "faulthandler", "-c", _BOOT, address, json.dumps([*map(str, sys.path)])
    ]  # fmt: skip


def _limits(isolation: Isolation) -> dict[str, Any]:
    return isolation.model_dump(mode="json", include={"memory_bytes", "cpu_s", "output_bytes", "processes"})


def describe_exit(code: int) -> str:
    """How a process ended, in words."""
    if code >= 0:
        return f"exit code {code}"
    name = signal.Signals(-code).name if -code in list(signal.Signals) else f"signal {-code}"
    return f"{name}{' (out of memory?)' if name == 'SIGKILL' else ''}"
