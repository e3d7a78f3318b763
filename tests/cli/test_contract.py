"""What other programs rely on: names, keys of JSON documents and exit codes. A key may be added; none may go."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from typer.testing import Result

from benchmarks.figures import choose_cases
from sidestep import registry
from sidestep.cli.run import parse_settings
from sidestep.errors import BadInput
from sidestep.prediction.data.store import write_interactions
from sidestep.runs.plan import make_plan, split_label
from sidestep.suites.files import load_suite
from tests.cli.conftest import document
from tests.needs import reason_missing
from tests.prediction.data.test_gaps import crossing

Call = Callable[..., Result]

POLICIES = [
    "straight",
    "stop",
    "social_force",
    "orca",
    "sampling",
    "cadrl",
    "mpc",
    "ilqr",
    "mpc_bc",
    "oracle",
    "expert",
    "follow_lane",
    "astar_pid",
    "pid_noise",
    "comfort_zone",
    "cil",
]
SUITES = ["socnav", "protocol", "sidewalk-unit", "sidewalk-reactive", "sidewalk-long", "catalogue", "intersection"]
COMMANDS = {
    "": "list run score compare report replay render verify data serve validate study predict demos train bench doctor",
    "data": "list get add info convert",
    "study": "new serve export analyse list add delete close reopen password backup",
    "predict": "gaps dataset train evaluate compare ablate toy",
}


@pytest.mark.parametrize("group", COMMANDS)
def test_commands(call: Call, group: str) -> None:
    for command in COMMANDS[group].split():
        assert call(*filter(None, (group, command)), "--help").exit_code == 0, command


def test_policies_and_suites_are_listed_under_their_names(call: Call) -> None:
    rows = {row["name"]: row for row in document(call("list", "policies", "--json"))["policies"]}
    assert set(POLICIES) <= set(rows)
    assert rows["cil"]["summary"] == "another name of imitation"
    assert rows["cil"]["needs"] == rows["imitation"]["needs"]
    assert set(SUITES) <= set(registry.names("suites"))


@pytest.mark.parametrize(("other", "name"), registry.OTHER_NAMES.items())
def test_another_name_is_the_same_policy(other: str, name: str) -> None:
    assert registry.load("policies", other) is registry.load("policies", name)
    assert split_label(other) == (name, name)
    assert split_label(f"mine={other}") == ("mine", name)
    assert not registry.is_guest(other)
    assert parse_settings([f"{other}.gain=2"], [other]) == {name: {"gain": 2}}


def test_both_names_are_one_policy_of_a_run() -> None:
    plan = make_plan(load_suite("core"), ["mpc_bc", "ilqr_bc", "straight"], settings={"mpc_bc": {}}, limit=1)
    assert [policy.name for policy in plan.policies] == ["ilqr_bc", "straight"]
    with pytest.raises(BadInput, match="name of a bundled policy"):
        make_plan(load_suite("core"), ["cil=straight"], limit=1)


def test_names_near_another_name_are_suggested() -> None:
    with pytest.raises(BadInput, match="did you mean 'astar_pid'"):
        registry.load("policies", "astar_pit")


def test_bench_ids() -> None:
    ids = {case.id for suite in ("core", "render", "run") for case in choose_cases(suite)}
    wanted = {f"orca/n={n}/threads={threads}" for n in (10, 50, 200, 1000, 5000) for threads in (1, 2)}
    wanted |= {f"{kind}/people={people}" for kind in ("env", "batch256") for people in (5, 10, 20, 50)}
    sizes = ("96x96", "256x256", "512x288", "640x480", "1500x650")
    wanted |= {f"render/{size}/people=50" for size in sizes}
    wanted |= {
        "social_force_moussaid/n=50/threads=1", "social_force_helbing/n=200/threads=1", "lidar/rays=720", "start/warm",
        "start/cold", "memory/batch256/people=50", "render_batch10/96x96/people=50", "run/overhead", "run/workers=2",
    }  # fmt: skip
    assert wanted <= ids


def keys(found: dict[str, Any], wanted: str) -> None:
    assert set(wanted.split()) <= set(found), set(wanted.split()) - set(found)


def test_run_verify_validate_and_results(suite: str, call: Call) -> None:
    found = document(call("run", suite, "--policy", "straight", "--limit", 1, "--out", "r", "--json"))
    keys(found, "run suite source dialect policies")
    keys(found["policies"]["straight"], "episodes outcomes metrics")
    keys(found["policies"]["straight"]["metrics"]["success"], "n mean sd low high unit direction")
    columns = pq.read_schema("r/results.parquet").names  # type: ignore[no-untyped-call]
    keys(
        dict.fromkeys(columns), "suite scenario policy seed outcome digest metric value valid reason unit"
    )  # fmt: skip
    assert document(call("verify", "r", "--json")) == {"checked": 1, "equal": 1, "first_difference": None}
    Path("bad.yaml").write_text("name: bad\nrobots: [{start: [0, 0, 0], goal: [3, 0]}]\nscene: nowhere.yaml\n")
    checked = call("validate", "bad.yaml", "--json")
    assert checked.exit_code == 2
    found = document(checked)
    keys(found, "file scenarios problems")
    keys(found["problems"][0], "scenario where what remedy")


def test_data_info(call: Call, tmp_path: Path) -> None:
    rows = "".join(f"{k},{person},{0.5 * k},{person}\n" for k in range(4) for person in (1, 2))
    (tmp_path / "walk.csv").write_text("frame,id,x,y\n" + rows)
    found = document(call("data", "info", tmp_path / "walk.csv", "--rate-hz", 2.5, "--json"))["info"]
    keys(found, "people duration_s rate_hz mean_speed_mps mean_density groups format source licence warnings")
    assert found["people"] == 2


@pytest.fixture(scope="module")
def interactions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tests.cli.test_predict_evaluate import walkers

    path = tmp_path_factory.mktemp("data") / "data.h5"
    write_interactions(walkers(), path)
    return path


def test_predict_evaluate(call: Call, interactions: Path) -> None:
    asked = ("--predictor", "kalman", "--data", interactions, "--every", 10, "--resamples", 50, "--json")
    found = document(call("predict", "evaluate", *asked))
    keys(found, "predictor data n horizons")
    assert (found["predictor"], found["data"]) == ("kalman", str(interactions))
    assert list(found["horizons"]) == ["1", "2", "3", "4"]
    for place, (rate, each) in enumerate(
        zip(("0.025", "0.05", "0.1", "0.15"), found["horizons"].values(), strict=True)
    ):
        keys(each, "irs nll ade low high")
        assert list(each["irs"]) == ["0.025", "0.05", "0.1", "0.15"]
        assert each["irs"][rate] == pytest.approx(found["metrics"]["irs"]["value"][0][place])
        assert each["low"] <= each["irs"][rate] <= each["high"]
        assert each["nll"] == found["metrics"]["nll"]["value"][0][place]
    twice = call("predict", "evaluate", interactions, *asked)
    assert twice.exit_code == 2
    assert call("predict", "evaluate", "--predictor", "kalman").exit_code == 2


def test_predict_compare(call: Call, interactions: Path) -> None:
    rest = ("--data", interactions, "--every", 10, "--resamples", 50)
    pairs = document(call("predict", "compare", "kalman", "cv=constant_velocity", *rest, "--json"))["pairs"]
    assert len(pairs) == 3 * 4
    keys(pairs[0], "a b metric horizon difference low high better")
    assert {(pair["a"], pair["b"]) for pair in pairs} == {("kalman", "cv")}
    lower = {"nll", "ade"}
    for pair in pairs:
        if pair["better"] is not None:
            a_is_better = (pair["difference"] < 0) == (pair["metric"] in lower)
            assert pair["better"] == ("a" if a_is_better else "b")
        if pair["low"] is not None and pair["low"] <= 0 <= pair["high"]:
            assert pair["better"] is None
    one = [
        document(call("predict", "evaluate", "--predictor", name, *rest, "--json"))
        for name in ("kalman", "constant_velocity")
    ]
    values = [each["horizons"]["2"]["ade"] for each in one]
    pair = next(pair for pair in pairs if (pair["metric"], pair["horizon"]) == ("ade", 2.0))
    assert pair["difference"] == pytest.approx(values[0] - values[1])
    shown = call("predict", "compare", "kalman", "constant_velocity", *rest)
    assert "kalman" in shown.stdout
    assert "Only 5 clips were resampled" in shown.stderr
    assert call("predict", "compare", "kalman", *rest).exit_code == 2


def test_predict_gaps(call: Call, tmp_path: Path) -> None:
    write_interactions(crossing(), tmp_path / "one.h5")
    found = document(call("predict", "gaps", tmp_path / "one.h5", "--json"))
    assert found["gaps"] == {"n": 1, **dict.fromkeys(("p5", "p25", "p50", "p75"), pytest.approx(1.1)), "below_3s": 1.0}
    assert (found["data"], found["source"]) == (str(tmp_path / "one.h5"), "generated")


def test_predict_toy(call: Call) -> None:
    models = document(call("predict", "toy", "--draws", 400, "--json"))["models"]
    assert set(models) == {"truth", "unimodal", "wrong_on_sidewalk", "wrong_on_road"}
    assert all(set(each) == {"nll", "ade", "irs"} for each in models.values())
    assert models["unimodal"]["ade"] < models["truth"]["ade"]
    assert models["wrong_on_road"]["irs"] < models["wrong_on_sidewalk"]["irs"]


def test_study_analyse_of_a_file(call: Call, tmp_path: Path) -> None:
    lines = ["participant,policy,scenario,location,set,run,question,rating"]
    for person in range(4):
        for policy in ("mpc", "orca"):
            ratings = [(person + place) % 3 + (2 if policy == "mpc" else 1) for place in range(4)]
            lines += [f"p{person},{policy},blind_corner,b1,1,1,q{18 + k},{rating}" for k, rating in enumerate(ratings)]
    (tmp_path / "r.csv").write_text("\n".join(lines))
    found = document(call("study", "analyse", tmp_path / "r.csv", "--json"))
    keys(found, "scenarios policies participants sets reliability mixed_model")
    assert set(found["participants"]) == {"p0", "p1", "p2", "p3"}
    assert set(found["sets"]) == {"1"}
    for part in ("scenarios", "policies", "participants", "sets"):
        for each in found[part].values():
            keys(each, "questions savg savg_raw sd")
            keys(each["questions"]["q18"], "mean sd n cannot_tell")
    keys(found["reliability"], "icc alpha_krippendorff alpha_cronbach")
    assert found["policies"]["mpc"]["savg_raw"] == pytest.approx(found["policies"]["orca"]["savg_raw"] + 1)
    assert list(tmp_path.iterdir()) == [tmp_path / "r.csv"]
    shown = call("study", "analyse", tmp_path / "r.csv", "--out", tmp_path / "out")
    assert "blind_corner" in shown.stdout
    assert "Mixed model" in (tmp_path / "out" / "report.html").read_text()
    assert json.loads((tmp_path / "out" / "analysis.json").read_text()) == found


def test_study_analyse_tells_what_is_wrong(call: Call, tmp_path: Path) -> None:
    head = "participant,policy,scenario,question,rating\n"
    (tmp_path / "r.csv").write_text(head + "A,mpc,frontal,q1,4\nA,mpc,frontal,q2,7\n")
    wrong = call("study", "analyse", tmp_path / "r.csv")
    assert wrong.exit_code == 2
    assert "row 3: item q2" in wrong.stderr
    (tmp_path / "r.csv").write_text(head + "A,mpc,kitchen,polite,4\n")
    assert "no question is reversed" in call("study", "analyse", tmp_path / "r.csv").stderr
    (tmp_path / "r.csv").write_text(head + "A,mpc,frontal,q1,4\n")
    assert "no rating" in call("study", "analyse", tmp_path / "r.csv").stderr
    assert call("study", "analyse", "corridor", "--questionnaire", "rosas").exit_code == 2


def test_onnx_with_its_interface_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The network lies beside the file that names it. Another network is another version."""
    pytest.importorskip("onnxruntime", reason=reason_missing("onnxruntime"))
    pytest.importorskip("onnx", reason=reason_missing("onnx"))
    from tests.policies.visual.nets import write_net

    monkeypatch.chdir(tmp_path)
    (tmp_path / "nets").mkdir()
    spec = {
        "file": "mine.onnx",
        "image": {"width": 8, "height": 6, "rate_hz": 4},
        "output": {"kind": "velocities"},
    }
    (tmp_path / "nets/mine.yaml").write_text(json.dumps(spec))
    picture = {"image": ((1, 3, 6, 8), "float32")}
    write_net(tmp_path / "nets/mine.onnx", picture, {"velocity": np.array([[0.5, 0.0]])})
    reference = "onnx:nets/mine.yaml"
    assert registry.make_policy(reference).settings["interface"] == "mine"
    plans = [make_plan(load_suite("core"), [reference], limit=1)]
    assert plans[0].policies[0].name == reference
    write_net(tmp_path / "nets/mine.onnx", picture, {"velocity": np.array([[0.25, 0.0]])})
    plans.append(make_plan(load_suite("core"), [f"mine={reference}"], limit=1))
    assert plans[1].policies[0].made_from == reference
    assert plans[0].policies[0].version != plans[1].policies[0].version
    with pytest.raises(BadInput, match=r"none\.yaml"):
        registry.make_policy("onnx:none.yaml")
