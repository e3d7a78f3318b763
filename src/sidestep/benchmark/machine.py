"""On what and from which source a run was made. No paths, no names of people or hosts."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ("numpy", "numba", "scipy", "shapely", "pyarrow", "pydantic")


def describe_machine() -> dict[str, Any]:
    """Processor, number of cores, operating system, versions of what computes."""
    return {
        "cpu": _processor(),
        "cores": os.cpu_count() or 1,
        "system": platform.system(),
        "architecture": platform.machine(),
        "versions": {"python": platform.python_version()} | {name: installed_version(name) for name in PACKAGES},
    }


def installed_version(package: str) -> str | None:
    """Version of an installed distribution, None when it is not there."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def source_commit() -> str | None:
    """The commit of Sidestep's own source, ``-dirty`` when changed; None outside a checkout of it."""
    package = Path(__file__).resolve().parents[1]
    try:
        if _git(package, "ls-files", "--error-unmatch", "version.py") is None:
            return None  # installed into someone else's repository
        commit = _git(package, "rev-parse", "HEAD")
        changed = _git(package, "status", "--porcelain", "--untracked-files=no", "--", ".")
    except (OSError, subprocess.TimeoutExpired):
        return None
    return None if commit is None else commit + ("-dirty" if changed else "")


def _git(folder: Path, *arguments: str) -> str | None:
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments], capture_output=True, text=True, timeout=5, check=False
    )
    return done.stdout.strip() if done.returncode == 0 else None
