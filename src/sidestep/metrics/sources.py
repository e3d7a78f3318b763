"""The publications that define the metrics (a short name to cite and the full reference), and the dialects: other
published definitions of the same metrics. A dialect is one module of functions, to which the
metrics that it redefines refer; all other metrics keep their default definition.
"""

from __future__ import annotations

from dataclasses import dataclass

SOCNAVBENCH = "SocNavBench (Biswas et al. 2022)"
FRANCIS = "Francis et al. 2025"
HUNAVSIM = "HuNavSim (Pérez-Higueras et al. 2023)"
SEAN = "SEAN 2.0 (Tsoi et al. 2022)"
ANDERSON = "Anderson et al. 2018"
HALL = "Hall 1966"
KATYAL = "Katyal et al. 2022"
CARLA = "CARLA leaderboard (Dosovitskiy et al. 2017)"
SIDEWALKBENCH = "SidewalkBench (Liu et al. 2026)"
PIRK = "Pirk et al. 2022"
INTERSECTNAV = "IntersectNav (Zhu and Zhao 2022)"
SIDESTEP = "Sidestep"

REFERENCES: dict[str, str] = {
    SOCNAVBENCH: "SocNavBench: A Grounded Simulation Testing Framework for Evaluating Social Navigation. "
    "ACM Transactions on Human-Robot Interaction 11(3)",
    FRANCIS: "Principles and Guidelines for Evaluating Social Robot Navigation Algorithms. "
    "ACM Transactions on Human-Robot Interaction 14(2); arXiv 2306.16740",
    HUNAVSIM: "HuNavSim: A ROS 2 Human Navigation Simulator for Benchmarking Human-Aware Robot Navigation. "
    "IEEE Robotics and Automation Letters 8(11)",
    SEAN: "SEAN 2.0: Formalizing and Generating Social Situations for Robot Navigation. "
    "IEEE Robotics and Automation Letters 7(4)",
    ANDERSON: "On Evaluation of Embodied Navigation Agents. arXiv 1807.06757",
    HALL: "The Hidden Dimension. Doubleday",
    KATYAL: "Learning a Group-Aware Policy for Robot Navigation. IROS",
    CARLA: "CARLA: An Open Urban Driving Simulator. CoRL",
    SIDEWALKBENCH: "SidewalkBench: Benchmarking Visual Navigation on Urban Sidewalks",
    PIRK: "A Protocol for Validating Social Navigation Policies. arXiv 2204.05443",
    INTERSECTNAV: "Multi-Task Conditional Imitation Learning for Autonomous Navigation at Crowded Intersections. "
    "arXiv 2202.10124",
    SIDESTEP: "Defined here.",
}


@dataclass(frozen=True, slots=True)
class Dialect:
    """What a dialect is, and where it comes from."""

    summary: str
    citation: str


DEFAULT_DIALECT = "paper"

DIALECTS: dict[str, Dialect] = {
    DEFAULT_DIALECT: Dialect(
        summary="The default definitions: those of the SocNavBench paper where it has one, else of the source named.",
        citation="Biswas et al., SocNavBench, ACM Transactions on Human-Robot Interaction 11(3), 2022",
    ),
    "socnavbench-code": Dialect(
        summary="What the public SocNavBench program computes, including where it departs from its paper.",
        citation="github.com/CMU-TBD/SocNavBench, accompanying Biswas et al. 2022",
    ),
    "intersectnav-code": Dialect(
        summary="What the public IntersectNav program counts, including where it departs from its readme.",
        citation="The program that accompanies Zhu and Zhao 2022",
    ),
}
