"""Suites as YAML files: what is read, and what is refused with file and key."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from sidestep import registry
from sidestep.errors import BadInput
from sidestep.suites.files import FileSuite, choose_options, load_suite, merge, option_names
from sidestep.types.scenario import ReplayPlacement

ROBOTS = "robots: [{start: [0, 0, 0], goal: [3, 0]}]"


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dedent(text), encoding="utf-8")
    return path


def names(reference: Path | str) -> list[str]:
    return [scenario.name for scenario in load_suite(reference).scenarios()]


def test_one_scenario_per_document(tmp_path: Path) -> None:
    path = write(tmp_path / "mine.yaml", f"name: a\n{ROBOTS}\n---\nname: b\n{ROBOTS}\nsuite: other\n---\n")
    suite = load_suite(path)
    assert suite.name == "mine"
    assert [(item.name, item.suite) for item in suite.scenarios()] == [
        ("a", "mine"),
        ("b", "other"),
    ]


def test_defaults_are_merged_deeply(tmp_path: Path) -> None:
    path = write(
        tmp_path / "mine.yaml",
        """
        summary: Doors
        defaults:
          robots: [{start: [0, 0, 0], goal: [3, 0]}]
          rules: {time_limit_s: 30, goal_radius_m: 0.5}
          tags: [x, y]
        scenarios:
          - {name: a}
          - {name: b, rules: {time_limit_s: 60}, tags: [z]}
        """,
    )
    suite = load_suite(path)
    a, b = suite.scenarios()
    assert suite.summary == "Doors"
    assert (a.rules.time_limit_s, a.rules.goal_radius_m, a.tags) == (30, 0.5, ("x", "y"))
    assert (b.rules.time_limit_s, b.rules.goal_radius_m, b.tags) == (60, 0.5, ("z",))


def test_merge_leaves_its_arguments_alone() -> None:
    below = {"a": {"b": 1, "c": [1]}}
    assert merge(below, {"a": {"c": [2], "d": None}}) == {"a": {"b": 1, "c": [2], "d": None}}
    assert below == {"a": {"b": 1, "c": [1]}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            f"name: a\n{ROBOTS}\nrulez: {{}}",
            r"mine\.yaml: scenario 'a': unknown key 'rulez'; did you mean",
        ),
        (f"name: a\n{ROBOTS}\nrules: {{time_limit: 3}}", r"'a': rules: unknown key 'time_limit'; did.*'time_limit_s'"),
        (f"name: a\n{ROBOTS}\nrules: {{step_s: -1}}", r"mine\.yaml: scenario 'a': rules\.step_s"),
        (ROBOTS, r"mine\.yaml: scenario 1: name: is missing; give a text"),
        ("name: a\nrobots: []", "needs at least one robot"),
        (
            "name: a\nrobots: [{start: [0, 0, 1.0e+300], goal: [1, 0]}]",
            r"robots\[0\]\.start\[2\]: must be at most",
        ),
        (f"name: a\n{ROBOTS}\n---\nname: a\n{ROBOTS}", "two scenarios are called 'a'"),
        (f"name: a\nname: b\n{ROBOTS}", r"mine\.yaml: line 2, .*key 'name' is given twice"),
        ("name: [a", r"mine\.yaml: line \d, column \d+: not valid YAML"),
        ("- a\n- b", "document 1 must be a mapping"),
        ("", "no scenarios in it"),
        ("scenarios: []", "at least one scenario"),
        ("scenarios: [3]", r"scenarios\[0\]: must be a mapping"),
        (
            "scenarios: [{name: a}]\ndefault: {}",
            "unknown key 'default' beside 'scenarios'",
        ),
        ("scenarios: [{name: a}]\ndefaults: [1]", "defaults: must be a mapping"),
        ("name: !!python/object/apply:os.system ['true']", "os.system' is not read"),
    ],
)
def test_what_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        load_suite(write(tmp_path / "mine.yaml", text))


def test_a_folder_of_files(tmp_path: Path) -> None:
    folder = tmp_path / "doors"
    write(folder / "b.yaml", f"name: b\n{ROBOTS}")
    write(folder / "a.yml", f"name: a\n{ROBOTS}\nscene: hall.yaml")
    write(folder / "hall.yaml", "name: hall\nregions: []")
    write(folder / "deep" / "c.yaml", f"name: c\n{ROBOTS}\nscene: here.yaml\ncrowd: [{{model: replay, "
          "placement: {kind: replay, path: tracks.txt}}]")  # fmt: skip
    write(folder / "deep" / "here.yaml", "name: here\nregions: []")
    suite = load_suite(folder)
    assert isinstance(suite, FileSuite)
    assert (suite.name, suite.base) == ("doors", folder)
    a, b, c = suite.scenarios()
    assert [s.name for s in (a, b, c)] == ["a", "b", "c"]
    assert a.scene == "hall.yaml"
    assert c.scene == "deep/here.yaml"
    placement = c.crowd[0].placement
    assert isinstance(placement, ReplayPlacement)
    assert placement.path == "deep/tracks.txt"


def test_one_name_in_two_files(tmp_path: Path) -> None:
    write(tmp_path / "s" / "a.yaml", f"name: x\n{ROBOTS}")
    write(tmp_path / "s" / "b.yaml", f"name: x\n{ROBOTS}")
    with pytest.raises(BadInput, match=r"a\.yaml and .*b\.yaml: name: two scenarios are called 'x'"):
        load_suite(tmp_path / "s")


def test_names_and_paths_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"no such suite file or folder"):
        load_suite(tmp_path / "none.yaml")
    with pytest.raises(BadInput, match=r"unknown suite 'coer'; did you mean 'core'.*path to a YAML file"):
        load_suite("coer")


def test_bundled_suites_by_name() -> None:
    assert names("core")


def test_a_plug_in_that_is_no_suite_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "table", lambda kind: {"odd": "pathlib:Path"})
    monkeypatch.setattr("sidestep.suites.files.table", registry.table)
    with pytest.raises(BadInput, match=r"suite 'odd' .* derive its class from sidestep\.interfaces\.Suite"):
        load_suite("odd")


def test_a_suite_without_options_says_so() -> None:
    suite = load_suite("core")
    assert option_names(suite) == ()
    assert choose_options(suite, {}) is suite
    with pytest.raises(BadInput, match=r"suite 'core' has no options; leave out suite\.split"):
        choose_options(suite, {"split": "dev"})
