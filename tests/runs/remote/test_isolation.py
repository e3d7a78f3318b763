"""What a policy does in its own process costs it one episode, with the reason in words, and nobody anything else."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from sidestep.cli import app
from sidestep.errors import BadInput
from sidestep.records import load_record
from sidestep.runs.episode import EpisodeTask, run_task
from sidestep.runs.plan import PolicyPlan
from sidestep.runs.remote.guest_keeper import HEAD_BYTES, TAIL_BYTES, Output
from sidestep.runs.remote.guest_process import Report
from sidestep.runs.remote.guests import GuestProcess, GuestProcesses
from sidestep.runs.remote.isolation import Isolation, guest_environment, parse_size
from sidestep.types.record import EpisodeRecord
from tests.runs.remote.test_misbehaviour import SCENARIOS
from tests.runs.remote.test_users_policy import is_there, within

pytestmark = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="only on Linux: limits are kept there")

POLICY = """
import ctypes, os, re, signal, subprocess, sys, threading, time
from pathlib import Path
from sidestep.types import Velocity

class Sins:
    needs = frozenset({"goal"})

    def reset(self, task):
        self.is_bad = task.goal[0] > 1.0

    def act(self, observation):
        answer = None
        if self.is_bad and observation.time > 0.15:
            answer = self.sin()
        return Velocity(1.0, 0.0) if answer is None else answer

    def sin(self):
