"""Settings of all tests: property tests draw the same examples every time and are never timed."""

from __future__ import annotations

import os
import signal

import pytest
from hypothesis import settings

from tests.compile_first import compile_first
from tests.needs import names_a_remedy

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # tests run side by side, and small networks train slower on several threads

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


@pytest.hookimpl(optionalhook=True)  # where pytest-xdist is installed
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Groups of pytest-xdist itself are of no use here: version 3.8 cannot name them to pytest 9.2."""
    from tests.scheduling import SharedFixturesTogether

    return SharedFixturesTogether(config, log)


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
