"""The table of extras holds: in an environment with exactly the named extras everything runs, and without them a
command stops at once and says what to install."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sidestep import registry
from sidestep._util.extras import extras, missing_packages
from sidestep.prediction.data.store import write_interactions
from sidestep.registry import extras_of
from tests.cli.conftest import SUITE
from tests.cli.test_predict_evaluate import walkers
from tests.extras.environment import make_environment
from tests.extras.pages import Shown, least_extras, mistake_in, shown_on
from tests.extras.table import COMMANDS, OPTIONS, PAGES, POLICIES, PREDICTORS, ROOT, TABLE, commands, known
from tests.policies.visual.nets import write_net

STUDY = """
name: corridor
title: Robots in a corridor
policies: [polite, blunt]
scenarios:
  - {name: frontal-f1, instruction: Walk to the other end.}
mode: robot
consent: I take part of my own free will.
"""

SCRIPT = Path(__file__).with_name("run_commands.py")
RECORD = "run/episodes/straight/alone__seed0.parquet"

WHERE = {
    "imitation": "intersection", "pid": "intersection", "pid_noise": "intersection", "comfort_zone": "intersection",
    "anticipatory": "street", "human_driver": "street", "follow_lane": "sidewalk-unit", "expert": "sidewalk-reactive",
    "ilqr": "protocol", "ilqr_bc": "protocol", "oracle": "socnav", "cadrl": "socnav", "mpc": "catalogue",
    "straight": "sidewalk-long", "orca": "core",
}  # fmt: skip
"""Policy → suite in which it is tried; the others drive in a small suite."""

CORE: dict[str, list[list[str]]] = {
    "list": [["list", kind, "--json"] for kind in ("suites", "policies", "robots", "metrics", "datasets", "logs")]
    + [["list", "predictors"], ["list", "visual-models"], ["list", "scenarios", "--suite", "core"]],
    "doctor": [["doctor"]],
    "validate": [["validate", "small.yaml"]],
    "run": [["run", "small.yaml", "--policy", "straight", "--policy", "orca", "--limit", "2", "--out", "run"]],
    "score": [["score", "run"]],
    "compare": [["compare", "run"]],
    "report": [["report", "run", "--out", "report.html"]],
    "replay": [["replay", RECORD, "--png", "top.png", "--time", "1"], ["replay", RECORD, "--html", "replay.html"]],
    "render": [["render", "core", "plaza", "--size", "64x48", "--out", "picture.png"]],
    "verify": [["verify", "run", "--sample", "1"]],
    "counterfactual": [["counterfactual", "run"]],
    "pack run": [["pack", "run", "run", "--out", "run.pack"]],
    "board build": [["board", "build", "run.pack", "--out", "board"]],
    "board seeds": [["board", "seeds", "--secret", "secret", "--suite", "core", "--count", "2"]],
    "data list": [["data", "list"]],
    "data info": [["data", "info", "people.csv", "--rate-hz", "10"]],
    "data convert": [["data", "convert", "people.csv", "people.parquet", "--rate-hz", "10"]],
    "data add": [["data", "add", "people.csv", "--name", "mine", "--rate-hz", "10", "--force"]],
    "import": [["import", "drive.csv", "--out", "imported", "--robot", "1", "--goal", "3,0"]],
    "predict info": [["predict", "info", "people.h5"]],
    "predict gaps": [["predict", "gaps", "people.h5"]],
    "predict evaluate": [["predict", "evaluate", "people.h5", "--predictor", "kalman", "--resamples", "50"]],
    "predict compare": [
        ["predict", "compare", "kalman", "constant_velocity", "--data", "people.h5", "--resamples", "50"],
    ],
    "predict toy": [["predict", "toy", "--draws", "2000"]],
    "study rehearse": [
        ["run", "protocol", "--policy", "straight", "--limit", "2", "--out", "protocol"],
        ["study", "rehearse", "protocol", "--out", "rehearsal", "--raters", "3"],
    ],
    "study analyse": [["study", "analyse", "rehearsal/ratings.csv", "--questionnaire", "protocol"]],
    "evaluate": [
        ["evaluate", "--scenes", "0", "--branch_list", "0", "--control_agent", "PID", "--eval_steps", "20",
         "--work_dir", "evaluation"],
    ],
    "bench": [["bench", "--suite", "core", "--only", "lidar/rays=720", "--quick"]],
}  # fmt: skip
"""Command → calls that work without any extra, in the order in which they need each other."""
WITH_EXTRA: dict[str, list[list[str]]] = {
    "video": [
        ["run", "small.yaml", "--policy", "straight", "--limit", "1", "--video", "1", "--out", "filmed"],
        ["replay", "filmed/episodes/straight/alone__seed0.parquet", "--video", "film.mp4", "--size", "64x48"],
    ],
    "export": [
        ["run", "small.yaml", "--policy", "straight", "--limit", "1", "--out", "exported"],
        ["replay", "exported/episodes/straight/alone__seed0.parquet", "--rrd", "film.rrd"],
        ["replay", "exported/episodes/straight/alone__seed0.parquet", "--mcap", "film.mcap"],
    ],
    "sign": [
        ["pack", "keygen", "my.key"],
        ["run", "small.yaml", "--policy", "straight", "--limit", "1", "--out", "signed"],
        ["pack", "run", "signed", "--out", "my.pack", "--sign", "my.key"],
    ],
    "web": [
        ["study", "new", "study.yaml", "--database", "sqlite:///study.db", "--password-file", "password"],
        ["study", "export", "corridor", "--database", "sqlite:///study.db", "--out", "answers"],
    ],
    "learn": [
        ["train", "protocol", "--runs", "1", "--epochs", "1", "--out", "protocol.onnx"],
        ["predict", "train", "split.h5", "--features", "motion", "--epochs", "1", "--samples", "64",
         "--out", "motion.onnx"],
        ["predict", "evaluate", "split.h5", "--predictor", "motion.onnx", "--resamples", "20"],
    ],
}  # fmt: skip
"""Extra → calls that work with exactly this extra."""
ELSEWHERE = {
    "serve": "tests/runs/remote/test_processes.py",
    "data get": "tests/cli/test_data.py",
    "demos intersection": "tests/learning/test_demonstrations.py",
    "demos info": "tests/learning/test_demonstrations.py",
    "demos convert": "tests/learning/test_lerobot.py",
    "predict dataset": "tests/cli/test_predict_data.py",
    "predict loop": "tests/prediction/data/test_loop.py",
}
"""Commands that wait for somebody, need a network or take long: where they are tested."""
LASTING = ("serve", "drive", "study serve", "data get", "demos intersection", "train", "bench", "evaluate", "predict")
"""Commands on pages that are only parsed, for the same reasons."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the commands read."""
    folder = tmp_path_factory.mktemp("extras")
    (folder / "small.yaml").write_text(SUITE, encoding="utf-8")
    rows = [f"{frame},{person},{0.1 * frame:.2f},{person}.0" for frame in range(60) for person in (1, 2)]
    (folder / "people.csv").write_text("frame,id,x,y\n" + "\n".join(rows) + "\n", encoding="utf-8")
    drive = [f"{0.1 * k:.1f},{i},{0.1 * k * i:.2f},{2 * i - 2}" for k in range(40) for i in (1, 2)]
    (folder / "drive.csv").write_text("time,id,x,y\n" + "\n".join(drive) + "\n", encoding="utf-8")
    write_interactions(walkers(), folder / "people.h5")
    split = replace(walkers(), split=np.array([0, 0, 0, 1, 2])[walkers().clip])
    write_interactions(split, folder / "split.h5")
    (folder / "study.yaml").write_text(STUDY, encoding="utf-8")
    picture = {"image": ((1, 3, 6, 8), "float32")}
    spec = {"file": "mine.onnx", "image": {"width": 8, "height": 6, "rate_hz": 4}, "output": {"kind": "velocities"}}
    (folder / "mine.yaml").write_text(json.dumps(spec), encoding="utf-8")
    if not missing_packages("learn"):
        write_net(folder / "mine.onnx", picture, {"velocity": np.array([[0.5, 0.0]])})
    (folder / "password").write_text("a long enough password\n", encoding="utf-8")
    return folder


