"""Which files a guest may read (``readable_paths``), and which parts of Sidestep it may import (``LIBRARY``).

A guest reads the Python that runs it, installed packages, the parts of Sidestep that policies are built from, the files
beside its own and those that its settings name. It does not read the simulator, the run, recordings, or anything else
of its user. ``guest_sandbox`` enforces this; what the parts are is written here once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib.machinery import PathFinder, all_suffixes
from pathlib import Path
from typing import Any, NamedTuple

from sidestep import registry

PACKAGE = Path(__file__).resolve().parents[2]
LIBRARY = (
    "errors", "interfaces", "registry", "version", "types", "_util", "kernels", "policies", "prediction.comfort_zone",
    "prediction.violation", "prediction.ground", "prediction.predictors", "runs.remote", "scenes.distance_field",
    "simulation.robots", "simulation.sensors", "gym.observation", "gym.policy", "gym.sb3_file", "gym.training",
)  # fmt: skip
"""The parts of Sidestep that policies are built from: types, arithmetic, bundled policies and predictors. What builds
worlds from scenarios and seeds is not among them."""
SYSTEM = (
    "/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/nix/store", "/gnu/store", "/sys", "/etc/ld.so.cache",
    "/etc/localtime", "/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/alternatives", "/etc/os-release",
    "/etc/OpenCL", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/driver/nvidia",
)  # fmt: skip
"""Files of the system that programs and libraries need."""
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/dri", "/dev/kfd")
GRAPHICS = "nvidia"
"""Opens the names of further devices that a guest may use."""
LIBRARY_FOLDERS = ("site-packages", "dist-packages")
MOST_FILES = 2000
"""Files beside a policy that it may read; in a folder with more it reads Python files only."""


def hidden_folders() -> list[Path]:
    """Where recordings are, which hold the future of the people in them."""
    from sidestep.datasets.sources import data_folders

    return [folder for folder in data_folders() if folder.exists()]


class SandboxPaths(NamedTuple):
    """What a guest's process may open."""

    readable: tuple[str, ...]
    """Files, and folders with all that is in them."""
    listable: tuple[str, ...]
    """Folders of packages: their entries can be listed, which imports need."""
    writable: tuple[str, ...]
    modules: dict[str, str]
    """Modules in folders that cannot be listed → their files."""
    kernels: str
    """The folder of compiled kernels, which a guest reads and never writes; empty: none."""


def is_library(module: str) -> bool:
    """Whether a guest may import a module of Sidestep."""
    name = module.removeprefix("sidestep").removeprefix(".")
    return not name or any(f"{part}.".startswith(f"{name}.") or name.startswith(f"{part}.") for part in LIBRARY)


def readable_paths(
    reference: str, settings: Mapping[str, Any], allowed: Iterable[str] = (), hidden: Iterable[Path] = ()
) -> SandboxPaths:
    """What a policy may open, with the files and folders ``allowed`` besides, and never what is ``hidden`` unless it is
    allowed. Files that settings name are a policy's own, the folders of a user's home are not."""
    from sidestep.kernels.jit import CACHE_FOLDER  # not at import: guests import this file, and most need no kernels

    secret = (PACKAGE, *(path.resolve() for path in hidden))
    readable, listable, modules = _installed(tuple(sys.path), _library_paths(), secret)
    own = _own_file(reference)
    if own is not None:
        found = _own_files(own.parent, secret, only_modules=False)
        readable = (*readable, str(own), *found)
        modules = modules | _modules(found)
    named = [
        path for path in (Path(value).resolve() for value in _texts(settings) if _exists(value)) if _may_name(path)
    ]
    parts = [each for path in named for each in _without(path, secret)]
    asked = [str(Path(each).expanduser().resolve()) for each in allowed]
    kernels = str(CACHE_FOLDER or "")
    devices = [str(path) for path in Path("/dev").glob(f"{GRAPHICS}*")]
    return SandboxPaths(
        tuple(dict.fromkeys([*readable, *parts, *asked, *([kernels] if kernels else [])])),
        listable,
        (*DEVICES, *devices),
        modules,
        kernels,
    )


def _may_name(path: Path) -> bool:
    """Whether settings may give a guest this file or folder: not a home folder, nor what holds one."""
    return not Path.home().is_relative_to(path)


def _library_paths() -> tuple[str, ...]:
    return tuple(each for each in os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep) if each)