"""


@dataclass(frozen=True)
class Sin:
    """What a policy does, what its record says of it, and under which limits."""

    code: str
    words: str = ""
    """Empty: it does no harm, and the episode succeeds."""
    limits: dict[str, Any] = field(default_factory=dict)
    act_limit_s: float = 0.5


LATE = "limit of 0.5 s"
SINS = {
    "segfault": Sin("ctypes.string_at(0)", "SIGSEGV"),
    "abort": Sin("os.abort()", "SIGABRT"),
    "hard_exit": Sin("os._exit(7)", "exit code 7"),
    "exit": Sin("sys.exit(3)", "SystemExit: 3"),
    "memory": Sin(
        "kept = []\nwhile True:\n    kept.append(b'x' * 5_000_000)\n    time.sleep(0.01)",
        "(--limit-memory)",
        {"memory_bytes": 400_000_000},
        60.0,
    ),
    "memory_of_a_child": Sin(
        "subprocess.run([sys.executable, '-c', 'kept = b\"x\" * 400_000_000; import time; time.sleep(1000)'])",
        "(--limit-memory)",
        {"memory_bytes": 400_000_000},
        60.0,
    ),
    "huge_allocation": Sin("bytearray(10**12)", "MemoryError", {"memory_bytes": 400_000_000}),
    "deadlock": Sin("lock = threading.Lock()\nlock.acquire()\nlock.acquire()", LATE),
    "native_loop": Sin(
        "re.match('(a+)+$', 'a' * 60 + 'b')",  # holds the interpreter's lock
        "(--limit-cpu)",
        {"cpu_s": 0.5},
        60.0,
    ),
    "busy_children": Sin(
        "subprocess.run(['sh', '-c', 'while :; do :; done'])",
        "(--limit-cpu)",
        {"cpu_s": 0.5},
        60.0,
    ),
    "always_slow": Sin("time.sleep(0.3)", "(--limit-wall)", {"wall_s": 1.0}, 60.0),
    "endless_output": Sin(
        "while True:\n    os.write(1, b'spam ' * 1000)",
        "(--limit-output)",
        {"output_bytes": 5_000_000},
        60.0,
    ),
    "endless_errors": Sin("while True:\n    print('spam', file=sys.stderr)", LATE),
    "kills_its_parent": Sin(
        "os.kill(os.getppid(), signal.SIGKILL)\ntime.sleep(1000)",
        "was ended: SIGKILL",
        {"sandbox": "off"},
    ),
    "stops_its_parent": Sin("os.kill(os.getppid(), signal.SIGSTOP)\ntime.sleep(1000)", LATE, {"sandbox": "off"}),
    "fork_bomb": Sin(
        "for _ in range(7):\n    os.fork()\n    time.sleep(0.2)",
        "(--limit-processes)",
        {"processes": 20},
        60.0,
    ),
    "closes_files": Sin("os.closerange(0, 256)", "the policy"),
    "huge_message": Sin("raise ValueError('x' * 10**7)", "ValueError: xxx"),
    "nan": Sin("return Velocity(float('nan'), 0.0)", "commands must be finite"),
    "infinite": Sin("return Velocity(0.0, float('inf'))", "commands must be finite"),
    "no_command": Sin("return 'left'", "'left'"),
    "import_error": Sin("import no_such_module", "No module named 'no_such_module'"),
    "reads_stdin": Sin("input()", "EOFError"),
    "changes_folder": Sin("os.chdir('/')"),
    "threads_go_on": Sin("threading.Thread(target=lambda: time.sleep(1000)).start()"),
    "looks_for_secrets": Sin("assert 'hunter2' not in str(os.environ), 'found'"),
}


@pytest.fixture(scope="module")
def guests() -> Iterator[GuestProcesses]:
    with GuestProcesses() as guests:
        yield guests


def drive(guests: GuestProcesses | None, policy: PolicyPlan, index: int, folder: Path, sin: Sin) -> EpisodeRecord:
    path = folder / f"{SCENARIOS[index].name}.parquet"
    isolation = Isolation(**sin.limits)
    task = EpisodeTask(SCENARIOS[index], policy, 0, path, act_limit_s=sin.act_limit_s, isolation=isolation)
    run_task(task, guests=guests)
    return load_record(path)


@pytest.fixture(scope="module")
def undisturbed(
    guests: GuestProcesses, tmp_path_factory: pytest.TempPathFactory
) -> tuple[EpisodeRecord, EpisodeRecord]:
    """Both episodes of a policy without sin."""
    folder = tmp_path_factory.mktemp("undisturbed")
    policy = written(folder, "pass")
    first, second = (drive(guests, policy, index, folder, Sin("", act_limit_s=60.0)) for index in (0, 1))
    return first, second


def written(folder: Path, code: str) -> PolicyPlan:
    file = folder / "own.py"
    file.write_text(POLICY + "".join(f"        {line}\n" for line in code.splitlines()))
    return PolicyPlan(name=f"{file}:Sins")


@pytest.mark.parametrize("name", SINS)
def test_a_sin_costs_its_own_episode_only(
    name: str,
    guests: GuestProcesses,
    undisturbed: tuple[EpisodeRecord, EpisodeRecord],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "hunter2")
    sin = SINS[name]
    policy = written(tmp_path, sin.code)
    here = os.getcwd()
    bad = drive(guests, policy, 0, tmp_path, sin)
    good = drive(guests, policy, 1, tmp_path, sin)
    assert bad.outcome == ("policy_error" if sin.words else "success"), bad.error
    assert sin.words in bad.error
    assert len(bad.error) <= 2000
    assert good.outcome == "success", good.error
    same_motion(good, undisturbed[1])
    if not sin.words:
        same_motion(bad, undisturbed[0])
    assert os.getcwd() == here


def same_motion(one: EpisodeRecord, other: EpisodeRecord) -> None:
    for name in ("robot_pose", "robot_velocity", "person_position", "command"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_a_bundled_policy_gives_the_same_digest_in_a_process_of_its_own(guests: GuestProcesses, tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    sin = Sin("", act_limit_s=60.0)
    inside = drive(None, PolicyPlan(name="straight"), 0, here, sin)
    outside = drive(guests, PolicyPlan(name="straight"), 0, there, Sin("", "", {"all_policies": True}, 60.0))
    assert guests._process is not None
    assert guests._process.reference == "straight"
    assert inside.digest == outside.digest


def test_descendants_end_although_they_left_the_session(guests: GuestProcesses, tmp_path: Path) -> None:
    code = f"if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        {told(tmp_path)}\n"
    code += "        time.sleep(1000)\n    os._exit(0)\nos.wait()\n"
    code += f"while not os.path.exists({str(tmp_path / 'pid')!r}):\n    time.sleep(0.01)\nos._exit(1)"
    sin = Sin("", "", {"sandbox": "off"}, 60.0)  # it writes down which they are
    assert "exit code 1" in drive(guests, written(tmp_path, code), 0, tmp_path, sin).error
    assert not is_there(int((tmp_path / "pid").read_text()))


def test_descendants_end_when_the_process_of_the_benchmark_is_killed(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    child = f"import os, time; {told(tmp_path)}; time.sleep(1000)"
    file.write_text(
        f"{POLICY}        ...\n\nsubprocess.Popen([sys.executable, '-c', {child!r}], start_new_session=True)\n"
        f"while not Path({str(tmp_path / 'pid')!r}).exists():\n    time.sleep(0.01)\n"
    )
    code = "import time\nfrom sidestep.runs.remote.guests import GuestProcess\n"
    code += "from sidestep.runs.remote.isolation import Isolation\n"
    code += f"kept = GuestProcess({str(file) + ':Sins'!r}, isolation=Isolation(sandbox='off'))\n"
    code += "print(kept.look().pid, flush=True)\ntime.sleep(1000)"
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        guest, left = int(process.stdout.readline()), int((tmp_path / "pid").read_text())
        assert is_there(guest)
        assert is_there(left)
        process.send_signal(signal.SIGKILL)
        assert within(20.0, lambda: not is_there(guest) and not is_there(left))
    finally:
        process.kill()
        process.wait()


def told(folder: Path) -> str:
    """Code that writes the number of its process into a file, at once."""
    half, whole = str(folder / "half"), str(folder / "pid")
    return f"open({half!r}, 'w').write(str(os.getpid())); os.rename({half!r}, {whole!r})"


def test_much_output_is_counted_and_does_not_slow_the_guest(tmp_path: Path) -> None:
    policy = written(tmp_path, "pass")
    file = tmp_path / "own.py"
    file.write_text(file.read_text() + "\nfor _ in range(3000):\n    os.write(2, b'0123456789' * 1000)\n")
    begun = time.monotonic()
    guest = GuestProcess(policy.name)
    report = guest.look()
    guest.kill()
    assert report.printed == 30_000_000
    assert len(report.output) < 4096
    assert b"29,996,032 bytes left out" in report.output
    assert time.monotonic() - begun < 15, "30 MB at 1.3 MB/s would take 23 s"


@given(st.lists(st.binary(max_size=3000), max_size=12))
def test_beginning_and_end_of_the_output_are_kept(parts: list[bytes]) -> None:
    output, whole = Output(), b"".join(parts)
    for part in parts:
        output.add(part)
    report = Report(1, printed=output.printed, head=output.head, tail=output.tail)
    assert output.printed == len(whole)
    if len(whole) <= HEAD_BYTES + TAIL_BYTES:
        assert report.output == whole
    else:
        assert report.output.startswith(whole[:HEAD_BYTES] + b"\n[")
        assert report.output.endswith(b"]\n" + whole[-TAIL_BYTES:])


@pytest.mark.parametrize(
    ("text", "size"), [("1000", 1000), ("4GB", 4 * 10**9), ("1.5 gb", 1_500_000_000), ("2GiB", 2**31), ("10 MB", 10**7)]
)
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text, "--limit-memory") == size


@pytest.mark.parametrize("text", ["", "GB", "-1GB", "4 GBs", "1e9", "nan"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match=r"--limit-memory .*500MB"):
        parse_size(text, "--limit-memory")


def test_secrets_are_not_handed_on() -> None:
    plain = {"PATH": "/bin", "PWD": "/", "HOME": "/root", "TOKENIZERS_PARALLELISM": "0", "XAUTHORITY": "x"}
    plain |= {"PROXY": "http://proxy:80/@x", "CUDA_VISIBLE_DEVICES": "0", "ORT_DISABLE_TELEMETRY": "0"}
    names = ("SIDESTEP_TOKEN", "AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "OPENAI_API_KEY", "DB_PASSWORD", "GH_PAT")
    secret = dict.fromkeys((*names, "MYSQL_PWD", "SSH_AUTH_SOCK", "github_token"), "x")
    secret["DATABASE_URL"] = "postgresql://me:hunter2@host/base"
    assert guest_environment({**plain, **secret}) == plain
    chosen = {"SIDESTEP_PASS_ENV": "GH_PAT, DATABASE_URL"}
    kept = {**plain, **chosen, "GH_PAT": "x", "DATABASE_URL": secret["DATABASE_URL"]}
    assert guest_environment({**plain, **secret, **chosen}) == kept


def test_the_command_line_takes_limits(suite: Path, tmp_path: Path) -> None:
    command = ["run", str(suite), "--policy", "straight", "--limit", "1", "--out", str(tmp_path / "run")]
    limits = ["--isolate", "--limit-memory", "4GB", "--limit-cpu", "60", "--limit-wall", "120", "--limit-output", "1MB"]
    result = CliRunner().invoke(app, [*command, *limits])
    assert result.exit_code == 0, result.output
    plan = json.loads((tmp_path / "run" / "run.json").read_text())["plan"]
    sizes = {"memory_bytes": 4 * 10**9, "output_bytes": 10**6, "sandbox": "auto", "allow_read": []}
    assert plan["isolation"] == {"all_policies": True, "cpu_s": 60.0, "wall_s": 120.0, "processes": 256} | sizes
    refused = CliRunner().invoke(app, [*command, "--limit-memory", "4GB"])
    assert refused.exit_code == 2
    assert "isolation" in refused.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--limit-memory", "lots"], "--limit-memory 'lots'"),
        (["--limit-memory", "1MB"], "memory_bytes"),
        (["--limit-cpu", "0"], "cpu_s"),
        (["--debug", "--isolate"], "leave out --isolate"),
    ],
)
def test_wrong_limits(arguments: list[str], message: str, suite: Path) -> None:
    result = CliRunner().invoke(app, ["run", str(suite), "--policy", "straight", *arguments])
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())
