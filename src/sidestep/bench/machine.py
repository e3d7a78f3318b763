"""On what the figures were measured."""

from __future__ import annotations

from typing import Any

from sidestep.benchmark.machine import describe_machine, installed_version

PEERS = ("pyrvo", "pysocialforce", "jupedsim", "ir-sim")


def bench_machine() -> dict[str, Any]:
    """Processor, number of cores, versions of Sidestep, of what it computes with and of the peers."""
    machine = describe_machine()
    versions = {"sidestep": installed_version("sidestep"), **machine["versions"]}
    for name in ("gymnasium", *PEERS):
        versions[name] = installed_version(name)
    known = {name: version for name, version in versions.items() if version is not None}
    return {"cpu": machine["cpu"], "cores": machine["cores"], "versions": known}
