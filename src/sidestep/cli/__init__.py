"""The command line: one file per command. Commands import what they need when they run, so that ``--help`` is fast.

Exit codes: 0 done, 1 a check failed, 2 wrong usage or bad input, 3 interrupted and resumable. With ``--json``
exactly one JSON document goes to stdout; everything else (progress, warnings, output of policies) goes to stderr.
"""

from sidestep.cli.app import app


def main() -> None:
    """Entry point of ``sidestep`` and ``python -m sidestep``."""
    app(prog_name="sidestep")


__all__ = ["app", "main"]