@lru_cache(maxsize=8)
def _installed(
    path: tuple[str, ...], libraries: tuple[str, ...], secret: tuple[Path, ...]
) -> tuple[tuple[str, ...], tuple[str, ...], dict[str, str]]:
    """What every guest of this process may read and list: the system, Python, packages and Sidestep's library; and
    modules of folders that it cannot list."""
    readable, listable, modules = [*SYSTEM], [], dict[str, str]()
    for root in {sys.base_prefix, sys.prefix, *libraries}:
        readable += _without(Path(root).resolve(), secret)
    for entry in dict.fromkeys(map(Path, filter(None, path))):
        if entry.name in LIBRARY_FOLDERS or _is_below(entry, (sys.prefix, sys.base_prefix)) or _has_packages(entry):
            readable += _without(entry.resolve(), secret)
            readable += [path for link in _links(entry) for path in _without(link.resolve(), secret)]
            listable.append(str(entry))
        else:
            found = _own_files(entry.resolve(), secret, only_modules=True)
            readable += found
            modules |= _modules(found)
    readable += [str(each) for each in _library_files()]
    return tuple(dict.fromkeys(readable)), tuple(dict.fromkeys([*listable, str(PACKAGE.parent)])), modules


def _library_files() -> list[Path]:
    """Files and folders of Sidestep's library, with the ``__init__.py`` of packages on the way to them."""
    found = {PACKAGE / "__init__.py", PACKAGE / "py.typed"}
    for part in LIBRARY:
        path = PACKAGE.joinpath(*part.split("."))
        found |= {path if path.is_dir() else path.with_suffix(".py")}
        found |= {parent / "__init__.py" for parent in path.parents if parent.is_relative_to(PACKAGE)}
    return sorted(found)


def _has_packages(folder: Path) -> bool:
    """Whether an installer has put packages into a folder of another name."""
    return next(folder.glob("*.dist-info"), None) is not None


def _links(folder: Path) -> list[Path]:
    """Packages that are links to other places."""
    return [each for each in folder.iterdir() if each.is_symlink()] if folder.is_dir() else []


def _is_below(path: Path, roots: tuple[str, ...]) -> bool:
    return any(path.is_relative_to(root) for root in roots)


def _without(root: Path, secret: tuple[Path, ...]) -> list[str]:
    """``root``, or its parts if something secret is in it; nothing if it is secret itself."""
    if any(root.is_relative_to(path) for path in secret):
        return []
    if not any(path.is_relative_to(root) for path in secret):
        return [str(root)]
    try:
        inside = sorted(root.iterdir())
    except OSError:
        return []
    return [path for each in inside for path in _without(each.resolve() if each.is_symlink() else each, secret)]


def _own_file(reference: str) -> Path | None:
    """The file of a policy, if it has one."""
    for opening in (registry.SB3, registry.ONNX):
        if reference.startswith(opening):
            return Path(reference.removeprefix(opening)).resolve()
    file, colon, _ = reference.rpartition(":")
    return Path(file).resolve() if colon and file.endswith(".py") else None


def _own_files(folder: Path, secret: tuple[Path, ...], only_modules: bool) -> list[str]:
    """Files and packages in a folder of a user; not its other folders, which may hold anything, nor hidden files. Of a
    run or pack only modules."""
    try:
        entries = [each for each in os.scandir(folder) if not each.name.startswith(".")]
    except OSError:
        return []
    suffixes = tuple(all_suffixes())
    is_run = not {"run.json", "pack.json"}.isdisjoint(each.name for each in entries)
    every_file = not only_modules and not is_run and len(entries) <= MOST_FILES
    found = []
    for entry in entries:
        path = Path(entry.path)
        if any(each.is_relative_to(path) or path.is_relative_to(each) for each in secret):
            continue
        is_package = entry.is_dir() and any((path / f"__init__{suffix}").exists() for suffix in suffixes)
        if is_package or (entry.is_file() and (every_file or entry.name.endswith(suffixes))):
            found += [entry.path, *([str(path.resolve())] if entry.is_symlink() else [])]
    return found


def _modules(files: Iterable[str]) -> dict[str, str]:
    """Name → file of the modules and packages among ``files``."""
    found: dict[str, str] = {}
    for file in files:
        name = os.path.basename(file).partition(".")[0]
        spec = PathFinder.find_spec(name, [os.path.dirname(file)]) if name.isidentifier() else None
        if spec is not None and spec.origin is not None:
            found[name] = spec.origin
    return found


def _texts(value: Any) -> list[str]:
    """Every text in settings."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [text for each in value.values() for text in _texts(each)]
    return [text for each in value for text in _texts(each)] if isinstance(value, list | tuple) else []


def _exists(path: str) -> bool:
    try:
        return os.path.exists(path)
    except ValueError:
        return False
