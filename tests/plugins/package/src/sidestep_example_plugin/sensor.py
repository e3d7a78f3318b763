"""A sensor: how far away the nearest person is, and in which direction."""

import numpy as np

from sidestep.interfaces import Sensor


class Nearest(Sensor):
    """Serves ``example_nearest``: distance (m, centre to centre) and bearing (rad, from the robot's heading)."""

    def __init__(self, context, range_m=10.0):
        super().__init__(context)
        self.range_m = range_m

    def sense(self, view):
        """``[range_m, 0]`` where nobody is in range."""
        away = view.everybody.position - view.robot.position
        distance = np.sqrt((away**2).sum(axis=1))
        if not len(distance) or distance.min() > self.range_m:
            return {"example_nearest": np.array([self.range_m, 0.0])}
        x, y = away[distance.argmin()]
        return {"example_nearest": np.array([distance.min(), np.arctan2(y, x) - view.robot.heading])}
