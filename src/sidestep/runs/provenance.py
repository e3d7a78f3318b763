"""What a run depends on: hashes of the simulator's code, of policies, of the files and plug-ins that scenarios name,
the machine, and the commit.

A run folder keeps them, so that an episode is never resumed with other code or another map than it began with.
Policies are not imported here: their modules are found and their imports read from the source. No paths, names
of people or hosts are kept.
"""

from __future__ import annotations

import ast
import hashlib
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from sidestep import registry
from sidestep.errors import SidestepError
from sidestep.simulation.traffic import load_vehicle
from sidestep.types.events import PluginEvent
from sidestep.types.scenario import ReplayPlacement, Scenario
from sidestep.version import __version__

PACKAGE = Path(__file__).resolve().parents[1]
SIMULATOR = (
    "_util/exact.py", "datasets", "kernels", "prediction/comfort_zone.py", "prediction/ground.py",
    "prediction/predictors", "prediction/violation.py", "render", "runs/remote", "scenes", "simulation", "types",
)  # fmt: skip
"""Parts of the package that make what happens in an episode, whoever drives: people, robots, what sensors and cameras
see, how recordings are read, what a guest receives and how its answers are read."""
SHOWS_ONLY = ("render/films", "render/top_view")
"""Folders in these parts that only draw finished records."""
COMPANION = re.compile(
    r"[^\s\"'<>=:,\[\]{}]+\.(?:pgm|png|bmp|tiff?|jpe?g|glb|gltf|bin|stl|dae|obj|csv)\b", re.IGNORECASE
)
"""Names of further files inside a scene or robot file: the picture of a map, a mesh."""
COMPANION_BYTES = 1 << 20
"""Size of the beginning of a file that is searched for names of other files."""
HASH_DIGITS = 16
DATASET = "dataset:"
"""Opens the name of an installed recording."""
PLUG_IN = "plug-in "
"""Opens the name of a plug-in: ``plug-in sensor NAME``."""


@cache
def simulator_version() -> str:
    """Version of the package and hash of the simulator's sources and data."""
    shows = [PACKAGE / part for part in SHOWS_ONLY]
    files = [file for part in SIMULATOR for file in _files_of(PACKAGE / part)]
    files = [file for file in files if not any(file.is_relative_to(folder) for folder in shows)]
    return f"sidestep {__version__} sha256:{hash_files(files, PACKAGE)}"


@cache
def bundled_version(name: str) -> str:
    """Version of the package and hash of everything that makes the behaviour of a bundled policy, which are the
    simulator, the policy's module and all that it imports from this package, and data beside those modules."""
    module = registry.POLICIES[name].partition(":")[0]
    [start, *_] = _located(module, [PACKAGE.parent])[::-1]
    sources = imported_files(start, [PACKAGE.parent], only=PACKAGE.name)
    data = {file for source in sources for file in _data_beside(source)}
    whole = hashlib.sha256(f"{simulator_version()} {hash_files({*sources, *data}, PACKAGE)}".encode()).hexdigest()
    return f"sidestep {__version__} sha256:{whole[:HASH_DIGITS]}"


def _data_beside(source: Path) -> list[Path]:
    """Weights and settings in the folder of a policy that has one of its own."""
    if source.parent == PACKAGE / "policies" or not source.is_relative_to(PACKAGE / "policies"):
        return []
    return [file for file in _files_of(source.parent) if file.suffix != ".py"]


def policy_version(name: str) -> str:
    """What the code of a policy is now."""
    return bundled_version(name) if name in registry.POLICIES else user_version(name)


def setting_files(settings: Mapping[str, Any]) -> dict[str, str]:
    """Setting → hash of the file that it names, such as a model's weights; of settings that name one that exists."""
    named = {key: _existing(value) for key, value in settings.items()}
    files = {key: hash_files([path], path.parent) for key, path in named.items() if path is not None}
    predictor = settings.get("predictor")
    if isinstance(predictor, str) and predictor not in registry.PREDICTORS:
        files["predictor"] = user_version(predictor, "predictors")
    return files


def plug_in_files(named: Iterable[tuple[registry.Kind, str]]) -> dict[str, str]:
    """``plug-in KIND NAME`` → hash of its source, of the (kind, name) pairs that installed plug-ins have registered."""
    return {
        f"{PLUG_IN}{registry.kind_in_singular(kind)} {name}": user_version(name, kind)
        for kind, name in sorted(set(named))
        if registry.is_plug_in(kind, name)
    }


def sensor_files(needs: Iterable[str]) -> dict[str, str]:
    """Hashes of the plug-in sensors that serve a policy's ``needs``."""
    return plug_in_files(("sensors", need) for need in needs)


