"""What a guest may import: no part of Sidestep that builds worlds, and modules from folders that it cannot list.

This is what a policy that imports the simulator by mistake meets, with a message. What keeps out one that means to is
the sandbox, in which the simulator's files cannot be read.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from types import ModuleType

from sidestep.runs.remote.sandbox import is_library


class SimulatorRefused(ImportError):
    """A policy has tried to import what builds worlds."""


class RefuseSimulator(MetaPathFinder):
    """Refuses modules of Sidestep that are not its library for policies."""

    def __init__(self) -> None:
        self.refused: list[str] = []

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Raise for a refused module; leave all others to the next finder."""
        if name.split(".")[0] == "sidestep" and not is_library(name):
            self.refused.append(name)
            raise SimulatorRefused(
                f"a policy in a process of its own cannot import {name}: it gets tasks and observations, not the "
                "simulator. Run it with --debug or --sandbox off if that is what you want"
            )
        return None


class ListedModules(MetaPathFinder):
    """Finds modules in folders that can be read but not listed."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = files

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module's file, if it is one of those."""
        return spec_from_file_location(name, self._files[name]) if name in self._files else None


REFUSALS = RefuseSimulator()


def guard_imports(modules: Mapping[str, str]) -> None:
    """Refuse the simulator from now on, and find ``modules`` where they are."""
    sys.meta_path.insert(0, REFUSALS)
    sys.meta_path.append(ListedModules(modules))
