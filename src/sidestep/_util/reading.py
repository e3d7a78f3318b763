"""Reading what others wrote: YAML, JSON, XML and glTF with bounded size, depth and number of values.

A file that is too large, nested too deeply, that multiplies itself (aliases, entities) or that is no file at all (a
device, a pipe) is a :class:`~sidestep.errors.BadInput` which names the place and the limit. Nothing else is raised.
"""

from __future__ import annotations

import io
import json
import math
import os
import stat
import struct
from collections.abc import Hashable, Iterable
from importlib import resources
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import yaml

from sidestep.errors import BadInput

MOST_BYTES = 32_000_000
"""Largest size of a text file, unless another limit is given."""
MOST_DEPTH = 64
MOST_VALUES = 1_000_000
"""Most values of a YAML file, with aliases expanded."""
MOST_NODES = 100_000
"""Most nodes of a glTF file, and most meshes."""
MOST_CORNERS = 40_000_000
"""Most corners of the triangles of a glTF file."""
MOST_MESH_BYTES = 300_000_000
MOST_PARQUET_VALUES = 100_000_000
"""Most values of all columns of a Parquet table together."""
MOST_DIGITS = 300
"""Most digits of a whole number; more do not fit into a float."""

_PLAIN_TAGS = frozenset(f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "seq", "map"))
_RAISED = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError)
"""What constructors of PyYAML raise on numbers and tags that they do not expect."""


