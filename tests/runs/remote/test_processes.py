"""Whole processes: the command line, the example in C, the copied client, an interrupt."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sidestep.cli import app
from sidestep.runs.folder import load_run
from sidestep.runs.plan import make_plan
from sidestep.runs.remote import client, wire
from sidestep.runs.remote.client import run_client
from sidestep.runs.remote.host import SidestepHost
from sidestep.runs.runner import run_benchmark
from sidestep.runs.score import score_run
from sidestep.suites.files import load_suite
from tests.runs.remote.joystick_client import JoystickClient, one_position
from tests.runs.remote.worlds import Ahead, Client, made_here, run_host, serve_to

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "examples" / "remote"
COMPILER = shutil.which("cc")
COLD_S = 180.0
"""Kernels may have to be compiled first."""


@contextmanager
def started(*arguments: object) -> Iterator[subprocess.Popen[str]]:
    """A process of our own; ended when the test is."""
    command = [sys.executable, *(str(argument) for argument in arguments)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def address_of(process: subprocess.Popen[str]) -> str:
    """Where a serving process says that it waits."""
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("waiting for a policy at "):
            return line.split()[5]
    raise AssertionError("it ended before it waited")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example in C, compiled."""
    if COMPILER is None:
        pytest.skip("no C compiler is installed: apt-get install gcc libc6-dev")
    path = tmp_path_factory.mktemp("c") / "client"
    flags = ["-std=c99", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([COMPILER, *flags, "-o", path, EXAMPLES / "client.c", "-lm"], check=True)
    return path


def run_program(program: Path, address: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program, address], capture_output=True, text=True, timeout=COLD_S, env={**os.environ, **environment}
    )


def test_the_example_in_c_drives(program: Path, suite: Path, tmp_path: Path) -> None:
    assert len((EXAMPLES / "client.c").read_text(encoding="utf-8").splitlines()) < 200
    arguments = ("--listen", "127.0.0.1:0", "--out", tmp_path / "run", "--json")
    with started("-m", "sidestep", "serve", suite, *arguments) as process:
        driven = run_program(program, address_of(process))
        stdout, stderr = process.communicate(timeout=COLD_S)
    assert (driven.returncode, driven.stdout) == (0, "success\n" * 3), driven.stderr
    assert process.returncode == 0, stderr
    assert json.loads(stdout)["policies"]["remote:c_example"]["outcomes"]["success"] == 3
    assert len(score_run(tmp_path / "run").episodes) == 3


def test_the_example_in_c_over_a_unix_socket_with_a_token(program: Path, suite: Path, tmp_path: Path) -> None:
    host = SidestepHost(f"unix:{tmp_path}/s", token="secret")
    wrong = Client(lambda: run_program(program, host.address, SIDESTEP_TOKEN="guess"))
    right = Client(lambda: (wrong.join(), run_program(program, host.address, SIDESTEP_TOKEN="secret"))[1])
    run_host(host, suite, tmp_path / "run")
    assert right.join().value.stdout == "success\n" * 3
    assert wrong.value.returncode == 1
    assert "wrong or missing token" in wrong.value.stderr


def test_the_client_can_be_copied_and_needs_no_numpy(suite: Path, tmp_path: Path) -> None:
    """Two files in another project, where there is neither Sidestep nor NumPy."""
    package = tmp_path / "vendored"
    package.mkdir()
    (package / "__init__.py").write_text("")
    for module in (client, wire):
        shutil.copy(str(module.__file__), package)
    (tmp_path / "main.py").write_text(
        """
import sys
sys.modules["sidestep"] = sys.modules["numpy"] = None
from vendored.client import Velocity, run_client

class Plain:
    needs = {"goal", "pedestrians", "map", "route", "history", "lidar"}
    dynamics = "unicycle"

    def reset(self, task):
        assert task.map.segments == [] and isinstance(task.route[0], list)
        assert task.robot.footprint.enclosing_radius > 0

    def act(self, observation):
        assert isinstance(observation.pedestrians.position, list)
        assert len(observation.pedestrians) == len(observation.history[-1]) and len(observation.lidar.ranges) == 720
        return Velocity(1.0, 0.0)

print([result["outcome"] for result in run_client(Plain(), sys.argv[1])])
"""
    )
    environment = {**os.environ, "PYTHONPATH": ""}

    def drive(address: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, tmp_path / "main.py", address]
        return subprocess.run(command, capture_output=True, text=True, timeout=COLD_S, cwd=tmp_path, env=environment)

    served = serve_to(drive, suite, tmp_path / "run", limit=2)
    assert served.client.value.stdout == "['success', 'success']\n", served.client.value.stderr
    assert served.outcomes == ["success"] * 2


def test_an_interrupt_leaves_a_run_that_goes_on(suite: Path, tmp_path: Path) -> None:
    out, where = tmp_path / "run", f"unix:{tmp_path}/s"
    command = ["serve", str(suite), "--listen", where, "--out", str(out)]

    def interrupt(policy: Ahead, asked: int) -> None:
        if len(policy.tasks) == 2 and asked == 5:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    first = Ahead(interrupt)
    driving = Client(lambda: run_client(first, where))
    result = CliRunner().invoke(app, command)
    driving.join()
    assert result.exit_code == 3, result.output
    assert f"--out {out}" in result.output
    assert not load_run(out).complete
    assert [episode["outcome"] for episode in first.results] == ["success"]
    again = Ahead()
    driving = Client(lambda: run_client(again, where))
    assert CliRunner().invoke(app, command).exit_code == 0
    driving.join()
    assert [task.name for task in again.tasks] == ["met", "round"]
    assert [episode.outcome for episode in score_run(out).episodes] == ["success"] * 3


def test_the_example_in_python_listens(suite: Path, tmp_path: Path) -> None:
    with started(EXAMPLES / "policy.py", "listen", "127.0.0.1:0") as process:
        assert process.stdout is not None
        address = process.stdout.readline().split()[-1]
        plan = make_plan(load_suite(str(suite)), [f"remote:{address}"], limit=2)
        result = run_benchmark(plan, tmp_path / "run", make_policy=made_here)
        assert process.stdout.readline().startswith("success")
    assert [episode.outcome for episode in result.episodes] == ["success", "success"]


def test_the_command_line_speaks_joystick(suite: Path, tmp_path: Path) -> None:
    prefix = tmp_path / "joy"

    def drive() -> list[str]:
        while not prefix.with_name("joy_recv").exists():
            time.sleep(0.05)
        joystick = JoystickClient(str(prefix), one_position)
        joystick.run()
        return joystick.causes

    driving = Client(drive)
    arguments = ["--protocol", "socnavbench", "--listen", f"unix:{prefix}", "--limit", "1", "--out", tmp_path / "run"]
    result = CliRunner().invoke(app, ["serve", str(suite), *map(str, arguments)])
    assert result.exit_code == 0, result.output
    assert driving.join().value == ["Success"]
    assert "remote:socnavbench" in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--listen", "0.0.0.0:0"], "set a token"),
        (["--listen", "nonsense"], "HOST:PORT"),
        (["--listen", "127.0.0.1:0", "--protocol", "socnavbench"], "give unix:PREFIX"),
        (["--listen", "127.0.0.1:0", "--scenario", "alonee"], "did you mean 'alone'"),
        (["--listen", "127.0.0.1:0", "--latency", "0.1"], "only charged in mode latency"),
    ],
)
def test_wrong_usage(arguments: list[str], message: str, suite: Path) -> None:
    result = CliRunner().invoke(app, ["serve", str(suite), *arguments], env={"SIDESTEP_TOKEN": ""})
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())
