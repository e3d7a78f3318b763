"""What a resumed run finds in its folder: other libraries, damaged and foreign files, a table that disagrees."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sidestep.errors import BadInput
from sidestep.runs.finished import FinishedRun
from sidestep.runs.folder import RESULTS_FILE, episode_path, load_results, load_run
from sidestep.runs.runner import RunResult, run_benchmark
from sidestep.runs.score import score_run
from tests.runs.fake import fake_episode, fake_plan

pytestmark = pytest.mark.usefixtures("in_process")


def run(plan: Any, out: Path, **options: Any) -> RunResult:
    return run_benchmark(plan, out, 1, run_episode=fake_episode, **options)


def change_versions(out: Path, **versions: str) -> None:
    document = json.loads((out / "run.json").read_text())
    document["machine"]["versions"] |= versions
    (out / "run.json").write_text(json.dumps(document))


def test_another_version_of_what_computes_is_refused(tmp_path: Path) -> None:
    plan = fake_plan(tmp_path, "Steady")
    run(plan, tmp_path / "run")
    change_versions(tmp_path / "run", numpy="1.0.0", shapely="1.2.3")
    with pytest.raises(BadInput) as refused:
        run(plan, tmp_path / "run")
    told = str(refused.value)
    assert "library numpy: 1.0.0 there, " in told
    assert "`pip install shapely==1.2.3`" in told
    assert f"--replace {plan.policies[0].name}" in told
    again = run(plan, tmp_path / "run", replaced=[plan.policies[0].name])
    assert len(again.episodes) == 6
    assert run(plan, tmp_path / "run").notes == (), "the folder is now of these versions"


def test_another_version_of_python_is_noted(tmp_path: Path) -> None:
    plan = fake_plan(tmp_path, "Steady")
    run(plan, tmp_path / "run")
    assert load_run(tmp_path / "run").resumed_on == ()
    change_versions(tmp_path / "run", python="3.0.0", pyarrow="1.0")
    for _ in range(2):
        run(plan, tmp_path / "run")
    [later] = load_run(tmp_path / "run").resumed_on
    assert later["versions"]["python"] == ".".join(map(str, sys.version_info[:3]))
    assert load_run(tmp_path / "run").machine["versions"]["python"] == "3.0.0"


def test_a_folder_of_a_version_that_noted_no_libraries_is_resumed(tmp_path: Path) -> None:
    plan = fake_plan(tmp_path, "Steady")
    run(plan, tmp_path / "run")
    document = json.loads((tmp_path / "run/run.json").read_text())
    del document["resumed_on"]
    document["machine"] = {}
    (tmp_path / "run/run.json").write_text(json.dumps(document))
    assert len(run(plan, tmp_path / "run").episodes) == 6


def test_records_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    """One cut short, one of another seed, one that is no record; all are run again."""
    plan = fake_plan(tmp_path, "Steady")
    first = run(plan, tmp_path / "run")
    assert first.notes == ()
    policy = plan.policies[0].name
    short, other, text = (episode_path(tmp_path / "run", policy, f"s{k}", 0) for k in range(3))
    short.write_bytes(short.read_bytes()[:-50])
    other.write_bytes(episode_path(tmp_path / "run", policy, "s1", 1).read_bytes())
    text.write_text("no record")
    again = run(plan, tmp_path / "run")
    assert [each.digest for each in again.episodes] == [each.digest for each in first.episodes]
    assert len(again.notes) == 3
    assert f"{short}: truncated" in again.notes[0]
    assert again.notes[1] == f"{other}: of another seed (run again)"
    assert f"{text}: truncated" in again.notes[2]
    assert run(plan, tmp_path / "run").notes == ()


def test_foreign_files_are_named_and_left_alone(tmp_path: Path) -> None:
    plan = fake_plan(tmp_path, "Steady", scenarios=1, seeds=1)
    run(plan, tmp_path / "run")
    record = episode_path(tmp_path / "run", plan.policies[0].name, "s0", 0)
    log, notes, copy = record.with_suffix(".log"), record.with_name("notes.txt"), record.with_name("copy.parquet")
    log.write_text("output of the policy")
    notes.write_text("mine")
    shutil.copy(record, copy)
    again = run(plan, tmp_path / "run")
    assert [note.partition(": ")[0] for note in again.notes] == [str(path) for path in (copy, notes)]
    assert all("does not belong" in note for note in again.notes)
    assert notes.read_text() == "mine"
    scored = score_run(tmp_path / "run")
    assert len(scored.episodes) == 1
    assert [note.partition(": ")[0] for note in scored.unreadable] == [str(copy)]
    assert "not counted" in scored.unreadable[0]
    assert len(FinishedRun(tmp_path / "run").episodes) == 1


def test_a_table_that_disagrees_with_the_records_is_refused(tmp_path: Path) -> None:
    """Until it is written anew; a folder that was shared without its records is read as it is."""
    plan = fake_plan(tmp_path, "Steady")
    run(plan, tmp_path / "run")
    old = (tmp_path / "run" / RESULTS_FILE).read_bytes()
    path = episode_path(tmp_path / "run", plan.policies[0].name, "s1", 1)
    record = path.read_bytes()
    path.unlink()
    with pytest.raises(BadInput, match=r"results\.parquet: 1 .* no record.* s1__seed1\.parquet"):
        _ = FinishedRun(tmp_path / "run").table
    assert len(score_run(tmp_path / "run").episodes) == len(FinishedRun(tmp_path / "run").episodes) == 5
    path.write_bytes(record)
    with pytest.raises(BadInput, match="1 records are not"):
        _ = FinishedRun(tmp_path / "run").table
    shutil.rmtree(tmp_path / "run/episodes")
    (tmp_path / "run" / RESULTS_FILE).write_bytes(old)
    assert len(FinishedRun(tmp_path / "run").episodes) == 6


LIMITED = """
import resource, sys
from pathlib import Path
from sidestep.errors import BadInput
from tests.runs.fake import fake_episode, fake_plan
from sidestep.runs.runner import run_benchmark

folder = Path(sys.argv[1])
plan = fake_plan(folder, "Steady")
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
try:
    run_benchmark(plan, folder / "run", debug=True, run_episode=fake_episode)
except BadInput as error:
    print(error)
    sys.exit(2)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="only on POSIX systems: limits of processes")
@pytest.mark.parametrize(("size", "file"), [(40, "running.json"), (2000, "run.json"), (8800, "s0__seed0.parquet")])
def test_files_that_the_system_cuts_short(tmp_path: Path, size: int, file: str) -> None:
    """A real write that ends in the middle; nothing half-written stays, and the run goes on without the limit."""
    plan = fake_plan(tmp_path, "Steady")
    command = [sys.executable, "-c", LIMITED, str(tmp_path), str(size)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert f"{file}: cannot be written: File too large" in done.stdout
    assert not [path for path in (tmp_path / "run").rglob("*") if path.name.endswith(".tmp")]
    assert len(run(plan, tmp_path / "run").episodes) == 6
    assert len(load_results(tmp_path / "run" / RESULTS_FILE)[0]) == 6


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="only as an ordinary user: the superuser writes everywhere"
)
def test_a_folder_that_became_read_only(tmp_path: Path) -> None:
    plan = fake_plan(tmp_path, "Steady")
    run(plan, tmp_path / "run")
    (tmp_path / "run").chmod(0o500)
    try:
        with pytest.raises(BadInput, match="Permission denied"):
            run(plan, tmp_path / "run")
    finally:
        (tmp_path / "run").chmod(0o700)
    assert len(run(plan, tmp_path / "run").episodes) == 6
