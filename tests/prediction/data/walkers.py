"""Small made-up interactions: people walk along a sidewalk, and some who reach the zebra crossing turn and cross."""

from __future__ import annotations

import numpy as np

from sidestep.types.interactions import GROUND, Clip, GroundMap, Interactions

STEP_S = 0.1
FRAMES = 90


def street() -> GroundMap:
    """A road along x with y in -3 … 3 and a zebra crossing at x in -2 … 2, between two sidewalks; 60 m × 30 m."""
    cells = np.full((300, 600), GROUND.index("grass"), np.uint8)
    cells[90:210] = GROUND.index("sidewalk")
    cells[120:180] = GROUND.index("road")
    cells[120:180, 280:320] = GROUND.index("zebra")
    return GroundMap(cells, (-30.0, -15.0), 0.1)


def walkers(tracks: int, seed: int = 0, crossing: float = 0.7) -> Interactions:
    """``tracks`` people in as many clips; those who reach x = 0 with the probability ``crossing`` cross there."""
    rng = np.random.default_rng(seed)
    position = np.zeros((tracks, FRAMES, 2))
    speed = rng.uniform(1.0, 1.6, tracks)
    way = rng.choice([-1.0, 1.0], tracks)
    side = rng.choice([-1.0, 1.0], tracks)
    x, y = rng.uniform(-14.0, 2.0, tracks), side * rng.uniform(3.5, 5.5, tracks)
    crosses = rng.random(tracks) < crossing
    turn_at = rng.uniform(-1.0, 1.0, tracks)
    for k in range(FRAMES):
        position[:, k] = np.stack([way * x, y], axis=1)
        across = crosses & (x >= turn_at) & (x < turn_at + 2.0) & (side * y > -4.5)
        x = np.where(across, x, x + STEP_S * speed)
        y = np.where(across, y - side * STEP_S * speed, y)
    position += rng.normal(0.0, 0.01, position.shape)
    motion = np.gradient(position, axis=1)
    body = np.arctan2(motion[..., 1], motion[..., 0])
    time = STEP_S * np.arange(FRAMES)
    ego = np.zeros((tracks, FRAMES, 3))
    ego[..., 0] = -25.0 + 5.0 * time + rng.uniform(-5.0, 5.0, (tracks, 1))
    labelled = rng.random(tracks) < 0.5
    body = np.where(labelled[:, None], body, np.nan)
    start = FRAMES * np.arange(tracks)
    path = np.array([[-60.0, 0.0], [60.0, 0.0]])
    return Interactions(
        step_s=STEP_S,
        position=position.reshape(-1, 2),
        body=body.reshape(-1),
        head=body.reshape(-1),
        ego=ego.reshape(-1, 3),
        ego_speed=np.full(tracks * FRAMES, 5.0),
        start=start,
        stop=start + FRAMES,
        person=np.zeros(tracks),
        clip=np.arange(tracks),
        begin_s=np.zeros(tracks),
        crossing=np.abs(np.diff(position[:, :, 1], axis=1)).sum(axis=1) > 6.0,
        passes=np.zeros(tracks),
        labelled=labelled,
        split=np.where(np.arange(tracks) % 10 < 7, 0, np.where(np.arange(tracks) % 10 < 8, 1, 2)),
        clips=tuple(Clip(f"walk-{k}", path, 4.5, 1.8, 0, "zebra") for k in range(tracks)),
        grounds=(street(),),
    )
