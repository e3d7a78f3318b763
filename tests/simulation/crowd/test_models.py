"""Crowd models in whole worlds: parameters, groups, and people who keep off each other."""

from __future__ import annotations

import numpy as np
import pytest

from sidestep.errors import BadInput
from sidestep.policies.trivial import Stop
from sidestep.simulation import run_episode
from sidestep.simulation.crowd.models import PARAMETERS, pack_parameters
from sidestep.types import CrowdPart
from tests.simulation.scenarios import make

MODELS = list(PARAMETERS)


def part(**keys: object) -> CrowdPart:
    return CrowdPart.parse({"people": [{"start": [0, 0]}], **keys}, "part")


def test_overrides_change_only_their_model() -> None:
    plain = pack_parameters([part()], 0.1, "here")
    changed = pack_parameters([part(model="orca", parameters={"horizon_people": 2.0})], 0.1, "here")
    assert not np.array_equal(plain[0], changed[0])
    np.testing.assert_array_equal(plain[1], changed[1])
    np.testing.assert_array_equal(plain[2], changed[2])


def test_two_parts_of_one_model_cannot_differ() -> None:
    parts = [part(parameters={"horizon_people": 2.0}), part()]
    with pytest.raises(BadInput, match="different parameters"):
        pack_parameters(parts, 0.1, "here")


def test_values_out_of_range_name_the_parameter() -> None:
    with pytest.raises(BadInput, match="horizon_people"):
        pack_parameters([part(parameters={"horizon_people": -1.0})], 0.1, "here")


@pytest.mark.parametrize("model", MODELS)
def test_two_people_who_meet_head_on_pass_and_arrive(model: str) -> None:
    people = [
        {"start": [-4, 3], "waypoints": [[4, 3]], "speed": 1.3},
        {"start": [4, 3], "waypoints": [[-4, 3]], "speed": 1.3},
    ]
    record = run_episode(make(crowd=[{"model": model, "people": people}]), Stop())
    gap = np.hypot(*(record.person_position[:, 0] - record.person_position[:, 1]).T)
    assert gap.min() > 0.4
    np.testing.assert_allclose(record.person_position[-1], [[4, 3], [-4, 3]], atol=0.5)


@pytest.mark.parametrize("model", MODELS)
def test_people_stay_off_walls(model: str) -> None:
    square = [[-5, -6], [5, -6], [5, 6], [-5, 6]]
    bar = [[-2, 0], [5, 0], [5, 0.4], [-2, 0.4]]
    regions = [{"kind": "walkable", "polygon": square}, {"kind": "obstacle", "polygon": bar}]
    scene = {"name": "bar", "enclosed": True, "regions": regions}
    flow = {"kind": "random", "count": 8, "area": [-4.5, -4, 4.5, 5]}
    record = run_episode(make(scene=scene, crowd=[{"model": model, "at_end": "loop", "placement": flow}]), Stop())
    x, y = record.person_position[..., 0], record.person_position[..., 1]
    outside = np.hypot(np.maximum(-2 - x, 0), np.maximum(np.maximum(-y, y - 0.4), 0))
    assert outside.min() > 0.2
    assert (np.abs(x) < 5).all()


def test_a_pair_of_a_group_stays_closer_than_two_strangers() -> None:
    def spread(group: int | None) -> float:
        people = [
            {"start": [-6, 3.0], "waypoints": [[7, 3.0]], "speed": 1.2, "group": group},
            {"start": [-6, 3.9], "waypoints": [[7, 3.9]], "speed": 1.5, "group": group},
        ]
        record = run_episode(make(crowd=[{"model": "social_force_moussaid", "people": people}]), Stop())
        gap = np.hypot(*(record.person_position[:70, 0] - record.person_position[:70, 1]).T)
        return float(gap.max())

    assert spread(1) < spread(None)
