"""Fuzzing of everything that reads what others wrote.

``targets`` is the table of ``readers``, ``seeds`` has valid inputs, ``damage``, ``trees`` and ``binary`` change them,
``guard`` limits time and memory. ``python -m tests.fuzz`` runs many cases; ``test_targets.py`` a few hundred of each.
"""
