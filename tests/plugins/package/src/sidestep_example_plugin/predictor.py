"""A predictor after which everybody stops."""

import numpy as np

from sidestep.types.forecast import SampleForecast


class Stopping:
    """Everybody stays where they are."""

    name = "example_stopping"
    summary = "everybody stops at once"
    citation = ""
    needs = frozenset()
    history_s = 0.0

    def predict(self, history, horizons_s, scene=None, ego=None):
        """One sample per person: the present position."""
        return SampleForecast(horizons_s, np.repeat(history.position[-1][:, None, None], len(horizons_s), axis=2))