def user_version(name: str, kind: registry.Kind = "policies") -> str:
    """The version of a policy or plug-in that is not bundled, ``path/to/file.py:Class``, ``package.module:Class`` or
    the name of an entry point: the hash of its module and of the person's own modules that it imports; of
    ``sb3:FILE.zip`` that of the file and of the notes beside it, of ``onnx:SPEC.yaml`` that of the file and of its
    networks. Empty where no source is found, as for a policy that another process serves."""
    if name.startswith(registry.ONNX):
        return _interface_version(Path(name.removeprefix(registry.ONNX)))
    if name.startswith(registry.SB3):
        path = Path(name.removeprefix(registry.SB3))
        notes = path.with_name(path.name.removesuffix(".zip") + ".sidestep.json")  # as sidestep.gym.training names it
        return (
            f"sha256:{hash_files([path, *([notes] if notes.is_file() else [])], path.parent)}" if path.is_file() else ""
        )
    reference = name if ":" in name else registry.table(kind).get(name, "")
    module, _, _ = reference.rpartition(":")
    if name.startswith(registry.REMOTE) or not module:
        return ""
    if module.endswith(".py"):
        start = Path(module).resolve()
        roots, only = [start.parent, *_own_folders()], None
    else:
        found = _located(module, [Path(entry) for entry in sys.path])
        if not found:
            return ""
        start, only = found[-1], module.partition(".")[0]
        roots = [found[0].parent if found[0].name != "__init__.py" else found[0].parent.parent]
    return f"sha256:{hash_files(imported_files(start, roots, only), roots[0])}"


def _interface_version(path: Path) -> str:
    from sidestep.policies.visual.model_files import load_spec

    spec = load_spec(str(path))
    files = [path, *(Path(file).expanduser() for file in (spec.file, spec.encoder_file) if file is not None)]
    return f"sha256:{hash_files([file for file in files if file.is_file()], path.parent)}"


def _own_folders() -> list[Path]:
    """Folders of ``sys.path`` that hold neither Python nor what is installed: a person's own modules."""
    installed = {Path(prefix).resolve() for prefix in (sys.prefix, sys.base_prefix, sys.exec_prefix)}
    folders = [Path(entry or ".").resolve() for entry in sys.path]
    return [each for each in folders if each.is_dir() and not any(each.is_relative_to(inside) for inside in installed)]


def own_sources(start: Path) -> set[Path]:
    """The file ``start`` and the person's own modules that it imports."""
    files = imported_files(start, [start.parent, *_own_folders()])
    return {file for file in files if not file.is_relative_to(PACKAGE)}


def imported_files(start: Path, roots: list[Path], only: str | None = None) -> set[Path]:
    """``start`` and every source file below ``roots`` that it imports, directly or by way of another. ``only``: modules
    of this package. The simulator's own modules are not searched further, since their hash covers all of them, nor is
    the list of this package's public names."""
    found: set[Path] = set()
    waiting = [start]
    while waiting:
        file = waiting.pop()
        if file in found or not file.is_file():
            continue
        found.add(file)
        if file == PACKAGE / "__init__.py" or any(file.is_relative_to(PACKAGE / part) for part in SIMULATOR):
            continue
        for module, folders in _imports(file, roots):
            top = module.partition(".")[0]
            if folders is roots and top == PACKAGE.name:
                waiting += _located(module, [PACKAGE.parent])
            elif folders is not roots or only is None or top == only:
                waiting += _located(module, folders)
    return found


def _imports(file: Path, roots: list[Path]) -> Iterator[tuple[str, list[Path]]]:
    """Every module that ``file`` imports, and the folders to look for it in."""
    for module, level in _import_statements(file, file.stat().st_mtime_ns, file.stat().st_size):
        yield module, roots if not level else [file.parents[min(level, len(file.parents)) - 1]]


