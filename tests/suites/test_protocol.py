"""The suite ``protocol`` and protocol files: names, roles, notes, robots that cheat, files of one's own."""

from __future__ import annotations

from math import atan2
from pathlib import Path
from typing import Any

import pytest
import yaml

from sidestep import registry
from sidestep.errors import BadInput
from sidestep.kernels import layout
from sidestep.scenes.plans import load_plan
from sidestep.simulation import build_world, run_episode
from sidestep.simulation.live import LiveEpisode, PersonInput
from sidestep.simulation.recorder import shortest_path_length
from sidestep.suites.files import choose_options, load_suite
from sidestep.suites.protocol import PROTOCOL_SUITE
from sidestep.suites.validate import validate_suite
from sidestep.types import Outcome, Scenario, SceneSpec
from sidestep.types.events import GESTURES, Enacting
from tests.suites.protocol_drivers import (
    CutTheCorner,
    Driver,
    DriveThrough,
    HugTheWall,
    IgnoreTheWave,
    Impatient,
    Polite,
    StopInThePath,
    WaitForEver,
    holonomic,
)

NAMES = [
    "frontal-f1", "frontal-f2", "intersection_wait-w1", "intersection_wait-w2", "intersection_gesture-g1",
    "intersection_gesture-g2", "narrow_doorway-n1", "narrow_doorway-n2", "blind_corner-b1", "blind_corner-b2",
]  # fmt: skip
OF_KIND = NAMES[::2]
ROLES = ("ab", "ba")


def scenarios(roles: str = "ab", **options: Any) -> dict[str, Scenario]:
    suite = PROTOCOL_SUITE.with_options({"roles": roles, **options})
    return {scenario.name: scenario for scenario in suite.scenarios()}


def person_of(scenario: Scenario) -> Enacting:
    (event,) = scenario.events
    assert isinstance(event, Enacting)
    return event


def outcome(driver: Driver, name: str, roles: str = "ab", seed: int = 0) -> Outcome:
    scenario = holonomic(scenarios(roles)[name])
    return run_episode(scenario, driver(scenario), seed=seed).outcome


def test_names_and_what_a_study_needs_of_them() -> None:
    assert registry.load("suites", "protocol") is PROTOCOL_SUITE
    assert list(scenarios()) == NAMES
    for name, scenario in scenarios().items():
        kind, _, place = name.partition("-")
        assert scenario.notes["scenario"] == kind
        assert scenario.notes["location"] == place
        assert scenario.notes["questionnaire"] == "protocol"
        assert len(scenario.notes["instruction"]) > 40
        assert len(scenario.notes["expected"]) > 40
        assert scenario.rules.step_s == 0.05


@pytest.mark.parametrize("roles", ROLES)
def test_every_world_can_be_built(roles: str) -> None:
    for scenario in scenarios(roles).values():
        build_world(scenario, 0)
    assert validate_suite("protocol").problems == ()


def test_roles_change_places() -> None:
    ab, ba = scenarios("ab"), scenarios("ba")
    for name in NAMES:
        robot, person = ab[name].ego, person_of(ba[name])
        assert person.path == ((robot.start[0], robot.start[1]), *robot.route, robot.goal)
    assert ba["frontal-f1"].ego.start[:2] == (28.8, 5.5)
    assert ba["frontal-f1"].ego.start[2] == pytest.approx(3.141592653589793)


def test_alternating_roles_are_scenarios_of_their_own() -> None:
    both = scenarios("alternate")
    assert list(both)[:3] == ["frontal-f1-ab", "frontal-f1-ba", "frontal-f2-ab"]
    assert len(both) == 20
    assert both["frontal-f1-ba"].ego == scenarios("ba")["frontal-f1"].ego
    assert both["frontal-f1-ba"].notes["location"] == "f1"


def test_the_mark_is_on_the_path_of_the_robot() -> None:
    """frontal-f1: one metre from its start at (15.5, 5.5); narrow_doorway-n2 backwards: 0.2 m."""
    assert scenarios()["frontal-f1"].notes["mark"] == pytest.approx([16.5, 5.5])
    mark, start = scenarios("ba")["narrow_doorway-n2"].notes["mark"], scenarios("ba")["narrow_doorway-n2"].ego.start
    assert (mark[0] - start[0]) ** 2 + (mark[1] - start[1]) ** 2 == pytest.approx(0.04)


