"""``sidestep validate`` finds everything that is wrong at once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sidestep.cli.app import app
from sidestep.suites.validate import Problem, validate_suite

ROOM = """
defaults:
  scene:
    name: room
    enclosed: true
    regions:
      - {kind: walkable, polygon: [[0, 0], [10, 0], [10, 6], [0, 6]]}
      - {kind: obstacle, polygon: [[4, 2], [6, 2], [6, 4], [4, 4]]}
  robots: [{spec: pioneer_3dx, start: [1, 1, 0], goal: [9, 5]}]
"""
WALL_ACROSS = """
  - name: walled
    scene:
      regions:
        - {kind: walkable, polygon: [[0, 0], [10, 0], [10, 6], [0, 6]]}
        - {kind: obstacle, polygon: [[4.9, 0], [5.1, 0], [5.1, 6], [4.9, 6]]}
  - {name: unheard, crowd: [{model: teleport, people: [{start: [8, 1]}]}]}
  - {name: unread, crowd: [{people: [{start: [8, 1]}], parameters: {speed_of_light: 1}}]}
"""
REPLAYED = """
  - name: all
    crowd:
      - {model: replay, placement: {kind: replay, path: people.csv}}
      - {model: replay, placement: {kind: replay, path: absent.csv}}
      - people: [{start: [1, 1], waypoints: [[5, 3]]}]
  - name: rated
    crowd: [{model: replay, placement: {kind: replay, path: people.csv, rate_hz: 10}}]
"""
CROWDED = """
  - name: crowded
    robots: [{spec: pioneer_3dx, start: [5, 3, 0], goal: [20, 3], route: [[5, 2.5], [8, 3]]}]
    crowd:
      - people:
          - {start: [1, 1], waypoints: [[5, 3], [9, 1]]}
          - {start: [1.3, 1]}
          - {start: [0.05, 3]}
          - {start: [1.1, 1], enter_s: 5}
  - name: touching
    crowd: [{people: [{start: [1.2, 1.1]}]}]
"""
MISTAKES = """
  - {name: typo, rulez: {time_limit_s: 3}, crowd: [{model: orca, placement: {kind: circle}}]}
  - {name: nowhere, scene: no_such_plan}
  - {name: alone, robots: [{spec: no_such_robot, start: [1, 1, 0], goal: [9, 5]}]}
  - {name: alone}
"""


def suite(tmp_path: Path, scenarios: str) -> Path:
    file = tmp_path / "mine.yaml"
    file.write_text(ROOM + "scenarios:\n" + scenarios)
    return file


def found(file: Path) -> dict[tuple[str, str], Problem]:
    return {(problem.scenario, problem.where): problem for problem in validate_suite(file).problems}


def test_a_good_suite_has_no_problems(tmp_path: Path) -> None:
    walker = "{start: [3, 5], waypoints: [[8, 1]]}"
    result = validate_suite(suite(tmp_path, f"  - {{name: empty}}\n  - {{name: one, crowd: [{{people: [{walker}]}}]}}"))
    assert result.scenarios == 2
    assert result.problems == ()


@pytest.mark.parametrize("name", ["core", "catalogue"])
def test_bundled_suites_have_no_problems(name: str) -> None:
    assert validate_suite(name).problems == ()


def test_positions_are_all_checked_at_once(tmp_path: Path) -> None:
    problems = found(suite(tmp_path, CROWDED))
    assert set(problems) == {
        ("crowded", "robots[0].start"),
        ("crowded", "robots[0].goal"),
        ("crowded", "robots[0].route[0]"),
        ("crowded", "crowd[0].people[0].waypoints[0]"),
        ("crowded", "crowd[0].people[1].start"),
        ("crowded", "crowd[0].people[2].start"),
        ("touching", "crowd[0].people[0].start"),
    }
    assert problems["crowded", "crowd[0].people[1].start"].what == "overlaps crowd[0].people[0] by 0.20 m"
    assert "overlaps robot 0 by" in problems["touching", "crowd[0].people[0].start"].what
    assert problems["crowded", "robots[0].start"].remedy == "move it into free space"


def test_mistakes_in_keys_files_and_names(tmp_path: Path) -> None:
    problems = found(suite(tmp_path, MISTAKES))
    assert "unknown key 'rulez'" in problems["typo", ""].what
    assert "did you mean 'rules'" in problems["typo", ""].remedy
    assert ("typo", "crowd[0].placement.count") in problems
    assert "no_such_plan" in problems["nowhere", "scene"].what
    assert "no_such_robot" in problems["alone", "robots[0].spec"].what
    assert ("alone", "name") in problems


def test_a_goal_behind_walls_and_what_only_building_finds(tmp_path: Path) -> None:
    problems = found(suite(tmp_path, WALL_ACROSS))
    assert "no path of" in problems["walled", "robots[0].goal"].what
    assert "teleport" in problems["unheard", "crowd[0].model"].what
    assert "speed_of_light" in problems["unread", "world"].what


def test_a_recording_that_cannot_be_replayed_hides_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("frame,id,x,y\n0,1,1.0,1.0\n10,1,2.0,1.0\n")
    problems = found(suite(tmp_path, REPLAYED))
    assert set(problems) == {
        ("all", "crowd[0].placement"),
        ("all", "crowd[1].placement"),
        ("all", "crowd[2].people[0].start"),
        ("all", "crowd[2].people[0].waypoints[0]"),
    }
    assert "frames per second unknown" in problems["all", "crowd[0].placement"].what
    assert "rate_hz" in problems["all", "crowd[0].placement"].remedy
    assert "absent.csv: no such file" in problems["all", "crowd[1].placement"].what


def test_the_command(tmp_path: Path) -> None:
    good = CliRunner().invoke(app, ["validate", "core", "--json"])
    assert good.exit_code == 0, good.output
    assert json.loads(good.stdout) == {"file": "core", "scenarios": 10, "problems": []}
    bad = suite(tmp_path, "  - {name: a, crowd: [{people: [{start: [5, 3]}]}]}")
    result = CliRunner().invoke(app, ["validate", str(bad)])
    assert result.exit_code == 2
    assert "a: crowd[0].people[0].start: (5, 3) is in a wall" in result.stdout
    document = json.loads(CliRunner().invoke(app, ["validate", str(bad), "--json"]).stdout)
    assert document["problems"][0].keys() == {"scenario", "where", "what", "remedy"}
    (tmp_path / "broken.yaml").write_text("scenarios: [")
    folder = CliRunner().invoke(app, ["validate", str(tmp_path)])
    assert folder.exit_code == 2
    assert "broken.yaml" in folder.stdout
    assert "crowd[0].people[0].start" in folder.stdout, "a broken file does not hide the others"
