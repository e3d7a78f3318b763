"""Nothing opens a connection that was not asked for: not the packages that we use, not a run, not a report.

Everything runs in a network namespace of its own, where one exists: the kernel counts whatever has no way out there,
also what a library tries in C. Without namespaces only connections that Python opens are seen.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

GUARD = """
import os, socket, sys

def refused(self, address, *rest):
    if self.family in (socket.AF_INET, socket.AF_INET6):
        print("CONNECTS", address, flush=True)
        raise OSError("no network in this test")
    return connect(self, address, *rest)

def no_names(*arguments, **options):
    print("RESOLVES", arguments[:2], flush=True)
    raise socket.gaierror("no network in this test")

connect = socket.socket.connect
socket.socket.connect = socket.socket.connect_ex = refused
socket.getaddrinfo = no_names
"""
EXTRAS = (
    "av",
    "trimesh",
    "torch",
    "stable_baselines3",
    "pettingzoo",
    "rerun",
    "mcap",
    "mcap_ros2",
    "fastapi",
    "uvicorn",
)
IMPORTS = f"""
import importlib, pkgutil, sidestep
for name in {EXTRAS}:
    try:
        importlib.import_module(name)
    except ImportError:
        print("without", name)
import sidestep.cli, sidestep.gym, sidestep.report.html, sidestep.runs.runner
from sidestep.errors import MissingExtra
from sidestep._util.onnx import import_onnx_runtime
try:
    import_onnx_runtime().SessionOptions()
except MissingExtra:
    print("without onnxruntime")
"""
RUNS = """
import tempfile
from pathlib import Path
from sidestep.suites.files import load_suite
from sidestep.runs.plan import make_plan
from sidestep.runs.runner import run_benchmark
from sidestep.errors import SidestepError
out = Path(tempfile.mkdtemp())
for name in {suites}:
    suite = load_suite(name)
    try:
        plan = make_plan(suite, ["stop"], limit=1)
    except SidestepError as error:
        print("skipped", name, error)
        continue
    scenarios = tuple(each.model_copy(update={{"rules": each.rules.model_copy(update={{"time_limit_s": 1.0}})}})
                      for each in plan.scenarios)
    result = run_benchmark(plan.model_copy(update={{"scenarios": scenarios}}), out / name)
    print("ran", name, len(result.episodes), len(result.skipped))
from typer.testing import CliRunner
from sidestep.cli import app
done = CliRunner().invoke(app, ["report", str(out / "core"), "--out", str(out / "report.html")])
print("report", done.exit_code, (out / "report.html").exists())
"""
COUNTED = ("OutNoRoutes", "OutRequests")


def can_isolate() -> bool:
    if shutil.which("unshare") is None:
        return False
    try:
        return subprocess.run(["unshare", "-rn", "true"], capture_output=True, timeout=20).returncode == 0
    except subprocess.TimeoutExpired:
        return False


ISOLATED = can_isolate()


def run_without_network(code: str, home: Path) -> tuple[str, int]:
    """What the code prints, and how many packets found no way out (0 where nobody counts)."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(home / "cache"), "XDG_CONFIG_HOME": str(home / "config")}
    environment.pop("ORT_DISABLE_TELEMETRY", None)
    environment.pop("CI", None)  # some packages report only from elsewhere
    if "SIDESTEP_CACHE" not in environment:  # compiled kernels are no secret
        from sidestep.kernels.jit import CACHE_FOLDER

        if CACHE_FOLDER is not None:
            environment["SIDESTEP_CACHE"] = str(CACHE_FOLDER.parent)
    command = [sys.executable, "-c", GUARD + code]
    if ISOLATED:
        command = ["unshare", "-rn", "sh", "-c", '"$@"; status=$?; cat /proc/net/snmp; exit $status', "sh", *command]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout, packets(done.stdout)


def packets(text: str) -> int:
    rows = [line.split() for line in text.splitlines() if line.startswith("Ip: ")]
    if len(rows) < 2:
        return 0
    return sum(int(value) for name, value in zip(*rows, strict=True) if name in COUNTED)


def test_the_guard_sees_who_tries(tmp_path: Path) -> None:
    code = "import socket\ntry: socket.create_connection(('192.0.2.1', 80), 1)\nexcept OSError: pass\n"
    assert "RESOLVES" in run_without_network(code, tmp_path)[0]
    if ISOLATED:
        past = (
            "import _socket\ns = _socket.socket()\ntry: s.connect(('192.0.2.1', 80))\nexcept OSError as e: print(e)\n"
        )
        assert run_without_network(past, tmp_path)[1] > 0


def test_importing_everything_is_quiet(tmp_path: Path) -> None:
    said, sent = run_without_network(IMPORTS, tmp_path)
    assert "CONNECTS" not in said
    assert "RESOLVES" not in said
    assert sent == 0
    left = [path for path in tmp_path.rglob("*") if "deviceid" in path.name.lower() or "onnxruntime" in str(path)]
    assert left == [], "ONNX Runtime keeps a number of this machine when it means to report"


def test_running_and_reporting_is_quiet(tmp_path: Path) -> None:
    suites = ("core", "catalogue", "socnav", "sidewalk-unit")
    said, sent = run_without_network(RUNS.format(suites=suites), tmp_path)
    assert "CONNECTS" not in said
    assert "RESOLVES" not in said
    assert sent == 0
    assert "ran core 1 0" in said
    assert "report 0 True" in said


@pytest.mark.full
def test_running_the_long_suites_is_quiet(tmp_path: Path) -> None:
    said, sent = run_without_network(RUNS.format(suites=("core", "sidewalk-reactive", "sidewalk-long")), tmp_path)
    assert "CONNECTS" not in said
    assert sent == 0


def test_every_import_of_onnx_runtime_goes_through_one_place() -> None:
    source = Path(__file__).parents[1] / "src" / "sidestep"
    importing = [
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if re.search(r"^\s*(import|from) onnxruntime", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert importing == ["_util/onnx.py"]
