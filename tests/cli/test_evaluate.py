"""``sidestep evaluate``: the published flags, tables, breakpoints, and states of a network of one's own; and what
``sidestep demos`` says."""

from __future__ import annotations

import csv
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import Result

from sidestep.cli.evaluate import make_parser
from sidestep.errors import BadInput
from sidestep.learning.demonstrations import read_demonstrations
from tests.cli.conftest import document

Call = Callable[..., Result]
BASE = ("evaluate", "--scenes", 3, "--branch_list", 1, "--eval_steps", 4)
"""One route, four steps."""


def test_defaults_and_names_of_the_published_flags() -> None:
    given = make_parser().parse_args(["--scenes", "0", "my.xodr", "--branch_list", "-1", "0", "1"])
    assert given.scenes == [0, "my.xodr"]
    assert given.branch_list == [-1, 0, 1]
    assert (given.control_agent, given.iters, given.eval_steps, given.eval_save) == ("NN", 1, 1000, -1)
    assert (given.breakpoint, given.model_path) == (None, None)
    flags = (
        "--scenes 0 1 --control_agent NN --model_path path --eval_save 2 --branch_list -1 0 --random_weather --ites 5"
    )
    more = "--port 2000 --gpu_id 0 --eval_render --store_success_only --new_weather"
    example = make_parser().parse_args(shlex.split(f"{flags} {more}"))
    assert (example.iters, example.random_weather, example.new_weather) == (5, True, True)


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An evaluation of a PID driver with states."""
    from typer.testing import CliRunner

    from sidestep.cli import app

    folder = tmp_path_factory.mktemp("evaluated") / "e"
    flags = ("--control_agent", "PID", "--work_dir", folder, "--ites", 2, "--eval_save", 2, "--new_weather")
    result = CliRunner().invoke(app, [str(each) for each in (*BASE, *flags)])
    assert result.exit_code == 0, result.output
    return folder


def test_tables_have_the_published_keys(evaluated: Path) -> None:
    with (evaluated / "evaluation.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 1
    row = rows[0]
    assert {"TooFar", "TooMuchAngle", "vertical_dist", "time_out", "tot_step", "wrong_direction"} <= set(row)
    assert (row["scene"], row["pose"], row["branch"], row["episodes"]) == ("3", "0", "1", "2")
    assert (row["time_out"], row["tot_step"], row["success"], row["off_route"]) == ("1", "4", "0", "0")
    lines = (evaluated / "evaluation.txt").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 2
    assert all("weather=ClearNoon" in line and "vertical_dist=" in line for line in lines)  # --new_weather alone


def test_saved_states_are_the_published_ones(evaluated: Path) -> None:
    with read_demonstrations(evaluated / "states.h5") as states:
        assert states.inputs == 2
        assert states.weathers == ("ClearNoon",)
        assert [each.weather for each in states.episodes] == [0, 0]
        assert len(states) == 6  # steps 0 and 2, and the last one, of two episodes
        assert states[0].action.tolist() == pytest.approx([states[0].action[0], 1.0, 0.0])


def test_an_evaluation_is_continued_by_its_breakpoint(evaluated: Path, tmp_path: Path, call: Call) -> None:
    folder = tmp_path / "again"
    shutil.copytree(evaluated, folder)
    assert (folder / "breakpoint.txt").read_text(encoding="utf-8") == "1 0 0 1 1"
    missing = next((folder / "episodes").rglob("*.parquet"))
    missing.unlink()
    flags = ("--control_agent", "PID", "--ites", 2)
    refused = call(*BASE, *flags, "--work_dir", folder)
    assert refused.exit_code == 2
    assert f"--breakpoint {folder / 'breakpoint.txt'}" in refused.output.replace("\n", "")
    result = call(*BASE, *flags, "--new_weather", "--breakpoint", folder / "breakpoint.txt", "--json")
    assert result.exit_code == 0, result.output
    found = document(result)
    assert found["episodes"] == 2
    assert found["work_dir"] == str(folder)
    assert missing.is_file()


def test_a_breakpoint_of_the_published_program(tmp_path: Path, call: Call) -> None:
    """Episode 1 of the only route: one of two is left."""
    file = tmp_path / "theirs.txt"
    file.write_text("1 0 0 1 7")
    flags = ("--control_agent", "PID", "--ites", 2, "--work_dir", tmp_path / "e")
    result = call(*BASE, *flags, "--breakpoint", file, "--json")
    assert result.exit_code == 0, result.output
    assert document(result)["episodes"] == 1


def test_breakpoints_that_are_none(tmp_path: Path, call: Call) -> None:
    (tmp_path / "words.txt").write_text("begin again")
    for file, message in (("words.txt", "five whole numbers"), ("none.txt", "no such file")):
        result = call(*BASE, "--control_agent", "PID", "--work_dir", tmp_path / "e", "--breakpoint", tmp_path / file)
        assert result.exit_code == 2
        assert message in " ".join(result.output.split())


def test_ones_own_intersection(tmp_path: Path, call: Call) -> None:
    (tmp_path / "tee.yaml").write_text(
        "name: tee\ncentre: [0, 0]\narms:\n  - {name: east, heading_deg: 0}\n  - {name: west, heading_deg: 180}\n"
    )
    result = call(
        "evaluate", "--scenes", tmp_path / "tee.yaml", "--branch_list", 0, "--eval_steps", 4, "--control_agent", "PID",
        "--work_dir", tmp_path / "e", "--json",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert document(result)["episodes"] == 2
    assert document(result)["means"]["tot_step"] == 4


def script(path: Path, steer: float, arguments: str = "image, measurements, command") -> Path:
    """A TorchScript network that always steers the same."""
    torch = pytest.importorskip("torch", reason="pip install 'sidestep[learn]'")
    typed = ", ".join(f"{name}: torch.Tensor" for name in arguments.split(", "))
    source = path.with_suffix(".py")
    source.write_text(
        "import torch\n\n\nclass Net(torch.nn.Module):\n"
        f"    def forward(self, {typed}):\n"
        f"        row = torch.tensor([{steer}, 0.75, 0.0])\n"
        f"        return row[None].repeat({arguments.split(', ')[0]}.shape[0], 1)\n"
    )
    space: dict[str, Any] = {}
    import importlib.util

    spec = importlib.util.spec_from_file_location(path.stem, source)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    space["net"] = torch.jit.script(module.Net())
    torch.jit.save(space["net"], str(path))
    return path


def test_states_of_a_torchscript_network_of_ones_own(tmp_path: Path, call: Call) -> None:
    """Its actions are saved, not those of the bundled network; the file's risk is told."""
    model = script(tmp_path / "mine.pt", 0.125)
    result = call(*BASE, "--model_path", model, "--work_dir", tmp_path / "e", "--eval_save", 1)
    assert result.exit_code == 0, result.output
    assert "can hold code" in result.output
    with read_demonstrations(tmp_path / "e/states.h5") as states:
        actions = np.array([frame.action for frame in states.rows(1)])
    assert actions == pytest.approx(np.tile([0.125, 0.75, 0.0], (4, 1)))