@cache
def _import_statements(file: Path, changed_ns: int, size: int) -> list[tuple[str, int]]:
    """Modules, with ``from`` and their names in them, and how many folders up they start; 0: not relative."""
    try:
        nodes = list(ast.walk(ast.parse(file.read_bytes())))
    except (SyntaxError, ValueError, RecursionError):
        return []  # it cannot be imported either, which is reported elsewhere
    plain = [(alias.name, 0) for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    return plain + [
        (f"{node.module}.{alias.name}" if node.module else alias.name, node.level)
        for node in nodes
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]


def _located(module: str, folders: list[Path]) -> list[Path]:
    """Source files of a module and of the packages that it lies in, from the outermost; what follows the last module is
    one of its names. Empty where the module is in none of ``folders``."""
    parts = module.split(".")
    for folder in folders:
        files: list[Path] = []
        for part in parts:
            folder = folder / part
            if (folder / "__init__.py").is_file():
                files.append((folder / "__init__.py").resolve())
            elif folder.with_name(f"{part}.py").is_file():
                files.append(folder.with_name(f"{part}.py").resolve())
                break
            elif not folder.is_dir():
                break
        if files:
            return files
    return []


def scenario_files(scenarios: Iterable[Scenario], base: Path | None) -> dict[str, str]:
    """Hash of every file that scenarios name, and of the files which those name: maps, robots, recordings, meshes; and
    of the plug-ins that make their worlds: crowd models, events, road users with their looks, and drivers.

    A name is as the scenario gives it, so that a folder that moves with its files still has the same ones.
    """
    scenarios = tuple(scenarios)
    found = plug_in_files(pair for scenario in scenarios for pair in _names_of_plug_ins(scenario))
    for scenario in scenarios:
        for name in names_of_files(scenario):
            if name in found:
                continue
            is_dataset = name.startswith(DATASET)
            path = _recording(name) if is_dataset else (base or Path()) / Path(name).expanduser()
            if path is not None and path.is_file():
                found[name] = hash_files([path, *(() if is_dataset else _companions(path))], path.parent)
    return dict(sorted(found.items()))


def names_of_files(scenario: Scenario) -> Iterator[str]:
    """What may be a file of the scenario's: its scene, robots and recordings, as it names them."""
    if isinstance(scenario.scene, str):
        yield scenario.scene
    elif scenario.scene.mesh is not None:
        yield scenario.scene.mesh
    yield from (robot.spec for robot in scenario.robots if isinstance(robot.spec, str))
    for placement in (part.placement for part in scenario.crowd):
        if isinstance(placement, ReplayPlacement):
            yield from (placement.path,) if placement.path is not None else ()
            yield from (f"{DATASET}{placement.dataset}",) if placement.dataset is not None else ()


def _names_of_plug_ins(scenario: Scenario) -> Iterator[tuple[registry.Kind, str]]:
    """Kind and name of everything that may come from a plug-in."""
    yield from (("crowd_models", part.model) for part in scenario.crowd)
    yield from (("events", event.name) for event in scenario.events if isinstance(event, PluginEvent))
    for vehicle in scenario.traffic:
        yield "road_users", vehicle.kind
        yield "drivers", vehicle.driver_name
        with suppress(SidestepError):  # a missing kind is reported when its episode is built
            yield "looks", (vehicle.spec or load_vehicle(vehicle.kind)).look


@cache
def _recording(name: str) -> Path | None:
    """The path of an installed recording; None if it is missing, which is reported when its episode is built."""
    from sidestep.datasets.sources import locate

    try:
        return Path(locate(name.removeprefix(DATASET))[0])
    except SidestepError:
        return None


def _companions(path: Path) -> list[Path]:
    """Files beside or below ``path`` that it names."""
    if path.suffix.lower() not in (".yaml", ".yml", ".json", ".geojson", ".urdf"):
        return []
    with path.open("rb") as file:
        text = file.read(COMPANION_BYTES).decode("utf-8", "replace")
    named = {path.parent / match.group().removeprefix("package://") for match in COMPANION.finditer(text)}
    return [each for each in sorted(named) if each.is_file() and each.resolve().is_relative_to(path.parent.resolve())]


def _existing(value: Any) -> Path | None:
    """The file that a setting names, if it does."""
    if not isinstance(value, str | Path) or not str(value):
        return None
    try:
        path = Path(value).expanduser()
        return path if path.is_file() else None
    except (OSError, ValueError, RuntimeError):
        return None


def _files_of(path: Path) -> list[Path]:
    """All files below a folder but what Python makes of them, or the file itself."""
    if path.is_file():
        return [path]
    return sorted(
        file for file in path.rglob("*") if file.is_file() and "__pycache__" not in file.parts and file.suffix != ".pyc"
    )


def hash_files(files: Iterable[Path], root: Path) -> str:
    """Hash of the contents of files and of their names below ``root`` (elsewhere: their last names)."""
    sha = hashlib.sha256()
    for name, file in sorted((_name_below(file, root), file) for file in set(files)):
        sha.update(f"{name}\n".encode("utf-8", "surrogateescape"))
        sha.update(_hash_of(file, file.stat().st_mtime_ns, file.stat().st_size))
    return sha.hexdigest()[:HASH_DIGITS]


def _name_below(file: Path, root: Path) -> str:
    return file.relative_to(root).as_posix() if file.is_relative_to(root) else file.name


@cache
def _hash_of(file: Path, changed_ns: int, size: int) -> bytes:
    """Hash of a file's contents, which are read once while they do not change."""
    sha = hashlib.sha256()
    with file.open("rb") as stream:
        while block := stream.read(1 << 20):
            sha.update(block)
    return sha.digest()


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
    try:
        if _run_git(PACKAGE, "ls-files", "--error-unmatch", "version.py") is None:
            return None  # installed into someone else's repository
        commit = _run_git(PACKAGE, "rev-parse", "HEAD")
        changed = _run_git(PACKAGE, "status", "--porcelain", "--untracked-files=no", "--", ".")
    except (OSError, subprocess.TimeoutExpired):
        return None
    return None if commit is None else commit + ("-dirty" if changed else "")


def _run_git(folder: Path, *arguments: str) -> str | None:
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments], capture_output=True, text=True, timeout=5, check=False
    )
    return done.stdout.strip() if done.returncode == 0 else None
