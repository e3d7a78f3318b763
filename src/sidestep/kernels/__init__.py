"""Compiled functions over plain arrays: geometry, neighbours, ORCA, social force, rays, the world step.

Nothing here knows scenarios, files or policies. Kernels draw no random numbers, allocate nothing per agent and
use only ``+ - * / sqrt`` and the polynomials of :mod:`sidestep.kernels.approx`, never libm, and no fast-math
re-association, so that a trajectory has the same bits on every IEEE-754 machine.
"""
