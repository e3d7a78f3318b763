"""Suites by name, and suites as YAML files: ``crossing``, ``my_suite.yaml``, ``my_suites/``.

The bundled suites ``core`` and ``catalogue`` are such files themselves (``data/``).

A file holds documents (separated by ``---``). A document is one scenario, or a list of them with shared settings::

    summary: A corridor at three densities
    defaults:
      scene: corridor.yaml
      rules: {time_limit_s: 30}
    scenarios:
      - {name: sparse, crowd: [...]}
      - {name: dense, crowd: [...], rules: {time_limit_s: 60}}

``defaults`` are merged deeply: mappings key by key, anything else is replaced. Paths of scenes and tracks are
relative to the file's folder. A document with the key ``protocol`` is a validation protocol
(:mod:`sidestep.suites.protocol`).
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Self

from sidestep._util.reading import is_file, is_folder, read_yaml
from sidestep.errors import BadInput, did_you_mean
from sidestep.interfaces import Suite
from sidestep.registry import import_attribute, load, table
from sidestep.types.base import Model
from sidestep.types.scenario import ReplayPlacement, Scenario

SUFFIXES = (".yaml", ".yml")
MOST_FILES = 10_000
PROTOCOL_KEY = "protocol"
"""Only protocol files have it."""
ARMS_KEY = "arms"
"""Only descriptions of intersections have it."""
LIST_KEYS = ("suite", "summary", "defaults", "scenarios")


@dataclass
class FileSuite(Suite):
    """A suite read from files. ``base`` is the folder against which its relative paths are meant."""

    name: str
    summary: str
    base: Path
    items: tuple[Scenario, ...]

    def scenarios(self) -> tuple[Scenario, ...]:
        """All scenarios, files by name, then in the file's order."""
        return self.items


@dataclass(frozen=True)
class OptionSuite(Suite):
    """A suite that can be run in several ways: ``options`` is a model with one field per choice."""

    options: Model = field()  # no default, unlike a suite's
    name: str
    summary: str

    def with_options(self, options: dict[str, Any]) -> Self:
        """The same suite, run differently; ``BadInput`` for an option that does not exist."""
        chosen = type(self.options).parse({**self.options.model_dump(), **options}, f"options of suite {self.name}")
        return replace(self, options=chosen)


def load_suite(reference: str | Path) -> Suite:
    """The suite called ``reference``: a name in the table, a YAML file or a folder of YAML files."""
    text = str(reference)
    known = table("suites")
    if text in known:
        if known[text].endswith(SUFFIXES):
            return _bundled(known[text])
        found: Suite = load("suites", text)
        return found
    path = Path(reference)
    if is_folder(path):
        return _load_folder(path)
    if is_file(path):
        return _load_intersection(path) or _load_protocol(path) or _load_file(path)
    if path.suffix in SUFFIXES or len(path.parts) > 1:
        raise BadInput(f"{text!r:.200}: no such suite file or folder")
    raise BadInput(
        f"unknown suite {text!r:.80}{did_you_mean(text[:80], known)} "
        "A suite can also be a path to a YAML file or folder."
    )


def _load_intersection(path: Path) -> Suite | None:
    """The intersection suite at the intersection that a file describes; None: another kind of file."""
    if path.suffix.lower() != ".xodr":
        documents = read_yaml(path) if path.suffix.lower() in SUFFIXES else []
        if len(documents) != 1 or not isinstance(documents[0], dict) or ARMS_KEY not in documents[0]:
            return None
    found: Suite = import_attribute("sidestep.suites.intersection:suite_of_place")(path)
    return found


def _load_protocol(path: Path) -> Suite | None:
    """The suite of a protocol file (``sidestep.suites.protocol``), which has options; None: another kind of file."""
    documents = read_yaml(path)
    if len(documents) != 1 or not isinstance(documents[0], dict) or PROTOCOL_KEY not in documents[0]:
        return None
    found: Suite = import_attribute("sidestep.suites.protocol:parse_protocol")(documents[0], path)
    return found


