"""The other verbs."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from sidestep.cli import app
from sidestep.cli.run import parse_settings
from sidestep.errors import BadInput
from tests.cli.conftest import document

Call = Callable[..., Result]

LISTED = {
    "suites": {"name", "scenarios", "summary"},
    "scenarios": {"name", "suite", "summary", "source", "scene", "robot", "time_limit_s", "tags"},
    "policies": {"name", "needs", "summary", "citation", "extras", "missing_extras"},
    "robots": {"name", "dynamics", "radius_m", "max_speed_mps", "summary", "source"},
    "metrics": {"name", "unit", "direction", "definition", "source", "dialects"},
    "datasets": {"name", "summary"},
    "visual-models": {"name", "goal", "picture", "rate_hz", "frames", "summary"},
}


@pytest.fixture
def run(suite: str, call: Call) -> Path:
    """A run of two policies."""
    result = call("run", suite, "--policy", "straight", "--policy", "stop", "--repeat", 2, "--out", "r")
    assert result.exit_code == 0, result.output
    return Path("r")


@pytest.mark.parametrize("kind", LISTED)
def test_lists(call: Call, kind: str) -> None:
    result = call("list", kind, "--json")
    assert result.exit_code == 0, result.output
    found = document(result)
    assert list(found) == [kind]
    assert found[kind]
    assert all(set(row) == LISTED[kind] for row in found[kind])
    table = call("list", kind)
    assert table.exit_code == 0
    assert found[kind][0]["name"] in table.stdout


def test_scenarios_of_a_file(suite: str, call: Call) -> None:
    found = document(call("list", "scenarios", "--suite", suite, "--json"))["scenarios"]
    assert [row["name"] for row in found] == ["alone", "met", "round"]
    wrong = call("list", "policies", "--suite", suite)
    assert wrong.exit_code == 2
    assert "narrows the list of scenarios" in wrong.stderr
    assert call("list", "polices").exit_code == 2


def test_score(run: Path, call: Call) -> None:
    ran = document(
        call(
            "run",
            "small.yaml",
            "--policy",
            "straight",
            "--policy",
            "stop",
            "--repeat",
            2,
            "--out",
            "r",
            "--json",
        )
    )
    assert document(call("score", run, "--json")) == ran
    few = document(call("score", run, "--metric", "success", "--metric", "path_length", "--json"))
    assert list(few["policies"]["stop"]["metrics"]) == ["success", "path_length"]
    wrong = call("score", run, "--metric", "sucess")
    assert wrong.exit_code == 2
    assert "did you mean 'success'" in wrong.stderr
    assert call("score", "nowhere").exit_code == 2


def test_compare(run: Path, call: Call) -> None:
    found = document(call("compare", run, "--json"))
    assert set(found) == {"runs", "dialect", "entries", "pairs", "ranking", "comparisons"}
    [pair] = found["pairs"]
    assert (pair["a"], pair["b"], pair["episodes"]) == ("straight", "stop", 6)
    assert set(pair["metrics"]["success"]) == {
        "n", "lost", "mean_a", "mean_b", "difference", "low", "high", "p", "unit", "direction", "better", "clusters",
        "p_holm", "where",
    }  # fmt: skip
    assert len(document(call("compare", run, "--all", "--json"))["pairs"][0]["metrics"]) > 50
    only = document(call("compare", run, "--metric", "spl", "--baseline", "stop", "--json"))
    assert [(pair["a"], list(pair["metrics"])) for pair in only["pairs"]] == [("stop", ["spl"])]
    assert call("compare", run, "--metric", "splash").exit_code == 2
    assert call("compare", run, "--all", "--metric", "spl").exit_code == 2
    shown = call("compare", run)
    assert shown.exit_code == 0
    assert "6 common episodes" in shown.stdout


def test_verify(run: Path, call: Call) -> None:
    assert document(call("verify", run, "--sample", 3, "--json")) == {
        "checked": 3,
        "equal": 3,
        "first_difference": None,
    }


def test_verify_finds_a_changed_world(run: Path, call: Call) -> None:
    """The plan is edited after the run: the goal's radius grows, so that the re-run ends earlier."""
    plan = json.loads((run / "run.json").read_text())
    for scenario in plan["plan"]["scenarios"]:
        scenario["rules"]["goal_radius_m"] = 0.9
    (run / "run.json").write_text(json.dumps(plan))
    result = call("verify", run, "--json")
    assert result.exit_code == 1
    found = document(result)
    assert set(found) == {"checked", "equal", "first_difference"}
    assert found["equal"] < found["checked"] == 12
    assert set(found["first_difference"]) == {"scenario", "policy", "step", "quantity", "was", "is"}
    assert found["first_difference"]["policy"] == "straight"
    told = call("verify", run)
    assert told.exit_code == 1
    assert "first difference: straight · alone, step" in told.stdout


