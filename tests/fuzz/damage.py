"""Damage to the bytes of a file, drawn from a seed."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
NUMBERS = (
    b"inf", b"-inf", b"nan", b".inf", b".nan", b"NaN", b"Infinity", b"-1", b"0", b"-0.0", b"1e308", b"-1e300", b"1e999",
    b"1e-320", b"1e5", b"0.5", b"2", b"65536", b"4294967295", b"1e17", b"9" * 25, b"9" * 400, b"9" * 5000, b"1:2:3",
    b"0x7f", b"2001-99-99", b"null", b"true", b"[]", b"{}", b'"x"', b"''", b"~",
)  # fmt: skip
JUNK = (
    b"\0", b"\xff", b"\xfe\xff", b"\xef\xbb\xbf", b"\n", b"\t", b":", b"- ", b"*a", b"&a ", b"<<: ", b"#", b'"', b"'",
    b"\\u0000", b"\\ud800", b"!!int ", b"<!DOCTYPE a>", b"&lt;", b"?", b"---\n", b",", b";", b"1,5", b" " * 50,
)  # fmt: skip
OPENING = (b"[", b"{", b'{"a":', b"<a>", b"- ", b"(")


def damage(seed: int, content: bytes) -> bytes:
    """The content, changed in one to three places."""
    draw = random.Random(seed)
    kinds = KINDS if draw.random() < 0.6 else (_number,)
    for _ in range(draw.randint(1, 3)):
        content = draw.choice(kinds)(draw, content)
    return content


def _flip(draw: random.Random, content: bytes) -> bytes:
    changed = bytearray(content)
    for _ in range(draw.randint(1, 4)):
        if changed:
            changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def _cut(draw: random.Random, content: bytes) -> bytes:
    return content[: draw.randint(0, len(content))]


def _piece(draw: random.Random, content: bytes) -> tuple[int, int]:
    start = draw.randint(0, len(content))
    return start, min(len(content), start + draw.choice((1, 2, 5, 20, 100)))


def _remove(draw: random.Random, content: bytes) -> bytes:
    start, end = _piece(draw, content)
    return content[:start] + content[end:]


def _repeat(draw: random.Random, content: bytes) -> bytes:
    start, end = _piece(draw, content)
    return content[:end] + content[start:end] * draw.choice((1, 1, 2, 50)) + content[end:]


def _number(draw: random.Random, content: bytes) -> bytes:
    found = list(NUMBER.finditer(content))
    if not found:
        return content
    place = draw.choice(found)
    return content[: place.start()] + draw.choice(NUMBERS) + content[place.end() :]


def _insert(draw: random.Random, content: bytes) -> bytes:
    at = draw.randint(0, len(content))
    return content[:at] + draw.choice(JUNK) + content[at:]


def _nest(draw: random.Random, content: bytes) -> bytes:
    at = draw.randint(0, len(content))
    return content[:at] + draw.choice(OPENING) * draw.choice((1, 30, 2000)) + content[at:]


def _swap_lines(draw: random.Random, content: bytes) -> bytes:
    lines = content.split(b"\n")
    i, j = draw.randrange(len(lines)), draw.randrange(len(lines))
    lines[i], lines[j] = lines[j], lines[i]
    return b"\n".join(lines)


KINDS: tuple[Callable[[random.Random, bytes], bytes], ...] = (
    _flip, _cut, _remove, _repeat, _number, _number, _number, _insert, _nest, _swap_lines,
)  # fmt: skip
