from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sidestep.errors import BadInput
from sidestep.prediction.data.assemble import assemble, crosses_road
from sidestep.prediction.data.from_records import interactions_of, place_of
from sidestep.types import EpisodeRecord, Footprint, RobotLimits, RobotPlacement, RobotSpec, Scenario
from sidestep.types.interactions import GroundMap, Interactions
from sidestep.types.scene import Region, SceneSpec
from tests.records.example import example_record

STREET = SceneSpec(
    name="street",
    regions=(
        Region(kind="road", polygon=((-80, -3), (80, -3), (80, 3), (-80, 3))),
        Region(kind="sidewalk", polygon=((-80, 3), (80, 3), (80, 6), (-80, 6))),
        Region(kind="sidewalk", polygon=((-80, -6), (80, -6), (80, -3), (-80, -3))),
    ),
)
CAR = RobotSpec(
    name="box",
    dynamics="unicycle",
    footprint=Footprint(polygon=((3, -1), (3, 1), (-1, 1), (-1, -1))),
    limits=RobotLimits(max_speed=10.0),
)
STATES = 101
"""Five seconds of 0.05 s."""


def street_record(**changes: Any) -> EpisodeRecord:
    """A car drives at 5 m/s along the x axis from x = -20. Person 0 crosses in front, person 1 walks on the sidewalk
    and is absent for a second, person 2 is far away, person 3 crosses behind, person 4 steps onto the road and back."""
    time = np.arange(STATES) * 0.05
    pose = np.stack([-20.0 + 5.0 * time, 0 * time, 0 * time], axis=1)
    walk = 1.6 * time
    back = np.where(time < 2.5, 4.0 - walk, -4.0 + walk)
    position = np.stack(
        [
            np.stack([0 * time + 10.0, 4.0 - walk], 1),
            np.stack([walk, 0 * time + 4.0], 1),
            np.stack([0 * time + 90.0, 4.0 - walk], 1),
            np.stack([0 * time - 25.0, -4.0 + walk], 1),
            np.stack([0 * time + 20.0, np.clip(back, 1.6, 9.0)], 1),
        ],
        axis=1,
    )
    present = np.ones((STATES, 5), bool)
    present[45:65, 1] = False
    heading = np.zeros((STATES, 5))
    yaw = np.full((STATES, 5), np.nan)
    yaw[:, 0] = 0.25
    placement = RobotPlacement(spec=CAR, start=(-20, 0, 0), goal=(30, 0), route=((0, 0), (10, 0)))
    given: dict[str, Any] = {
        "scenario": Scenario(name="made", suite="test", scene=STREET, robots=(placement,)),
        "robot": CAR,
        "robot_pose": pose,
        "robot_velocity": np.stack([0 * time + 5.0, 0 * time, 0 * time], axis=1),
        "person_position": np.where(present[..., None], position, np.nan),
        "person_velocity": np.where(present[..., None], 0 * position, np.nan),
        "person_heading": np.where(present, heading, np.nan),
        "person_present": present,
        "person_head_yaw": yaw,
    }
    record = example_record(STATES - 1, 5, others=0, **given | changes)
    return replace(
        record,
        scenario=record.scenario.model_copy(
            update={"rules": record.scenario.rules.model_copy(update={"step_s": 0.05})}
        ),
    )


@pytest.fixture(scope="module")
def data() -> Interactions:
    return interactions_of([street_record(), street_record(seed=13)])


def test_tracks_are_cut_where_a_person_is_absent_or_far(data: Interactions) -> None:
    assert data.person[data.clip == 0].tolist() == [100, 101, 103, 104]
    lengths = (data.stop - data.start)[data.clip == 0].tolist()
    assert lengths == [51, 23, 51, 51]  # of person 101 the part after the absence is too short
    assert data.begin_s.max() == 0.0


def test_frames_are_a_tenth_of_a_second_apart(data: Interactions) -> None:
    assert data.position[:3, 1] == pytest.approx([4.0, 3.84, 3.68])
    assert data.ego[:3, 0] == pytest.approx([-19.0, -18.5, -18.0])  # the middle is 1 m ahead of the reference point
    assert data.ego_speed[:3].tolist() == [5.0, 5.0, 5.0]


def test_labels(data: Interactions) -> None:
    first = data.clip == 0
    assert data.crossing[first].tolist() == [True, False, True, False]
    assert data.passes[first].tolist() == [1, 0, 2, 0]
    assert data.labelled.all()


def test_head_is_relative_to_the_body(data: Interactions) -> None:
    assert data.head[0] == pytest.approx(0.25)
    assert data.head[int(data.start[1])] == 0.0  # NaN: looks where it goes


def test_clip(data: Interactions) -> None:
    clip = data.clips[1]
    assert (clip.name, clip.length, clip.width, clip.place, clip.driver) == (
        "test/made/orca/13",
        4.0,
        2.0,
        "none",
        "orca",
    )
    assert clip.path[0].tolist() == [-80.0, 0.0]
    assert clip.path[-1].tolist() == [150.0, 0.0]


def test_one_map_per_scene(data: Interactions) -> None:
    assert len(data.grounds) == 1
    assert [clip.ground for clip in data.clips] == [0, 0]
    assert data.grounds[0].at(np.array([[0.0, 0.0], [0.0, 4.0]])).tolist() == [1, 2]
    assert data.grounds[0].covers(data.position).all()


def test_a_vehicle_that_stands_has_no_tracks() -> None:
    assert len(interactions_of([street_record(robot_velocity=np.zeros((STATES, 3)))])) == 0


def test_unusable_records_are_refused() -> None:
    record = street_record()
    with pytest.raises(BadInput, match="record made, seed 12: the robot disc is round"):
        interactions_of([replace(record, robot=example_record().robot)])
    rules = record.scenario.rules.model_copy(update={"step_s": 0.04})
    with pytest.raises(BadInput, match=r"record made, seed 12: steps of 0\.04 s"):
        interactions_of([replace(record, scenario=record.scenario.model_copy(update={"rules": rules}))])


def test_places() -> None:
    def scene(*kinds: Any) -> SceneSpec:
        square = ((0, 0), (1, 0), (1, 1), (0, 1))
        return SceneSpec.model_construct(
            regions=tuple(Region.model_construct(kind=kind, polygon=square) for kind in kinds)
        )

    kinds = [("road",), ("road", "crosswalk"), ("road", "island"), ("road", "island", "crosswalk"), ("walkable",)]
    assert [place_of(scene(*each)) for each in kinds] == ["none", "zebra", "island", "zebra+island", "shared"]


def test_across_is_away_from_the_kerb() -> None:
    cells = np.full((100, 400), 2, np.uint8)
    cells[:60] = 1
    ground = GroundMap(cells, (0.0, 0.0), 0.1)  # kerb at y = 6
    path = np.array([[0.0, 3.0], [40.0, 3.0]])

    def walk(*points: tuple[float, float]) -> Any:
        parts = [np.linspace(a, b, 30) for a, b in itertools.pairwise(points)]
        return crosses_road(ground, np.concatenate(parts), path)

    assert walk((10, 7), (10, 3.5))
    assert walk((10, 3.5), (10, 7))
    assert not walk((10, 7), (10, 4.2))
    assert not walk((5, 7), (5, 5.5), (30, 5.5))  # along the gutter
    assert walk((10, 1), (10, 4))  # no kerb seen
    assert not walk((5, 1), (20, 1))


def test_nothing_at_all() -> None:
    assert len(assemble([])) == 0
