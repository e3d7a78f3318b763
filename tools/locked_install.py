"""Installs this project with extras; every other file that is installed has a hash in ``locked.txt``.

::

    .venv/bin/python -m tools.locked_install dev             # make locked
    .venv/bin/python -m tools.locked_install --check dev     # nothing is installed

What is needed on this machine is found out first, and nothing of it is built or run. Then pip installs exactly that by
its hashes (``--require-hashes``), and the project itself, which is built by the ``hatchling`` that was just installed.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
LOCKED, CONSTRAINTS = ROOT / "locked.txt", ROOT / "constraints.txt"
PROJECT = "sidestep"
OWN_EXTRAS = re.compile(rf"{PROJECT}\[([a-z,\s]*)\]")
BUILD = ("hatchling", "editables")
"""What builds the project, so that it has to be there before."""


def requirements_of(project: Mapping[str, Any], extras: Sequence[str]) -> Iterator[str]:
    """What the project needs with these extras; extras that name others are followed."""
    yield from project["dependencies"]
    waiting, seen = list(extras), set[str]()
    while waiting:
        extra = waiting.pop(0)
        if extra in seen:
            continue
        seen.add(extra)
        for need in project["optional-dependencies"][extra]:
            found = OWN_EXTRAS.fullmatch(need)
            if found is None:
                yield need
            else:
                waiting += [name.strip() for name in found[1].split(",")]


def read_locked(text: str) -> dict[str, str]:
    """Project → its requirement with hashes."""
    whole = re.sub(r"\\\n\s*", "", text)
    lines = [line for line in whole.splitlines() if line and not line.startswith("#")]
    return {line.partition("==")[0]: line for line in lines}


def canonical(name: str) -> str:
    """A project's name as indexes write it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def chosen_lines(report: Mapping[str, Any], locked: Mapping[str, str]) -> list[str]:
    """The lines of ``locked`` of what pip's report says would be installed; ``SystemExit`` names what is missing."""
    needed = {canonical(each["metadata"]["name"]): each["metadata"]["version"] for each in report["install"]}
    missing = sorted(
        f"{name}=={version}"
        for name, version in needed.items()
        if not locked.get(name, "").startswith(f"{name}=={version.partition('+')[0]} ")
    )
    if missing:
        raise SystemExit(
            f"not in {LOCKED.name}: {', '.join(missing)}. Another build of torch, or a newer pin? `python -m "
            "tools.pin_hashes` writes the file again; `make setup` checks no hashes"
        )
    return [locked[name] for name in sorted(needed)]


def _pip(*arguments: str, capture: bool = False) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", *arguments],
        stdout=subprocess.PIPE if capture else None,
        text=True,
        check=False,
        cwd=ROOT,
    )
    if done.returncode:
        raise SystemExit(done.returncode)
    return done.stdout or ""


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.locked_install", description="Installs by hashes.")
    parser.add_argument("extra", nargs="*", default=["dev"], help="extras of the project")
    parser.add_argument("--check", action="store_true", help="only say whether everything has a hash")
    options = parser.parse_args()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needs = [*requirements_of(project, options.extra), *BUILD]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "requirements.txt"
        file.write_text("\n".join(needs) + "\n", encoding="utf-8")
        report = _pip(
            "--dry-run", "--ignore-installed", "--only-binary", ":all:", "--report", "-", "-c", str(CONSTRAINTS),
            "-r", str(file), capture=True,
        )  # fmt: skip
        lines = chosen_lines(json.loads(report), read_locked(LOCKED.read_text(encoding="utf-8")))
        if options.check:
            print(f"{len(lines)} packages, all with hashes")
            return
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        _pip("--no-compile", "--no-deps", "--only-binary", ":all:", "--require-hashes", "-r", str(file))
    _pip("--no-compile", "--no-deps", "--no-build-isolation", "-e", ".")
    print(f"installed {len(lines)} packages by their hashes, and {PROJECT}")


if __name__ == "__main__":
    main()
