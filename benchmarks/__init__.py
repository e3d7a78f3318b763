"""How fast Sidestep is on this machine, next to other simulators where they are installed.

One file per family of figures (``crowd``, ``environment``, ``lidar``, ``runs``, ``render``, ``studies``), each of which
lists its cases and the other simulators it is compared with; ``measure`` says what a figure is; ``figures`` runs a
suite and prints it next to the targets. Correctness is checked by the tests, not here.
"""

from __future__ import annotations

from benchmarks.figures import bench_table, run_bench

__all__ = ["bench_table", "run_bench"]