def test_networks_that_cannot_be_run(tmp_path: Path, call: Call) -> None:
    from sidestep.policies.driving.imitation import ImitationDriver

    model = script(tmp_path / "mine.pt", 0.0)
    with pytest.raises(BadInput, match=r"set imitation\.format=torchscript"):
        ImitationDriver(file=str(model))
    other = script(tmp_path / "other.pt", 0.0, "picture, speed")
    with pytest.raises(BadInput, match=r"its forward takes \(picture, speed\)"):
        ImitationDriver(file=str(other), format="torchscript")
    (tmp_path / "weights.pt").write_bytes(b"\x80\x02}q\x00.")
    with pytest.raises(BadInput, match="not a TorchScript archive"):
        ImitationDriver(file=str(tmp_path / "weights.pt"), format="torchscript")
    result = call(*BASE, "--control_agent", "PID", "--model_path", model, "--work_dir", tmp_path / "e")
    assert result.exit_code == 2
    assert "pid takes none" in result.output


def test_demonstrations_of_some_scenes_and_what_they_hold(tmp_path: Path, call: Call) -> None:
    file = tmp_path / "d.h5"
    made = call("demos", "intersection", "--out", file, "--scene", 3, "--limit", 1, "--people", "none", "--every", 40,
                "--driver", "pid", "--json")  # fmt: skip
    assert made.exit_code == 0, made.output
    assert document(made)["episodes"] == 1
    shown = call("demos", "info", file)
    assert shown.exit_code == 0, shown.output
    assert "episodes: 1" in shown.output
    assert "weathers: ClearNoon, CloudyNoon" in shown.output
    found = document(call("demos", "info", file, "--json"))
    assert (found["episodes"], found["inputs"]) == (1, 2)
    assert list(found["by_scene"]) == ["3"]


@pytest.mark.parametrize(
    ("options", "words"), [(("--scene", 9), "unknown scene '9'"), (("--driver", "imitation"), "sidestep[onnx]")]
)
def test_what_cannot_be_driven_leaves_no_file(
    tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch, options: tuple[Any, ...], words: str
) -> None:
    """The right command would be refused because of it."""
    monkeypatch.setattr("sidestep._util.extras.is_installed", lambda name: name != "onnxruntime")
    refused = call("demos", "intersection", "--out", tmp_path / "e.h5", *options)
    assert refused.exit_code == 2
    assert words in " ".join(refused.stderr.split())
    assert not (tmp_path / "e.h5").exists()
