"""``sidestep counterfactual`` and ``run --counterfactual``."""

from __future__ import annotations

from pathlib import Path

from sidestep.metrics.people_cost import NO_COUNTERFACTUAL

from .conftest import document
from .test_run import Call


def test_a_run_with_counterfactuals_scores_what_the_robot_costs(suite: str, call: Call) -> None:
    result = document(call("run", suite, "--policy", "straight", "--out", "out", "--counterfactual", "--json"))
    assert result["policies"]["straight"]["metrics"]["delay_mean_s"]["n"] == 2  # nobody is in the third scenario
    again = document(call("counterfactual", "out", "--json"))
    assert again == {"run": "out", "made": 0, "kept": 3, "skipped": []}
    scored = document(call("score", "out", "--json"))
    assert scored["policies"]["straight"]["metrics"] == result["policies"]["straight"]["metrics"]
    written = call("report", "out", "--out", "report.html")
    assert written.exit_code == 0, written.output
    assert 'id="cost"' in Path("report.html").read_text(encoding="utf-8")


def test_a_run_without_counterfactuals_says_how_to_get_them(suite: str, call: Call) -> None:
    result = document(call("run", suite, "--policy", "straight", "--out", "out", "--json"))
    assert result["policies"]["straight"]["metrics"]["delay_mean_s"]["n"] == 0
    assert "sidestep counterfactual" in NO_COUNTERFACTUAL
    call("report", "out", "--out", "report.html")
    assert 'id="cost"' not in Path("report.html").read_text(encoding="utf-8")


def test_wrong_usage(suite: str, call: Call) -> None:
    assert call("counterfactual", "nowhere").exit_code == 2
    assert call("run", suite, "--policy", "straight", "--counterfactual", "--debug").exit_code == 2
