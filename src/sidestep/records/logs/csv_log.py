"""Tables of positions as text: one row per body and time, columns named by the first line.

``time``, ``x`` and ``y`` are needed; ``id`` unless there is only the robot. ``kind`` says who is the robot (``robot``,
``ego``); otherwise ``--robot ID``, or an id of that name. Known spellings of columns are found without a map.
Coordinates of a row that is not complete are left out and counted.
"""

from __future__ import annotations

import csv
import re
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from sidestep._util.reading import is_file, read_mapping
from sidestep.errors import BadInput, did_you_mean
from sidestep.records.logs.drive import (
    MOST_ROWS,
    LoggedDrive,
    ReadOptions,
    Track,
    add_counts,
    describe_repairs,
    make_track,
    number_people,
)
from sidestep.types.base import FloatArray

SPELLINGS: dict[str, tuple[str, ...]] = {
    "time": ("time", "t", "time_s", "timestamp", "seconds", "stamp", "time_ms", "time_us", "time_ns"),
    "id": ("id", "agent", "agent_id", "person", "person_id", "ped", "ped_id", "track_id", "track", "name"),
    "x": ("x", "px", "x_m", "pos_x", "position_x"),
    "y": ("y", "py", "y_m", "pos_y", "position_y"),
    "heading": ("heading", "yaw", "theta", "psi", "heading_rad"),
    "vx": ("vx", "v_x", "velocity_x"),
    "vy": ("vy", "v_y", "velocity_y"),
    "omega": ("omega", "yaw_rate", "turn_rate"),
    "radius": ("radius", "radius_m"),
    "group": ("group", "group_id"),
    "kind": ("kind", "type", "class", "agent_type"),
    "goal_x": ("goal_x", "gx"),
    "goal_y": ("goal_y", "gy"),
}
"""What is read, and what columns are called in tables without a map."""
NEEDED = ("time", "x", "y")
NUMBERS = ("time", "x", "y", "heading", "vx", "vy", "omega", "radius", "goal_x", "goal_y")
ROBOTS = frozenset({"robot", "ego", "ego_vehicle", "agv"})
PEOPLE = frozenset({"person", "people", "pedestrian", "ped", "human", "agent", "walker", ""})
UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
EMPTY = frozenset({"", "nan", "none", "null", "na", "n/a", "-"})
LONGEST_LINE = 1 << 16
GROUP = re.compile(r"-?[0-9]{1,18}")


@dataclass
class Rows:
    """Numbers of one body, column by column."""

    columns: dict[str, array[float]]
    kind: str = ""
    group: int = -1


@dataclass
class Table:
    """What was read of a file."""

    bodies: dict[str, Rows] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    incomplete: int = 0


@dataclass(frozen=True)
class CsvLog:
    """Reads tables of positions."""

    name: str = "csv"
    summary: str = "text table with a header: time, id, x, y and more; columns by --columns time=t,x=px,…"

    def matches(self, path: Path) -> bool:
        """Whether it is a text file whose first line names at least time, x and y."""
        if path.suffix.lower() not in (".csv", ".tsv", ".txt") or not is_file(path):
            return False
        with path.open("rb") as file:
            first = file.readline(LONGEST_LINE).decode("utf-8-sig", "replace")
        return set(NEEDED) <= set(_guess(_split_header(first)))

    def read(self, path: Path, options: ReadOptions) -> Iterator[LoggedDrive]:
        """One drive per robot that is asked for."""
        options.refuse(path, self.name, "topics", "rate_hz")
        table = read_table(path, load_columns(options.columns, path))
        scale, unit_note = time_scale(path, table, options)
        tracks, mended = _tracks(table, scale)
        said = [*table.said, unit_note, *describe_repairs(mended)]
        if table.incomplete:
            said.append(f"{table.incomplete:,} rows without time or position left out")
        for robot in choose_robots(path, table, tracks, options.robot):
            yield _drive(table, tracks, robot, tuple(said), len(tracks) > 1 or table_has_ids(table))


def table_has_ids(table: Table) -> bool:
    """Whether the table has a column of ids."""
    return set(table.bodies) != {""}


