"""One run of many short episodes, its memory over time and a query over its results:

    python -m tools.endurance --episodes 100000 --out out/endurance

An episode is one second of a robot that stands alone. The run is started as a command of its own; the memory of it and
of all processes below it is sampled twice a second (Linux only: ``/proc``). Without ``--keep`` the folder is deleted.
Needs DuckDB (``pip install duckdb``). Prints one JSON document.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SUITE = """name: endurance
robots: [{spec: pioneer_3dx, start: [0, 0, 0], goal: [9, 0]}]
rules: {time_limit_s: 1}
"""
QUERY = """
SELECT policy, metric, count(*) FILTER (valid) AS n, avg(value) AS mean, stddev_samp(value) AS sd
FROM read_parquet('{path}') GROUP BY policy, metric ORDER BY policy, metric
"""
SAMPLE_S = 0.5
QUERIES = 5


@dataclass
class Memory:
    """Resident memory of a process and all below it over time, MB."""

    samples: list[tuple[float, float]] = field(default_factory=list)

    def watch(self, process: subprocess.Popen[Any]) -> int:
        """Sample until the process ends; its exit code."""
        begin = time.perf_counter()
        while process.poll() is None:
            self.samples.append((time.perf_counter() - begin, sum(map(_resident_mb, _tree(process.pid)))))
            time.sleep(SAMPLE_S)
        return process.wait()

    def at_tenths(self) -> list[float]:
        """The median of every tenth of the time."""
        end = self.samples[-1][0]
        tenths: list[list[float]] = [[] for _ in range(10)]
        for when, size in self.samples:
            tenths[min(int(10 * when / max(end, 1e-9)), 9)].append(size)
        return [round(statistics.median(tenth), 1) for tenth in tenths if tenth]


def _tree(pid: int) -> list[int]:
    """The process and all of its descendants."""
    found, waiting = [], [pid]
    while waiting:
        found.append(waiting.pop())
        try:
            tasks = list(Path(f"/proc/{found[-1]}/task").iterdir())
            waiting += [int(child) for task in tasks for child in (task / "children").read_text().split()]
        except OSError:
            continue  # it has just ended
    return found


def _resident_mb(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024


def query_seconds(results: Path) -> tuple[float, int]:
    """The median time of a query for the mean and spread of every metric, s, and the number of its rows."""
    import duckdb

    times, rows = [], 0
    for _ in range(QUERIES):
        begin = time.perf_counter()
        rows = len(duckdb.connect().execute(QUERY.format(path=results)).fetchall())
        times.append(time.perf_counter() - begin)
    return statistics.median(times), rows


def measure(episodes: int, out: Path, workers: int) -> dict[str, Any]:
    """Run ``episodes`` into ``out``, again to resume the finished run, and query the results."""
    out.mkdir(parents=True, exist_ok=True)
    suite = out / "endurance.yaml"
    suite.write_text(SUITE, encoding="utf-8")
    run = out / "run"
    options = ["--policy", "stop", "--repeat", str(episodes), "--workers", str(workers), "--out", str(run), "--json"]
    command = [sys.executable, "-m", "sidestep", "run", str(suite), *options]
    document: dict[str, Any] = {"episodes": episodes, "workers": workers}
    for name in ("run", "resume"):
        memory = Memory()
        begin = time.perf_counter()
        with (out / f"{name}.json").open("wb") as stdout, (out / f"{name}.log").open("wb") as stderr:
            code = memory.watch(subprocess.Popen(command, stdout=stdout, stderr=stderr))
        seconds = time.perf_counter() - begin
        if code:
            raise SystemExit(f"{name} ended with code {code}: see {out / f'{name}.log'}")
        document[name] = {
            "seconds": round(seconds, 1),
            "ms_per_episode": round(1e3 * seconds / episodes, 2),
            "peak_mb": round(max(size for _, size in memory.samples), 1),
            "mb_at_tenths": memory.at_tenths(),
        }
    seconds, rows = query_seconds(run / "results.parquet")
    records = list((run / "episodes").rglob("*.parquet"))
    return document | {
        "records": len(records),
        "record_bytes": round(statistics.mean(path.stat().st_size for path in records)),
        "results_mb": round((run / "results.parquet").stat().st_size / 1e6, 1),
        "query_s": round(seconds, 3),
        "query_rows": rows,
    }


def main() -> None:
    """Read the command line, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--episodes", type=int, default=100_000)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("out/endurance"))
    parser.add_argument("--keep", action="store_true", help="Keep the run folder.")
    given = parser.parse_args()
    print(json.dumps(measure(given.episodes, given.out, given.workers), indent=1))
    if not given.keep:
        shutil.rmtree(given.out)


if __name__ == "__main__":
    main()
