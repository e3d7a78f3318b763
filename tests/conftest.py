"""Settings of all tests: property tests draw the same examples every time and are never timed."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

from tests.compile_first import compile_first
from tests.needs import names_a_remedy

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # tests run side by side, and small networks train slower on several threads

IN_ONE_PROCESS = (
    "cli/test_contract.py", "cli/test_pack.py", "extras/test_environments.py", "gym/test_intersectnav.py",
    "gym/test_training.py", "leaderboard/test_pack.py", "leaderboard/test_pages.py",
    "learning/drive_page/test_browser.py", "learning/test_waypoints.py", "plugins/test_installed.py",
    "prediction/data/test_from_records.py", "prediction/data/test_generate.py", "prediction/test_cvae_training.py",
    "report/test_html.py", "report/test_montage.py", "report/test_sidewalk_outputs.py",
    "report/test_sidewalk_tables.py", "report/test_socnav_outputs.py", "report/test_socnav_tables.py",
    "report/test_viewer_browser.py", "report/test_viewer_cli.py", "runs/remote/test_isolation.py",
    "runs/remote/test_misbehaviour.py", "runs/remote/test_processes.py", "runs/remote/test_same_as_in_process.py",
    "runs/test_ray_executor.py", "studies/ratings/test_analysis.py", "studies/test_browser.py",
    "studies/test_postgres.py", "studies/test_walking.py",
)  # fmt: skip
"""Files whose tests share what takes long to make (a server, a cluster, a run): one process makes it once."""
UNEXPLAINED: list[str] = []
"""Tests skipped for a reason that does not say how to run them."""

settings.register_profile("sidestep", deadline=None, derandomize=True)
settings.load_profile("sidestep")

# A shell without job control starts what runs behind with interrupts ignored, and processes hand that on: tests that
# interrupt a command would fail.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    """Where tests run in several processes: compile once what else each of them would."""
    if getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput"):
        compile_first()


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    folder = Path(__file__).parent
    for item in items:
        file = item.path.relative_to(folder).as_posix() if item.path.is_relative_to(folder) else ""
        if file in IN_ONE_PROCESS:
            item.add_marker(pytest.mark.xdist_group(file))


def pytest_collectreport(report: pytest.CollectReport) -> None:
    _check_reason(report)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _check_reason(report)


def _check_reason(report: pytest.CollectReport | pytest.TestReport) -> None:
    """Collect the tests that are skipped for a reason which does not say how to run them."""
    if report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if not names_a_remedy(reason):
            UNEXPLAINED.append(f"{report.nodeid}: {reason}")


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """A skip that does not say what to install fails the session."""
    if UNEXPLAINED and exitstatus == 0:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if UNEXPLAINED:
        terminalreporter.section("skipped without a remedy", red=True)
        for line in UNEXPLAINED:
            terminalreporter.line(line)
