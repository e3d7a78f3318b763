"""The page of the Python API, from the source: ``python -m tools.write_api_page > docs/api.md``.

Fields are read with ``ast``: type and default as written, the description from the docstring or the comment at the
field.
"""

from __future__ import annotations

import ast
import enum
import importlib
import inspect
import io
import re
import textwrap
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import sidestep

INTRODUCTION = """# Python API

Generated from the source; do not edit. Units are SI: metres, seconds, radians. The world frame has x to the right
and y up; headings are counter-clockwise from +x. In shapes such as (N, 2), N is the number of people. Arrays that a
policy gets are read-only.

Two notebooks show the API at work: [first steps](notebooks/first_steps.ipynb) and [a policy of your
own](notebooks/own_policy.ipynb). See also [Scenarios](scenarios.md) for the keys of scenario files,
[Robots](robots.md) for robot specs as files, and [Records](records.md) for the files behind `EpisodeRecord`.
"""

FUNCTIONS = {
    "sidestep.suites.files": ("load_suite",),
    "sidestep.simulation": ("run_episode", "build_world"),
    "sidestep.metrics.score": ("score",),
    "sidestep.records": ("load_record", "save_record"),
    "sidestep.datasets": ("load_tracks", "load_dataset"),
}
"""Functions below the top level that scripts use; those that a version does not have are left out."""

TYPES: dict[str, dict[str, tuple[str, ...]]] = {
    "Runs and sessions": {
        "sidestep.api": ("Run", "Document", "DrivenEpisode"),
        "sidestep.simulation.session": ("Session",),
    },
    "Policies": {"sidestep.interfaces": ("Policy",)},
    "What a policy gets": {
        "sidestep.types.observation": (
            "Task", "Observation", "RobotState", "Pedestrians", "Vehicles", "LidarScan", "PointScan", "Future",
        ),
        "sidestep.types.result": ("EpisodeEnd",),
    },
    "Commands": {
        "sidestep.types.command": ("Velocity", "HolonomicVelocity", "Position", "Waypoints", "Drive", "Native"),
    },
    "Robots": {
        "sidestep.types.robot": ("RobotSpec", "Footprint", "RobotLimits", "ControllerGains"),
    },
    "Sensors, predictors, crowd models, suites and loaders": {
        "sidestep.interfaces": (
            "Sensor", "SensorContext", "SensorView", "Predictor", "MomentPredictor", "CrowdModel", "CrowdView",
            "Metric", "Suite", "Loader",
        ),
        "sidestep.types.forecast": ("TrackHistory", "Ego", "Forecast", "SampleForecast", "MixtureForecast"),
    },
    "Records and results": {
        "sidestep.types.record": ("EpisodeRecord", "Event", "PolicyInfo", "Plans"),
        "sidestep.types.outcome": ("Outcome",),
        "sidestep.types.result": ("MetricResult",),
    },
}  # fmt: skip
"""Chapter → module → classes, in the order of the page."""

PLAIN_TYPES = {
    "Positive": "float > 0",
    "NonNegative": "float ≥ 0",
    "Finite": "float",
    "FloatArray": "float array",
    "IntArray": "int array",
    "BoolArray": "bool array",
    "Point": "(x, y)",
    "DynamicsName": "holonomic, unicycle, bicycle",
    "Source": "recorded, generated, mixed",
    "Mode": "sync, async, latency",
    "EventKind": "str",
    "Direction": "higher, lower, none",
}
"""Names of types inside Sidestep → what they are."""


UNIT = re.compile(r"(m|s|rad|kg|s of wall clock)\b")


@dataclass(frozen=True)
class Field:
    """A field, property or method of a class, as the source has it."""

    name: str
    type: str
    default: str | None
    text: str


