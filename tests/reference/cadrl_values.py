"""The value network of SA-CADRL in plain NumPy."""

from __future__ import annotations

import numpy as np

from sidestep.policies.cadrl.lookahead import ARRIVED, GAMMA, OTHER, OWN, SLOTS
from sidestep.policies.cadrl.network import INPUT_SCALE, NetworkWeights


def plain_values(weights: NetworkWeights, states: np.ndarray) -> np.ndarray:
    """V of ``states (n, FEATURES)``."""
    w1, p1, b1, w2, b2, w3, p3, b3, w4, b4, w5, b5 = weights
    scaled = states * INPUT_SCALE
    own, others = scaled[:, :OWN], scaled[:, OWN:].reshape(-1, SLOTS, OTHER)
    taken = others[..., -1] > 0
    code = np.maximum((own @ w1.T)[:, None] + others @ p1.T + b1, 0.0)
    code = np.maximum(code @ w2.T + b2, 0.0) * taken[..., None]
    third = np.maximum(own @ w3.T + code.max(axis=1) @ p3.T + b3, 0.0)
    fourth = np.maximum(third @ w4.T + b4, 0.0)
    loss = (fourth @ w5 + b5[0]) * taken.any(axis=1) * (states[:, 0] >= ARRIVED)
    return np.asarray(GAMMA ** states[:, 0] * (1.0 - loss))
