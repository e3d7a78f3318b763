"""People: which models move them, and where a scenario puts them.

The models themselves are kernels (:mod:`sidestep.kernels.orca`, ``social_force_helbing``, ``social_force_moussaid``,
``people`` for replay); here are their names and parameters (``models``) and the placement of people with all random
numbers drawn (``spawn``). No scene files, no robots, no time stepping.
"""