def read_bytes(path: Path, what: str = "file", most: int = MOST_BYTES) -> bytes:
    """All of a regular file of at most ``most`` bytes; ``what`` says in errors what it should be."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with open(descriptor, "rb") as file:
            about = os.fstat(file.fileno())
            if not stat.S_ISREG(about.st_mode):
                kind = "a folder" if stat.S_ISDIR(about.st_mode) else "no regular file"
                raise BadInput(f"{path}: is {kind}; give the path of a {what}")
            data = file.read(most + 1)
    except FileNotFoundError:
        raise BadInput(f"{path}: no such {what}") from None
    except IsADirectoryError:
        raise BadInput(f"{path}: is a folder; give the path of a {what}") from None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror}); check the path and its permissions") from None
    except ValueError:
        raise BadInput(f"{str(path)!r:.80}: not a path: pass the path of a {what}") from None
    if len(data) > most:
        raise BadInput(f"{path}: more than {most / 1e6:g} MB, the limit for a {what}")
    return data


def read_text(path: Path, what: str = "text file", most: int = MOST_BYTES) -> str:
    """All of a text file in UTF-8."""
    data = read_bytes(path, what, most)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadInput(
            f"{path}: line {line}: not a text file in UTF-8 (byte {error.start}); save it as UTF-8"
        ) from None


def is_file(path: Path) -> bool:
    """Whether there is a regular file; False for what cannot be a path."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def is_folder(path: Path) -> bool:
    """Whether there is a folder; False for what cannot be a path."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def file_beside(path: Path, name: str, key: str) -> Path:
    """The regular file that ``path`` refers to by ``name`` under ``key``: in its own folder or below, nowhere else."""
    folder = path.parent.resolve()
    try:
        file = (folder / name).resolve()
        inside = file.is_relative_to(folder)
        there = file.is_file()
    except (OSError, ValueError, RuntimeError):
        raise BadInput(f"{path}: {key}: {name!r:.80} is not a file name") from None
    if not inside:
        raise BadInput(f"{path}: {key}: {name!r:.200} lies outside {folder}; put the file beside {path.name}")
    if not there:
        raise BadInput(f"{path}: {key}: {name!r:.200}: no such file beside {path.name}")
    return file


class _StrictLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Safe YAML in which a key given twice is an error instead of silently the last one's, and dates are text."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - as the base class has it
        first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(":timestamp")]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """The mapping of ``node``, keys checked."""
        seen: set[Any] = set()
        for key_node, _ in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                continue
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, Hashable):
                if key in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"key {key!r:.80} is given twice", key_node.start_mark
                    )
                seen.add(key)
        mapping: dict[Hashable, Any] = super().construct_mapping(node, deep)
        return mapping


def parse_yaml(text: str, where: str) -> list[Any]:
    """The documents of a YAML text, without empty ones; numbers, text, lists and mappings only."""
    try:
        _check_events(yaml.parse(text, Loader=_StrictLoader), where)
        documents = [document for document in yaml.load_all(text, Loader=_StrictLoader) if document is not None]
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        place = f" line {mark.line + 1}, column {mark.column + 1}:" if mark is not None else ""
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise BadInput(f"{where}:{place} not valid YAML: {problem!s:.300}") from None
    except _RAISED as error:
        raise BadInput(f"{where}: not valid YAML: a value that cannot be read ({error!s:.120})") from None
    for document in documents:
        check_values(document, where)
    return documents


def read_yaml(path: Path, what: str = "YAML file") -> list[Any]:
    """The documents of a YAML file, without empty ones."""
    return parse_yaml(read_text(path, what), str(path))


def parse_mapping(text: str, where: str, expected: str = "keys and values") -> dict[str, Any]:
    """The keys and values of a YAML text with one document; ``expected`` names some keys for the error."""
    documents = parse_yaml(text, where)
    if len(documents) > 1:
        raise BadInput(f"{where}: has {len(documents)} documents (---); only one is read")
    data = documents[0] if documents else None
    if not isinstance(data, dict):
        raise BadInput(f"{where}: expected {expected}, got {type(data).__name__}")
    strange = next((key for key in data if not isinstance(key, str)), "")
    if strange != "":
        raise BadInput(f"{where}: key {strange!r:.80} is not text; expected {expected}")
    return data


def read_mapping(path: Path, what: str = "YAML file", expected: str = "keys and values") -> dict[str, Any]:
    """The keys and values of a YAML file with one document."""
    return parse_mapping(read_text(path, what), str(path), expected)


def bundled_names(package: str) -> list[str]:
    """Names of the YAML files in the folder of a package (or in a folder of it, ``package/folder``), sorted."""
    return sorted(item.name.removesuffix(".yaml") for item in _folder(package).iterdir() if item.name.endswith(".yaml"))


def read_bundled(package: str, name: str, expected: str = "keys and values") -> dict[str, Any]:
    """The keys and values of a YAML file there."""
    return parse_mapping(_folder(package).joinpath(f"{name}.yaml").read_text("utf-8"), f"bundled {name}", expected)


def _folder(package: str) -> Any:
    module, _, folder = package.partition("/")
    return resources.files(module).joinpath(folder)


def _check_events(events: Iterable[Any], where: str) -> None:
    """Depth, tags and the number of values with all aliases written out, before anything is built."""
    open_: list[tuple[str | None, int]] = []  # anchor and number of values before, of every open list and mapping
    sizes: dict[str, int] = {}
    count = 0
    for event in events:
        if isinstance(event, yaml.AliasEvent):
            if event.anchor in (anchor for anchor, _ in open_):
                raise BadInput(f"{_line(where, event)}: *{event.anchor:.40} contains itself")
            count += sizes.get(str(event.anchor), 0)
        elif isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent):
            count += 1
            if event.tag not in (None, "!") and event.tag not in _PLAIN_TAGS:
                raise BadInput(f"{_line(where, event)}: the tag {event.tag!r:.60} is not read; leave it out")
            if isinstance(event, yaml.ScalarEvent):
                if event.anchor:
                    sizes[event.anchor] = 1
                continue
            open_.append((event.anchor, count - 1))
            if len(open_) > MOST_DEPTH:
                raise BadInput(f"{_line(where, event)}: nested more than {MOST_DEPTH} deep")
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = open_.pop()
            if anchor:
                sizes[anchor] = count - before
        if count > MOST_VALUES:
            raise BadInput(f"{_line(where, event)}: more than {MOST_VALUES:,} values (aliases expanded)")


def _line(where: str, event: Any) -> str:
    return f"{where}: line {event.start_mark.line + 1}"


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"key {key!r:.80} is given twice")
        found[key] = value
    return found


def parse_json(text: str | bytes, where: str, *, finite: bool = True) -> Any:
    """The value of a JSON text. ``finite``: infinite numbers and NaN, which JSON does not have, are errors."""
    if len(text) > MOST_BYTES:
        raise BadInput(f"{where}: more than {MOST_BYTES / 1e6:g} MB of JSON, the limit")
    try:
        value = json.loads(text, object_pairs_hook=_unique_keys)
    except json.JSONDecodeError as error:
        raise BadInput(f"{where}: line {error.lineno}, column {error.colno}: not valid JSON: {error.msg}") from None
    except RecursionError:
        raise BadInput(f"{where}: not valid JSON: nested more than {MOST_DEPTH} deep") from None
    except (UnicodeDecodeError, ValueError) as error:
        raise BadInput(f"{where}: not valid JSON: {error!s:.120}") from None
    check_values(value, where, finite=finite)
    return value


def read_json(path: Path, what: str = "JSON file", *, finite: bool = True) -> Any:
    """The value of a JSON file."""
    return parse_json(read_text(path, what), str(path), finite=finite)


def read_glb(path: Path) -> bytes:
    """A binary glTF 2.0 file (``.glb``) whose description :func:`check_gltf` accepts."""
    data = read_bytes(path, ".glb mesh", MOST_MESH_BYTES)
    magic, version, _, length, kind = struct.unpack("<4sIII4s", data[:20]) if len(data) >= 20 else (b"",) * 5
    if (magic, version, kind) != (b"glTF", 2, b"JSON"):
        raise BadInput(f"{path}: not a binary glTF 2.0 file; export the mesh as .glb")
    check_gltf(data[20 : 20 + length], str(path))
    return data


def check_gltf(text: bytes, where: str) -> None:
    """BadInput unless the description of a glTF file names no other file (it could name any), its nodes are trees, its
    accessors lie in the file, and reading it needs no more memory than ``MOST_NODES`` and ``MOST_CORNERS`` allow."""
    document = parse_json(text, f"{where}: its glTF description")
    keys = ("buffers", "images", "bufferViews", "nodes", "accessors", "meshes")
    found: list[Any] = [document.get(key, []) for key in keys] if isinstance(document, dict) else [None]
    if not all(isinstance(items, list) and all(isinstance(item, dict) for item in items) for items in found):
        raise BadInput(f"{where}: its glTF description is damaged; export it again")
    buffers, images, views, nodes, accessors, meshes = found
    for item in [*buffers, *images]:
        if not str(item.get("uri", "data:")).startswith("data:"):
            raise BadInput(f"{where}: refers to another file ({item['uri']!r:.80}); export as one self-contained .glb")
    for view in views:
        if view.get("byteStride", 4) not in range(1, 253):
            raise BadInput(f"{where}: a byteStride of {view['byteStride']!r:.40}; it is 4 to 252; export it again")
    if any("sparse" in accessor or "bufferView" not in accessor for accessor in accessors):
        raise BadInput(f"{where}: has sparse or compressed accessors, which are not read; export without compression")
    _check_tree([node.get("children", []) for node in nodes], where)
    try:
        primitives = [primitive for mesh in meshes for primitive in mesh["primitives"]]
        used = [key for p in primitives for key in (p["attributes"].get("POSITION"), p.get("indices"))]
        corners = sum(int(accessors[key]["count"]) for key in used if key is not None)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise BadInput(f"{where}: a mesh of its glTF description is damaged ({error!r:.80}); export it again") from None
    if len(primitives) > MOST_NODES or corners > MOST_CORNERS:
        raise BadInput(
            f"{where}: {len(primitives):,} meshes with {corners:,} corners of triangles, at most {MOST_NODES:,} with "
            f"{MOST_CORNERS:,} are read; thin the mesh out"
        )


def _check_tree(children: list[Any], where: str) -> None:
    """BadInput if a node has two parents, or if nodes form a loop, are nested too deeply or too many."""
    numbers = range(len(children))
    if len(children) > MOST_NODES:
        raise BadInput(f"{where}: more than {MOST_NODES:,} nodes; export it again")
    if not all(isinstance(each, list) and all(child in numbers for child in each) for each in children):
        raise BadInput(f"{where}: a node has children that are not there; export it again")
    parent: dict[int, int] = {}
    for node, below in enumerate(children):
        for child in below:
            if child in parent:
                raise BadInput(f"{where}: node {child} is the child of two nodes; export it again")
            parent[child] = node
    for node in numbers:
        depth = 0
        while node in parent:
            node, depth = parent[node], depth + 1
            if depth > MOST_DEPTH:
                raise BadInput(f"{where}: nodes form a loop or are nested more than {MOST_DEPTH} deep; export it again")


def check_parquet(described: Any, where: str, most_rows: int) -> None:
    """BadInput unless the metadata of a Parquet file (``ParquetFile.metadata``) says that it unpacks to at most
    ``most_rows`` rows and ``MOST_PARQUET_VALUES`` values: a few kB can hold billions of equal values.

    Columns of row groups are not asked: pyarrow ends the process where their metadata contradict each other.
    """
    if described.num_rows > most_rows:
        raise BadInput(f"{where}: {described.num_rows:,} rows, at most {most_rows:,} are read; split the table")
    unpacked = sum(described.row_group(k).total_byte_size for k in range(described.num_row_groups))
    if max(described.num_rows * described.num_columns, unpacked // 8) > MOST_PARQUET_VALUES:
        raise BadInput(f"{where}: more than {MOST_PARQUET_VALUES:,} values; split the table")


def check_values(value: Any, where: str, *, finite: bool = False) -> None:
    """BadInput if plain data is nested too deeply, or has whole numbers that do not fit into a float."""
    largest = 10**MOST_DIGITS
    level, depth = [value], 0
    while level:
        following: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                following.extend(item.values())
            elif isinstance(item, list):
                following.extend(item)
            elif isinstance(item, int):
                if not -largest < item < largest:
                    raise BadInput(f"{where}: a whole number of more than {MOST_DIGITS} digits")
            elif finite and isinstance(item, float) and not math.isfinite(item):
                raise BadInput(f"{where}: a number that is {item}; all numbers must be finite")
        level, depth = following, depth + 1
        if level and depth > MOST_DEPTH:
            raise BadInput(f"{where}: nested more than {MOST_DEPTH} deep")


def parse_xml(text: str, where: str) -> Element:
    """The outermost element of an XML text without document types, so that no entity is ever expanded."""
    from defusedxml.common import DefusedXmlException
    from defusedxml.ElementTree import ParseError, iterparse

    depth = 0
    events: Any = iterparse(io.StringIO(text), ("start", "end"), forbid_dtd=True)
    try:
        for kind, _ in events:
            depth += 1 if kind == "start" else -1
            if depth > MOST_DEPTH:
                raise BadInput(f"{where}: elements are nested more than {MOST_DEPTH} deep")
    except DefusedXmlException:
        raise BadInput(f"{where}: has a document type or entities, which are not read; remove them") from None
    except ParseError as error:
        line, column = error.position
        raise BadInput(
            f"{where}: line {line}, column {column + 1}: not valid XML ({error!s:.120}); export it again"
        ) from None
    except (ValueError, LookupError) as error:  # an unknown encoding
        raise BadInput(f"{where}: not valid XML ({error!s:.120}); save it as UTF-8") from None
    root: Element = events.root
    return root
