"""A metric: the number of steps."""

from sidestep.interfaces import Metric
from sidestep.types import MetricResult


def steps(record):
    """How many steps the episode took."""
    return MetricResult(float(record.steps), "count")


STEPS = Metric(
    name="example_steps",
    unit="count",
    direction="lower",
    definition="number of simulation steps of the episode",
    source="example plug-in",
    distance="none",
    validity="always",
    function=steps,
    dialects={},
)
