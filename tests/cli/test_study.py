"""``sidestep study``: from a file to the report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from sidestep.cli import app
from tests.needs import reason_missing

pytest.importorskip("fastapi", reason=reason_missing("fastapi"))
pytest.importorskip("sqlalchemy", reason=reason_missing("sqlalchemy"))

from sidestep.studies.database import open_database
from sidestep.studies.store import Store
from tests.studies.conftest import PASSWORD, TEXT

POLICY = """
from sidestep.types import Velocity


class Crawl:
    needs = frozenset({"goal"})

    def reset(self, task):
        pass

    def act(self, observation):
        return Velocity(0.1, 0.0)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "password").write_text(f"{PASSWORD}\n")
    (tmp_path / "study.yaml").write_text(TEXT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["study", *arguments])


def new(file: str = "study.yaml", *options: str) -> Result:
    return call("new", file, "--password-file", "password", *options)


def test_a_study_from_its_file_to_the_report(folder: Path) -> None:
    made = new("study.yaml", "--participants", "2", "--json")
    document = json.loads(made.stdout)
    assert (document["study"], document["runs"], len(document["participants"])) == ("corridor", 4, 2)
    assert call("analyse", "corridor", "--out", "report").exit_code == 2  # nobody has rated anything
    store = Store(open_database("sqlite:///studies.sqlite"))
    for number, path in enumerate(document["participants"]):
        token = path.split("/")[4]
        store.consent(token, {})
        for position in range(4):
            store.experience(token, position)
            stage = store.stage(token)
            assert stage.trial is not None
            for item in stage.info.items(stage.trial.scenario):
                store.answer(token, position, item.id, 2 + number, f"{token[:16]}-{position}-{item.id}")
            store.finish(token, position)
    assert call("export", "corridor", "--out", "data").exit_code == 0
    assert (folder / "data/ratings.csv").read_text().count("\n") == 1 + len(
        json.loads((folder / "data/study.json").read_text())["participants"]
    ) * 2 * sum(len(store.study("corridor").items(name)) for name in ("frontal-f1", "narrow_doorway-n1"))
    assert call("analyse", "corridor", "--out", "report").exit_code == 0
    assert "polite" in (folder / "report/report.html").read_text()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("mode: film", "no such file beside"),
        ("mode: walk", "unknown scenario"),
        ("questionnaire: godsped", "unknown questionnaire"),
        ("scenarios: [{name: kitchen-k1, instruction: Cook.}]", "asks nothing after scenario"),
    ],
)
def test_what_is_missing_is_told_before_anything_is_stored(folder: Path, change: str, message: str) -> None:
    key = change.partition(":")[0]
    kept = [line for line in TEXT.splitlines() if not line.startswith((key, "  -" if key == "scenarios" else key))]
    if change == "mode: walk":
        change += "\nsuite: core"
    (folder / "study.yaml").write_text("\n".join([*kept, change]))
    made = new()
    assert made.exit_code == 2
    assert message in made.stderr
    assert call("export", "corridor", "--out", "data").exit_code == 2


def test_a_policy_beside_the_study_walks(folder: Path) -> None:
    (folder / "lab").mkdir()
    (folder / "lab/crawl.py").write_text(POLICY)
    own = ["name: own", "title: Own", "policies: [{name: crawl, policy: 'crawl.py:Crawl'}]", "scenarios: [frontal-f1]"]
    (folder / "lab/study.yaml").write_text("\n".join([*own, "consent: Yes."]))
    assert new("lab/study.yaml").exit_code == 0
    study = Store(open_database("sqlite:///studies.sqlite")).study("own").study
    assert study.policies[0].reference == f"{folder.resolve()}/lab/crawl.py:Crawl"
    assert study.scenarios[0].instruction.startswith("Please walk")


def test_a_password_that_is_too_short(folder: Path) -> None:
    (folder / "password").write_text("short")
    assert "12 to 200" in new().stderr


@pytest.mark.parametrize("arguments", [["serve"], ["list"], ["new", "study.yaml"], ["export", "x", "--out", "y"]])
def test_without_its_extra_a_command_speaks_of_studies(
    folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.setattr("sidestep._util.extras.missing_packages", lambda extra: ["fastapi"])
    refused = call(*arguments)
    assert refused.exit_code == 2
    assert "pip install 'sidestep[web]'" in refused.stderr


def test_a_rehearsal_with_simulated_raters(folder: Path) -> None:
    options = ["--policy", "straight", "--policy", "stop", "--scenario", "frontal-*", "--out", "run"]
    assert CliRunner().invoke(app, ["run", "protocol", *options]).exit_code == 0
    document = json.loads(call("rehearse", "run", "--raters", "3", "--out", "rehearsal", "--json").stdout)
    assert document["origin"] == "simulated"
    assert document["counts"] | {"answers": 60, "participants": 3, "policies": 2} == document["counts"]
    again = json.loads(call("analyse", "rehearsal/ratings.csv", "--json").stdout)
    assert again["policies"] == document["policies"]
    assert CliRunner().invoke(app, ["run", "core", "--policy", "stop", "--limit", "1", "--out", "other"]).exit_code == 0
    refused = call("rehearse", "other", "--out", "rehearsal")
    assert refused.exit_code == 2
    assert "asks nothing after scenario" in refused.stderr
