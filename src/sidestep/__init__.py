"""Sidestep: one open benchmark for every machine that moves among people.

The data flow, left to right, is the list of packages::

    suites ─load─▶ types.Scenario ─simulation.build─▶ World ─simulation.run_episode─▶ types.EpisodeRecord
           ─metrics─▶ types.MetricResult ─benchmark─▶ results ─report─▶ what a person looks at

The episode record is the waist: everything left of it simulates, everything right of it only reads.
"""

from sidestep.version import __version__

__all__ = ["__version__"]
