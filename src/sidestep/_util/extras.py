"""The optional extras of Sidestep, ``pip install 'sidestep[NAME]'``: what each adds and what of it is not installed.

What a command will need is checked here before it works for minutes.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution

from packaging.requirements import Requirement

from sidestep.errors import MissingExtra

UNIONS = frozenset({"all", "dev"})
"""Extras that repeat the others."""


@cache
def extras() -> dict[str, tuple[str, ...]]:
    """Extra → the distributions that it adds, as the installed package declares them. Empty where Sidestep is imported
    from a folder and not installed."""
    try:
        sidestep = distribution("sidestep")
    except PackageNotFoundError:
        return {}
    found: dict[str, tuple[str, ...]] = {}
    for need in map(Requirement, sidestep.requires or []):
        for extra in sidestep.metadata.get_all("Provides-Extra") or []:
            adds = need.marker is not None and need.marker.evaluate({"extra": extra})
            if adds and not need.marker.evaluate({"extra": ""}) and extra not in UNIONS:  # type: ignore[union-attr]
                found[extra] = (*found.get(extra, ()), need.name)
    return found


def missing_packages(extra: str) -> list[str]:
    """The distributions of an extra that are not installed."""
    return [name for name in extras().get(extra, ()) if not is_installed(name)]


def is_installed(name: str) -> bool:
    """Whether a distribution is installed."""
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True


def missing_extras(needed: Iterable[str]) -> list[str]:
    """Those of the extras ``needed`` that are not, or not wholly, installed."""
    return [extra for extra in needed if missing_packages(extra)]


def check_extras(what: str, *needed: str) -> None:
    """``MissingExtra``, which says that ``what`` needs it, unless all of these extras are installed."""
    if missing := missing_extras(needed):
        raise MissingExtra(what, ",".join(missing))
