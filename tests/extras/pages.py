"""The ``sidestep`` commands that the pages show, and the extras that they need.

Commands of code blocks are parsed in full. Synopses (``sidestep serve SUITE [--listen ADDRESS]``) and commands in
running text leave things out: of these, the command and the names of the options have to exist.
"""

from __future__ import annotations

import io
import re
import shlex
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from typing import Any

from typer.main import get_command

from sidestep.cli.app import app
from tests.extras.table import COMMANDS, POLICIES, PREDICTORS, ROOT

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
IN_TEXT = re.compile(r"`(sidestep [^`]+)`")
ROW = re.compile(r"^\| (`(?:[^|\n]|\\\|)+) \|", re.MULTILINE)
"""The first cell of a row of a table."""
OPTION = re.compile(r"--[a-z][\w-]*")


@dataclass(frozen=True)
class Shown:
    """A command line on a page, without the name of the program."""

    page: str
    words: tuple[str, ...]
    complete: bool

    @property
    def text(self) -> str:
        return f"{self.page}: sidestep {shlex.join(self.words)}"


def shown_on(page: str) -> list[Shown]:
    """Commands in code blocks and in the text of a page, in this order."""
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = [body for language, body in BLOCK.findall(text) if language in ("", "sh", "bash")]
    lines = [line for body in blocks for line in body.replace("\\\n", " ").splitlines()]
    running = [found.replace("\n", " ") for found in IN_TEXT.findall(BLOCK.sub("", text))]
    if page == "docs/cli.md":  # its table leaves out the name of the program
        rows = ROW.findall(text.partition("| exit code")[0])
        running += [f"sidestep {cell}" for row in rows for cell in re.findall(r"`([a-z][^`]*)`", row)]
    commands = [(line, True) for line in lines] + [(line, False) for line in running]
    return [shown for line, complete in commands if (shown := read_line(page, line, complete))]


def read_line(page: str, line: str, complete: bool) -> Shown | None:
    """The command of a line, if it is one of Sidestep; variables before it are left out."""
    line = re.sub(r"^(\w+=\S+ +)+", "", line.strip())
    if not line.startswith("sidestep ") or "-completion" in line:
        return None
    try:
        words = tuple(shlex.split(line, comments=True)[1:])
    except ValueError:
        words, complete = tuple(line.split()[1:]), False
    return Shown(page, words, complete and not re.search(r"[…\[|]|\.\.\.", " ".join(words)))


def mistake_in(shown: Shown) -> str:
    """What the command line does not accept; empty if it accepts everything."""
    return parse(shown.words) if shown.complete else unknown_name(shown.words)


def parse(words: tuple[str, ...]) -> str:
    """Read a whole command line as the program does, without carrying it out; returns the complaint."""
    said = io.StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        try:
            idle_program().main(list(words), prog_name="sidestep")
        except SystemExit as end:
            return said.getvalue() if end.code else ""
    return ""


@cache
def idle_program() -> Any:
    """The program, whose commands do nothing."""
    program = get_command(app)
    for leaf in leaves(program):
        leaf.callback = lambda **_: None
    return program


def leaves(command: Any) -> Iterator[Any]:
    """All commands below a group, or the command itself."""
    below = getattr(command, "commands", None)
    if below is None:
        yield command
        return
    for each in below.values():
        yield from leaves(each)


def unknown_name(words: tuple[str, ...]) -> str:
    """The first word that should be a command or an option and is neither."""
    command = idle_program()
    while hasattr(command, "commands") and words and re.fullmatch(r"[a-z][\w-]*,?", words[0]):
        name = words[0].rstrip(",")
        if name not in command.commands:
            return f"no command {name!r}"
        command, words = command.commands[name], words[1:]
    if command.context_settings.get("ignore_unknown_options"):
        return ""
    parameters = [each for leaf in (command, *getattr(command, "commands", {}).values()) for each in leaf.params]
    known = {name for parameter in parameters for name in (*parameter.opts, *parameter.secondary_opts)}
    unknown = [option for option in OPTION.findall(" ".join(words)) if option not in known | {"--help"}]
    return f"no option {unknown[0]!r}" if unknown else ""


def extras_of(shown: Shown) -> set[str]:
    """The extras that a command line needs, by the tables of commands, policies and predictors."""
    line = " ".join(shown.words)
    found = {extra for name, extra in COMMANDS.items() if f"{line} ".startswith(f"{name} ")}
    found |= {extra for word, extra in values_of(shown) if extra}
    found |= {extra for pattern, extra in BY_OPTION.items() if re.search(pattern, line)}
    return found


def values_of(shown: Shown) -> Iterator[tuple[str, str]]:
    """Policies and predictors that are named, with their extra."""
    for option, value in zip(shown.words, shown.words[1:], strict=False):
        name = value.rpartition("=")[2]
        if option == "--policy":
            yield name, POLICIES.get(name, "")
        if option == "--predictor":
            yield name, PREDICTORS.get(name, "onnx" if name.endswith(".onnx") else "")


BY_OPTION = {
    r"^run .*--video\b": "video",
    r"^run .*--ray\b": "ray",
    r"^run .*sb3:": "learn",
    r"^replay .*--video \S+\.mp4": "video",
    r"^replay .*--rrd\b": "export",
    r"^replay .*--mcap\b": "export",
    r"^report .*--films\b": "video",
    r"^pack .*--sign\b": "sign",
    r"^import \S+\.(mcap|db3)\b": "export",
    r"^evaluate(?!.*--control_agent (PID|comfort_zone)\b)": "onnx",
    r"^demos convert .*\blerobot\b": "video",
}
"""Arguments that need more than their command does, as in ``OPTIONS``: pattern → extra."""


def least_extras(page: str) -> set[str]:
    """The extras without which a command in a code block of the page would stop."""
    return {extra for shown in shown_on(page) if shown.complete for extra in extras_of(shown)}
