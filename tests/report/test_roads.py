"""Roads from above: lines on the ground, what the players get, and what the log says about lanes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sidestep.records.exports.episode_log import episode_log
from sidestep.render.films.top_view import EpisodeView
from sidestep.render.top_view import TopView, palette
from sidestep.render.top_view.ground import ground_of, road_strokes
from sidestep.report.viewer.pack import pack_replays
from sidestep.types.outcome import Outcome
from sidestep.types.record import Event
from sidestep.types.road import Lane, Marking, Roads
from sidestep.types.scene import Region, SceneSpec
from tests.report.conftest import Builder, street
from tests.simulation.traffic.roads import straight_road

NO_WALLS = np.zeros((0, 4))


def line(kind: str, *points: tuple[float, float], colour: str = "white") -> Marking:
    return Marking.parse({"kind": kind, "points": points, "colour": colour}, "test")


def test_lines_of_every_kind() -> None:
    """Dashes of 3 m every 7.5 m; double lines 0.15 m to both sides."""
    along = ((0.0, 0.0), (20.0, 0.0))
    broken = list(road_strokes(Roads(markings=(line("broken", *along),))))
    assert [stroke.points[:, 0].tolist() for stroke in broken] == [[0.0, 3.0], [7.5, 10.5], [15.0, 18.0]]
    (solid,) = road_strokes(Roads(markings=(line("solid", *along, colour="yellow"),)))
    assert (solid.kind, solid.points.tolist()) == ("yellow", [[0.0, 0.0], [20.0, 0.0]])
    double = list(road_strokes(Roads(markings=(line("double_solid", *along),))))
    assert [stroke.points[:, 1].tolist() for stroke in double] == [
        pytest.approx([-0.15, -0.15]),
        pytest.approx([0.15, 0.15]),
    ]
    (kerb,) = road_strokes(Roads(markings=(line("kerb", *along),)))
    assert kerb.kind == "kerb"
    assert {stroke.kind for stroke in (*broken, *double, solid, kerb)} <= set(palette.STROKES)


def test_a_dash_follows_a_bend_and_none_is_a_dot() -> None:
    bent = list(road_strokes(Roads(markings=(line("broken", (0.0, 0.0), (1.0, 0.0), (1.0, 6.55)),))))
    assert bent[0].points.tolist() == [[0.0, 0.0], [1.0, 0.0], [1.0, 2.0]]
    assert len(bent) == 1  # of the second dash 5 cm are left


def test_a_stop_line_lies_at_the_end_of_lanes_into_a_junction() -> None:
    lanes = (
        Lane(name="in", points=((0.0, 0.0), (10.0, 0.0)), width=3.0, next=("through",)),
        Lane(name="through", points=((10.0, 0.0), (20.0, 0.0)), turn="straight", next=("out",)),
        Lane(name="out", points=((20.0, 0.0), (30.0, 0.0))),
    )
    (stop,) = [
        s for s in road_strokes(Roads(lanes=lanes, markings=(line("kerb", (0, 5), (9, 5)),))) if s.kind == "white"
    ]
    assert sorted(stop.points.tolist()) == [pytest.approx([9.8, -1.5]), pytest.approx([9.8, 1.5])]
    assert list(road_strokes(Roads(lanes=lanes))) == []


def test_lines_are_painted_on_the_road_and_under_crossings_and_houses() -> None:
    spec = SceneSpec.parse(straight_road(), "test")
    assert spec.roads is not None

    def box(x0: float, x1: float) -> tuple[tuple[float, float], ...]:
        return (x0, -7.0), (x1, -7.0), (x1, 3.5), (x0, 3.5)

    parts = (Region(kind="crosswalk", polygon=box(34.0, 38.0)), Region(kind="building", polygon=box(42.0, 46.0)))
    roads = Roads(markings=(line("solid", (0.0, 0.0), (120.0, 0.0), colour="yellow"),))
    scene = spec.model_copy(update={"regions": (*spec.regions, *parts), "roads": roads})
    top = TopView(scene, NO_WALLS, (24.0, -12.0, 48.0, 12.0), (960, 960))

    def at(x: float, y: float) -> tuple[int, ...]:
        column, row = top.view.pixels(np.array([x, y])).astype(int)
        return tuple(int(value) for value in top.background[row, column])

    assert at(28.5, 0.02) == pytest.approx(palette.STROKES["yellow"], abs=20)
    assert at(28.5, 0.5) == palette.GROUND["road"]
    assert at(36.5, 0.02) != pytest.approx(palette.STROKES["yellow"], abs=60)
    assert at(44.5, 0.02) == palette.GROUND["building"]
    assert ground_of(street(), NO_WALLS).strokes == ()


def test_every_outcome_has_a_colour() -> None:
    assert set(palette.OUTCOMES) == set(Outcome)


LANE_EVENTS = (
    Event(0.5, "lane_crossing", "broken"),
    Event(1.0, "lane_crossing", "double_solid"),
    Event(1.0, "lane_crossing", "kerb"),
    Event(1.5, "lane_crossing", "off_lane"),
    Event(1.8, "lane_invasion", value=6.0),
    Event(2.0, "wrong_exit", "east", text="1.20 m beside the lane"),
)


def test_players_and_log_tell_of_lanes(build: Builder) -> None:
    scene = street().model_copy(update={"roads": Roads(markings=(line("solid", (0.0, 0.0), (4.0, 0.0)),))})
    record = build(outcome=Outcome.WRONG_EXIT, duration=2.0)
    record = replace(record, scenario=record.scenario.model_copy(update={"scene": scene}), events=LANE_EVENTS)
    told = [entry.text for entry in episode_log(record)][1:-1]
    assert told == [
        "a wheel crosses a double solid line",
        "a wheel crosses the kerb",
        "a second in no lane of its direction",
        "has left its lane too often",
        "leaves the area wrongly: east: 1.20 m beside the lane",
    ]
    packed = pack_replays([("orca", record)])
    assert [event["text"] for event in packed["episodes"][0]["events"]] == told
    assert packed["scenes"][0]["strokes"] == [["white", 0.15, [0.0, 0.0, 4.0, 0.0]]]
    assert EpisodeView(record, (200, 200)).frame(-1).shape == (200, 200, 3)
