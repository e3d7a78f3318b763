"""Training of SA-CADRL: encounters, returns, reproducibility, and that it learns."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from tests.needs import reason_missing

torch = pytest.importorskip("torch", reason=reason_missing("torch"))

from sidestep.cli.app import app  # noqa: E402
from sidestep.errors import BadInput  # noqa: E402
from sidestep.kernels import layout  # noqa: E402
from sidestep.learning import cadrl  # noqa: E402
from sidestep.learning.cadrl import (  # noqa: E402
    CadrlTraining,
    Segment,
    ValueNetwork,
    measure_cadrl,
    train_cadrl,
)
from sidestep.learning.cadrl_worlds import GOES_ON, LEARNERS, PEOPLE, REACHED, STEP_S, TOUCHED, TrainingWorlds  # noqa: E402
from sidestep.policies.cadrl.lookahead import FEATURES, GAMMA  # noqa: E402
from sidestep.policies.cadrl.network import SHAPES, SHIPPED, NetworkWeights, load_weights  # noqa: E402
from tests.reference.cadrl_values import plain_values  # noqa: E402

TINY = CadrlTraining(steps=3, worlds=24, decisions=8, walks=50, batch=256, batches=12, report_every=1, headings=8)


def test_torch_gives_the_values_of_the_plain_formula() -> None:
    network, rng = ValueNetwork(3), np.random.default_rng(0)
    states = np.abs(rng.normal(0, 1, (40, FEATURES))).astype(np.float32)
    states[::2, -1] = states[::3, -9] = 0.0
    weights = NetworkWeights(*(network.arrays()[name] for name in SHAPES))
    with torch.no_grad():
        assert network(torch.from_numpy(states)).numpy() == pytest.approx(plain_values(weights, states), abs=1e-5)


def test_the_same_seed_gives_the_same_weights() -> None:
    first, again, other = (train_cadrl(replace(TINY, seed=seed)) for seed in (5, 5, 6))
    assert first.curve == again.curve
    for name, values in first.network.arrays().items():
        np.testing.assert_array_equal(values, again.network.arrays()[name])
    assert any((values != other.network.arrays()[name]).any() for name, values in first.network.arrays().items())


def test_a_few_rounds_lower_the_loss() -> None:
    curve = train_cadrl(replace(TINY, steps=6)).curve
    assert curve[-1]["loss"] < 0.5 * curve[0]["loss"]


def test_the_shipped_network_earns_more_than_orca_and_than_an_untrained_one() -> None:
    weights = load_weights(SHIPPED)
    network = ValueNetwork(0)
    with torch.no_grad():
        for name, values in zip(SHAPES, weights.arrays, strict=True):
            network.get_parameter(name).copy_(torch.from_numpy(values))
    settings = CadrlTraining()
    trained = measure_cadrl(network, settings, seed=77, worlds=60)
    untrained = measure_cadrl(ValueNetwork(1), settings, seed=77, worlds=60)
    orca = measure_cadrl(None, settings, seed=77, worlds=60)
    assert trained["learners"] == untrained["learners"] == orca["learners"]
    assert trained["reward"] > max(untrained["reward"], orca["reward"])
    assert trained["success"] > max(untrained["success"], orca["success"])
    assert trained["contact"] < orca["contact"]


def test_returns_by_hand() -> None:
    """Three decisions, then the goal: all rewards, discounted; a decision by chance cuts the trace."""
    segment = Segment(4, 1)
    which, states = np.array([[0, 0]]), np.zeros((1, FEATURES), np.float32)
    states[0, 1] = 1.0
    for t in range(3):
        ending = np.array([REACHED if t == 2 else GOES_ON])
        segment.note(t, which, states, np.array([0.5 if t == 2 else 0.1]), ending, np.array([True]))
    value = np.full((4, 1, LEARNERS), 7.0, np.float32)
    d = GAMMA**STEP_S
    assert segment.returns(value, 1.0)[:3, 0, 0] == pytest.approx([0.1 + d * (0.1 + d * 0.5), 0.1 + d * 0.5, 0.5])
    assert segment.returns(value, 0.0)[:3, 0, 0] == pytest.approx([0.1 + d * 7, 0.1 + d * 7, 0.5])
    segment.own[1] = False
    assert segment.returns(value, 1.0)[0, 0, 0] == pytest.approx(0.1 + d * 7)


def test_encounters_begin_apart_and_at_least_a_third_of_the_people_do_not_give_way() -> None:
    arena = TrainingWorlds(200, np.random.default_rng(4), 0.0)
    here = arena.flags[:, layout.ACTIVE] == 1
    assert here[:, PEOPLE].all()  # every world has a learner
    blind = arena.flags[:, layout.SEES_ROBOT, :PEOPLE][here[:, :PEOPLE]] == 0
    assert 0.33 < blind.mean() < 0.67
    x, y, radius = (arena.agents[:, row] for row in (layout.PX, layout.PY, layout.RADIUS))
    gap = np.hypot(x[:, :, None] - x[:, None], y[:, :, None] - y[:, None]) - radius[:, :, None] - radius[:, None]
    gap[~(here[:, :, None] & here[:, None])] = np.inf
    gap[:, np.arange(gap.shape[1]), np.arange(gap.shape[1])] = np.inf
    assert gap[:, PEOPLE:].min() > 0.0  # learners touch nobody


def test_a_learner_that_goes_straight_ahead_alone_earns_the_value_of_a_free_run() -> None:
    arena = TrainingWorlds(40, np.random.default_rng(1), 0.0, refill=False)
    arena.flags[:, layout.ACTIVE, :PEOPLE] = 0
    arena.flags[:, layout.ACTIVE, PEOPLE + 1 :] = 0
    distance = np.hypot(*(arena.goals[:, 0] - arena.worlds.robot_state[:, 0, :2]).T)
    speed = arena.agents[:, layout.PREF_SPEED, PEOPLE].astype(float)
    worth, steps = np.zeros(40), 0
    while len(which := arena.active()):
        b = which[:, 0]
        way = arena.goals[b, 0] - arena.worlds.robot_state[b, 0, :2]
        reward, ending = arena.step(which, way / np.hypot(*way.T)[:, None] * speed[b, None])
        assert (ending != TOUCHED).all()
        worth[b] += reward * GAMMA ** (steps * STEP_S * speed[b])
        steps += 1
    assert worth == pytest.approx(GAMMA**distance, rel=1e-3)


def test_bad_settings_are_refused() -> None:
    with pytest.raises(BadInput, match="steps"):
        CadrlTraining(steps=0)


def test_the_verb_writes_weights_that_the_policy_loads(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(cadrl, "CadrlTraining", lambda steps, seed: replace(TINY, steps=steps, seed=seed))
    monkeypatch.setattr(
        cadrl, "measure_cadrl", lambda network, settings, seed, worlds: measure_cadrl(network, TINY, seed, 8)
    )
    out = tmp_path / "w.npz"
    answer = CliRunner().invoke(app, ["train", "cadrl", "--steps", "2", "--seed", "9", "--out", str(out), "--json"])
    assert answer.exit_code == 0, answer.output
    document = json.loads(answer.stdout)
    assert document["steps"] == 2
    assert len(document["sha256"]) == 64
    assert load_weights(out).about["seed"] == 9
    answer = CliRunner().invoke(app, ["train", "cadrl", "--out", str(tmp_path / "no" / "w.npz")])
    assert answer.exit_code == 2
