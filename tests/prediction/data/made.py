"""Small interactions, written by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

from sidestep.types.interactions import Clip, GroundMap, Interactions


def straight_clip(**changes: Any) -> Clip:
    """A vehicle of 4 × 2 m on the x axis."""
    given: dict[str, Any] = {"name": "a", "path": np.array([[-100.0, 0.0], [200.0, 0.0]]), "length": 4.0, "width": 2.0}
    return Clip(**given | changes)


def one_track(position: Any, ego_x: Any, ego_speed: Any, clip: Clip | None = None, **changes: Any) -> Interactions:
    """One pedestrian at ``position (F, 2)`` and a vehicle whose middle is on the x axis at ``ego_x``."""
    position = np.asarray(position, np.float64)
    frames = len(position)
    ego = np.zeros((frames, 3))
    ego[:, 0] = ego_x
    fields: dict[str, Any] = {
        "step_s": 0.1, "position": position, "body": np.full(frames, np.nan), "head": np.full(frames, np.nan),
        "ego": ego, "ego_speed": np.broadcast_to(np.asarray(ego_speed, np.float32), frames),
        "start": [0], "stop": [frames], "person": [7], "clip": [0], "begin_s": [0.0], "crossing": [False],
        "passes": [0], "labelled": [False], "split": [0], "clips": (clip or straight_clip(),), "grounds": (),
    }  # fmt: skip
    return Interactions(**fields | changes)


def drawn(seed: int, tracks: int = 3, clips: int = 2, grounds: int = 1) -> Interactions:
    """Tracks with drawn numbers in all columns."""
    draw = np.random.default_rng(seed)
    lengths = draw.integers(1, 6, tracks)
    stop = np.cumsum(lengths)
    frames = int(stop[-1]) if tracks else 0
    body = draw.normal(size=frames)
    body[draw.random(frames) < 0.4] = np.nan
    return Interactions(
        step_s=0.1, position=draw.normal(size=(frames, 2)), body=body, head=body + 0.5,
        ego=draw.normal(size=(frames, 3)), ego_speed=draw.random(frames), start=stop - lengths, stop=stop,
        person=draw.integers(0, 99, tracks), clip=draw.integers(0, max(clips, 1), tracks),
        begin_s=draw.random(tracks), crossing=draw.random(tracks) < 0.5, passes=draw.integers(0, 3, tracks),
        labelled=draw.random(tracks) < 0.5, split=draw.integers(0, 3, tracks),
        clips=tuple(
            straight_clip(name=f"Straße {k}", path=draw.normal(size=(int(draw.integers(2, 5)), 2)), driver="dé",
                          ground=int(draw.integers(-1, grounds)))
            for k in range(clips)
        ),
        grounds=tuple(GroundMap(draw.integers(0, 8, (4, 5)), (0.25 * k, -1.0), 0.2) for k in range(grounds)),
    )  # fmt: skip


def same(a: Interactions, b: Interactions) -> bool:
    """Whether everything is equal to the bit."""
    columns = all(
        np.array_equal(a.columns()[k], b.columns()[k], equal_nan=a.columns()[k].dtype.kind == "f") for k in a.columns()
    )
    clips = [
        [(c.name, c.path.tolist(), c.length, c.width, c.ground, c.place, c.origin, c.driver) for c in d.clips]
        for d in (a, b)
    ]
    grounds = [[(g.cells.tolist(), g.origin, g.cell_m) for g in d.grounds] for d in (a, b)]
    return columns and a.step_s == b.step_s and clips[0] == clips[1] and grounds[0] == grounds[1]
