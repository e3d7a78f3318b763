"""What is wrong with a file of settings, in words for the person who wrote it: the place as it stands in the file
(``crowd[2].people[0].speed``), what is wrong there, the nearest known key or value, and what to write instead.

The checks are pydantic's. Its messages name validators, classes and every branch of a union that did not fit; here the
errors are walked along the types of the fields and the data side by side, so that of a union only the branch remains
that the writer meant, and of each value that is wrong one message.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from sidestep.errors import did_you_mean, printable

LONGEST_PLACE = 160
LONGEST_VALUE = 80
LONGEST_MESSAGE = 400
MOST_KEYS = 10
"""Keys of a mapping that are listed where it is missing."""
_PLAIN_KEY = re.compile(r"[A-Za-z_][\w-]*")

Details = Mapping[str, Any]
"""One error as pydantic reports it."""


class Mistake(NamedTuple):
    """One thing that is wrong with a file of settings. ``remedy`` is empty where none is known."""

    where: str
    what: str
    remedy: str = ""

    def __str__(self) -> str:
        what = f"{self.what}; {self.remedy}" if self.remedy else self.what
        return f"{self.where}: {what}" if self.where else what


@dataclass(frozen=True)
class _Error:
    """An error, and what is left of its path below the value that is looked at."""

    path: tuple[Any, ...]
    details: Details


def explain_error(model: type[BaseModel], error: ValidationError, data: Any) -> list[Mistake]:
    """Every mistake in ``data``, which is no ``model``, once, in the order of its keys in the documentation."""
    errors = [_Error(item["loc"], item) for item in error.errors(include_url=False)]
    return list(dict.fromkeys(_explain(model, data, errors, "")))


def place_below(place: str, key: Any) -> str:
    """``crowd`` and 2 → ``crowd[2]``; and ``people`` → ``crowd[2].people``."""
    if isinstance(key, int):
        return f"{place}[{key}]"
    if not _PLAIN_KEY.fullmatch(str(key)):
        return f"{place}[{_shown(key)}]"
    return f"{place}.{key}" if place else str(key)


def _explain(annotation: Any, data: Any, errors: Sequence[_Error], place: str) -> Iterator[Mistake]:
    """The mistakes in a value that is to be of the type ``annotation``."""
    kind, tag = _without_metadata(annotation)
    branches = [each for each in get_args(kind) if each is not NoneType] if _is_union(kind) else []
    if len(branches) == 1:
        yield from _explain(branches[0], data, errors, place)
    elif tag:
        yield from _in_tagged_union(branches, tag, data, errors, place)
    elif branches:
        yield from _in_union(branches, data, errors, place)
    elif below := [each for each in errors if each.path]:  # a list is also too short for what is wrong in it
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from _in_model(kind, data, below, place)
        else:
            yield from _in_container(kind, data, below, place)
    else:
        yield from (_here(kind, data, each.details, place) for each in errors)


def _in_model(model: type[BaseModel], data: Any, errors: Sequence[_Error], place: str) -> Iterator[Mistake]:
    """Mistakes in one mapping with known keys. A required key is not missing where an unknown one is spelt alike."""
    by_key = _by_first(errors)
    unknown = [key for key, found in by_key.items() if any(_is(each, "extra_forbidden", 1) for each in found)]
    meant = set()
    for key in unknown:
        remedy = did_you_mean(str(key)[:LONGEST_VALUE], model.model_fields).removeprefix("; ")
        meant |= {name for name in model.model_fields if remedy.startswith(f"did you mean {name!r}")}
        yield Mistake(_cut(place, LONGEST_PLACE), f"unknown key {_shown(key)}", remedy)
    for key, found in by_key.items():
        if key in unknown:
            continue
        if any(_is(each, "invalid_key", 1) for each in found):
            yield _wrong_key(place, key, found)
            continue
        below = place_below(place, key)
        field = model.model_fields.get(str(key))
        if any(_is(each, "missing", 1) for each in found):
            if key not in meant:
                what = "" if field is None else f"give {_described(_annotation(field))}"
                yield Mistake(_cut(below, LONGEST_PLACE), "is missing", what)
            continue
        value = data.get(key) if isinstance(data, Mapping) else getattr(data, str(key), None)
        yield from _explain(Any if field is None else _annotation(field), value, _below(found), below)


def _in_container(kind: Any, data: Any, errors: Sequence[_Error], place: str) -> Iterator[Mistake]:
    """Mistakes in a list, in a mapping with free keys, or in a value of unknown type."""
    if _is_fixed(kind) and isinstance(data, Sequence) and len(data) != len(get_args(kind)):
        yield Mistake(_cut(place, LONGEST_PLACE), f"must be {_described(kind)}{_got(data)}")
        return
    for key, found in _by_first(errors).items():
        if any(_is(each, "invalid_key", 1) or each.path[1:] == ("[key]",) for each in found):
            yield _wrong_key(place, key, found)
        elif _holds(data, key):
            yield from _explain(_item(kind, key), data[key], _below(found), place_below(place, key))
        else:  # a name of pydantic's own, which is no part of the file
            yield from _explain(Any, data, _below(found), place)


def _holds(data: Any, key: Any) -> bool:
    if isinstance(data, Mapping):
        return key in data
    return isinstance(data, Sequence) and isinstance(key, int) and 0 <= key < len(data)


def _wrong_key(place: str, key: Any, errors: Sequence[_Error]) -> Mistake:
    place, forms = _cut(place, LONGEST_PLACE), [_LIMITS.get(each.details["type"]) for each in errors]
    if isinstance(key, str) and forms[0] is not None:
        return Mistake(place, f"the key {_shown(key)} must be {forms[0](errors[0].details.get('ctx') or {})}")
    return Mistake(place, f"the key {_shown(key)} must be a text", "write it in quotes")


def _in_tagged_union(
    branches: Sequence[Any], tag: str, data: Any, errors: Sequence[_Error], place: str
) -> Iterator[Mistake]:
    """Mistakes in a value whose ``kind`` says which of several types it has."""
    tagged = [(each, _without_metadata(each)[0].model_fields[tag].annotation) for each in branches]
    types = {value: each for each, literal in tagged for value in get_args(literal)}
    for value, found in _by_first([each for each in errors if each.path]).items():
        yield from _explain(types.get(value, Any), data, _below(found), place)
    for each in errors:
        if each.path:
            continue
        if not isinstance(data, Mapping):
            write = f"write {{{tag}: {data}, …}}" if isinstance(data, str) and data in types else ""
            yield Mistake(place, f"must be a mapping with the key {tag!r}{_got(data)}", write)
        elif tag not in data:
            yield Mistake(place_below(place, tag), "is missing", f"give {_one_of(list(types))}")
        else:
            yield Mistake(place_below(place, tag), *_not_one_of(list(types), data[tag]))


def _in_union(branches: Sequence[Any], data: Any, errors: Sequence[_Error], place: str) -> Iterator[Mistake]:
    """Mistakes in a value that may be of several types: those of the type that it looks like."""
    whole = [each for each in errors if not each.path]
    if whole:
        yield from (_here(Any, data, each.details, place) for each in whole)
        return
    groups = list(_by_first(errors).values())  # one for each branch in their order, or one where it is chosen before
    groups = groups * len(branches) if len(groups) == 1 else groups
    pairs = list(zip(branches, groups, strict=True)) if len(groups) == len(branches) else []
    likely = [(branch, found) for branch, found in pairs if _looks_like(branch, data)]
    choices = [value for branch, _ in likely for value in _choices(branch)]
    if choices and all(_choices(branch) for branch, _ in likely):
        yield Mistake(place, *_not_one_of(choices, data))
    elif likely:
        branch, found = min(likely, key=lambda pair: len(pair[1]))
        yield from _explain(branch, data, _below(found), place)
    else:
        yield Mistake(place, f"must be {_described(Union[tuple(branches)])}{_got(data)}")  # noqa: UP007


def _looks_like(branch: Any, data: Any) -> bool:
    kind, _ = _without_metadata(branch)
    origin = get_origin(kind) or kind
    if _is_union(kind):
        return any(_looks_like(each, data) for each in get_args(kind))
    if isinstance(data, Mapping):
        return origin is dict or (isinstance(origin, type) and issubclass(origin, BaseModel))
    if isinstance(data, str):
        return origin is str or bool(_choices(kind))
    if isinstance(data, list | tuple):
        return origin in (list, tuple, frozenset, set)
    return isinstance(data, bool | int | float) and origin in (bool, int, float)


def _here(kind: Any, data: Any, details: Details, place: str) -> Mistake:
    """The mistake of one value itself."""
    place = _cut(place, LONGEST_PLACE)
    choices = _choices(kind)
    if choices and details["type"] in ("literal_error", "enum"):
        return Mistake(place, *_not_one_of(choices, data))
    if details["type"] in ("value_error", "assertion_error"):
        what, _, remedy = _said(details).partition("; ")
        known = isinstance(data, Mapping | BaseModel) or repr(data) in what
        return Mistake(place, what if known else f"{what}{_got(data)}", remedy)
    limit = _LIMITS.get(details["type"])
    if limit is not None and not _is_fixed(kind):
        return Mistake(place, f"must be {limit(details.get('ctx') or {})}{_got(data)}")
    what = _described(kind)
    if not what:  # a type that no model of ours has so far
        return Mistake(place, f"is not valid{_got(data)}")
    if data is None:
        return Mistake(place, "is empty", f"give {what}")
    return Mistake(place, f"must be {what}{_got(data)}", _how_to_write(kind, data))


def _how_to_write(kind: Any, data: Any) -> str:
    """What to write in place of a value of a wrong type, where that is clear."""
    if _is_sequence(kind):
        return "write it in brackets: [ … ]" if isinstance(data, str | Mapping) else ""
    if isinstance(kind, type) and issubclass(kind, BaseModel) and len(kind.model_fields) <= MOST_KEYS:
        return f"its keys are {', '.join(kind.model_fields)}"
    return ""


_LIMITS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "greater_than": lambda limits: f"greater than {limits['gt']:g}",
    "greater_than_equal": lambda limits: f"at least {limits['ge']:g}",
    "less_than": lambda limits: f"less than {limits['lt']:g}",
    "less_than_equal": lambda limits: f"at most {limits['le']:g}",
    "finite_number": lambda _: "a finite number",
    "multiple_of": lambda limits: f"a multiple of {limits['multiple_of']:g}",
    "int_from_float": lambda _: "a whole number",
    "int_parsing_size": lambda _: "a whole number of fewer digits",
    "too_short": lambda limits: f"a list of at least {_items(limits['min_length'])}",
    "too_long": lambda limits: f"a list of at most {_items(limits['max_length'])}",
    "string_too_short": lambda limits: f"a text of at least {limits['min_length']} characters",
    "string_too_long": lambda limits: f"a text of at most {limits['max_length']} characters",
    "string_pattern_mismatch": lambda limits: f"a text of the form {limits['pattern']}",
}
"""Type of an error → what a value has to be instead, from the numbers that come with it."""


def _items(count: int) -> str:
    return f"{count} item{'' if count == 1 else 's'}"


def _said(details: Details) -> str:
    """The words of a check of our own."""
    text = str(details["msg"]).removeprefix("Value error, ").removeprefix("Assertion failed, ")
    return _cut(printable(text, LONGEST_MESSAGE), LONGEST_MESSAGE)


def _not_one_of(choices: Sequence[Any], value: Any) -> tuple[str, str]:
    """What and remedy, where a value is none of several."""
    remedy = did_you_mean(str(value)[:LONGEST_VALUE], map(str, choices)).removeprefix("; ")
    return f"must be {_one_of(choices)}{_got(value)}", remedy if remedy.startswith("did") else ""


def _one_of(choices: Sequence[Any]) -> str:
    names = [str(each) for each in choices]
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))


_NAMES: dict[Any, str] = {
    float: "a number", int: "a whole number", bool: "true or false", str: "a text", dict: "a mapping",
    list: "a list", tuple: "a list", set: "a list", frozenset: "a list",
}  # fmt: skip
_MANY = {float: "numbers", int: "whole numbers", str: "texts"}


def _described(annotation: Any) -> str:
    """What a value of a type is called in a file; empty where there is no word for it."""
    kind, _ = _without_metadata(annotation)
    origin, arguments = get_origin(kind) or kind, get_args(kind)
    if _is_union(kind):
        branches = [each for each in arguments if each is not NoneType]
        words = [choice for each in branches for choice in (_choices(each) or [_described(each)])]
        return _one_of(list(dict.fromkeys(filter(None, words))))
    if choices := _choices(kind):
        return _one_of(choices)
    if _is_fixed(kind):
        inner = {_without_metadata(each)[0] for each in arguments}
        return f"a list of {len(arguments)} {_MANY.get(inner.pop(), 'values') if len(inner) == 1 else 'values'}"
    if isinstance(origin, type) and issubclass(origin, BaseModel):
        return "a mapping"
    return _NAMES.get(origin, "")


def _choices(annotation: Any) -> list[Any]:
    """The values of a fixed choice."""
    kind, _ = _without_metadata(annotation)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return [each.value for each in kind]
    return list(get_args(kind)) if get_origin(kind) is Literal else []


def _without_metadata(annotation: Any) -> tuple[Any, str]:
    """The bare type, and the key that tells the types of a union apart, where there is one."""
    tag = ""
    while get_origin(annotation) is Annotated:
        annotation, *metadata = get_args(annotation)
        tags = [each.discriminator for each in metadata if isinstance(each, FieldInfo)]
        tag = next((str(each) for each in tags if each), tag)
    return annotation, tag


def _annotation(field: FieldInfo) -> Any:
    """The type of a field with what belongs to it."""
    return Annotated[field.annotation, field] if field.discriminator else field.annotation


def _item(kind: Any, key: Any) -> Any:
    """The type of one item of a list or mapping."""
    arguments = get_args(kind)
    if get_origin(kind) is dict:
        return arguments[1]
    if _is_fixed(kind):
        return arguments[key]
    return arguments[0] if _is_sequence(kind) and arguments else Any


def _is_union(kind: Any) -> bool:
    return get_origin(kind) in (Union, UnionType)


def _is_sequence(kind: Any) -> bool:
    return (get_origin(kind) or kind) in (list, tuple, set, frozenset)


def _is_fixed(kind: Any) -> bool:
    """Whether it is a tuple with a type for each item."""
    return get_origin(kind) is tuple and Ellipsis not in get_args(kind)


def _is(error: _Error, kind: str, depth: int) -> bool:
    return len(error.path) == depth and error.details["type"] == kind


def _by_first(errors: Sequence[_Error]) -> dict[Any, list[_Error]]:
    groups: dict[Any, list[_Error]] = {}
    for each in errors:
        groups.setdefault(each.path[0], []).append(each)
    return groups


def _below(errors: Sequence[_Error]) -> list[_Error]:
    return [_Error(each.path[1:], each.details) for each in errors]


def _got(value: Any) -> str:
    return f" (got {_shown(value)})"


def _shown(value: Any) -> str:
    return _cut(printable(repr(value), 2 * LONGEST_VALUE), LONGEST_VALUE)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
