"""Runs of many episodes: the plan, who executes it, the run folder, and what is read back from it.

``plan`` says what is to run; ``provenance`` what it depends on; ``episode`` runs one task; ``executors`` run many;
``runner`` fills the run folder and resumes it; ``folder`` is the run folder with its long table; ``score``,
``compare``, ``ranking`` and ``verify`` read a run folder; ``pack`` makes one file of it, ``unpack`` reads that,
``signatures`` sign it, ``audit`` and ``verify_pack`` check it. Nothing here draws: that is ``sidestep.report``.
"""

from sidestep.runs.plan import Plan, PolicyPlan, make_plan
from sidestep.runs.runner import RunResult, run_benchmark
from sidestep.runs.score import summarise

__all__ = ["Plan", "PolicyPlan", "RunResult", "make_plan", "run_benchmark", "summarise"]
