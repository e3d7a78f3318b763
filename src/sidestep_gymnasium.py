"""Makes ``gymnasium.make("sidestep/…")`` work without an import of Sidestep.

Gymnasium 1.0 dropped entry points for environments: an id is known only after the module that registers it was
imported. ``sidestep_gymnasium.pth``, which is installed beside the package, therefore imports this module when Python
starts. It looks at the names of imported modules until it sees ``gymnasium.envs``; then it registers the ids, which are
names only. It imports nothing itself, so that it costs a start of Python next to nothing.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MODULE = "gymnasium.envs"


class _Watcher:
    """An import finder that finds nothing of its own: it lets the others find ``gymnasium.envs``."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """The spec of ``gymnasium.envs`` with a loader that also registers our ids; None for all other modules."""
        if name != MODULE:
            return None
        finders: list[Any] = [finder for finder in sys.meta_path if not isinstance(finder, _Watcher)]
        sys.meta_path[:] = finders
        for finder in finders:
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                spec.loader = _Loader(spec.loader)
                return spec
        return None


class _Loader:
    """Loads as another loader does, then registers the ids."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def exec_module(self, module: Any) -> None:
        """Run the module, then announce."""
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        announce()


def announce() -> None:
    """Register the ids. An incomplete installation must not break Gymnasium: then there are none."""
    try:
        from sidestep.gym import register
    except ImportError:
        return
    register()


def watch() -> None:
    """Register the ids as soon as Gymnasium is imported, or now if it is."""
    if MODULE in sys.modules:
        announce()
    elif not any(isinstance(finder, _Watcher) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Watcher())


watch()
