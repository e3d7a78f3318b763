"""That what is timed is the work it claims to be: crowds walk, peers do the same, scans see something."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import crowd as crowd_bench
from benchmarks.crowd import CODES, Crowd, SharedCrowd, WalkingCrowd, make_crowd, make_scratch, walk
from benchmarks.crowd_peers import DENSITY, SPACING, Walkers, draw_square
from benchmarks.environment import Batch, OneEnvironment, bytes_per_environment
from benchmarks.lidar import Scans
from sidestep.kernels import layout
from sidestep.types.base import FloatArray
from tests.needs import reason_missing

N = 50


def positions_of(crowd: Crowd) -> FloatArray:
    return crowd.agents[[layout.PX, layout.PY]].T


def test_square_has_the_stated_density_and_spacing() -> None:
    drawn = draw_square(1000)
    assert drawn.people / drawn.side**2 == pytest.approx(DENSITY)
    offsets = drawn.positions[:, None] - drawn.positions[None]
    distances = np.sqrt((offsets**2).sum(axis=2)) + np.eye(1000) * 9.0
    assert distances.min() >= SPACING
    assert np.array_equal(draw_square(1000).positions, drawn.positions)


def test_walkers_get_the_next_goal_on_arrival() -> None:
    drawn = draw_square(3)
    walkers = Walkers(drawn)
    positions = drawn.goals[:, 0].copy()
    positions[1] += 2.0
    goals = walkers.goals(positions)
    assert np.array_equal(goals, drawn.goals[[0, 1, 2], [1, 0, 1]])


@pytest.mark.parametrize("model", CODES)
def test_crowd_keeps_walking_in_its_square(model: str) -> None:
    drawn = draw_square(N)
    work = WalkingCrowd(model, drawn)
    assert work.run() == work.steps * N
    agents = work.crowd.agents
    assert np.isfinite(agents).all()
    assert positions_of(work.crowd).min() > -3.0
    assert positions_of(work.crowd).max() < drawn.side + 3.0
    assert np.hypot(agents[layout.VX], agents[layout.VY]).mean() > 0.5


@pytest.mark.parametrize("model", ["orca", *(pytest.param(m, marks=pytest.mark.full) for m in list(CODES)[1:])])
def test_threads_share_a_world_without_changing_it(model: str) -> None:
    drawn = draw_square(200)
    whole, split = WalkingCrowd(model, drawn), SharedCrowd(model, drawn, 2)
    split.step()  # carries out the last decision
    assert np.array_equal(positions_of(whole.crowd), positions_of(split.crowd))


def test_orca_and_rvo2_walk_the_same_way() -> None:
    pytest.importorskip("pyrvo", reason=reason_missing("pyrvo"))
    from benchmarks.crowd_peers import orca_peer

    drawn = draw_square(N)
    peer: Any = orca_peer(drawn).work
    ours, scratch = make_crowd("orca", drawn), make_scratch("orca", N)
    for _ in range(100):
        walk(1, ours, scratch)
        for i in range(N):
            wish = ours.agents[[layout.WISH_X, layout.WISH_Y], i].tolist()
            peer._simulator.set_agent_pref_velocity(i, wish)
        peer._simulator.do_step()
    assert np.abs(peer.positions() - drawn.positions).max() > 1.0
    assert np.abs(peer.positions() - positions_of(ours)).max() < 1e-3


@pytest.mark.parametrize("model", CODES)
def test_peer_keeps_walking_in_the_square(model: str) -> None:
    module = {"orca": "pyrvo", "social_force_helbing": "jupedsim"}.get(model, "pysocialforce")
    pytest.importorskip(module, reason=reason_missing(module))
    drawn = draw_square(N)
    peer: Any = crowd_bench.PEERS[model, N](drawn).work
    before = peer.positions().copy()
    for _ in range(40):
        peer.prepare()
        peer.run()
    assert np.abs(peer.positions() - before).max() > 2.0
    assert peer.positions().min() > -3.0
    assert peer.positions().max() < drawn.side + 3.0


def test_pysocialforce_leaves_logging_and_the_folder_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("toml", reason=reason_missing("toml"))
    monkeypatch.chdir(tmp_path)
    root = logging.getLogger()
    before = (root.level, list(root.handlers), root.manager.disable)
    from benchmarks.crowd_peers import moussaid_peer

    try:
        moussaid_peer(draw_square(10))
    except ImportError:
        pytest.skip(reason_missing("pysocialforce"))
    assert (root.level, list(root.handlers), root.manager.disable) == before
    assert list(tmp_path.iterdir()) == []
    assert Path.cwd() == tmp_path


def test_irsim_episodes_are_no_immediate_collisions() -> None:
    pytest.importorskip("irsim", reason=reason_missing("irsim"))
    from benchmarks.environment import crossing_peer

    peer: Any = crossing_peer(20).work
    start = [person.state[:2, 0].copy() for person in peer._environment.obstacle_list]
    peer.run()
    assert peer._steps == 10  # no reset yet
    moved = [np.hypot(*(p.state[:2, 0] - s)) for p, s in zip(peer._environment.obstacle_list, start, strict=True)]
    assert len(moved) == 20
    assert np.mean(moved) > 1.0


def test_one_environment_goes_through_episodes() -> None:
    work = OneEnvironment(5)
    resets = 0
    reset = work._environment.reset

    def counted(**options: Any) -> Any:
        nonlocal resets
        resets += 1
        return reset(**options)

    work._environment.reset = counted
    for _ in range(300):
        work.prepare()
        assert work.run() == 1.0
    assert 1 <= resets <= 60


def test_lidar_sees_walls_and_people() -> None:
    scans = Scans()
    assert scans.run() == 64 * 720
    assert (scans.hits >= 0).mean() > 0.03
    assert (scans.hits < -1).mean() > 0.5
    assert scans.ranges.min() > 0.4


def test_batch_steps_all_environments() -> None:
    work = Batch(5)
    work.prepare()
    assert work.run() == 256.0


@pytest.mark.full
def test_memory_grows_with_the_number_of_people() -> None:
    few, many = bytes_per_environment(5, 16), bytes_per_environment(50, 16)
    assert 1000 < few < many < 1e6


def test_prediction_metrics_have_something_to_score() -> None:
    from benchmarks import prediction
    from sidestep.prediction.roc import in_roi_sensitivity
    from sidestep.prediction.scores import score_forecast

    samples = prediction._example_samples()
    scores = score_forecast(samples, prediction._example_forecast(samples, False))
    assert len(scores) == prediction.TRACKS
    assert scores.known.all()
    for found in (scores, prediction._example_scores(3)):
        assert all(0.05 < each.value <= 1.0 for each in in_roi_sensitivity(found))
