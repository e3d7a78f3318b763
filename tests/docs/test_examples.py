"""Examples on pages run, and links lead to existing pages and headings.

An example is a fenced block right below a line ``<!-- test -->``. The examples of one page run in page order
in one folder of their own. A block whose first line is ``# NAME`` is also written to the file NAME there, so
that later blocks can use it:

* ``python`` is executed (it may hold its own assertions), and a policy in it drives through an episode;
* ``yaml`` is a suite or scenario whose worlds are all built, or a scene, or a robot;
* ``sh`` is a list of ``sidestep`` commands, each of which must end with exit code 0;
* ``toml`` is the project file of a plug-in package of the page's Python files, whose entry points must load;
* ``text`` is only written.

A block below ``<!-- output -->`` is what the Python example before it prints.
"""

from __future__ import annotations

import re
import runpy
import shlex
import sys
import tomllib
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from inspect import isabstract
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from typer.testing import CliRunner

from sidestep import registry
from sidestep.cli.app import app
from sidestep.scenes.compile import compile_scene
from sidestep.simulation import build_world, run_episode
from sidestep.suites.files import load_suite
from sidestep.types import Outcome, RobotSpec, Scenario, SceneSpec

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
WITH_EXAMPLES = {
    "README.md": 2,
    "docs/datasets.md": 2,
    "docs/extending.md": 19,
    "docs/index.md": 2,
    "docs/leaderboard.md": 1,
    "docs/records.md": 2,
    "docs/rendering.md": 2,
    "docs/robots.md": 2,
    "docs/scenarios.md": 6,
    "docs/scenes.md": 6,
    "docs/studies.md": 4,
    "docs/suites/protocol.md": 3,
    "docs/suites/sidewalk_events.md": 2,
    "docs/suites/sidewalk_places.md": 3,
    "docs/suites/socnav.md": 3,
    "docs/tutorial.md": 7,
}
"""Page → how many examples it has at least."""

MARK = "<!-- test -->"
OUTPUT = "<!-- output -->"
FENCE = re.compile(r"```(\w*)\s*$")
FILE_NAME = re.compile(r"# ([\w.-]+\.\w+)\s*$")
CROSSING = {
    "name": "crossing",
    "robots": [{"spec": "point", "start": [0, -4, 1.57], "goal": [0, 4]}],
    "crowd": [{"placement": {"kind": "circle", "count": 4}}],
    "rules": {"step_s": 0.1, "time_limit_s": 5},
}
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


@dataclass(frozen=True)
class Example:
    """A marked block of a page."""

    place: str
    language: str
    text: str

    @property
    def name(self) -> str:
        """The file name that its first line states, else one from its place."""
        stated = FILE_NAME.match(self.text.partition("\n")[0])
        return stated[1] if stated else f"line{self.place.rpartition(':')[2]}.{self.language}"


def examples_of(page: Path) -> list[Example]:
    lines = page.read_text(encoding="utf-8").splitlines()
    found = []
    for number, line in enumerate(lines):
        if line.strip() not in (MARK, OUTPUT):
            continue
        place = f"{page.relative_to(ROOT).as_posix()}:{number + 2}"
        opening = FENCE.match(lines[number + 1]) if number + 1 < len(lines) else None
        assert opening, f"{place}: a fenced block has to follow {MARK}"
        end = lines.index("```", number + 2)
        language = opening[1] if line.strip() == MARK else "output"
        found.append(Example(place, language, "\n".join(lines[number + 2 : end]) + "\n"))
    return found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The working folder of a page's examples; modules imported from it are forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]
    registry.table.cache_clear()


def test_every_page_with_examples_is_tested() -> None:
    marked = {page.relative_to(ROOT).as_posix() for page in PAGES if f"\n{MARK}\n" in page.read_text(encoding="utf-8")}
    assert marked == {*WITH_EXAMPLES, "docs/remote.md"}


def test_the_example_of_a_policy_in_another_process(folder: Path) -> None:
    """It returns the client's own commands, which need no simulator: 2 m/s towards (3, 4)."""
    [example] = examples_of(ROOT / "docs/remote.md")
    (folder / example.name).write_text(example.text, encoding="utf-8")
    policy = runpy.run_path(str(folder / example.name))["Ahead"]()
    policy.reset(SimpleNamespace(robot=SimpleNamespace(limits=SimpleNamespace(max_speed=2.0))))
    command = policy.act(SimpleNamespace(goal=(3.0, 4.0), robot=SimpleNamespace(x=0.0, y=0.0)))
    assert (command.vx, command.vy) == pytest.approx((1.2, 1.6))


