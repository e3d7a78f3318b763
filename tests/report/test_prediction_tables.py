"""Tables of prediction metrics: best values, reasons for missing ones, optimal predictors, differences."""

from __future__ import annotations

import numpy as np
import pytest

from sidestep.prediction.bootstrap import Bootstrap, ResampledMetric
from sidestep.prediction.tables import difference_table, optimal_table, score_table, ungrouped
from sidestep.report.table_writer import comma_separated, latex, markdown

MODELS = ("motion", "motion+map")


def made(irs: list[list[float]], missing: list[int] | None = None) -> Bootstrap:
    """Two predictors at two horizons; resamples spread by ± 1 %, some of them without a value."""
    rng = np.random.default_rng(0)
    value = np.array(irs)
    drawn = value[..., None] + rng.uniform(-0.01, 0.01, (2, 2, 400))
    for m, count in enumerate(missing or ()):
        drawn[m, 0, :count] = np.nan
    without = value[..., None] + rng.uniform(-0.01, 0.01, (2, 2, 20))
    metric = ResampledMetric("irs", value, drawn, without)
    return Bootstrap(MODELS, np.array([1.0, 4.0]), 20, {"irs": metric})


def test_values_have_intervals_and_the_best_is_bold() -> None:
    table = score_table(made([[0.8, 0.5], [0.7, 0.9]]), ["irs"], "Scores", people="generated")
    text = markdown(table)
    assert "| Predictor | IRS 1 s (%) ↑ | IRS 4 s (%) ↑ |" in text
    assert "| motion | **80.0** [7" in text
    assert "| 50.0 [4" in text
    assert "50%" in text
    assert r"\textbf{80.0}" in latex(table)
    assert "generated" in latex(table)
    assert [column.title for column in ungrouped(table).columns] == ["IRS 1 s", "IRS 4 s"]


def test_what_is_missing_is_said_once_for_all_or_by_name() -> None:
    notes = score_table(made([[0.8, 0.5], [0.7, 0.9]], [7, 7]), ["irs"], "Scores").notes
    assert notes[1:] == ("IRS 1 s: 7 resamples have no value and are left out of the interval.",)
    notes = score_table(made([[0.8, 0.5], [0.7, np.nan]], [0, 3]), ["irs"], "Scores").notes
    assert len(notes) == 3
    assert notes[1].startswith("IRS 1 s of motion+map: 3 resamples")
    assert notes[2].startswith("IRS 4 s of motion+map: no value")


def test_a_missing_value_is_a_dash_and_an_empty_field() -> None:
    table = score_table(made([[0.8, 0.5], [0.7, np.nan]]), ["irs"], "Scores")
    assert markdown(table).splitlines()[5].endswith("| – |")
    assert "motion+map,irs_4s,,higher,0,,,,no" in comma_separated(table)


def test_optimal_and_differences() -> None:
    found = made([[0.8, 0.5], [0.8, 0.9]])
    assert "| 1 s | motion |" in markdown(optimal_table(found, ["irs"]))
    assert "| 4 s | motion+map |" in markdown(optimal_table(found, ["irs"]))
    assert "optimal,4 s,irs,motion+map" in comma_separated(optimal_table(found, ["irs"]))
    table = difference_table(found, ["irs"])
    assert [section.title for section in table.sections] == ["IRS 1 s (%)", "IRS 4 s (%)"]
    cells = {row.policy: row.cells for row in table.sections[1].rows}
    assert cells["motion+map"][0].text == "+40.0"
    assert cells["motion+map"][0].best
    assert cells["motion"][1].text == "−40.0"
    assert not cells["motion"][1].best
    assert cells["motion"][0].text == "–"
    assert cells["motion"][1].estimate.value == pytest.approx(-0.4)
