"""Forecasts of where people will be, in two layers.

Below the policies: ``predictors`` (and their checker), ``comfort_zone`` and ``violation`` (whether a forecast enters
the zone of a driver), ``ground`` (pictures of the ground around a person). Above the runs: ``data`` (pedestrians and a
vehicle, recorded or generated), ``forecasts`` of data sets, ``scores``, ``bootstrap``, ``gaps``, the closed ``loop``,
``training`` of networks, tables and plots.
"""

from sidestep.prediction.predictors.check import check_predictor

__all__ = ["check_predictor"]