class Environments:
    """Environments by their extras, each made once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.python = cache(self._make)

    def _make(self, *names: str) -> Path:
        for name in names:
            if missing := missing_packages(name):
                pytest.skip(f"{', '.join(missing)} not installed: pip install 'sidestep[{name}]'")
        try:
            return make_environment(self._folder / "-".join(("env", *names)), names)
        except OSError as error:
            pytest.skip(f"only where symbolic links can be made ({error}): switch developer mode on")

    def run(self, calls: list[list[str]], *names: str) -> list[dict[str, Any]]:
        """How each command line ends in the environment with exactly these extras."""
        env = {key: text for key, text in os.environ.items() if key not in ("PYTHONPATH", "SIDESTEP_DATA")}
        env |= {"COLUMNS": "200", "SIDESTEP_DATA_HOME": str(self._folder / "data")}
        command = [str(self.python(*names)), str(SCRIPT), "ended.json"]
        done = subprocess.run(
            command, input=json.dumps(calls), text=True, capture_output=True, cwd=self._folder, env=env, timeout=900
        )
        assert done.returncode == 0, done.stdout + done.stderr
        ended: list[dict[str, Any]] = json.loads((self._folder / "ended.json").read_text(encoding="utf-8"))
        return ended


@pytest.fixture(scope="module")
def environments(folder: Path) -> Environments:
    return Environments(folder)


def assert_all_work(ended: list[dict[str, Any]]) -> None:
    failed = [
        f"{' '.join(each['arguments'])}: {each['code']}\n{each['out']}{each['err']}" for each in ended if each["code"]
    ]
    assert not failed, "\n".join(failed)


def policy_call(name: str) -> list[str]:
    suite = WHERE.get(name, "small.yaml")
    settings = ["--set", "visual.spec=mine.yaml"] if name == "visual" else []
    return ["run", suite, "--policy", name, "--limit", "1", *settings, "--out", f"policies/{name}"]


def test_the_table_names_what_there_is() -> None:
    assert set(PAGES) == known()["pages"]
    for kind, table in TABLE.items():
        assert set(table) <= known()[kind], kind
    assert {extra for text in (*COMMANDS.values(), *OPTIONS.values()) for extra in text.split(",")} <= set(extras())


def test_declared_extras_are_those_of_the_table() -> None:
    assert {name: ",".join(extras_of(name)) for name in registry.POLICIES if extras_of(name)} == POLICIES
    declared = {name: getattr(registry.load("predictors", name), "extras", ()) for name in registry.PREDICTORS}
    assert {name: ",".join(each) for name, each in declared.items() if each} == PREDICTORS


def test_every_command_is_tried() -> None:
    assert sorted([*CORE, *COMMANDS, *ELSEWHERE]) == sorted(commands())
    for file in ELSEWHERE.values():
        assert (ROOT / file).is_file(), file


@pytest.mark.parametrize("page", PAGES)
def test_pages_name_their_extras(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    named = {extra for part in text.split("sidestep[")[1:] for extra in part.partition("]")[0].split(",")}
    needed = {extra for extra in PAGES[page].split(",") if extra}
    assert needed <= named, f"{page} names {named}"
    assert least_extras(page) <= needed
    if any(shown.complete for shown in shown_on(page)) and not needed:
        assert "no extra" in " ".join(text.lower().split()), f"{page} does not say that its commands need no extra"


@pytest.mark.parametrize("page", PAGES)
def test_commands_on_pages_are_those_of_the_program(page: str) -> None:
    assert [f"{shown.text}\n{mistake}" for shown in shown_on(page) if (mistake := mistake_in(shown))] == []


def test_a_wrong_command_on_a_page_is_found() -> None:
    wrong = ["run core", "run core --policy orca --limt 1", "report run --tabels out", "lsit suites", "data ad x"]
    assert all(mistake_in(Shown("a page", tuple(line.split()), True)) for line in wrong)
    assert all(mistake_in(Shown("a page", tuple(line.split()), False)) for line in wrong[1:])
    assert not mistake_in(Shown("a page", ("run", "core", "--policy", "orca"), True))


@pytest.mark.full
@pytest.mark.parametrize("page", PAGES)
def test_commands_on_pages_miss_no_extra(environments: Environments, page: str) -> None:
    """In an environment with exactly the extras of the page no command asks for another one. Runs are short, and files
    that a page only names are not there: this is about extras, not about results."""
    complete = [list(shown.words) for shown in shown_on(page) if shown.complete]
    calls = [words for words in complete if not " ".join(words).startswith(LASTING)]
    calls = [[*words, "--limit", "1"] if words[0] == "run" and "--limit" not in words else words for words in calls]
    ended = environments.run(calls, *(extra for extra in PAGES[page].split(",") if extra))
    missed = [each for each in ended if "pip install 'sidestep[" in each["err"] or "Traceback" in each["err"]]
    assert not missed


def test_commands_without_any_extra(environments: Environments) -> None:
    assert_all_work(environments.run([call for calls in CORE.values() for call in calls]))


@pytest.mark.parametrize("extra", WITH_EXTRA)
def test_commands_with_their_extra(environments: Environments, extra: str) -> None:
    assert_all_work(environments.run(WITH_EXTRA[extra], extra))


def test_policies_and_suites_without_any_extra(environments: Environments) -> None:
    names = [name for name in registry.POLICIES if name not in POLICIES]
    assert set(WHERE.values()) == set(registry.SUITES)
    assert_all_work(environments.run([policy_call(name) for name in names]))


def test_policies_with_their_extra(environments: Environments) -> None:
    assert_all_work(environments.run([policy_call(name) for name in POLICIES], "onnx"))


def missing_calls() -> dict[str, tuple[list[str], str]]:
    """What → a command line that needs an extra, and the extra."""
    calls = {name: (policy_call(name), extra) for name, extra in POLICIES.items()}
    data = ["people.h5", "--out", "network.onnx"]
    calls |= {
        "cvae": (["predict", "evaluate", "people.h5", "--predictor", "mine.onnx"], "onnx"),
        "study new": (["study", "new", "small.yaml", "--password-file", "password"], "web"),
        "study serve": (["study", "serve"], "web"),
        "study export": (["study", "export", "mine", "--out", "export"], "web"),
        "study list": (["study", "list"], "web"),
        "study add": (["study", "add", "mine"], "web"),
        "study delete": (["study", "delete", "mine", "1", "--yes"], "web"),
        "study close": (["study", "close", "mine"], "web"),
        "study reopen": (["study", "reopen", "mine"], "web"),
        "study password": (["study", "password", "mine"], "web"),
        "study backup": (["study", "backup", "copy.sqlite"], "web"),
        "drive intersection": (["drive", "intersection", "--no-open"], "web"),
        "train cadrl": (["train", "cadrl"], "learn"),
        "train intersection": (["train", "intersection", "people.h5"], "learn"),
        "train protocol": (["train", "protocol"], "learn"),
        "predict train": (["predict", "train", *data], "learn"),
        "predict ablate": (["predict", "ablate", "people.h5", "--out", "ablation"], "learn"),
        "pack keygen": (["pack", "keygen", "key"], "sign"),
        "run --video": (["run", "small.yaml", "--policy", "straight", "--video", "1"], "video"),
        "run --ray": (["run", "small.yaml", "--policy", "straight", "--ray", "local", "--out", "ray"], "ray"),
        "run --policy sb3:": (["run", "small.yaml", "--policy", "sb3:mine.zip"], "learn"),
        "replay --video mp4": (["replay", RECORD, "--video", "film.mp4"], "video"),
        "replay --rrd": (["replay", RECORD, "--rrd", "film.rrd"], "export"),
        "replay --mcap": (["replay", RECORD, "--mcap", "film.mcap"], "export"),
        "pack run --sign": (["pack", "run", "run", "--out", "signed.pack", "--sign", "key"], "sign"),
        "import rosbag": (["import", "drive.mcap", "--out", "bag"], "export"),
        "evaluate NN": (
            ["evaluate", "--scenes", "0", "--branch_list", "0", "--control_agent", "NN", "--work_dir", "nn"],
            "onnx",
        ),
        "evaluate TorchScript": (
            ["evaluate", "--scenes", "0", "--branch_list", "0", "--model_path", "mine.pt", "--work_dir", "script"],
            "learn",
        ),
        "demos convert lerobot": (["demos", "convert", "people.h5", "lerobot"], "video"),
    }
    return calls


def test_a_missing_extra_is_named(environments: Environments, folder: Path) -> None:
    calls = missing_calls()
    assert set(calls) == {*POLICIES, *PREDICTORS, *COMMANDS, *OPTIONS}
    (folder / "drive.mcap").write_bytes(b"\x89MCAP0\r\n" + bytes(64))
    (folder / "key").write_bytes(b"no key")
    (folder / "mine.pt").write_bytes(b"PK\x03\x04")
    run = ["run", "small.yaml", "--policy", "straight", "--limit", "1", "--out", "run"]
    ended = environments.run([run, *(call for call, _ in calls.values())])[1:]
    wrong = []
    for (what, (_, extra)), each in zip(calls.items(), ended, strict=True):
        if each["code"] != 2 or f"sidestep[{extra}]" not in each["err"] or "Traceback" in each["err"]:
            wrong.append(f"{what}: {each['code']}, {each['err'][-300:]}")
    assert not wrong, "\n".join(wrong)
    [served] = [each for each in ended if each["arguments"][:2] == ["study", "serve"]]
    assert "study server" in served["err"]


def test_a_policy_without_its_extra_is_named_and_can_be_left_out(environments: Environments) -> None:
    both = ["run", "small.yaml", "--policy", "ilqr_bc", "--policy", "straight", "--limit", "1", "--out", "skipped"]
    refused, skipped, none, listed, doctor = environments.run(
        [
            both,
            [*both, "--skip-missing", "--json"],
            ["run", "small.yaml", "--policy", "ilqr_bc", "--skip-missing"],
            ["list", "policies"],
            ["doctor"],
        ]
    )
    assert refused["code"] == 2
    assert "policy 'ilqr_bc' needs" in refused["err"]
    assert "--skip-missing" in refused["err"]
    assert skipped["code"] == 0
    assert list(json.loads(skipped["out"])["policies"]) == ["straight"]
    assert "left out: policy 'ilqr_bc'" in skipped["err"]
    assert none["code"] == 2
    assert "needs sidestep[onnx]" in " ".join(listed["out"].split())
    assert "policy ilqr_bc" in doctor["out"]
    [video] = [line for line in doctor["out"].splitlines() if " video " in line]
    assert not video.startswith("✓")
