"""Run in an environment of its own, which has no pytest: executes command lines one after the other in one process and
writes how each ended to a JSON file. Reads a list of argument lists from standard input."""

from __future__ import annotations

import contextlib
import io
import json
import sys
import traceback
from pathlib import Path


def run(arguments: list[str]) -> dict[str, object]:
    """Exit code and output of one command line."""
    from sidestep.cli.app import app

    out, err = io.StringIO(), io.StringIO()
    code: object = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            app(arguments, prog_name="sidestep")
        except SystemExit as end:
            code = end.code or 0
        except Exception:
            code = 1
            traceback.print_exc()
    return {"arguments": arguments, "code": code, "out": out.getvalue()[-20000:], "err": err.getvalue()[-4000:]}


if __name__ == "__main__":
    done = [run(each) for each in json.load(sys.stdin)]
    Path(sys.argv[1]).write_text(json.dumps(done), encoding="utf-8")
