"""Run every published table again and write it into README.md and docs/: ``make results``.

    python -m tools.results [--out out/results] [--only NAME …] [--tables-only]

Each run of ``RUNS`` is one ``sidestep run`` into its own folder, so an interrupted call goes on where it was. Tables
are written as Markdown files beside the runs, and from there between the marks ``<!-- begin NAME -->`` and
``<!-- end NAME -->`` of the pages. The table ``runs`` of ``docs/statistics.md`` lists the commands, their times and the
computer. If the recordings are not installed, runs on recordings are left out and their tables keep their contents.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from sidestep.datasets import find_dataset
from sidestep.runs.provenance import describe_machine
from tools.sidewalk_counts import counts_table

ROOT = Path(__file__).resolve().parents[1]
SOCNAV = ("social_force", "orca", "cadrl", "sampling", "mpc", "oracle")
CORE = ("straight", "stop", "orca", "social_force", "mpc")
CATALOGUE = ("expert", "mpc", "social_force", "orca", "follow_lane", "straight", "stop")
DRIVERS = ("pid", "pid_noise", "comfort_zone")
PROTOCOL = ("straight", "stop", "orca", "social_force", "cadrl", "sampling", "mpc", "ilqr", "ilqr_bc", "expert")
SIDEWALK = ("follow_lane", "orca", "social_force", "stop", "expert")
PUBLISHED = {"social_force": "32/33", "orca": "24/33", "cadrl": "18/33", "sampling": "9/33"}
"""Successes printed in the SocNavBench paper."""
LATENCIES = ("0.1", "0.25", "0.5")


def _run(suite: str, policies: tuple[str, ...], *options: str) -> list[str]:
    return [suite, *(word for policy in policies for word in ("--policy", policy)), *options]


RUNS: dict[str, list[str]] = {
    "core": _run("core", CORE, "--seed", "100", "--repeat", "10"),
    "core-dev": _run("core", CORE, "--repeat", "10"),
    "catalogue": _run("catalogue", CATALOGUE, "--seed", "100", "--repeat", "5"),
    "catalogue-dev": _run("catalogue", CATALOGUE, "--repeat", "5"),
    "socnav": _run("socnav", SOCNAV),
    "socnav-test": _run("socnav", SOCNAV, "--set", "split=test"),
    "socnav-shipped": _run("socnav", SOCNAV, "--set", "time=as-shipped"),
    "socnav-generated": _run("socnav", SOCNAV, "--set", "source=generated", "--repeat", "3"),
    **{
        f"socnav-latency-{latency}": _run("socnav", SOCNAV, "--mode", "latency", "--latency", latency)
        for latency in LATENCIES
    },
    "socnav-pause": _run("socnav", SOCNAV, "--set", "reactivity=pause"),
    "socnav-reroute": _run("socnav", SOCNAV, "--set", "reactivity=reroute"),
    "unit": _run("sidewalk-unit", SIDEWALK),
    "reactive": _run("sidewalk-reactive", SIDEWALK),
    "long": _run("sidewalk-long", SIDEWALK),
    "unit-dev": _run("sidewalk-unit", SIDEWALK, "--set", "split=dev"),
    "reactive-dev": _run("sidewalk-reactive", SIDEWALK, "--set", "split=dev"),
    "intersection": _run("intersection", DRIVERS, "--repeat", "5"),
    "intersection-vehicles": _run("intersection", DRIVERS, "--repeat", "5", "--set", "vehicles=true"),
    **{
        name: _run("protocol", PROTOCOL, "--set", f"split={split}", "--set", "roles=alternate", "--repeat", "5")
        for name, split in (("protocol", "test"), ("protocol-dev", "dev"))
    },
}
RECORDED = tuple(name for name in RUNS if name.startswith("socnav") and name != "socnav-generated")
PAGES = (
    "README.md",
    "docs/suites/core.md",
    "docs/suites/socnav.md",
    "docs/suites/sidewalk.md",
    "docs/suites/intersection.md",
    "docs/suites/protocol.md",
    "docs/statistics.md",
)
MARKS = re.compile(r"(<!-- begin (\w+) -->\n).*?(<!-- end \2 -->)", re.DOTALL)
Scores = dict[str, Any]


def main() -> int:
    """Run, score, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "results")
    parser.add_argument("--only", nargs="*", choices=RUNS, help="Run these only")
    parser.add_argument("--tables-only", action="store_true", help="Run nothing; write the tables of what is there")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if not options.tables_only:
        run_all(options.out, options.only or list(RUNS))
    tables = options.out / "tables"
    tables.mkdir(exist_ok=True)
    write_tables(options.out, tables)
    for page in PAGES:
        print(f"{page}: {', '.join(fill_page(ROOT / page, tables)) or 'as it was'}")
    return 0