def load_columns(given: Mapping[str, str], path: Path) -> dict[str, str]:
    """The column map, from ``--columns key=name`` and from a YAML file given as ``--columns FILE``."""
    columns: dict[str, str] = {}
    for key, name in given.items():
        if key == "file":
            columns |= {str(what): str(column) for what, column in read_mapping(Path(name), "column map").items()}
        else:
            columns[key] = name
    for key in columns:
        if key not in SPELLINGS:
            raise BadInput(f"--columns {key:.60}=…: no such quantity{did_you_mean(key, SPELLINGS)}")
    return columns


def read_table(path: Path, columns: Mapping[str, str]) -> Table:
    """Every row of the file, by body; the file is read line by line."""
    table = Table()
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            first = file.readline(LONGEST_LINE)
            header, mark = _split_header(first), _separator(first)
            if not header:
                raise BadInput(f"{path}: the file is empty; the first line names the columns")
            places = _places(path, header, columns, table)
            lines = csv.reader(file, delimiter=mark, skipinitialspace=True) if mark else (row.split() for row in file)
            for count, row in enumerate(lines):
                if count >= MOST_ROWS:
                    raise BadInput(f"{path}: more than {MOST_ROWS:,} rows; split the log")
                _add_row(path, count + 2, row, places, table)
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: byte {error.start} is not UTF-8; save the table as UTF-8") from None
    except csv.Error as error:
        raise BadInput(f"{path}: not a table of text ({error}); export it as CSV") from None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {(error.strerror or str(error)).lower()}") from None
    if not table.bodies:
        raise BadInput(f"{path}: no rows with time and position in it")
    return table


def _separator(line: str) -> str | None:
    """What separates columns; None: blanks."""
    return next((mark for mark in (",", ";", "\t") if mark in line), None)


def _split_header(line: str) -> list[str]:
    return [name.strip().strip("\"'") for name in line.strip().split(_separator(line))] if line.strip() else []


def _guess(header: list[str]) -> dict[str, str]:
    """Quantity → column, by known spellings."""
    lower = {name.lower(): name for name in reversed(header)}
    found = {}
    for what, spellings in SPELLINGS.items():
        known = next((lower[spelling] for spelling in spellings if spelling in lower), None)
        if known is not None:
            found[what] = known
    return found


def _places(path: Path, header: list[str], columns: Mapping[str, str], table: Table) -> dict[str, int]:
    for what, name in columns.items():
        if name not in header:
            raise BadInput(f"{path}: no column {name!r} for {what}{did_you_mean(name, header)}")
    chosen = _guess(header) | dict(columns)
    missing = [what for what in NEEDED if what not in chosen]
    if missing:
        raise BadInput(
            f"{path}: no column for {', '.join(missing)}; the columns are {', '.join(header)[:300]}: give --columns "
            f"{','.join(f'{what}=COLUMN' for what in missing)}"
        )
    table.said.append("columns: " + ", ".join(f"{what}={name}" for what, name in chosen.items()))
    return {what: header.index(name) for what, name in chosen.items()}


def _add_row(path: Path, line: int, row: list[str], places: Mapping[str, int], table: Table) -> None:
    if not any(cell.strip() for cell in row) or row[0].lstrip().startswith("#"):
        return
    if len(row) <= max(places.values()):
        raise BadInput(f"{path}:{line}: {len(row)} columns, the first line has more; is the file cut off?")
    cells = {what: row[place].strip() for what, place in places.items()}
    values = {what: _number(path, line, what, cells[what]) for what in NUMBERS if what in cells}
    if not all(np.isfinite(values[what]) for what in NEEDED):
        table.incomplete += 1
        return
    body = table.bodies.get(cells.get("id", ""))
    if body is None:
        body = table.bodies[cells.get("id", "")] = Rows({what: array("d") for what in values})
        body.kind = cells.get("kind", "").lower()
        group = cells.get("group", "")
        body.group = int(group) if GROUP.fullmatch(group) else -1
    for what, value in values.items():
        body.columns[what].append(value)