def test_options() -> None:
    assert person_of(scenarios(person_mps=0.8)["blind_corner-b1"]).speed == 0.8
    assert scenarios(robot="delivery_robot")["frontal-f1"].ego.spec == "delivery_robot"
    with pytest.raises(BadInput, match="unknown key 'role'"):
        PROTOCOL_SUITE.with_options({"role": "ab"})


def test_seeds_change_the_walking_speed_alone() -> None:
    scenario = scenarios()["intersection_wait-w1"]
    speeds = {float(build_world(scenario, seed).agents[layout.PREF_SPEED, 0]) for seed in range(5)}
    assert len(speeds) == 5
    assert all(1.1 <= speed <= 1.65 for speed in speeds)


@pytest.mark.parametrize("roles", ROLES)
@pytest.mark.parametrize("name", NAMES)
def test_a_polite_robot_passes(name: str, roles: str) -> None:
    assert outcome(Polite, name, roles) is Outcome.SUCCESS
    assert outcome(Polite, name, roles, seed=1) is Outcome.SUCCESS


@pytest.mark.parametrize("name", OF_KIND)
def test_a_robot_that_never_moves_fails(name: str) -> None:
    assert run_episode(scenarios()[name], "stop").outcome is Outcome.TIMEOUT


@pytest.mark.parametrize("roles", ROLES)
@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith("narrow")])
def test_a_robot_that_drives_through_fails(name: str, roles: str) -> None:
    assert outcome(DriveThrough, name, roles) in (Outcome.PEDESTRIAN_COLLISION, Outcome.DISOBEYED)


def test_a_robot_that_drives_through_a_door_fails_if_the_person_is_first() -> None:
    assert outcome(DriveThrough, "narrow_doorway-n1") is Outcome.PEDESTRIAN_COLLISION
    assert outcome(DriveThrough, "narrow_doorway-n2") is Outcome.PEDESTRIAN_COLLISION
    assert outcome(DriveThrough, "narrow_doorway-n2", "ba") is Outcome.SUCCESS  # there the robot is first


@pytest.mark.parametrize("name", NAMES)
def test_a_robot_that_waits_for_ever_fails(name: str) -> None:
    assert outcome(WaitForEver, name) in (Outcome.TIMEOUT, Outcome.DISOBEYED, Outcome.PEDESTRIAN_COLLISION)


@pytest.mark.parametrize("name", ["frontal-f1", "frontal-f2", "blind_corner-b1", "blind_corner-b2"])
def test_a_robot_that_stops_in_the_path_and_is_walked_round_fails(name: str) -> None:
    assert outcome(StopInThePath, name) is Outcome.DISOBEYED


LOSES = (Outcome.DISOBEYED, Outcome.PEDESTRIAN_COLLISION)


@pytest.mark.parametrize(
    ("name", "roles"),
    [
        ("intersection_wait-w1", "ab"),
        ("intersection_gesture-g1", "ab"),
        ("intersection_gesture-g2", "ab"),
        ("intersection_gesture-g2", "ba"),
    ],
)
def test_a_robot_that_crosses_beside_the_middle_fails(name: str, roles: str) -> None:
    """It keeps 1.3 m away from where the paths meet, out of the zone of 1 m."""
    assert outcome(HugTheWall, name, roles) in LOSES
    assert outcome(HugTheWall, name, roles, seed=1) in LOSES


@pytest.mark.parametrize("roles", ROLES)
@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("intersection")])
def test_a_robot_that_waits_and_starts_too_early_fails(name: str, roles: str) -> None:
    assert outcome(Impatient, name, roles) in LOSES


def test_a_robot_that_waits_at_the_door_and_starts_too_early_fails() -> None:
    assert outcome(Impatient, "narrow_doorway-n1") in LOSES
    assert outcome(Impatient, "narrow_doorway-n2") in LOSES


@pytest.mark.parametrize("roles", ROLES)
@pytest.mark.parametrize("name", ["intersection_gesture-g1", "intersection_gesture-g2"])
def test_a_robot_that_ignores_the_wave_fails(name: str, roles: str) -> None:
    """The person does not cross before the robot, so both wait until the time is over."""
    assert outcome(IgnoreTheWave, name, roles) is Outcome.TIMEOUT