def fill_page(page: Path, tables: Path, images: Path = ROOT / "docs" / "images") -> list[str]:
    """Put the tables and figures between their marks, pictures into ``images``; marks without a new table keep what is
    there. Returns the names of the marks that were filled."""
    filled: list[str] = []

    def content(found: re.Match[str]) -> str:
        name = found[2]
        table, picture = tables / f"{name}.md", tables / f"{name}.png"
        if name == "counts":
            text = counts_table()
        elif table.is_file():
            text = table.read_text(encoding="utf-8").partition("\n")[2].strip()
        elif picture.is_file():
            shutil.copyfile(picture, images / picture.name)
            text = f"![{name.replace('_', ' ')}](../images/{picture.name})"
        else:
            return found[0]
        filled.append(name)
        return f"{found[1]}\n{text}\n\n{found[3]}"

    page.write_text(MARKS.sub(content, page.read_text(encoding="utf-8")), encoding="utf-8")
    return filled


def run_all(out: Path, names: list[str]) -> None:
    """Every run, with its time in ``seconds.json``."""
    file = out / "seconds.json"
    seconds: dict[str, float] = json.loads(file.read_text()) if file.is_file() else {}
    for k, name in enumerate(names, start=1):
        if name in RECORDED and find_dataset("socnavbench-eth") is None:
            print(f"[{k}/{len(names)}] {name}: left out, the recordings are not installed")
            continue
        print(f"[{k}/{len(names)}] {name}: sidestep run {shlex.join(RUNS[name])}", flush=True)
        start = time.perf_counter()
        command = [sys.executable, "-m", "sidestep", "run", *RUNS[name], "--workers", "2", "--out", str(out / name)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        seconds[name] = seconds.get(name, 0.0) + time.perf_counter() - start
        file.write_text(json.dumps(seconds, indent=1))


def write_tables(out: Path, tables: Path) -> None:
    """All tables of the pages, as ``NAME.md`` whose first line is a title."""
    have = {name: _scores(out / name) for name in RUNS if (out / name / "run.json").is_file()}
    if "socnav" in have:
        _report(["socnav"], out, tables)
        for name in ("table2", "table3", "table4", "oracle"):
            (tables / f"socnav_{name}.md").write_text((tables / f"{name}.md").read_text())
    if {"unit", "reactive", "long"} <= have.keys():
        _report(["unit", "reactive", "long"], out, tables)
    if {"intersection", "intersection-vehicles"} <= have.keys():
        _report(["intersection", "intersection-vehicles"], out, tables)
    made: dict[str, tuple[Callable[..., str], tuple[str, ...]]] = {
        "core_results": (core_table, ("core", "core-dev")),
        "socnav_readme": (socnav_readme, ("socnav", "socnav-test", "socnav-generated")),
        "socnav_heldout": (socnav_held_out, ("socnav", "socnav-test", "socnav-shipped", "socnav-generated")),
        "socnav_latency": (latency_table, ("socnav", *(f"socnav-latency-{latency}" for latency in LATENCIES))),
        "socnav_reactivity": (reactivity_table, ("socnav", "socnav-pause", "socnav-reroute")),
        "sidewalk_readme": (sidewalk_readme, ("unit", "reactive", "long")),
        "sidewalk_splits": (sidewalk_splits, ("unit", "unit-dev", "reactive", "reactive-dev")),
        "intersection_results": (intersection_table, ("intersection", "intersection-vehicles")),
    }
    for name, (make, runs) in made.items():
        if all(run in have for run in runs):
            (tables / f"{name}.md").write_text(f"# {name}\n{make(*(have[run] for run in runs))}\n")
    if {"catalogue", "catalogue-dev"} <= have.keys():
        text = catalogue_table(out / "catalogue", out / "catalogue-dev")
        (tables / "catalogue_results.md").write_text(f"# catalogue\n{text}\n")
    if {"protocol", "protocol-dev"} <= have.keys():
        text = protocol_table(out / "protocol", have["protocol"], have["protocol-dev"])
        (tables / "protocol_results.md").write_text(f"# protocol\n{text}\n")
    page = ROOT / "docs" / "statistics.md"
    text = runs_table(out, have, page.read_text(encoding="utf-8"))
    (tables / "runs.md").write_text(f"# runs\n{text}\n", encoding="utf-8")


def _scores(folder: Path) -> Scores:
    command = [sys.executable, "-m", "sidestep", "score", str(folder), "--json"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    scores: Scores = json.loads(done.stdout)
    return scores


def _report(names: list[str], out: Path, tables: Path) -> None:
    folders = [str(out / name) for name in names]
    page = str(out / f"report-{names[0]}.html")
    command = [sys.executable, "-m", "sidestep", "report", *folders, "--out", page, "--tables", str(tables)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def _policies(scores: Scores) -> list[tuple[str, str, Scores]]:
    """Name for people, name, scores; privileged policies last."""
    found = list(scores["policies"].items())
    found.sort(key=lambda item: item[1]["privileged"])
    return [(f"`{name}`" + (" (privileged)" if one["privileged"] else ""), name, one) for name, one in found]


def _successes(one: Scores) -> str:
    return f"{one['outcomes'].get('success', 0)}/{one['episodes']}"


def _mean(one: Scores, metric: str, digits: int = 2, factor: float = 1.0) -> str:
    value = one["metrics"].get(metric, {"n": 0})
    if not value["n"]:
        return "–"
    count = "" if value["n"] == one["episodes"] else f" ({value['n']})"
    return f"{value['mean'] * factor:.{digits}f}{count}"


def _rate(one: Scores) -> str:
    value = one["metrics"]["success"]
    return f"{value['mean']:.0%} [{100 * value['low']:.0f}, {100 * value['high']:.0f}]"


def _failures(one: Scores, *kinds: str) -> str:
    return " / ".join(str(one["outcomes"].get(kind, 0)) for kind in kinds)


def _total(one: Scores, metric: str) -> str:
    value = one["metrics"][metric]
    return f"{round(value['mean'] * value['n'])}" if value["n"] else "–"


def core_table(test: Scores, dev: Scores) -> str:
    """Suite core: test seeds, and the success rate of the development seeds."""
    head = [
        "policy", "success", "development seeds", "failures: person / wall / time", "SPL", "contacts with people",
        "closest person (m)", "time to goal (s)", "mean jerk (m/s³)", "planning (µs)",
    ]  # fmt: skip
    rows = [
        [
            label, _rate(one), _rate(dev["policies"][name]),
            _failures(one, "pedestrian_collision", "environment_collision", "timeout"), _mean(one, "spl"),
            _mean(one, "pedestrian_collisions"), _mean(one, "closest_pedestrian_distance"),
            _mean(one, "time_to_goal", 1), _mean(one, "jerk_avg", 1), _mean(one, "planning_time_avg", 0, 1e6),
        ]
        for label, name, one in _policies(test)
    ]  # fmt: skip
    return _table(head, rows)


def socnav_readme(dev: Scores, test: Scores, generated: Scores) -> str:
    """The table in the README."""
    head = [
        "policy", "the 33 (development)", "published", "held-out windows", "generated, 3 seeds", "contacts (the 33)",
        "path ÷ straight line", "time to goal (s)", "mean jerk (m/s³)", "planning (µs)",
    ]  # fmt: skip
    rows = [
        [
            label, _successes(one), PUBLISHED.get(name, "–"), _successes(test["policies"][name]),
            _successes(generated["policies"][name]), _total(one, "pedestrian_collisions"),
            _mean(one, "path_length_ratio"), _mean(one, "time_to_goal", 1), _mean(one, "jerk_avg", 1),
            _mean(one, "planning_time_avg", 0, 1e6),
        ]
        for label, name, one in _policies(dev)
    ]  # fmt: skip
    return _table(head, rows)


def socnav_held_out(dev: Scores, test: Scores, shipped: Scores, generated: Scores) -> str:
    """The same policies on other minutes, another clock and generated people."""
    head = ["policy", "the 33 (development)", "held-out windows", "the 33, as-shipped clock", "generated, 3 seeds"]

    def cell(scores: Scores, name: str) -> str:
        one = scores["policies"][name]
        contacts, seconds = _total(one, "pedestrian_collisions"), _mean(one, "time_to_goal", 1).split(" ")[0]
        return f"{_successes(one)}, {contacts} contacts, {seconds} s"

    rows = [
        [label, *(cell(scores, name) for scores in (dev, test, shipped, generated))]
        for label, name, _ in _policies(dev)
    ]
    return _table(head, rows)


def latency_table(*scores: Scores) -> str:
    """Success and failures for each latency."""
    kinds = ("timeout", "pedestrian_collision", "environment_collision")
    rows = [
        [label, *(f"{_successes(s['policies'][name])}, {_failures(s['policies'][name], *kinds)}" for s in scores)]
        for label, name, _ in _policies(scores[0])
    ]
    return _table(["policy", "sync", *(f"{latency} s" for latency in LATENCIES)], rows)


def reactivity_table(none: Scores, pause: Scores, reroute: Scores) -> str:
    """People who do not react, wait, or walk round."""
    head = [
        "policy", "success: none → pause → reroute", "contacts", "people delayed per episode, pause / reroute",
        "delay caused per episode (s), pause / reroute",
    ]  # fmt: skip
    rows = []
    for label, name, _ in _policies(none):
        each = [scores["policies"][name] for scores in (none, pause, reroute)]
        successes = " → ".join(str(one["outcomes"].get("success", 0)) for one in each)
        rows.append(
            [
                label,
                f"{successes} of {each[0]['episodes']}",
                " → ".join(_total(one, "pedestrian_collisions") for one in each),
                " / ".join(_mean(one, "people_delayed", 1) for one in each[1:]),
                " / ".join(_mean(one, "total_delay_caused", 1) for one in each[1:]),
            ]
        )
    return _table(head, rows)


def sidewalk_readme(unit: Scores, reactive: Scores, long: Scores) -> str:
    """One line per policy over the three suites, test split."""
    head = [
        "policy",
        "unit: success",
        "reactive: success",
        "reactive: contacts",
        "long: own route covered",
        "long: success",
    ]
    rows = [
        [
            label, _rate(one), _rate(reactive["policies"][name]),
            _mean(reactive["policies"][name], "pedestrian_contact"),
            _mean(long["policies"][name], "route_completion"), _successes(long["policies"][name]),
        ]
        for label, name, one in _policies(unit)
    ]  # fmt: skip
    return _table(head, rows)


def sidewalk_splits(unit: Scores, unit_dev: Scores, reactive: Scores, reactive_dev: Scores) -> str:
    """Success of the test split beside that of the development split."""
    head = ["policy", "unit, test", "unit, development", "reactive, test", "reactive, development"]
    rows = [
        [label, *(_rate(scores["policies"][name]) for scores in (unit, unit_dev, reactive, reactive_dev))]
        for label, name, _ in _policies(unit)
    ]
    return _table(head, rows)


def intersection_table(people: Scores, vehicles: Scores) -> str:
    """Suite intersection: among people only (Ped-Only), and among people and vehicles (Ped-Veh)."""
    head = [
        "policy", "Ped-Only: success", "collision / lane invasion / wrong exit / off the road / timeout",
        "Ped-Veh: success", "collision / lane invasion / wrong exit / off the road / timeout",
        "Ped-Only: deviation from waypoint (m)", "steps", "closest person (m)", "planning (µs)",
    ]  # fmt: skip

    def ends(one: Scores) -> str:
        kinds = ("pedestrian_collision", "vehicle_collision", "environment_collision")
        collisions = sum(one["outcomes"].get(kind, 0) for kind in kinds)
        return f"{collisions} / {_failures(one, 'lane_invasion', 'wrong_exit', 'off_route', 'timeout')}"

    rows = [
        [
            label, _rate(one), ends(one), _rate(vehicles["policies"][name]), ends(vehicles["policies"][name]),
            _mean(one, "waypoint_deviation"), _mean(one, "total_steps", 0), _mean(one, "closest_pedestrian_distance"),
            _mean(one, "planning_time_avg", 0, 1e6),
        ]
        for label, name, one in _policies(people)
    ]  # fmt: skip
    return _table(head, rows)


def catalogue_table(test: Path, dev: Path) -> str:
    """Successes of each policy in each scenario, test seeds; last the sums of both splits."""
    counts = _successes_by_scenario(test)
    scenarios = list(dict.fromkeys(scenario for scenario, _ in counts))
    rows = [[f"`{name}`", *(str(counts.get((name, policy), 0)) for policy in CATALOGUE)] for name in scenarios]
    for label, found in (("all", counts), ("all, development seeds", _successes_by_scenario(dev))):
        sums = [sum(n for (_, policy), n in found.items() if policy == each) for each in CATALOGUE]
        rows.append([f"{label} (of {5 * len(scenarios)})", *(str(total) for total in sums)])
    return _table(["scenario", *(f"`{policy}`" for policy in CATALOGUE)], rows)


def protocol_table(folder: Path, test: Scores, dev: Scores) -> str:
    """Suite protocol: successes of each kind of scenario at the test places, and the sum at the development places."""
    counts = Counter[tuple[str, str]]()
    for (scenario, policy), n in _successes_by_scenario(folder).items():
        counts[scenario.partition("-")[0], policy] += n
    kinds = list(dict.fromkeys(kind for kind, _ in counts))
    head = [
        "policy", "success", "development places", *(f"`{kind}`" for kind in kinds),
        "failures: disobeyed / person / wall / time", "closest person (m)", "time to goal (s)", "planning (µs)",
    ]  # fmt: skip
    rows = [
        [
            label, _rate(one), _rate(dev["policies"][name]), *(str(counts[kind, name]) for kind in kinds),
            _failures(one, "disobeyed", "pedestrian_collision", "environment_collision", "timeout"),
            _mean(one, "closest_pedestrian_distance"), _mean(one, "time_to_goal", 1),
            _mean(one, "planning_time_avg", 0, 1e6),
        ]
        for label, name, one in _policies(test)
    ]  # fmt: skip
    return _table(head, rows)


def _successes_by_scenario(folder: Path) -> dict[tuple[str, str], int]:
    table = pq.read_table(folder / "results.parquet", filters=[("metric", "=", "success")])
    counts: dict[tuple[str, str], int] = {}
    for row in table.select(["scenario", "policy", "outcome"]).to_pylist():
        key = row["scenario"], row["policy"]
        counts[key] = counts.get(key, 0) + (row["outcome"] == "success")
    return counts


def runs_table(out: Path, have: dict[str, Scores], before: str) -> str:
    """Commands, episodes, times and machine. Rows of runs that were not made again are those of the page ``before``."""
    file = out / "seconds.json"
    seconds: dict[str, float] = json.loads(file.read_text()) if file.is_file() else {}
    machine = describe_machine()
    lines = before.partition("<!-- begin runs -->")[2].splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line[:1] == "|"]
    rows = {row[0]: row for row in cells if row[0] in RUNS}
    for name, scores in have.items():
        episodes = sum(one["episodes"] for one in scores["policies"].values())
        took = f"{seconds[name]:.0f}" if name in seconds else "–"
        rows[name] = [name, f"`sidestep run {shlex.join(RUNS[name])}`", scores["source"], str(episodes), took]
    minutes = sum(float(row[-1]) for row in rows.values() if row[-1] != "–") / 60
    described = ", ".join(f"{key}: {value}" for key, value in machine.items() if isinstance(value, str | int))
    table = _table(["run", "command", "people", "episodes", "time (s)"], [rows[name] for name in RUNS if name in rows])
    return f"{table}\n\nTotal: {minutes:.0f} minutes with two workers. Computer: {described}."


if __name__ == "__main__":
    raise SystemExit(main())
