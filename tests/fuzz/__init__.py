"""Fuzzing of everything that reads what others wrote.

``targets`` has a target for each of the readers, ``table`` says which functions of the source they are, ``seeds`` has
valid inputs, ``damage``, ``trees`` and ``binary`` change them,
``guard`` limits time and memory. ``python -m tests.fuzz`` runs many cases; ``test_targets.py`` a few hundred of each.
"""
