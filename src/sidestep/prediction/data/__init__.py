"""Pedestrians and a vehicle: interaction data and the samples that are made of them.

Data (``sidestep.types.interactions``) come from records of simulated drives or from recordings. ``Samples`` are the
moments at which a predictor is asked; a ``Forecast`` of all of them is scored against what happened.
"""

from sidestep.prediction.data.samples import HORIZONS_S, Samples, make_samples

__all__ = ["HORIZONS_S", "Samples", "make_samples"]