@pytest.mark.parametrize("roles", ROLES)
@pytest.mark.parametrize("name", ["blind_corner-b1", "blind_corner-b2"])
def test_a_robot_that_cuts_the_corner_fails(name: str, roles: str) -> None:
    assert outcome(CutTheCorner, name, roles) is Outcome.DISOBEYED


@pytest.mark.parametrize("roles", ROLES)
def test_no_other_route_avoids_the_meeting(roles: str) -> None:
    """With a wall in the door or the corner, the robot's shortest path is at least 2 m longer, or there is none."""
    for name, scenario in scenarios(roles).items():
        meet = person_of(scenario).meet
        if meet is None or name.startswith("intersection"):
            continue
        x, y = meet
        wall = {"kind": "obstacle", "polygon": [[x - 2, y - 2], [x + 2, y - 2], [x + 2, y + 2], [x - 2, y + 2]]}
        scene = load_plan("office_floor").model_dump(mode="json")
        scene = SceneSpec.parse({**scene, "name": "blocked", "regions": [*scene["regions"], wall]}, name)
        free, blocked = (
            shortest_path_length(build_world(each, 0), 0)
            for each in (scenario, scenario.model_copy(update={"scene": scene}))
        )
        assert not blocked < free + 2.0, name


def test_development_and_test_places() -> None:
    """Policies may be tuned at the first place of each scenario; without the option a study has all."""
    dev, test = scenarios(split="dev"), scenarios(split="test")
    assert [name[-1] for name in dev] == ["1"] * 5
    assert [name[-1] for name in test] == ["2"] * 5
    assert [*dev, *test] == [*NAMES[::2], *NAMES[1::2]]
    assert dev["frontal-f1"] == scenarios()["frontal-f1"]


def test_texts_in_german() -> None:
    assert PROTOCOL_SUITE.protocol.languages == ("en", "de")
    english, german = scenarios(), scenarios(language="de")
    for name in NAMES:
        for key in ("title", "instruction", "expected"):
            assert german[name].notes[key]
            assert german[name].notes[key] != english[name].notes[key]
        assert german[name].events == english[name].events
    assert german["narrow_doorway-n1"].notes["title"] == "Enge Tür"
    with pytest.raises(BadInput, match="unknown language 'fr'"):
        PROTOCOL_SUITE.with_options({"language": "fr"})


def walk_along(scenario: Scenario, driver: Driver, wave: bool = False, waits: bool = False) -> LiveEpisode:
    """A participant who walks along the path from the start signal on, or who stops after 4.5 m (and waves)."""
    scenario = holonomic(scenario)
    episode = LiveEpisode(scenario, driver(scenario))
    points = list(person_of(scenario).path[1:])
    walked = 0.0
    while not episode.done:
        (me,) = [person for person in episode.state.people if person.is_participant]
        if len(points) > 1 and abs(points[0][0] - me.x) + abs(points[0][1] - me.y) < 0.3:
            points.pop(0)
        goes = episode.state.started and not (waits and walked > 4.5)
        heading = atan2(points[0][1] - me.y, points[0][0] - me.x)
        walked += 0.06 if goes else 0.0
        episode.step(PersonInput(forward_mps=1.2 if goes else 0.0, heading=heading, wave=wave and not goes))
    return episode


def test_a_participant_who_walks_on_is_let_pass() -> None:
    episode = walk_along(scenarios()["intersection_wait-w1"], Polite)
    assert episode.outcome is Outcome.SUCCESS
    assert "live" in episode.record.person_model


def test_a_robot_that_cuts_off_a_participant_is_disobedient() -> None:
    episode = walk_along(scenarios()["intersection_wait-w2"], DriveThrough)
    assert episode.outcome in (Outcome.DISOBEYED, Outcome.PEDESTRIAN_COLLISION)
    assert [event.text for event in episode.record.events if event.kind == "disobeyed"]