@cache
def _bundled(file: str) -> Suite:
    return _load_file(Path(__file__).parent / "data" / file)


def option_names(suite: Suite) -> tuple[str, ...]:
    """What can be chosen about a suite; nothing for most."""
    return () if suite.options is None else tuple(type(suite.options).model_fields)


def base_of(suite: Suite) -> Path | None:
    """The folder that relative file names in the scenarios of ``suite`` start from; None: they name no files."""
    return suite.base if isinstance(suite, FileSuite) else None


def choose_options(suite: Suite, options: dict[str, Any]) -> Suite:
    """The suite under these options."""
    return suite.with_options(options) if options else suite


def _load_file(path: Path) -> FileSuite:
    found = list(_scenarios_in(path, path.stem))
    summary = next((text for _, text in found if text), "") or f"Scenarios of {path.name}"
    return _suite(path.stem, summary, path.parent, [(path, scenario) for scenario, _ in found])


def _load_folder(folder: Path) -> FileSuite:
    files = sorted(file for file in _files_below(folder) if file.suffix in SUFFIXES and _holds_scenarios(file))
    name = folder.resolve().name
    found = [
        (file, _rebased(scenario, file.parent, folder)) for file in files for scenario, _ in _scenarios_in(file, name)
    ]
    return _suite(name, f"Scenarios of the folder {name}", folder, found)


def _files_below(folder: Path) -> Iterator[Path]:
    """All files of a folder and the folders in it. A folder of very many was not meant."""
    found = 0
    for place, _, names in os.walk(folder):
        found += len(names)
        if found > MOST_FILES:
            raise BadInput(f"{folder}: a suite's folder has at most {MOST_FILES:,} files; name the folder of the suite")
        yield from (Path(place, name) for name in names)


def _suite(name: str, summary: str, base: Path, found: list[tuple[Path, Scenario]]) -> FileSuite:
    if not found:
        raise BadInput(f"{base if base.name == name else base / name}: no scenarios in it")
    seen: dict[str, Path] = {}
    for file, scenario in found:
        if scenario.name in seen:
            places = f"{seen[scenario.name]} and {file}" if seen[scenario.name] != file else str(file)
            raise BadInput(
                f"{places}: name: two scenarios are called {scenario.name!r}; names must differ within a suite"
            )
        seen[scenario.name] = file
    return FileSuite(name, summary, base, tuple(scenario for _, scenario in found))


def _holds_scenarios(file: Path) -> bool:
    """Whether a YAML file in a folder describes scenarios: a scene's file, say, has neither robots nor
    scenarios."""
    documents = read_yaml(file)
    return any(isinstance(each, dict) and {"robots", "scenarios", "crowd"} & set(each) for each in documents)


def scenario_documents(path: Path, unreadable: list[tuple[Path, str]]) -> Iterator[tuple[Path, str, dict[Any, Any]]]:
    """Every scenario of a file or folder as plain data, with its file and name: nothing is checked yet. What cannot be
    read at all goes into ``unreadable`` (file, why)."""
    files = [path] if path.is_file() else sorted(file for file in _files_below(path) if file.suffix in SUFFIXES)
    for file in files:
        try:
            if file is not path and not _holds_scenarios(file):
                continue
            documents = read_yaml(file)
        except BadInput as error:
            unreadable.append((file, str(error)))
            continue
        suite = path.resolve().stem if path.is_file() else path.resolve().name
        for number, document in enumerate(documents, start=1):
            try:
                for place, data, _ in _items(file, suite, number, document, unreadable):
                    yield file, str(data.get("name", place)), data
            except BadInput as error:
                unreadable.append((file, str(error)))


def _scenarios_in(file: Path, suite: str) -> Iterator[tuple[Scenario, str]]:
    """Each scenario of a file with the summary of the list that it stands in."""
    for number, document in enumerate(read_yaml(file), start=1):
        for place, data, summary in _items(file, suite, number, document):
            yield Scenario.parse(data, place), summary


