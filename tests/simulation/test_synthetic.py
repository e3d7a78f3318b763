"""Synthetic crowds: generated from fitted statistics. All of this runs without any recording."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtri

from sidestep.errors import BadInput, UnknownName
from sidestep.scenes.compile import compile_scene
from sidestep.scenes.free_space import free_mask
from sidestep.scenes.plans import load_plan
from sidestep.simulation.build import build_world
from sidestep.simulation.crowd.synthetic import CrowdStatistics, load_statistics, statistics_names
from sidestep.simulation.crowd.synthetic.people import _half_angle, _normal_quantile
from sidestep.simulation.observe import future_of
from sidestep.simulation.synthetic import _generate, generate_crowd
from sidestep.simulation.worlds import Worlds
from sidestep.types.outcome import Rules
from sidestep.types.record import _canonical_model
from sidestep.types.scenario import CrowdPart, ReplayPlacement, RobotPlacement, Scenario, SyntheticPlacement


@pytest.fixture(autouse=True)
def _no_recordings(monkeypatch):
    monkeypatch.delenv("SIDESTEP_DATA", raising=False)


def scenario(statistics: str = "zara02_8", name: str = "one", limit: float = 20.0) -> Scenario:
    part = CrowdPart(model="replay", placement=SyntheticPlacement(statistics=statistics), radius=0.2)
    robot = RobotPlacement(start=(10.0, 2.0, 0.0), goal=(10.0, 7.0))
    return Scenario(
        name=name,
        scene=load_statistics(statistics).site,
        robots=(robot,),
        crowd=(part,),
        rules=Rules(time_limit_s=limit),
    )


def tracks(name: str, seed: int = 0, limit: float = 60.0):
    return generate_crowd(SyntheticPlacement(statistics=name), Rules(time_limit_s=limit), "tests", name, seed, 0)


@pytest.mark.parametrize("name", statistics_names())
def test_people_are_there_from_start_to_end_and_off_the_walls(name):
    fit = load_statistics(name)
    crowd, ids, groups = tracks(name)
    assert crowd.shape == (1201, len(ids), 4)
    assert crowd.dtype == np.float32
    assert len(groups) == len(ids)
    here = np.isfinite(crowd[:, :, 0])
    assert here[0].sum() == pytest.approx(fit.at_start + fit.standing.at_start, abs=3)
    assert here[0].any()
    assert here[-200:].any()
    assert here.any(axis=1).mean() > 0.65  # the hotel's recording itself is empty for a quarter of its window
    assert here.any(axis=0).all()
    scene = compile_scene(load_plan(fit.site))
    assert free_mask(scene, crowd[here][:, :2].astype(float), 0.195).all()
    assert (here.sum(axis=0) > 0).sum() == pytest.approx(fit.at_start + sum(fit.arrivals), rel=0.15, abs=5)


@pytest.mark.parametrize("name", ["eth_239", "univ_1"])
def test_nobody_walks_through_anybody_or_jumps(name):
    crowd, _, groups = tracks(name)
    for moment in crowd[::10]:
        place = moment[np.isfinite(moment[:, 0]), :2]
        gap = np.linalg.norm(place[:, None] - place[None], axis=2) + 9.0 * np.eye(len(place))
        assert gap.min(initial=9.0) > 0.3
    stride = np.linalg.norm(np.diff(crowd[:, :, :2], axis=0), axis=2)
    assert np.nanmax(stride) < 4.0 * 0.05 + 1e-3
    assert (groups >= 0).any()


def test_companions_stay_together():
    crowd, _, groups = tracks("zara02_8")
    spacing = load_statistics("zara02_8").spacing.distance_mean
    gaps = []
    for group in np.unique(groups[groups >= 0]):
        pair = crowd[:, np.flatnonzero(groups == group)[:2], :2]
        if pair.shape[1] == 2:
            gaps.append(np.nanmedian(np.linalg.norm(pair[:, 0] - pair[:, 1], axis=1)))
    assert len(gaps) > 3
    assert 0.4 < np.median(gaps) < 2 * spacing


def test_same_seed_same_crowd_other_seed_or_scenario_another():
    first = build_world(scenario(), 1)
    _generate.cache_clear()
    again, other, elsewhere = (
        build_world(scenario(), 1),
        build_world(scenario(), 2),
        build_world(scenario(name="two"), 1),
    )
    assert np.array_equal(first.replay, again.replay, equal_nan=True)
    assert first.replay.tobytes() != other.replay.tobytes()
    assert first.replay.tobytes() != elsewhere.replay.tobytes()


def test_a_crowd_is_generated_once():
    _generate.cache_clear()
    for _ in range(3):
        build_world(scenario(), 7)
    assert _generate.cache_info().misses == 1


def test_a_synthetic_crowd_is_replayed_and_says_that_it_is_generated():
    here = scenario()
    assert here.source == "generated"
    recorded = CrowdPart(model="replay", placement=ReplayPlacement(path="some.txt"))
    assert here.model_copy(update={"crowd": (*here.crowd, recorded)}).source == "mixed"
    world = build_world(here, 0)
    assert set(world.person_model) == {"replay"}
    worlds = Worlds([world])
    for _ in range(20):
        worlds.step()
    now = world.replay[20]
    present = np.isfinite(now[:, 0])
    assert np.array_equal(worlds.agents[0, :2, : world.people].T[present], now[present, :2])
    assert np.array_equal(future_of(world).position, world.replay[:, :, :2], equal_nan=True)


def test_a_shorter_budget_and_another_clock():
    crowd, _, _ = generate_crowd(SyntheticPlacement(statistics="eth_1"), Rules(time_limit_s=20.0), "tests", "a", 0, 0)
    slower, _, _ = generate_crowd(
        SyntheticPlacement(statistics="eth_1"), Rules(time_limit_s=20.0, step_s=0.1), "tests", "a", 0, 0
    )
    assert len(crowd) == 401
    assert np.array_equal(slower, crowd[::2], equal_nan=True)


def test_nobody_stands_where_the_robot_starts():
    people, _, _ = tracks("univ_1")
    place = people[0][np.isfinite(people[0, :, 0]), :2][0]
    for seed in range(5):
        clear = ((float(place[0]), float(place[1])), (9.0, 6.0))
        crowd, _, _ = generate_crowd(
            SyntheticPlacement(statistics="univ_1"), Rules(time_limit_s=1.0), "tests", "c", seed, 0, clear
        )
        now = crowd[0][np.isfinite(crowd[0, :, 0]), :2]
        assert np.linalg.norm(now[:, None] - np.array(clear)[None], axis=2).min() > 0.6


def test_two_synthetic_crowds_in_one_world():
    parts = tuple(
        CrowdPart(model="replay", placement=SyntheticPlacement(statistics=name), radius=0.2)
        for name in ("dhotel_top_141", "dhotel_bot_181")
    )
    robot = RobotPlacement(start=(8.0, 1.5, 0.0), goal=(9.0, 22.0))
    both = Scenario(name="both", scene="socnav_double_hotel", robots=(robot,), crowd=parts)
    world = build_world(both, 0)
    assert both.source == "generated"
    assert len(set(world.person_id.tolist())) == world.people
    height = np.nanmean(world.replay[:, :, 1], axis=0)
    assert (height > 13).any()
    assert (height < 12).any()


def test_mistakes_are_named():
    with pytest.raises(UnknownName, match="did you mean 'eth_239'"):
        build_world(scenario().model_copy(update={"crowd": (_part("eth_23"),)}), 0)
    with pytest.raises(BadInput, match="go together"):
        CrowdPart.parse({"model": "orca", "placement": {"kind": "synthetic", "statistics": "eth_1"}}, "here")
    fitted = load_statistics("eth_1").model_dump(mode="json")
    with pytest.raises(BadInput, match="gate beyond"):
        CrowdStatistics.parse(fitted | {"gates": fitted["gates"][:1]}, "here")
    with pytest.raises(BadInput, match="one number per bin"):
        CrowdStatistics.parse(fitted | {"arrivals": [1.0]}, "here")


def _part(name: str) -> CrowdPart:
    return CrowdPart(model="replay", placement=SyntheticPlacement(statistics=name))


def test_quantiles_of_the_normal_distribution():
    shares = np.concatenate([np.linspace(1e-3, 0.999, 2001), 1.0 - np.geomspace(1e-9, 1e-3, 50)])
    ours = [_normal_quantile(share) for share in shares.tolist()]
    assert ours == pytest.approx(ndtri(shares), abs=1e-13)
    assert _normal_quantile(0.0) == _normal_quantile(1e-3)


def test_the_half_angle_has_the_mean_cosine():
    for mean in (0.64, 0.8, 0.95, 0.9999):
        angle = _half_angle(mean)
        assert np.sin(angle) / angle == pytest.approx(mean, abs=1e-12)
    assert _half_angle(1.0) == 0.0
    assert _half_angle(0.1) == np.pi / 2


def test_the_older_words_are_read_and_digests_keep_them() -> None:
    part = CrowdPart.parse({"model": "replay", "placement": {"kind": "twin", "twin": "eth_1"}}, "here")
    assert part == _part("eth_1")
    assert _canonical_model(part)["placement"] == {"kind": "twin", "twin": "eth_1"}