def api_page() -> str:
    """The whole page, Markdown."""
    public = [name for name in sidestep.__all__ if not name.startswith("_")]
    classes = ", ".join(f"`{name}`" for name in public if inspect.isclass(getattr(sidestep, name)))
    lines = [
        INTRODUCTION,
        "## Top level",
        "",
        f"`import sidestep` offers the functions below and the types {classes}.",
        "",
    ]
    functions = [name for name in public if not inspect.isclass(getattr(sidestep, name))]
    lines += _functions("sidestep", sorted(functions, key=lambda name: name != "run"))
    lines += ["## Single steps", "", "For scripts that need one part of a run only.", ""]
    for module_name, listed in FUNCTIONS.items():
        module = importlib.import_module(module_name)
        lines += _functions(module_name, [function for function in listed if hasattr(module, function)])
    for chapter, modules in TYPES.items():
        lines += [f"## {chapter}", ""]
        for module_name, names in modules.items():
            for each in names:
                lines += _class(importlib.import_module(module_name), each)
    return "\n".join(lines).rstrip() + "\n"


def undescribed() -> list[str]:
    """Fields without a description in the source."""
    stated = {
        f"{each}.{field.name}": field.text
        for modules in TYPES.values()
        for name, classes in modules.items()
        for each in classes
        for field in fields_of(importlib.import_module(name), each)
    }
    in_rules = "Outcome."  # members that docs/leaderboard.md describes
    return [key for key, text in stated.items() if not text and not key.startswith(in_rules)]


def fields_of(module: ModuleType, class_name: str) -> list[Field]:
    """Fields, members of an enumeration, properties and public methods of a class, in the order of the source."""
    node, comments = _parsed(module)
    found = next(each for each in node.body if isinstance(each, ast.ClassDef) and each.name == class_name)
    is_enum = issubclass(getattr(module, class_name), enum.Enum)
    return [
        field for k, item in enumerate(found.body) for field in _field(item, found.body[k + 1 :], comments, is_enum)
    ]


def _field(item: ast.stmt, rest: list[ast.stmt], comments: dict[int, str], is_enum: bool) -> Iterator[Field]:
    if isinstance(item, ast.AnnAssign | ast.Assign):
        target = item.target if isinstance(item, ast.AnnAssign) else item.targets[0]
        is_plain = isinstance(item, ast.AnnAssign) or is_enum
        if isinstance(target, ast.Name) and is_plain and not target.id.startswith("_"):
            kind = _type(item.annotation) if isinstance(item, ast.AnnAssign) else ""
            text = _docstring(rest) or comments.get(item.end_lineno or 0, "")
            yield Field(target.id, kind, _default(item.value), text)
    elif isinstance(item, ast.FunctionDef) and not item.name.startswith("_"):
        decorators = {ast.unparse(each).rpartition(".")[2] for each in item.decorator_list}
        is_property = bool(decorators & {"property", "cached_property"})
        text = ast.get_docstring(item) or ""
        if text and not decorators & {"classmethod", "staticmethod"}:
            kind = _type(item.returns) if is_property else "method"
            arguments = (
                "" if is_property else f"({', '.join(each.arg for each in item.args.args if each.arg != 'self')})"
            )
            yield Field(item.name + arguments, kind, None, text)


def _docstring(rest: list[ast.stmt]) -> str:
    following = rest[0] if rest else None
    if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
        return str(following.value.value)
    return ""


@cache
def _parsed(module: ModuleType) -> tuple[ast.Module, dict[int, str]]:
    """Syntax tree of a module, and its comments by line."""
    text = Path(inspect.getfile(module)).read_text(encoding="utf-8")
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    comments = {token.start[0]: token.string.lstrip("# ") for token in tokens if token.type == tokenize.COMMENT}
    return ast.parse(text), {line: text for line, text in comments.items() if not text.startswith(("noqa", "type:"))}


def _type(node: ast.expr | None) -> str:
    """Type as written, but for ``PLAIN_TYPES``, in code spans that hold no pipe."""
    text = ast.unparse(node) if node is not None else ""
    if text.startswith("ClassVar["):
        text = text.removeprefix("ClassVar[").removesuffix("]")
    for name, plain in PLAIN_TYPES.items():
        text = re.sub(rf"\b{name}\b", plain, text)
    return " or ".join(f"`{part}`" for part in text.split(" | ")) if text else ""


