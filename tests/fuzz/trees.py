"""Damage to the values of a document instead of its bytes: JSON, YAML, msgpack and XML stay well-formed."""

from __future__ import annotations

import json
import pickle
import random
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any
from xml.etree import ElementTree

import msgpack
import yaml

from tests.fuzz.damage import damage

Damage = Callable[[int, bytes], bytes]

VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 255, 65_536, 2**31, -(2**31), 2**53, 2**63 - 1, 10**20, 10**400, -0.0, 0.5, 1e-320,
    1e17, 1e308, -1e308, float("nan"), float("inf"), float("-inf"), "", "x", "\0", "\ud800", "a" * 5000, "../x",
    "/dev/zero", "1e999", "nan", "2001-99-99", "0000-00-00T99:99:99Z", "٣", "½", "<b>", "{x}", "{0.__class__}", "%s",
    [], {}, [[]], [{}], {"": None}, [0] * 1000, [[0, 0]] * 500,
)  # fmt: skip
MOST_VALUES = 3000
"""Documents with more are not changed further: repeated parts would multiply."""
WORDS = ("inf", "nan", "-1", "0", "1e308", "1e999", "-1e-320", "9" * 400, "", "x", "0x1", "1 2", "½", "-" * 200, "1e5")


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path]
    if isinstance(value, dict):
        for key, item in value.items():
            found += _paths(item, (*path, key))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            found += _paths(item, (*path, number))
    return found


def _get(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def _changed(draw: random.Random, value: Any, others: list[Any]) -> Any:
    """A value in the place of another: an extreme one, one from elsewhere in the document, or the same one altered."""
    kind = draw.random()
    if kind < 0.45:
        return draw.choice(VALUES)
    if kind < 0.6:
        return draw.choice(others)
    if kind < 0.65:
        deep = value
        for _ in range(draw.choice((1, 2, 40, 200))):
            deep = [deep] if draw.random() < 0.5 else {"a": deep}
        return deep
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return draw.choice((-value, value + 1, value * 1000, value / 3, str(value), [value], int(value)))
    if isinstance(value, str):
        return draw.choice((value * 3, value[:-1], value.upper(), value + "\n", f" {value}", [value], {value: value}))
    if isinstance(value, list):
        again = draw.choice((2, 3, 100))
        return draw.choice((value[:-1], value[1:], value * again if len(value) < 200 else value, value[::-1], [value]))
    if isinstance(value, dict):
        return draw.choice((list(value), list(value.values()), {**value, "unknown": 1}, dict.fromkeys(value)))
    return draw.choice(VALUES)


def change_tree(draw: random.Random, tree: Any) -> Any:
    """The document with one to three values or keys changed."""
    for _ in range(draw.choice((1, 1, 2, 3))):
        paths = _paths(tree)
        if len(paths) > MOST_VALUES:
            break
        path = draw.choice(paths)
        if not path:
            if draw.random() < 0.1:
                return draw.choice(VALUES)
            continue
        holder, key = _get(tree, path[:-1]), path[-1]
        action = draw.random()
        if action < 0.12:
            del holder[key]
        elif action < 0.2 and isinstance(holder, dict):
            holder[draw.choice(("", "x", str(key).upper(), str(key)[:-1], "name", "type"))] = holder.pop(key)
        elif action < 0.27 and isinstance(holder, list):
            holder.insert(draw.randint(0, len(holder)), holder[key])
        else:
            others = [_get(tree, draw.choice(paths))]
            holder[key] = pickle.loads(pickle.dumps(_changed(draw, holder[key], others)))
    return tree


_NOT_FINITE = re.compile(r"(?<![\w\"'])(-?)(NaN|Infinity)(?![\w\"'])")


def write_json(tree: Any) -> bytes:
    """As JSON, with NaN and Infinity where the tree has them."""
    return json.dumps(tree).encode()


def write_yaml(tree: Any) -> bytes:
    """As YAML in the form of JSON."""
    names = {"NaN": ".nan", "Infinity": ".inf"}
    return _NOT_FINITE.sub(lambda found: found[1] + names[found[2]], json.dumps(tree)).encode()


def write_msgpack(tree: Any) -> bytes:
    """As msgpack; whole numbers that do not fit become floats."""
    return bytes(msgpack.packb(tree, default=str, unicode_errors="surrogatepass"))


_READ: dict[Callable[[Any], bytes], Callable[[bytes], Any]] = {
    write_json: json.loads,
    write_yaml: yaml.safe_load,
    write_msgpack: msgpack.unpackb,
}


@lru_cache(maxsize=64)
def _pickled(write: Callable[[Any], bytes], content: bytes) -> bytes:
    return pickle.dumps(_READ[write](content))


def tree_damage(write: Callable[[Any], bytes]) -> Damage:
    """Damage to documents that ``write`` writes: half of the cases to their values, half to their bytes."""

    def apply(seed: int, content: bytes) -> bytes:
        if seed % 2:
            return damage(seed, content)
        draw = random.Random(seed)
        try:
            return write(change_tree(draw, pickle.loads(_pickled(write, content))))
        except (OverflowError, ValueError, UnicodeError, RecursionError):  # a value that the form cannot have
            return damage(seed, content)

    return apply


def lines_damage(seed: int, content: bytes) -> bytes:
    """Damage to a file with one JSON document per line: to one of them, or to the bytes."""
    if seed % 2:
        return damage(seed, content)
    draw = random.Random(seed)
    lines = content.splitlines()
    at = draw.randrange(len(lines))
    lines[at] = tree_damage(write_json)(seed, lines[at])
    return b"\n".join(lines)


def xml_damage(seed: int, content: bytes) -> bytes:
    """Damage to elements and attributes of an XML document in half of the cases, else to its bytes."""
    if seed % 2:
        return damage(seed, content)
    draw = random.Random(seed)
    root = ElementTree.fromstring(content)
    parents = {child: parent for parent in root.iter() for child in parent}
    elements = list(parents)
    for _ in range(draw.choice((1, 1, 2, 3))):
        element = draw.choice(elements)
        action = draw.random()
        if action < 0.6 and element.attrib:
            name = draw.choice(list(element.attrib))
            other = draw.choice(elements).attrib
            element.set(name, draw.choice((draw.choice(WORDS), next(iter(other.values()), ""))))
        elif action < 0.7 and element.attrib:
            del element.attrib[draw.choice(list(element.attrib))]
        elif action < 0.8:
            element.tag = draw.choice(elements).tag
        elif element in list(parents[element]):
            if action < 0.9:
                parents[element].append(element)
            else:
                parents[element].remove(element)
    return ElementTree.tostring(root)


def cell_damage(seed: int, content: bytes) -> bytes:
    """Damage to one cell or line of a comma-separated file in half of the cases, else to its bytes."""
    if seed % 2:
        return damage(seed, content)
    draw = random.Random(seed)
    lines = [line.split(",") for line in content.decode().split("\n")]
    for _ in range(draw.choice((1, 1, 2, 3))):
        line = draw.choice(lines)
        action = draw.random()
        if action < 0.7:
            line[draw.randrange(len(line))] = draw.choice((*WORDS, draw.choice(draw.choice(lines))))
        elif action < 0.8:
            line.append(draw.choice(WORDS))
        elif action < 0.9:
            lines.insert(draw.randint(0, len(lines)), list(line))
        else:
            line.pop()
            line.append("")
    return "\n".join(",".join(line) for line in lines).encode()
