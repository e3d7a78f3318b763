"""Nothing passes through a wall: people of every model and robots of every kind, random rooms, any step size."""

from __future__ import annotations

import numpy as np
import pytest
from shapely import LineString, Polygon, union_all

from sidestep.errors import BadInput
from sidestep.simulation import Worlds, build_world
from sidestep.types import Scenario
from tests.simulation.scenarios import make

MODELS = ["orca", "social_force_helbing", "social_force_moussaid"]
ROBOTS = ["point", "pioneer_3dx", "delivery_robot"]


def random_room(rng: np.random.Generator) -> tuple[dict[str, object], Polygon]:
    """A room with a few random convex blocks, and its free space; the corners at ±4.4 m stay free."""
    blocks = []
    for _ in range(rng.integers(1, 5)):
        centre, sides = rng.uniform(-2.5, 2.5, 2), int(rng.integers(3, 7))
        angles = np.sort(rng.uniform(0, 2 * np.pi, sides))
        if np.diff([*angles, angles[0] + 2 * np.pi]).max() > 2.8:
            continue
        ring = centre + rng.uniform(0.3, 1.2) * np.stack([np.cos(angles), np.sin(angles)], axis=1)
        blocks.append(ring)
    square = [[-5, -5], [5, -5], [5, 5], [-5, 5]]
    regions = [{"kind": "walkable", "polygon": square}]
    regions += [{"kind": "obstacle", "polygon": ring.tolist()} for ring in blocks]
    free = Polygon(square) - union_all([Polygon(ring) for ring in blocks])
    return {"name": "random", "enclosed": True, "regions": regions}, free


def random_scenario(seed: int) -> tuple[Scenario, Polygon]:
    rng = np.random.default_rng(seed)
    scene, free = random_room(rng)
    crowd = [
        {"model": model, "at_end": "loop", "placement": {"kind": "random", "count": 3, "area": [-4.5, -4.5, 4.5, 4.5]}}
        for model in MODELS
    ]
    robots = [{"spec": ROBOTS[seed % 3], "start": [-4.3, -4.3, 0.8], "goal": [4.3, 4.3]}]
    rules = {"step_s": float(rng.choice([0.05, 0.1, 0.25, 0.5])), "time_limit_s": 60}
    return make(name="random", scene=scene, crowd=crowd, robots=robots, rules=rules), free


def check_episodes(seeds: range, steps: int) -> None:
    rng = np.random.default_rng(seeds.start)
    pairs = []
    for seed in seeds:
        try:
            scenario, free = random_scenario(seed)
            pairs.append((build_world(scenario, seed), free.buffer(1e-3)))
        except BadInput:  # a start or goal in a block, or shut in between blocks
            continue
    assert len(pairs) > 0.6 * len(seeds)
    worlds = Worlds([world for world, _ in pairs], threads=2)
    paths = [[worlds.agents[:, :2].copy()]]
    for step in range(steps):
        if step % 5 == 0:  # wild commands, held for a while
            worlds.command[:] = rng.uniform(-3, 3, worlds.command.shape)
        worlds.step()
        paths.append([worlds.agents[:, :2].copy()])
    track = np.concatenate(paths)  # (steps + 1, B, 2, M)
    assert np.isfinite(track).all()
    for b, (_, free) in enumerate(pairs):
        for j in range(worlds.columns):
            line = LineString(track[:, b, :, j])
            assert free.covers(line), f"seed {pairs[b][0].seed}, agent {j} left the free space: {line - free}"


def test_nobody_passes_through_a_wall() -> None:
    check_episodes(range(120), steps=60)


@pytest.mark.full
@pytest.mark.parametrize("block", range(50))
def test_nobody_passes_through_a_wall_in_10000_episodes(block: int) -> None:
    check_episodes(range(1000 + 200 * block, 1200 + 200 * block), steps=80)