def test_replay(run: Path, call: Call) -> None:
    record = run / "episodes/straight/alone__seed0.parquet"
    about = document(call("replay", record, "--json"))["record"]
    assert (about["scenario"], about["policy"], about["outcome"]) == ("alone", "straight", "success")
    drawn = call("replay", record, "--png", "a.png", "--time", 0.5)
    assert drawn.exit_code == 0, drawn.output
    assert Path("a.png").read_bytes().startswith(b"\x89PNG")
    late = call("replay", record, "--png", "b.png", "--time", 500)
    assert late.exit_code == 2
    assert "episode lasts" in late.stderr
    assert call("replay", record, "--time", 1).exit_code == 2


def test_a_truncated_record_is_told(run: Path, call: Call) -> None:
    record = run / "episodes/straight/alone__seed0.parquet"
    record.write_bytes(record.read_bytes()[:1000])
    result = call("replay", record)
    assert result.exit_code == 2
    assert "alone__seed0.parquet: truncated" in result.stderr
    assert "run the episode again" in result.stderr
    scored = call("score", run, "--json")
    assert "not scored" in scored.stderr
    assert document(scored)["policies"]["straight"]["episodes"] == 5


def test_report(run: Path, call: Call) -> None:
    result = call("report", run, "--json")
    assert result.exit_code == 0, result.output
    assert document(result) == {"report": "r/report.html", "runs": ["r"]}
    assert "<html" in (run / "report.html").read_text()
    missing = call("report", "nowhere")
    assert missing.exit_code == 2
    assert "no such run folder" in missing.stderr


def test_doctor(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SIDESTEP_DATA", raising=False)
    result = call("doctor", "--json")
    assert result.exit_code == 0, result.output
    checks = {check["name"]: check for check in document(result)["checks"]}
    assert checks["numpy"]["status"] == "ok"
    assert checks["SIDESTEP_DATA"]["status"] == "missing"
    assert {"python", "[video]", "[learn]", "[ray]", "kernel cache", "numba threads", "video"} <= set(checks)
    assert all(check["remedy"] for check in checks.values() if check["status"] != "ok")


def test_doctor_fails_on_a_wrong_data_folder(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIDESTEP_DATA", "/no/such/folder")
    result = call("doctor")
    assert result.exit_code == 1
    assert "✗ SIDESTEP_DATA" in result.stdout


def test_bench(call: Call) -> None:
    result = call("bench", "--quick", "--repeats", 1, "--only", "lidar/*", "--json")
    assert result.exit_code == 0, result.output
    found = document(result)
    assert set(found) == {"machine", "results"}
    assert {"cpu", "cores", "versions"} <= set(found["machine"])
    assert found["results"][0]["id"] == "lidar/rays=720"
    assert set(found["results"][0]) == {"id", "value", "unit", "repeats", "spread", "peer"}
    assert call("bench", "--suite", "cor").exit_code == 2


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("0.5", 0.5),
        ("1e-3", 0.001),
        ("true", True),
        ("text", "text"),
        ("[1, 2]", [1, 2]),
        ("", ""),
        ("a=b", "a=b"),
    ],
)
def test_values_of_settings(text: str, value: Any) -> None:
    assert parse_settings([f"key={text}"], ["orca"]) == {"orca": {"key": value}}


def test_whose_setting_it_is() -> None:
    policies = ["orca", "my/file.py:Mine"]
    found = parse_settings(["horizon=1", "orca.horizon=2", "my/file.py:Mine.a=3", "Mine.b=4"], policies)
    assert found == {"orca": {"horizon": 2}, "my/file.py:Mine": {"horizon": 1, "a": 3, "b": 4}}
    with pytest.raises(BadInput, match="not a YAML value"):
        parse_settings(["a=[1"], policies)


def test_every_verb_has_help(call: Call) -> None:
    verbs = [command.name for command in app.registered_commands]
    assert verbs == [
        "list",
        "run",
        "import",
        "score",
        "compare",
        "report",
        "replay",
        "render",
        "counterfactual",
        "verify",
        "validate",
        "serve",
        "evaluate",
        "bench",
        "doctor",
    ]
    for verb in [*verbs, "data", "train", "demos"]:
        result = call(verb, "--help")
        assert result.exit_code == 0, verb


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; sys.argv = ['sidestep', '--help']\n"
        "from sidestep.cli import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert end.code == 0\n"
        "heavy = {'numpy', 'numba', 'pyarrow', 'scipy', 'pydantic', 'matplotlib'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_version(call: Call) -> None:
    from sidestep import __version__

    assert call("--version").stdout.strip() == __version__
