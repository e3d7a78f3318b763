"""Analyses in a process of their own: they take seconds of all processors, and walks must not wait for them."""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from threading import Lock

from sidestep._util.threads import end_with_parent
from sidestep.studies.access import Refused
from sidestep.studies.store import Store

LONGEST_S = 300.0
_ONE_AT_A_TIME = Lock()


def report_in_process(store: Store, name: str) -> str:
    """The report of a study as an HTML page, made by a process of low priority. One at a time."""
    if not _ONE_AT_A_TIME.acquire(blocking=False):
        raise Refused(429, "another analysis is running; wait a minute and try again")
    try:
        url = store.engine.url.render_as_string(hide_password=False)
        pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), _begin)
        try:
            return pool.submit(_report, url, name).result(LONGEST_S)
        except TimeoutError:
            for process in list(pool._processes.values()):
                process.kill()
            raise Refused(503, "the analysis takes too long; use `sidestep study analyse`") from None
        except BrokenExecutor:
            raise Refused(503, "the analysis has ended early; use `sidestep study analyse`") from None
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
    finally:
        _ONE_AT_A_TIME.release()


def _begin() -> None:
    """Leave the processors to walks, and end with the server."""
    if hasattr(os, "nice"):
        os.nice(10)
    end_with_parent()


def _report(url: str, name: str) -> str:
    from sidestep.studies.analysis import report_of
    from sidestep.studies.database import open_database

    engine = open_database(url)
    try:
        return report_of(Store(engine), name)
    finally:
        engine.dispose()
