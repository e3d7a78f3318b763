"""Dialects: other published definitions of the same metrics, so that our numbers can be compared with theirs.

A dialect is one file of functions; the metrics that it redefines name them. All others keep their default
definition.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Dialect:
    """What a dialect is, and where it comes from."""

    summary: str
    citation: str


DEFAULT = "paper"

DIALECTS: dict[str, Dialect] = {
    DEFAULT: Dialect(
        summary="The default definitions: those of the SocNavBench paper where it has one, else of the source named.",
        citation="Biswas et al., SocNavBench, ACM Transactions on Human-Robot Interaction 11(3), 2022",
    ),
    "socnavbench-code": Dialect(
        summary="What the public SocNavBench program computes, including where it departs from its paper.",
        citation="github.com/CMU-TBD/SocNavBench, accompanying Biswas et al. 2022",
    ),
}
