"""Runs of many episodes: the plan, its execution, the run folder, and what is read back from it.

``plan`` says what to run and ``provenance`` what that depends on; ``episode`` runs one task and ``executors`` run many;
``runner`` fills the run folder and resumes it; ``folder`` defines its files and ``storage`` puts records elsewhere.
``finished`` reads a run folder, each file once; ``score`` and ``compare`` make documents of it; ``verify`` and
``counterfactuals`` simulate its episodes again. ``remote`` has policies in other processes, ``from_logs`` makes runs of
logs. Packs are in ``sidestep.leaderboard``, pictures and pages in ``sidestep.report``.
"""

from typing import TYPE_CHECKING

from sidestep._util.on_demand import names_on_demand

if TYPE_CHECKING:
    from sidestep.runs.plan import Plan, PolicyPlan, make_plan
    from sidestep.runs.runner import RunResult, run_benchmark
    from sidestep.runs.score import summary_document

__all__ = ["Plan", "PolicyPlan", "RunResult", "make_plan", "run_benchmark", "summary_document"]

__getattr__ = names_on_demand(  # the processes of guests import `remote`, and nothing that simulates
    __name__,
    {
        "Plan": "plan", "PolicyPlan": "plan", "make_plan": "plan", "RunResult": "runner", "run_benchmark": "runner",
        "summary_document": "score",
    },
)  # fmt: skip
