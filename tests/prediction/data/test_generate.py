from __future__ import annotations

import numpy as np
import pytest

from sidestep.errors import BadInput
from sidestep.prediction.data.generate import Drives, GeneratePlan, default_plan, generate
from sidestep.prediction.data.samples import make_samples
from sidestep.prediction.data.splits import long_enough
from sidestep.types.interactions import Interactions
from tests.prediction.data.made import same

SMALL = GeneratePlan(
    drives=(Drives(suite="street", options={"split": "dev", "people": "many"}),), tracks=100, test_tracks=20
)


@pytest.fixture(scope="module")
def data() -> Interactions:
    return generate(SMALL)


def test_as_many_tracks_as_asked_for(data: Interactions) -> None:
    assert len(data) == 100
    assert len(data.of_split("test")) == 20
    assert data.of_split("test").labelled.all()
    rest = data.choose(data.split != 2)
    assert long_enough(rest).all()
    assert int(rest.labelled.sum()) == 8


def test_tracks_can_be_sampled_and_lie_on_their_maps(data: Interactions) -> None:
    samples = make_samples(data, every=5)
    assert len(samples) > 500
    for track in range(len(data)):
        ground = data.grounds[data.clips[int(data.clip[track])].ground]
        assert ground.covers(data.position[int(data.start[track]) : int(data.stop[track])]).all()


def test_interactions_happen(data: Interactions) -> None:
    assert 0.05 < data.crossing.mean() < 0.95
    assert (data.passes == 1).any()
    assert {clip.place for clip in data.clips} >= {"none", "zebra"}
    assert len({clip.name for clip in data.clips}) == len(data.clips)


def test_the_number_of_workers_changes_nothing(data: Interactions) -> None:
    assert same(generate(SMALL, workers=2), data)


def test_progress_and_seed(data: Interactions) -> None:
    told: list[tuple[int, int]] = []
    other = generate(
        SMALL.model_copy(update={"seed": 1, "tracks": 40, "test_tracks": 10}),
        progress=lambda done, of, _: told.append((done, of)),
    )
    assert told[-1] == (40, 40)
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert not np.array_equal(other.position[:50], data.position[:50])


def test_bad_plans() -> None:
    with pytest.raises(BadInput, match="unknown suite 'streets'"):
        generate(GeneratePlan(drives=(Drives(suite="streets"),)))
    with pytest.raises(BadInput, match="tracks"):
        default_plan(tracks=0)
    with pytest.raises(BadInput, match="is round"):
        generate(
            GeneratePlan(
                drives=(Drives(suite="street", options={"robot": "pioneer_3dx"}, policy="stop"),),
                tracks=50,
                test_tracks=1,
            )
        )
