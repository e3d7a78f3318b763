"""Vertices of a model in a pose, in plain NumPy: the reference of what a renderer does with bones."""

import numpy as np

from sidestep.render.mesh import Model


def skin(model: Model, bones: np.ndarray, level: int = 0) -> np.ndarray:
    """(V, 3) in the world."""
    vertices = np.c_[model.levels[level].vertices, np.ones(len(model.levels[level].vertices))]
    matrices = np.einsum("vk,vkij->vij", model.weights[level], np.asarray(bones, np.float64)[model.bones[level]])
    return np.einsum("vij,vj->vi", matrices, vertices)


def slip(paths: np.ndarray, low: float) -> float:
    """Farthest that any vertex of ``paths`` (T, V, 3) moves along the ground while it stays below ``low`` m."""
    worst = 0.0
    down = paths[:, :, 2] < low
    for v in range(paths.shape[1]):
        start = None
        for t in range(len(paths)):
            if not down[t, v]:
                start = None
            elif start is None:
                start = paths[t, v, :2]
            else:
                worst = max(worst, float(np.hypot(*(paths[t, v, :2] - start))))
    return worst


def check_rotations(bones: np.ndarray, scale: np.ndarray) -> None:
    """Every bone is a rotation times the person's scale."""
    assert np.isfinite(bones).all()
    turn = bones[..., :3].astype(np.float64) / np.asarray(scale)[:, None, None, None]
    assert np.allclose(turn @ np.swapaxes(turn, -1, -2), np.eye(3), atol=2e-5)
    assert np.allclose(np.linalg.det(turn), 1.0, atol=2e-5)