def test_a_participant_waves_the_robot_on() -> None:
    waved = walk_along(scenarios()["intersection_gesture-g1"], Polite, wave=True, waits=True)
    assert waved.outcome is Outcome.SUCCESS
    assert (waved.record.person_gesture == GESTURES["go_on"]).any()
    silent = walk_along(scenarios()["intersection_gesture-g1"], Polite, waits=True)
    assert silent.outcome is Outcome.TIMEOUT
    rude = walk_along(scenarios()["intersection_gesture-g1"], DriveThrough, waits=True)
    assert rude.outcome is Outcome.DISOBEYED


def test_a_participant_who_dawdles_before_the_robot_is_not_its_fault() -> None:
    episode = walk_along(scenarios()["frontal-f1"], WaitForEver, waits=True)
    assert episode.outcome is Outcome.TIMEOUT


OWN: dict[str, Any] = {
    "protocol": "my_lab",
    "scene": "office_floor",
    "questionnaire": {"name": "own", "title": "Own", "items": [{"id": "q1", "number": 1, "text": "It was polite."}]},
    "scenarios": {
        "overtake": {
            "instruction": "Walk to the end of the path.",
            "expected": "The robot stays behind you.",
            "person": {"speed": 0.7},
            "locations": {"c1": {"a": [[15.5, 5.5], [28.8, 5.5]], "b": [[17, 5.5], [28.8, 5.5]], "start_m": 0.0}},
        }
    },
}


def own(tmp_path: Path, **changes: Any) -> Path:
    file = tmp_path / "lab.yaml"
    file.write_text(yaml.safe_dump(OWN | changes), encoding="utf-8")
    return file


def test_a_protocol_of_ones_own_is_one_file(tmp_path: Path) -> None:
    suite = load_suite(own(tmp_path))
    (scenario,) = suite.scenarios()
    assert (suite.name, scenario.name, scenario.suite) == ("my_lab", "overtake-c1", "my_lab")
    assert scenario.notes["questionnaire"]["items"][0]["id"] == "q1"
    assert person_of(scenario).speed == 0.7
    assert run_episode(scenario, "straight").outcome in set(Outcome)
    assert len(list(choose_options(suite, {"roles": "alternate"}).scenarios())) == 2
    assert validate_suite(own(tmp_path)).problems == ()
    assert [each.name for each in load_suite(tmp_path).scenarios()] == ["overtake-c1"]
    with pytest.raises(BadInput, match="no place has `split: dev`"):
        choose_options(suite, {"split": "dev"}).scenarios()


def test_scene_and_questionnaire_may_lie_beside_the_file(tmp_path: Path) -> None:
    scene = load_plan("office_floor").model_dump(mode="json") | {"name": "my_floor"}
    (tmp_path / "floor.yaml").write_text(yaml.safe_dump(scene), encoding="utf-8")
    (tmp_path / "questions.yaml").write_text(yaml.safe_dump(OWN["questionnaire"]), encoding="utf-8")
    (scenario,) = load_suite(own(tmp_path, scene="floor.yaml", questionnaire="questions.yaml")).scenarios()
    assert isinstance(scenario.scene, SceneSpec)
    assert scenario.scene.name == "my_floor"
    assert scenario.notes["questionnaire"] == OWN["questionnaire"]
    build_world(scenario, 0)


def changed(**changes: Any) -> dict[str, Any]:
    return {"scenarios": {"overtake": OWN["scenarios"]["overtake"] | changes}}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"questionaire": "protocol"}, "unknown key 'questionaire'; did you mean 'questionnaire'"),
        (
            changed(person={"sped": 1.0}),
            r"lab.yaml: scenarios.overtake.locations.c1: person: unknown key 'sped'; did you mean 'speed'",
        ),
        (changed(conduct="wave_on"), "conduct: wave_on needs meet"),
        (changed(locations={}), "at least 1 item"),
        (changed(locations={"c-1": {"a": [[0, 0], [1, 1]]}}), r"locations: the key 'c-1' must be a text of the form"),
        (changed(locations={"c1": {"a": [[0, 0]]}}), "at least 2 items"),
        ({"scene": "office_flor"}, "did you mean 'office_floor'"),
        ({"questionnaire": "../questions.yaml"}, "questionnaire"),
        ({"scenarios": {}}, "at least 1 item"),
    ],
)
def test_mistakes_are_told_with_their_place(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        load_suite(own(tmp_path, **changes))
