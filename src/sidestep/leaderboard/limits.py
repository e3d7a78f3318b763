"""Limits of what an unpacked pack may ask for: sizes of its plan and tables, and files that its plan names. They are
checked on plain data, before models are made of it and before any file is opened that it names."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sidestep import registry
from sidestep._util.reading import parse_json
from sidestep.errors import BadInput
from sidestep.runs.folder import IN_PACKAGE, RUN_FILE
from sidestep.runs.provenance import PACKAGE

MOST_PLAN_BYTES = 16_000_000
MOST_SCENARIOS = 10_000
MOST_POLICIES = 200
MOST_SEEDS = 10_000
MOST_EPISODES = 200_000
MOST_FILES = 1000
"""Most files that the scenarios and policies of a plan may name."""
SPARE_METRICS = 100
"""Metrics that a table of results may have beside those that are known here."""
MOST_CELLS = 2_000_000_000
"""Most bytes that the columns of a table of results may unpack to."""
SPECIAL = tuple(Path(name) for name in ("/dev", "/proc", "/sys"))
ABSOLUTE = re.compile(r"[/\\]|[A-Za-z]:[/\\]|~[^/\\]*[/\\]|~$|file:", re.IGNORECASE)


def check_plan(folder: Path, path: Path) -> int:
    """Number of episodes of the plan in ``folder``, the unpacked pack ``path``; ``BadInput`` if it is beyond a limit or
    names files outside the pack."""
    where = f"{path}: member {RUN_FILE!r}"
    data = (folder / RUN_FILE).read_bytes()
    if len(data) > MOST_PLAN_BYTES:
        raise BadInput(f"{where}: {len(data):,} bytes; a plan has at most {MOST_PLAN_BYTES:,}: split the run")
    document = parse_json(data, where, finite=False)
    plan = document.get("plan") if isinstance(document, dict) else None
    if not isinstance(plan, dict):
        raise BadInput(f"{where}: has no plan; make packs with `sidestep pack`")
    size = 1
    for name, most in (("scenarios", MOST_SCENARIOS), ("policies", MOST_POLICIES), ("seeds", MOST_SEEDS)):
        listed = plan.get(name)
        count = len(listed) if isinstance(listed, list) else 0
        if count > most:
            raise BadInput(f"{where}: {count:,} {name}; a plan has at most {most:,}: split the run")
        size *= count
    if size > MOST_EPISODES:
        raise BadInput(f"{where}: {size:,} episodes; a pack has at most {MOST_EPISODES:,}: split the run")
    _check_base(document.get("base"), where)
    _check_files(plan, where)
    return size


def check_tables(folder: Path, episodes: int, path: Path) -> None:
    """``BadInput`` if a table of results has more rows than a plan of so many episodes has results."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    most = max(episodes, 1) * (len(registry.names("metrics")) + SPARE_METRICS)
    for table in sorted(folder.glob("results*.parquet")):
        where = f"{path}: member {table.name!r}"
        try:
            described = pq.read_metadata(table)
            unpacked = sum(described.row_group(k).total_byte_size for k in range(described.num_row_groups))
        except (pa.ArrowException, OSError, ValueError):
            continue  # what cannot be read is a problem of the results, not of the file
        if described.num_rows > most:
            raise BadInput(f"{where}: {described.num_rows:,} rows; {episodes:,} episodes have at most {most:,} results")
        if unpacked > MOST_CELLS:
            raise BadInput(f"{where}: unpacks to {unpacked:,} bytes; at most {MOST_CELLS:,} are read")


def _check_base(base: Any, where: str) -> None:
    if base is None:
        return
    inside = str(base).removeprefix(IN_PACKAGE)
    if not str(base).startswith(IN_PACKAGE) or ABSOLUTE.match(inside) or ".." in re.split(r"[/\\]", inside):
        raise BadInput(f"{where}: base {str(base)!r:.80}: a folder outside the pack; make packs with `sidestep pack`")


def _check_files(plan: dict[str, Any], where: str) -> None:
    if problem := next(refused_names(plan), ""):
        raise BadInput(f"{where}: {problem}")


def refused_names(plan: dict[str, Any]) -> Iterator[str]:
    """A sentence for each name in a plan that nobody else opens, and for too many of them."""
    seen: set[str] = set()
    for place, name in _names(plan):
        if name in seen:
            continue
        seen.add(name)
        if len(seen) > MOST_FILES:
            yield f"names more than {MOST_FILES:,} files; split the run"
            return
        if reason := reason_refused(name):
            yield f"{place}: {name!r:.80} {reason}; run it again with a path relative to the working directory"


def reason_refused(name: str) -> str:
    """Why a name in a plan of somebody else is not opened; empty if it may be."""
    if "\0" in name:
        return "is no name of a file"
    if ABSOLUTE.match(name):
        return "is an absolute path"
    if ".." in re.split(r"[/\\]", name):
        return "leads outside the pack"
    for base in (Path(), PACKAGE / "suites" / "data"):
        try:
            place = Path(os.path.realpath(base / name.partition(":")[0]))
            if any(place.is_relative_to(special) for special in SPECIAL):
                return "is a device or a file of the system"
            mode = place.stat().st_mode
        except (OSError, ValueError):
            continue
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            return "is a device or a pipe"
    return ""


def _names(plan: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Every text of a plan that may name a file, and its place."""
    for index, scenario in enumerate(_dicts(plan.get("scenarios"))):
        where = f"scenario {index}"
        yield from _scene_names(scenario.get("scene"), f"{where}: scene")
        for robot in _dicts(scenario.get("robots")):
            yield from _texts(robot.get("spec"), f"{where}: robot", only={"spec", "mesh", "urdf", "path"})
        for part in _dicts(scenario.get("crowd")):
            placement = part.get("placement")
            for key in ("path", "dataset", "graph"):
                if isinstance(placement, dict) and isinstance(placement.get(key), str):
                    yield f"{where}: crowd: {key}", placement[key]
        notes = scenario.get("notes")
        yield from _texts(notes.get("options") if isinstance(notes, dict) else None, f"{where}: options")
    for index, policy in enumerate(_dicts(plan.get("policies"))):
        yield from _texts(policy.get("settings"), f"policy {index}: setting")


def _scene_names(scene: Any, where: str) -> Iterator[tuple[str, str]]:
    if isinstance(scene, str):
        yield where, scene
    elif isinstance(scene, dict) and isinstance(scene.get("mesh"), str):
        yield f"{where}: mesh", scene["mesh"]


def _texts(value: Any, where: str, only: set[str] | None = None) -> Iterator[tuple[str, str]]:
    """All texts in plain data; with ``only``, of mappings the values of these keys."""
    if isinstance(value, str):
        yield where, value
    elif isinstance(value, dict):
        for key, item in value.items():
            if only is None or key in only:
                yield from _texts(item, f"{where} {str(key)[:40]}", only)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item, where, only)


def _dicts(value: Any) -> Iterator[dict[str, Any]]:
    yield from (item for item in value if isinstance(item, dict)) if isinstance(value, list) else ()
