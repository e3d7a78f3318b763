"""A crowd model: everybody walks straight to the next waypoint and stops while somebody is near ahead."""

import numpy as np

from sidestep.interfaces import CrowdModel


class StopAndGo(CrowdModel):
    """Straight on at the wished speed; stands while anybody else is nearer than ``gap_m`` and ahead."""

    def __init__(self, gap_m=0.5):
        self.gap_m = gap_m

    def velocities(self, view):
        """(M, 2), m/s."""
        way = view.goal - view.position
        ahead = way / np.maximum(np.sqrt((way**2).sum(axis=1)), 1e-9)[:, None]
        velocity = ahead * view.wished_speed[:, None]
        for k, position in enumerate(view.position):
            others = np.concatenate([np.delete(view.position, k, axis=0), view.others_position]) - position
            radii = np.concatenate([np.delete(view.radius, k), view.others_radius]) + view.radius[k]
            gaps = np.sqrt((others**2).sum(axis=1)) - radii
            if ((gaps < self.gap_m) & (others @ ahead[k] > 0.0)).any():
                velocity[k] = 0.0
        return velocity
