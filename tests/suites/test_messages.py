"""Every way in which a scenario file can be wrong has a message that names the place, what is wrong and, where it is
known, the remedy, in words of the file."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from sidestep.cli.app import app
from sidestep.errors import BadInput
from sidestep.suites.files import load_suite
from sidestep.types.scenario import Scenario

ROBOT = {"start": [0, 0, 0], "goal": [3, 0]}
INTERNALS = (
    "function-", "[type=", "; ;", "pydantic", "Input should", "input should", "valid dictionary", "instance of",
    "literal[", "tuple[", "Extra inputs", "Field required", "SceneSpec", "RobotSpec", "ValidationError", "value_error",
)  # fmt: skip
"""What no message may contain."""


def messages(text: str) -> list[str]:
    data = {"name": "a", "robots": [ROBOT]} | yaml.safe_load(text)
    with pytest.raises(BadInput) as error:
        Scenario.parse(data, "")
    return str(error.value).splitlines()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        # a wrong key
        ("rulez: {}", "unknown key 'rulez'; did you mean 'rules'?"),
        ("rules: {time_limit: 3}", "rules: unknown key 'time_limit'; did you mean 'time_limit_s'?"),
        (
            "crowd: [{people: [{start: [0, 0]}, {start: [0, 0], spede: 1}]}]",
            "crowd[0].people[1]: unknown key 'spede'; did you mean 'speed'?",
        ),
        ("robots: [{strat: [0, 0, 0], goal: [1, 0]}]", "robots[0]: unknown key 'strat'; did you mean 'start'?"),
        (
            "crowd: [{placement: {kind: circle, cuont: 3}}]",
            "crowd[0].placement: unknown key 'cuont'; did you mean 'count'?",
        ),
        ("sensors: {camera: {widht: 3}}", "sensors.camera: unknown key 'widht'; did you mean 'width'?"),
        ("3: 4", "the key 3 must be a text; write it in quotes"),
        (
            "crowd: [{people: [{start: [0, 0]}], parameters: {1: 2}}]",
            "crowd[0].parameters: the key 1 must be a text; write it in quotes",
        ),
        # a missing key
        ("robots: [{start: [0, 0, 0]}]", "robots[0].goal: is missing; give a list of 2 numbers"),
        ("events: [{kind: frontal}]", "events[0].at: is missing; give a list of 2 numbers"),
        ("robots:", "robots: is empty; give a list"),
        # a wrong type
        ("name: 3", "name: must be a text (got 3)"),
        ("robots: 3", "robots: must be a list (got 3)"),
        ("rules: [1]", "rules: must be a mapping (got [1])"),
        (
            "crowd: [{people: [{start: [0, 0]}], speed: 1.3}]",
            "crowd[0].speed: must be a mapping (got 1.3); its keys are mean, sd, low, high",
        ),
        ("rules: {stay_on: sidewalk}", "rules.stay_on: must be a list (got 'sidewalk'); write it in brackets: [ … ]"),
        (
            "crowd: [{placement: {kind: circle, count: many}}]",
            "crowd[0].placement.count: must be a whole number (got 'many')",
        ),
        (
            "crowd: [{placement: {kind: circle, count: 3.5}}]",
            "crowd[0].placement.count: must be a whole number (got 3.5)",
        ),
        (
            "crowd: [{people: [{start: [0, 0]}], sees_robot: maybe}]",
            "crowd[0].sees_robot: must be true or false (got 'maybe')",
        ),
        # a list of a wrong length, or with a wrong item
        ("robots: [{start: [0, 0], goal: [1, 0]}]", "robots[0].start: must be a list of 3 numbers (got [0, 0])"),
        (
            "robots: [{start: [0, 0, 0, 0], goal: [1, 0]}]",
            "robots[0].start: must be a list of 3 numbers (got [0, 0, 0, 0])",
        ),
        ("robots: [{start: [0, 0, left], goal: [1, 0]}]", "robots[0].start[2]: must be a number (got 'left')"),
        (
            "events: [{kind: enacting, path: [[0, 0]]}]",
            "events[0].path: must be a list of at least 2 items (got [[0, 0]])",
        ),
        # one of several types
        ("robots: [{start: [0, 0, 0], goal: [1, 0], spec: 3}]", "robots[0].spec: must be a text or a mapping (got 3)"),
        ("scene: [1, 2]", "scene: must be a text or a mapping (got [1, 2])"),
        ("scene: {region: []}", "scene: unknown key 'region'; did you mean 'regions'?"),
        (
            "scene: {regions: [{kind: walkable, polygon: [[0, 0], [1, 0]]}]}",
            "scene.regions[0]: a polygon needs at least 3 corners, got 2",
        ),
        (
            "scene: {enclosed: true}",
            "scene: an enclosed scene needs at least one open region (walkable, sidewalk, road, …)",
        ),
        (
            "robots: [{start: [0, 0, 0], goal: [1, 0], dynamics: unicycl}]",
            "robots[0].dynamics: must be holonomic, unicycle, bicycle or policy (got 'unicycl'); "
            "did you mean 'unicycle' or 'bicycle'?",
        ),
        ("events: [{kind: crossing, zone: 3}]", "events[0].zone: must be a text or a list (got 3)"),
        (
            "events: [{kind: crossing, zone: [[0, 0], [1, x], [3, 3]]}]",
            "events[0].zone[1][1]: must be a number (got 'x')",
        ),
        # a wrong kind
        (
            "crowd: [{placement: {kind: cirle, count: 3}}]",
            "crowd[0].placement.kind: must be circle, random, flow, replay, synthetic, behaviour, crossing or street "
            "(got 'cirle'); did you mean 'circle'?",
        ),
        (
            "crowd: [{placement: {count: 3}}]",
            "crowd[0].placement.kind: is missing; give circle, random, flow, replay, synthetic, behaviour, "
            "crossing or street",
        ),
        (
            "crowd: [{placement: circle}]",
            "crowd[0].placement: must be a mapping with the key 'kind' (got 'circle'); write {kind: circle, …}",
        ),
        # none of a choice
        (
            "crowd: [{people: [{start: [0, 0]}], at_end: sty}]",
            "crowd[0].at_end: must be stay, leave or loop (got 'sty'); did you mean 'stay'?",
        ),
        (
            "sensors: {camera: car_frnt}",
            "sensors.camera: no camera is called 'car_frnt'; did you mean 'car_front' or 'car_front_fast'?",
        ),
        # out of range
        ("crowd: [{people: [{start: [0, 0], speed: -1}]}]", "crowd[0].people[0].speed: must be at least 0 (got -1)"),
        ("rules: {time_limit_s: 0}", "rules.time_limit_s: must be greater than 0 (got 0)"),
        ("events: [{kind: frontal, at: [0, 0], speed: .nan}]", "events[0].speed: must be a finite number (got nan)"),
        ("lane_traffic: {kinds: {car: -1}}", "lane_traffic.kinds.car: must be greater than 0 (got -1)"),
        # what does not go together
        ("robots: []", "a scenario needs at least one robot"),
        ("crowd: [{}]", "crowd[0]: a crowd part needs people or a placement"),
        ("crowd: [{placement: {kind: replay}}]", "crowd[0].placement: a replay needs either a dataset or a path"),
        (
            "crowd: [{model: replay, people: [{start: [0, 0]}], placement: {kind: replay, path: x}}]",
            "crowd[0]: replayed people come from a recording; put hand-placed people in another part",
        ),
    ],
)
def test_one_mistake_has_one_message(text: str, message: str) -> None:
    assert messages(text) == [message]


def test_all_mistakes_of_a_file_are_told_each_at_its_place() -> None:
    text = "robots: [{start: [0, 0, 0], goal: [1, 0], spec: {name: x, limits: {max_sped: 1}}}]"
    found = messages(text)
    assert "robots[0].spec.dynamics: is missing; give holonomic, unicycle or bicycle" in found
    assert "robots[0].spec.footprint: is missing; give a mapping" in found
    assert any(
        line.startswith("robots[0].spec.limits: unknown key 'max_sped'; did you mean 'max_speed'") for line in found
    )
    assert len(found) == 3, "the misspelt key is not told as missing, too"


def test_an_outcome_and_the_rest_of_a_precedence_are_named() -> None:
    assert "did you mean 'success'?" in messages("rules: {ends_on: [sucess]}")[0]
    assert "; add disobeyed, environment_collision, " in messages("rules: {precedence: [success]}")[0]


def test_a_text_with_control_characters_is_shown_without_them() -> None:
    text = "".join(messages('crowd: [{people: [{start: [0, 0]}], at_end: "\\e[2J\\u202e"}]'))
    assert "\x1b" not in text
    assert "‮" not in text


FILES = sorted((Path(__file__).parents[2] / "src" / "sidestep" / "suites" / "data").glob("c*.yaml"))
EVENTS: list[Any] = [
    {"kind": "frontal", "at": [3, 0], "speed": 1.2},
    {"kind": "crossing", "zone": [[0, 0], [1, 0], [1, 1]], "front": 2},
    {"kind": "enacting", "path": [[0, 0], [3, 3]], "meet": [1, 1], "conduct": "wave_on"},
]
MORE = {
    "events": EVENTS,
    "traffic": [{"kind": "car", "start": [0, 9, 0], "parameters": {"x": 1}}],
    "lane_traffic": {"count": [1, 2], "kinds": {"car": 1}},
    "sensors": {"camera": {"preset": "car_front", "width": 100, "height": 90}, "lidar": {"rays": 9}},
    "scene": {"enclosed": True, "regions": [{"kind": "walkable", "polygon": [[0, 0], [9, 0], [9, 9]], "height": 2}]},
    "robots": [
        ROBOT
        | {"spec": {"name": "x", "dynamics": "unicycle", "footprint": {"radius": 0.3}, "limits": {"max_speed": 1}}}
    ],
}
VALID = [{"suite": "s", **scenario.model_dump(mode="json", exclude_unset=True)}
         for file in FILES for scenario in load_suite(file).scenarios()]  # fmt: skip
VALID += [VALID[0] | MORE]
STRANGE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from([[], {}, [{}], {"kind": "x"}]),
    st.lists(st.integers(), max_size=4),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every list or mapping in ``value`` with each of its keys."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else []
    return [place for key in keys for place in [(value, key), *places(value[key])]]


@settings(max_examples=300)
@given(st.data())
def test_no_change_of_a_valid_file_shows_the_internals_of_the_check(data: st.DataObject) -> None:
    scenario = copy.deepcopy(data.draw(st.sampled_from(VALID)))
    for _ in range(data.draw(st.integers(1, 3))):
        inside, key = data.draw(st.sampled_from(places(scenario)))
        change = data.draw(st.sampled_from(["replace", "remove", "misspell", "add", "wrap"]))
        if change == "replace":
            inside[key] = data.draw(STRANGE)
        elif change == "wrap":
            inside[key] = [inside[key]]
        elif change == "remove":
            del inside[key]
        elif isinstance(inside, dict):
            inside[data.draw(st.text(max_size=4)) if change == "add" else f"{key}x"] = (
                data.draw(STRANGE) if change == "add" else inside.pop(key)
            )
        else:
            inside.append(data.draw(STRANGE))
    try:
        Scenario.parse(scenario, "file.yaml")
    except BadInput as error:
        lines = str(error).splitlines()
        assert len(set(lines)) == len(lines), "no message twice"
        for line in lines:
            assert line.startswith("file.yaml: ")
            assert not [each for each in INTERNALS if each in line], line


def test_the_command_and_its_json(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(
        "defaults: {robots: [{start: [0, 0, 0], goal: [3, 0]}], rules: {time_limit: 3}}\n"
        "scenarios: [{name: a}, {name: b}, {name: c, crowd: [{people: [{start: [0, 1], spede: 1}]}]}]\n"
    )
    shown = CliRunner().invoke(app, ["validate", str(file)])
    assert shown.exit_code == 2
    assert shown.stdout.splitlines() == [
        "a, b, c: rules: unknown key 'time_limit'; did you mean 'time_limit_s'?",
        "c: crowd[0].people[0]: unknown key 'spede'; did you mean 'speed'?",
    ]
    document = json.loads(CliRunner().invoke(app, ["validate", str(file), "--json"]).stdout)
    assert document.keys() == {"file", "scenarios", "problems"}
    assert [problem["scenario"] for problem in document["problems"]] == ["a", "b", "c", "c"]
    assert document["problems"][-2] == {
        "scenario": "c",
        "where": "crowd[0].people[0]",
        "what": "unknown key 'spede'",
        "remedy": "did you mean 'speed'?",
    }


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "mine.yaml: file: no scenarios in it; list them under 'scenarios'"),
        ("scenario: [{name: a}]", "mine.yaml: file: unknown key 'scenario'; did you mean 'scenarios'?"),
        (
            f"scenarios: [{{name: a, scene: plazza, robots: [{json.dumps(ROBOT)}]}}]",
            "a: scene: unknown floor plan 'plazza'; did you mean 'plaza'?",
        ),
    ],
)
def test_a_file_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, line: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text(text)
    shown = CliRunner().invoke(app, ["validate", "mine.yaml"])
    assert shown.exit_code == 2
    assert shown.stdout.splitlines() == [line]
    assert CliRunner().invoke(app, ["run", "mine.yaml", "--policy", "stop"]).exit_code == 2


def test_a_list_item_that_is_no_scenario_hides_no_other_mistake(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(f"scenarios:\n  - 3\n  - {{name: b, robots: [{json.dumps(ROBOT)}], rulez: {{}}}}\n")
    shown = CliRunner().invoke(app, ["validate", str(file)]).stdout
    assert "scenarios[0]: must be a mapping" in shown
    assert "unknown key 'rulez'" in shown
