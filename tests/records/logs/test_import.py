"""``sidestep import``: a run folder that is scored, compared, reported and shown as any other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sidestep.cli.app import app
from sidestep.metrics import METRICS
from sidestep.metrics.unknown import REASONS
from sidestep.records import load_record


def table(path: Path, speed: float) -> Path:
    rows = [f"{k / 10},r,{speed * k / 10},0,robot" for k in range(31)]
    rows += [f"{k / 10},5,1,1.5,person" for k in range(31)]
    path.write_text("t,agent,px,py,type\n" + "\n".join(rows), encoding="utf-8")
    return path


def run(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == code, result.output
    return result.output if code else result.stdout


COLUMNS = ("--columns", "time=t,id=agent,x=px,y=py,kind=type", "--goal", "2,0", "--scene", "open")


def test_two_policies_are_imported_scored_compared_and_reported(tmp_path: Path) -> None:
    out = str(tmp_path / "run")
    (tmp_path / "again").mkdir()
    slow, fast = table(tmp_path / "lab.csv", 0.75), table(tmp_path / "again" / "lab.csv", 1.5)
    first = json.loads(run("import", str(slow), "--out", out, "--policy", "slow", *COLUMNS, "--json"))
    assert first["suite"] == "log"
    assert first["source"] == "recorded"
    assert first["policies"]["slow"]["outcomes"]["success"] == 1
    assert "robot: r" in " ".join(first["imported"]["said"])
    run("import", str(fast), "--out", out, "--policy", "fast", *COLUMNS)
    scored = json.loads(run("score", out, "--json"))
    assert list(scored["policies"]) == ["slow", "fast"]
    times = {name: entry["metrics"]["time_to_goal"]["mean"] for name, entry in scored["policies"].items()}
    assert times == {"slow": pytest.approx(2.3), "fast": pytest.approx(1.2)}
    assert scored["policies"]["fast"]["metrics"]["collisions"]["mean"] == 0
    compared = run("compare", out, "--json")
    assert "time_to_goal" in compared
    run("report", out, "--out", str(tmp_path / "report.html"))
    assert "slow" in (tmp_path / "report.html").read_text(encoding="utf-8")
    [path] = (tmp_path / "run" / "episodes" / "fast").glob("*.parquet")
    record = load_record(path)
    assert record.policy.version == f"log sha256:{record.scenario.notes['log']['sha256']}"
    assert "page" in run("replay", str(path), "--html", str(tmp_path / "page.html"))
    assert "nothing can be run again" in run("verify", out, code=2)


def test_importing_again_replaces_and_gives_the_same_digests(tmp_path: Path) -> None:
    log, out = table(tmp_path / "lab.csv", 1.0), str(tmp_path / "run")
    first = json.loads(run("import", str(log), "--out", out, *COLUMNS, "--json"))
    again = json.loads(run("import", str(log), "--out", out, *COLUMNS, "--json"))
    assert first["imported"]["records"] == again["imported"]["records"]
    assert again["policies"]["logged"]["episodes"] == 1


def test_two_logs_of_one_place_pair_under_a_name(tmp_path: Path) -> None:
    out = str(tmp_path / "run")
    monday, friday = table(tmp_path / "monday.csv", 0.75), table(tmp_path / "friday.csv", 1.5)
    for policy, log in (("slow", monday), ("fast", friday)):
        imported = json.loads(
            run("import", str(log), "--out", out, "--policy", policy, "--scenario", "hall", *COLUMNS, "--json")
        )
        assert [each["scenario"] for each in imported["imported"]["records"]] == ["hall"]
        assert "compare will pair it" not in " ".join(imported["imported"]["said"])
    [pair] = json.loads(run("compare", out, "--json"))["pairs"]
    assert pair["episodes"] == 1
    assert pair["metrics"]["time_to_goal"]["difference"] == pytest.approx(-1.1)


def test_without_a_name_logs_of_different_names_do_not_pair(tmp_path: Path) -> None:
    out = str(tmp_path / "run")
    for policy, speed in (("slow", 0.75), ("fast", 1.5)):
        run("import", str(table(tmp_path / f"{policy}.csv", speed)), "--out", out, "--policy", policy, *COLUMNS)
    assert "no two policies have a scenario" in run("compare", out, code=2)


def test_a_name_for_two_different_tasks_is_told(tmp_path: Path) -> None:
    out, named = str(tmp_path / "run"), ("--scenario", "hall", "--scene", "open", "--json")
    log = table(tmp_path / "lab.csv", 1.0)
    run("import", str(log), "--out", out, "--policy", "a", "--goal", "2,0", *named)
    said = json.loads(run("import", str(log), "--out", out, "--policy", "b", "--goal", "2.5,2", *named))["imported"][
        "said"
    ]
    assert any("goal is 2.1 m from that of the drive before" in line for line in said)  # hypot(0.5, 2) = 2.06


def test_where_no_goal_is_known_none_is_compared(tmp_path: Path) -> None:
    out, named = str(tmp_path / "run"), ("--scenario", "hall", "--scene", "open", "--json")
    for policy, speed in (("a", 0.5), ("b", 1.5)):
        log = str(table(tmp_path / f"{policy}.csv", speed))
        said = json.loads(run("import", log, "--out", out, "--policy", policy, *named))["imported"]["said"]
        assert not any("compare will pair it" in line for line in said), "they end 3 m apart, which is no goal"


def test_several_logs_under_one_name_are_numbered(tmp_path: Path) -> None:
    logs = [str(table(tmp_path / f"{k}.csv", 1.0)) for k in range(2)]
    done = json.loads(run("import", *logs, "--out", str(tmp_path / "run"), "--scenario", "hall", *COLUMNS, "--json"))
    assert [each["scenario"] for each in done["imported"]["records"]] == ["hall", "hall-2"]


def test_formats_are_listed() -> None:
    listed = json.loads(run("list", "logs", "--json"))["logs"]
    assert [each["name"] for each in listed] == ["rosbag", "trajnet", "eth_ucy", "csv", "lerobot"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--goal", "1"), "expected two numbers X,Y"),
        (("--scenario", " "), "1 to 100 printable characters"),
        (("--columns", "x"), "expected WHAT=NAME"),
        (("--scale", "0"), "must be a positive number"),
        (("--format", "bag"), "unknown format of logs 'bag'"),
        (("--radius", "-1"), "must be a positive number"),
    ],
)
def test_wrong_options(arguments: tuple[str, ...], message: str, tmp_path: Path) -> None:
    log = table(tmp_path / "lab.csv", 1.0)
    assert message in run("import", str(log), "--out", str(tmp_path / "run"), *arguments, code=2)


def test_a_run_of_another_suite_is_kept_out(tmp_path: Path) -> None:
    run("run", "core", "--policy", "stop", "--limit", "1", "--out", str(tmp_path / "run"))
    log = table(tmp_path / "lab.csv", 1.0)
    assert "not imported logs" in run("import", str(log), "--out", str(tmp_path / "run"), *COLUMNS, code=2)


def test_every_metric_that_may_be_unknown_exists() -> None:
    named = {name for _, names in REASONS.values() for name in names}
    assert named <= METRICS.keys(), named - METRICS.keys()


def test_a_column_map_in_a_file(tmp_path: Path) -> None:
    log = table(tmp_path / "lab.csv", 1.0)
    (tmp_path / "map.yaml").write_text("{time: t, id: agent, x: px, y: py, kind: type}", encoding="utf-8")
    out = ("--out", str(tmp_path / "run"), "--format", "csv")
    imported = json.loads(run("import", str(log), *out, "--columns", str(tmp_path / "map.yaml"), "--json"))
    assert imported["policies"]["logged"]["episodes"] == 1
    assert "robot: r" in " ".join(imported["imported"]["said"])
