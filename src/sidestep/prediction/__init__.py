"""Predictors: given the history of tracked people, where will they be? One file per predictor, found by name in the
registry (kind ``predictors``); the contract is ``sidestep.interfaces.Predictor``. What is given and returned is in
``sidestep.types.forecast``; ``check_predictor`` tries a predictor out.
"""

from sidestep.prediction.check import check_predictor

__all__ = ["check_predictor"]