def _default(node: ast.expr | None) -> str | None:
    """Default as written; None: the field has to be given. Factories are shown by what they make."""
    if node is None:
        return None
    text = ast.unparse(node)
    factory = re.search(r"default_factory=(.*)\)$", text)
    if not factory:
        return text
    made = factory[1]
    return f"{made}()" if made[:1].isupper() else "{}" if made == "dict" else "empty"


def _functions(module: str, names: list[str]) -> list[str]:
    lines = []
    for name in names:
        thing: Any = getattr(importlib.import_module(module), name)
        text = _markdown(inspect.getdoc(thing) or "", paragraphs=True)
        lines += [f"### `{module}.{name}`", "", "```python", f"{name}{_signature(thing)}", "```", "", text, ""]
    return lines


def _signature(function: Any) -> str:
    """Parameters and result as written; one parameter per line where they do not fit into one."""
    [node] = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    assert isinstance(node, ast.FunctionDef)
    parts = _parameters(node.args)
    result = ast.unparse(node.returns) if node.returns else "None"
    line = f"({', '.join(parts)}) -> {result}"
    return line if len(line) < 90 else "(\n" + "".join(f"    {part},\n" for part in parts) + f") -> {result}"


def _parameters(arguments: ast.arguments, names_only: bool = False) -> list[str]:
    def written(argument: ast.arg, default: ast.expr | None, star: str = "") -> str:
        if names_only:
            return star + argument.arg
        kind = f": {ast.unparse(argument.annotation)}" if argument.annotation else ""
        return f"{star}{argument.arg}{kind}" + (f" = {ast.unparse(default)}" if default else "")

    plain = arguments.posonlyargs + arguments.args
    missing = len(plain) - len(arguments.defaults)
    parts = [written(each, arguments.defaults[k - missing] if k >= missing else None) for k, each in enumerate(plain)]
    if arguments.vararg:
        parts.append(written(arguments.vararg, None, "*"))
    elif arguments.kwonlyargs and not names_only:
        parts.append("*")
    parts += [written(each, default) for each, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
    if arguments.kwarg:
        parts.append(written(arguments.kwarg, None, "**"))
    return [part for part in parts if part != "self"]


def _class(module: ModuleType, name: str) -> list[str]:
    text = _markdown(inspect.getdoc(getattr(module, name)) or "", paragraphs=True)
    return [f"### `{name}`", "", text, "", *_members(module, name)]


def _members(module: ModuleType, name: str) -> list[str]:
    fields = fields_of(module, name)
    if not fields:
        return []
    rows = []
    for field in fields:
        default = "" if field.default is None else f"`{field.default}`"
        rows.append((f"`{field.name}`", field.type, default, _markdown(field.text)))
    keep = [k for k in range(4) if any(row[k] for row in rows)]
    heads = ("member", "type", "default" if keep != [0, 2] else "value", "meaning")
    table = [[heads[k] for k in keep], ["---"] * len(keep), *([row[k] for k in keep] for row in rows)]
    return ["| " + " | ".join(row) + " |" for row in table] + [""]


def _markdown(text: str, paragraphs: bool = False) -> str:
    """A docstring in Markdown: one line, or paragraphs of one line each."""
    text = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", text).replace("``", "`")
    parts = [" ".join(part.split()) for part in text.split("\n\n")]
    joined = ("\n\n" if paragraphs else " ").join(part for part in parts if part)
    if paragraphs:
        return joined
    line = re.sub(r", (above|below)$", "; see above", joined).replace("|", "\\|").rstrip(".")
    return line[:1].upper() + line[1:] if line[1:2].islower() and not UNIT.match(line) else line


def main() -> None:
    """Print the page."""
    print(api_page(), end="")


if __name__ == "__main__":
    main()
