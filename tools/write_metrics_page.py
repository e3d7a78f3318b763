"""The page of metrics, from the metrics themselves.

``python -m tools.write_metrics_page > docs/metrics.md``
"""

from __future__ import annotations

import importlib
from itertools import groupby

from sidestep.interfaces import Metric
from sidestep.metrics import METRICS
from sidestep.metrics.sources import DIALECTS, REFERENCES
from sidestep.registry import import_attribute

_DIRECTIONS = {"higher": "higher is better", "lower": "lower is better", "none": "neither is better"}
_DISTANCES = {
    "surface": "distances from surface to surface",
    "centre": "distances from centre to centre",
    "none": "no distance between bodies",
}

_INTRODUCTION = """# Metrics

This page is generated from the metrics; do not edit it. Each metric is a pure function of the episode record, so
every record can be scored again without simulating. A result is a value with its unit, or no value and the reason,
never 0, -1 or infinity instead.

An episode of T steps has T+1 states. *p_k*, *θ_k* and *v_k* are the robot's recorded position, heading and
velocity in state k; v_k is the velocity at which the step from state k-1 to k was executed. Averages over
states give every state the same weight, averages over steps weigh by their lengths. Units: `0/1` (1 if it holds,
else 0), `count`, `ratio` (no dimension), otherwise SI units and radians.

## Dialects

`sidestep score RUN --dialect NAME` uses another published definition where there is one.
"""


def metrics_page() -> str:
    """The whole page, Markdown."""
    lines = [_INTRODUCTION]
    lines += [f"- `{name}`: {dialect.summary} ({dialect.citation})" for name, dialect in DIALECTS.items()]
    for module, references in groupby(METRICS.values(), key=lambda reference: reference.partition(":")[0]):
        summary = (importlib.import_module(module).__doc__ or "").strip().partition("\n")[0]
        title, _, rest = summary.partition(": ")
        lines += ["", f"## {title}", "", rest[:1].upper() + rest[1:]]
        for reference in references:
            lines += _entry(import_attribute(reference))
    lines += ["", "## Sources", ""]
    lines += [f"- {short}: {full.rstrip('.')}." for short, full in REFERENCES.items()]
    return "\n".join(lines) + "\n"


def _entry(metric: Metric) -> list[str]:
    lines = [
        "",
        f"### `{metric.name}`",
        "",
        f"{metric.definition}",
        "",
        f"- Unit `{metric.unit}`, {_DIRECTIONS[metric.direction]}, {_DISTANCES[metric.distance]}.",
        f"- Has a value: {metric.validity}",
        f"- Source: {metric.source}.",
    ]
    for name, function in metric.dialects.items():
        lines.append(f"- In `{name}`: {' '.join((function.__doc__ or '').split())}")
    return lines


def main() -> None:
    """Print the page."""
    print(metrics_page(), end="")


if __name__ == "__main__":
    main()