@pytest.mark.parametrize("page", WITH_EXAMPLES)
def test_examples_of(page: str, folder: Path) -> None:
    examples = examples_of(ROOT / page)
    assert len(examples) >= WITH_EXAMPLES[page], f"{page}: fewer examples than expected; is a mark missing?"
    printed = StringIO()
    for example in examples:
        (folder / example.name).write_text(example.text, encoding="utf-8")
        match example.language:
            case "python":
                with redirect_stdout(printed := StringIO()):
                    run_python(folder / example.name, example.place)
            case "output":
                assert example.text == printed.getvalue(), f"{example.place}: not what the example above prints"
            case "yaml":
                check_yaml(folder / example.name, example.place)
            case "sh":
                run_commands(example)
            case "toml":
                check_plugin(folder, example)
            case "text":
                pass
            case other:
                pytest.fail(f"{example.place}: no test for {other!r} blocks")


def run_python(path: Path, place: str) -> None:
    """Execute the block; a policy that it defines must also complete an episode without an error."""
    for thing in runpy.run_path(str(path), run_name="__main__").values():
        if (
            isinstance(thing, type)
            and not isabstract(thing)
            and all(hasattr(thing, name) for name in ("needs", "reset", "act"))
        ):
            record = run_episode(Scenario.parse(CROSSING, place), thing())
            assert record.outcome is not Outcome.POLICY_ERROR, f"{place}: {record.error}"
            assert record.steps > 0


def check_yaml(path: Path, place: str) -> None:
    document = next(yaml.safe_load_all(path.read_text(encoding="utf-8")))
    if "regions" in document:
        assert len(compile_scene(SceneSpec.parse({"name": path.stem} | document, place)).wall_points)
    elif "footprint" in document:
        RobotSpec.parse({"name": path.stem} | document, place)
    else:
        scenarios = list(load_suite(path).scenarios())
        assert scenarios, place
        for scenario in scenarios:
            build_world(scenario, seed=0, base=path.parent)


def run_commands(example: Example) -> None:
    for line in example.text.splitlines():
        words = shlex.split(line, comments=True)
        if not words:
            continue
        assert words[0] == "sidestep", f"{example.place}: only sidestep commands can be tested, not {line!r}"
        done = CliRunner().invoke(app, words[1:])
        assert done.exit_code == 0, f"{example.place}: {line}\n{done.output}"


def check_plugin(folder: Path, example: Example) -> None:
    """Put the page's Python files into the package that the project file names, and announce it as pip
    would."""
    project = tomllib.loads(example.text)
    [source] = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    package = folder / Path(source).name
    package.mkdir()
    (package / "__init__.py").touch()
    for file in folder.glob("*.py"):
        (package / file.name).write_text(file.read_text(encoding="utf-8"), encoding="utf-8")
    groups = project["project"]["entry-points"]
    lines = [f"[{group}]\n" + "\n".join(f"{n} = {v}" for n, v in points.items()) for group, points in groups.items()]
    info = folder / f"{package.name}-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package.name}\nVersion: 0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("\n\n".join(lines) + "\n", encoding="utf-8")
    registry.table.cache_clear()
    for kind in ("policies", "metrics", "suites", "datasets", "sensors", "events", "crowd_models"):
        for name in groups[f"sidestep.{kind}"]:
            thing = registry.load(kind, name)
            if kind in ("metrics", "suites", "datasets"):
                assert thing.name == name, f"{example.place}: {thing.name!r} is announced as {name!r}"
            else:
                assert thing.__module__.startswith(package.name), f"{example.place}: {name!r} is not of this page"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_of(page: Path) -> None:
    broken = []
    for target in LINK.findall(without_code(page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path) if path else page
        if not file.exists() or (anchor and file.suffix == ".md" and anchor not in anchors_of(file)):
            broken.append(target)
    assert not broken


def without_code(text: str) -> str:
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE))


def anchors_of(page: Path) -> set[str]:
    """The anchors of a page's headings: lower case, punctuation gone, spaces as hyphens."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    titles = re.findall(r"^#+ +(.*)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}