def _number(path: Path, line: int, what: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        if text.lower() in EMPTY:
            return float("nan")
        raise BadInput(f"{path}:{line}: {what} is {text[:40]!r}, not a number") from None


def time_scale(path: Path, table: Table, options: ReadOptions) -> tuple[float, str]:
    """Seconds per unit of the time column, and a sentence about it: as given, or by how large the times are."""
    if options.time_unit is not None:
        if options.time_unit not in UNITS:
            raise BadInput(f"--time-unit {options.time_unit}: known are {', '.join(UNITS)}")
        return UNITS[options.time_unit], f"time in {options.time_unit}"
    latest = max(abs(rows.columns["time"][0]) for rows in table.bodies.values())
    unit = "ns" if latest > 1e17 else "us" if latest > 1e14 else "ms" if latest > 1e11 else "s"
    return UNITS[unit], f"time taken to be in {unit}; otherwise give --time-unit"


def _tracks(table: Table, scale: float) -> tuple[dict[str, Track], dict[str, int]]:
    tracks: dict[str, Track] = {}
    mended: dict[str, int] = {}
    start = min(min(rows.columns["time"]) for rows in table.bodies.values())
    for name, rows in table.bodies.items():
        c = {what: np.array(values) for what, values in rows.columns.items()}
        velocity: FloatArray | None = None
        if {"vx", "vy"} <= c.keys():
            velocity = np.column_stack([c["vx"], c["vy"], c.get("omega", np.zeros(len(c["vx"])))])
        heading = c.get("heading")
        if heading is not None and np.isnan(heading).all():
            heading = None
        radius = c.get("radius")
        known = None if radius is None or not np.isfinite(radius[0]) else float(radius[0])
        tracks[name], counts = make_track(
            (c["time"] - start) * scale, np.column_stack([c["x"], c["y"]]), heading, velocity, known, rows.group
        )
        add_counts(mended, counts)
    return tracks, mended


def choose_robots(path: Path, table: Table, tracks: Mapping[str, Track], wanted: str | None) -> list[str]:
    """Ids of the robots: as asked for, else by kind, else by name, else the only body."""
    ids = sorted(tracks, key=lambda name: (-len(tracks[name].time), name))
    if wanted == "all":
        return [name for name in tracks if len(tracks[name].time) > 1]
    if wanted is not None:
        if wanted not in tracks:
            raise BadInput(f"{path}: no body {wanted!r}{did_you_mean(wanted, ids)}")
        return [wanted]
    found = [name for name in tracks if table.bodies[name].kind in ROBOTS]
    found = found or [name for name in tracks if name.lower() in ROBOTS]
    found = found or (ids if len(ids) == 1 else [])
    if len(found) != 1:
        why = "several are robots" if found else "nothing says which body is the robot"
        raise BadInput(
            f"{path}: {why}; give --robot ID, one of {', '.join(f'{name!r:.40}' for name in (found or ids)[:10])}, or "
            "--robot all"
        )
    return found


def _drive(
    table: Table, tracks: Mapping[str, Track], robot: str, said: tuple[str, ...], has_people: bool
) -> LoggedDrive:
    others = [name for name in tracks if name != robot]
    left_out = sorted({table.bodies[name].kind for name in others} - PEOPLE - ROBOTS)
    people = [name for name in others if table.bodies[name].kind in PEOPLE or table.bodies[name].kind in ROBOTS]
    numbers = number_people(people)
    notes = [f"robot: {robot}"] if robot else []
    if left_out:
        notes.append(f"bodies of these kinds left out: {', '.join(left_out)}")
    if people and {str(number) for number in numbers.values()} != set(people):
        notes.append("people are numbered in the order of their ids")
    rows = table.bodies[robot].columns
    goal = None
    if {"goal_x", "goal_y"} <= rows.keys():
        known = np.flatnonzero(np.isfinite(rows["goal_x"]) & np.isfinite(rows["goal_y"]))
        goal = (rows["goal_x"][known[-1]], rows["goal_y"][known[-1]]) if len(known) else None
    return LoggedDrive(
        robot=tracks[robot],
        people={numbers[name]: tracks[name] for name in people} if has_people else None,
        name=f"robot{robot}" if robot else "",
        goal=goal,
        said=(*said, *notes),
    )


CSV_LOG = CsvLog()
