"""The intersection suite at an intersection of one's own: a description by arms, or an OpenDRIVE file."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidestep.errors import BadInput
from sidestep.simulation import run_episode
from sidestep.suites.driving_place import own_places, published_place, side_of
from sidestep.suites.files import load_suite
from sidestep.suites.intersection import INTERSECTION_SUITE, EvaluationSuite
from sidestep.types import Outcome
from tests.scenes.roads_xml import CROSSROADS

TEE = """
name: tee
centre: [0, 0]
arms:
  - {name: east, heading_deg: 0, crossing: [9, 12]}
  - {name: west, heading_deg: 180, lanes_in: 2, priority: 1}
  - {name: south, heading_deg: 270}
"""
ROUTES = """
exit_area: [-20, -25, 20, 20]
routes:
  - {pose: 4, branch: 0, start: [-18, -1.75, 0], destination: [20, -1.75, 0], lane_in: west in 0, lane_out: east out 0}
"""


@pytest.fixture
def tee(tmp_path: Path) -> Path:
    path = tmp_path / "tee.yaml"
    path.write_text(TEE, encoding="utf-8")
    return path


def test_routes_follow_from_the_arms(tee: Path) -> None:
    """Lanes at ±1.75 and -5.25 m end 13 m before the centre: routes begin 10 m before that, in the lane's middle."""
    (place,) = own_places(tee)
    assert (place.name, place.number) == ("tee", 100)
    kinds = {(route.lane_in, route.branch): route for route in place.routes}
    assert set(kinds) == {
        ("south in 0", -1), ("south in 0", 1), ("east in 0", -1), ("east in 0", 0), ("west in 1", 0), ("west in 1", 1),
        ("west in 0", 0),
    }  # fmt: skip
    straight = kinds["west in 0", 0]
    assert straight.start == pytest.approx((-23.0, -1.75, 0.0), abs=1e-3)
    x0, _, x1, _ = place.exit_area
    assert (x0, x1) == (-27.0, 27.0)
    assert straight.destination[0] == pytest.approx(x1, abs=1.0)
    assert straight.end is not None
    assert straight.end[0] == pytest.approx(52.0, abs=1.0)
    assert len({route.pose for route in place.routes}) == 4
    assert len(place.people) == 1  # one crossing


@pytest.mark.parametrize("how", ["suite", "option"])
def test_the_suite_drives_there(tee: Path, how: str) -> None:
    options = {"people": "none"}
    suite = (
        load_suite(tee).with_options(options)
        if how == "suite"
        else INTERSECTION_SUITE.with_options(  # type: ignore[attr-defined]
            {**options, "place": str(tee)}
        )
    )
    scenarios = suite.scenarios()
    assert len(scenarios) == 7
    assert {each.name for each in scenarios} >= {"tee-pose0-left", "tee-pose0-right"}
    assert all(run_episode(each, "pid").outcome is Outcome.SUCCESS for each in scenarios[:3])
    with_people = load_suite(tee).scenarios()[0]
    assert with_people.crowd
    assert len(run_episode(with_people.model_copy(update={"rules": with_people.rules.model_copy(
        update={"time_limit_s": 1.0})}), "stop").person_id) >= 20  # fmt: skip


def test_routes_of_the_description_are_kept(tee: Path) -> None:
    tee.write_text(TEE + ROUTES, encoding="utf-8")
    (place,) = own_places(tee)
    assert [(route.pose, route.branch) for route in place.routes] == [(4, 0)]
    (scenario,) = load_suite(tee).scenarios()
    assert scenario.rules.exit is not None
    assert (scenario.rules.exit.side, scenario.rules.exit.area) == ("east", (-20, -25, 20, 20))
    wrong = ROUTES.replace("lane_out: east out 0", "lane_out: north out 0")
    tee.write_text(TEE + wrong, encoding="utf-8")
    with pytest.raises(BadInput, match="unknown lane 'north out 0'"):
        load_suite(tee)


def test_an_opendrive_file(tmp_path: Path) -> None:
    (place,) = own_places(CROSSROADS)
    assert {route.branch for route in place.routes} == {-1, 0, 1}
    assert place.people
    suite = load_suite(CROSSROADS).with_options({"people": "none"})  # type: ignore[attr-defined]
    found = {
        branch: next(each for each in suite.scenarios() if each.notes["branch"] == branch) for branch in (-1, 0, 1)
    }
    for scenario in found.values():
        assert run_episode(scenario, "pid").outcome is Outcome.SUCCESS


def test_an_evaluation_of_ones_own(tee: Path) -> None:
    suite = EvaluationSuite((0, str(tee)), (0,), 2)
    places = {each.notes["scene"] for each in suite.scenarios()}
    assert places == {0, 100}
    assert sum(each.notes["scene"] == 100 for each in suite.scenarios()) == 6


def test_sides_of_the_six_are_those_of_their_lanes() -> None:
    for number in range(6):
        place = published_place(number)
        for route in place.routes:
            assert side_of(place.exit_area, *route.destination[:2]) == route.lane_out.split(" out ")[0]


def test_what_is_no_intersection(tmp_path: Path, tee: Path) -> None:
    (tmp_path / "no.yaml").write_text("regions: []\n")
    for file, message in (
        ("no.txt", "description with arms, or an .xodr file"),
        ("none.yaml", "no such file"),
        ("no.yaml", "has no 'arms'"),
    ):
        with pytest.raises(BadInput, match=message):
            own_places(tmp_path / file)
    short = TEE
    for heading in ("heading_deg: 270", "heading_deg: 180", "heading_deg: 0"):
        short = short.replace(heading, f"{heading}, length_m: 15")
    tee.write_text(short, encoding="utf-8")
    with pytest.raises(BadInput, match="make the roads longer"):
        own_places(tee)
