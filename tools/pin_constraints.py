"""Writes ``constraints.txt``: the version of everything that ``make`` installs, as it is in this environment.

Run ``python -m tools.pin_constraints`` in an environment in which all tests pass. Packages that are not installed keep
the pin that they have. Local version labels (``+cpu``) are left out: the pin must also fit other builds.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

FILE = Path(__file__).parents[1] / "constraints.txt"
EXTRAS = ("dev", "bench", "security")


def installed_closure(name: str = "sidestep", extras: tuple[str, ...] = EXTRAS) -> dict[str, str]:
    """Every installed distribution that ``name`` with ``extras`` needs, directly or not, and its version."""
    versions: dict[str, str] = {}
    seen: set[tuple[str, tuple[str, ...]]] = set()
    waiting = [(name, extras)]
    while waiting:
        each = waiting.pop()
        if each in seen:
            continue
        seen.add(each)
        try:
            found = distribution(each[0])
        except PackageNotFoundError:
            continue
        versions[canonicalize_name(each[0])] = found.version.partition("+")[0]
        for text in found.requires or ():
            need = Requirement(text)
            if any(need.marker is None or need.marker.evaluate({"extra": extra}) for extra in (*each[1], "")):
                waiting.append((need.name, tuple(sorted(need.extras))))
    del versions[name]
    return versions


def read_pins(file: Path = FILE) -> dict[str, str]:
    """Package → version of a constraints file."""
    lines = [line.strip() for line in file.read_text(encoding="utf-8").splitlines()]
    return {line.partition("==")[0]: line.partition("==")[2] for line in lines if line and not line.startswith("#")}


def main() -> None:
    """Write the file."""
    pins = read_pins() | installed_closure()
    lines = ["# Written by `python -m tools.pin_constraints`: what `make` installs, as it was tested."]
    lines += [f"{name}=={version}" for name, version in sorted(pins.items())]
    FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(pins)} pins in {FILE.name}")


if __name__ == "__main__":
    main()
