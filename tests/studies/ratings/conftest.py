"""Episodes to be rated: those of the tests of reports."""

from tests.report.conftest import build, run_folder

__all__ = ["build", "run_folder"]