def _items(
    file: Path, suite: str, number: int, document: Any, unreadable: list[tuple[Path, str]] | None = None
) -> Iterator[tuple[str, dict[Any, Any], str]]:
    """The scenarios of one document as plain data, defaults merged: where each stands, the data, the list's summary.
    What is not a scenario goes into ``unreadable``, if given."""
    if not isinstance(document, dict):
        raise BadInput(f"{file}: document {number} must be a mapping, a scenario or a list under 'scenarios'")
    if PROTOCOL_KEY in document:
        found = import_attribute("sidestep.suites.protocol:parse_protocol")(document, file)
        for scenario in found.scenarios():
            yield f"{file}: scenario {scenario.name!r:.120}", scenario.model_dump(mode="json"), found.summary
        return
    if "scenarios" not in document:
        _check_spelling(file, document)
        yield _place(file, document, number), {"suite": suite} | document, ""
        return
    _check_list(file, document)
    defaults = merge({"suite": document.get("suite", suite)}, document.get("defaults") or {})
    for index, item in enumerate(document["scenarios"], start=1):
        if not isinstance(item, dict):
            why = f"{file}: scenarios[{index - 1}]: must be a mapping, got {item!r:.80}"
            if unreadable is None:
                raise BadInput(why)
            unreadable.append((file, why))
            continue
        yield _place(file, item, index), merge(defaults, item), str(document.get("summary", ""))


def _check_spelling(file: Path, document: dict[Any, Any]) -> None:
    """A document without robots and with a key like ``scenarios`` was to be a list."""
    meant = difflib.get_close_matches("scenarios", map(str, document), n=1, cutoff=0.8)
    if meant and "robots" not in document:
        raise BadInput(f"{file}: unknown key {meant[0]!r:.80}; did you mean 'scenarios'?")


def _check_list(file: Path, document: dict[Any, Any]) -> None:
    for key in document:
        if key not in LIST_KEYS:
            raise BadInput(
                f"{file}: unknown key {str(key)!r} beside 'scenarios'{did_you_mean(str(key), LIST_KEYS)} "
                "What all scenarios share goes under 'defaults'."
            )
    if not isinstance(document["scenarios"], list) or not document["scenarios"]:
        raise BadInput(f"{file}: scenarios: must be a list with at least one scenario")
    if not isinstance(document.get("defaults") or {}, dict):
        raise BadInput(f"{file}: defaults: must be a mapping")


def _place(file: Path, document: dict[Any, Any], number: int) -> str:
    name = document.get("name")
    return f"{file}: scenario {name!r:.120}" if isinstance(name, str) else f"{file}: scenario {number}"


def merge(below: Any, above: Any) -> Any:
    """``above`` laid over ``below``: mappings key by key, anything else replaced."""
    if not (isinstance(below, dict) and isinstance(above, dict)):
        return above
    return below | {key: merge(below[key], value) if key in below else value for key, value in above.items()}


def _rebased(scenario: Scenario, folder: Path, base: Path) -> Scenario:
    """The scenario with paths that are relative to ``folder`` made relative to ``base``."""
    if folder == base:
        return scenario
    inside = folder.relative_to(base)
    changes: dict[str, Any] = {}
    if isinstance(scenario.scene, str) and (folder / scenario.scene).is_file():
        changes["scene"] = (inside / scenario.scene).as_posix()
    crowd = []
    for part in scenario.crowd:
        placement = part.placement
        if isinstance(placement, ReplayPlacement) and placement.path and not Path(placement.path).is_absolute():
            moved = placement.model_copy(update={"path": (inside / placement.path).as_posix()})
            part = part.model_copy(update={"placement": moved})
        crowd.append(part)
    return scenario.model_copy(update=changes | {"crowd": tuple(crowd)})
