"""A German study is German throughout."""

from __future__ import annotations

import ast
import html
import re
from importlib import import_module
from pathlib import Path

import pytest

import sidestep.studies
from sidestep.studies.definition import parse_study, with_suite_texts
from sidestep.studies.store import Store
from sidestep.studies.texts import SCRIPT_TEXTS, catalogue, say_in
from tests.studies.conftest import TEXT, new_store, study_of
from tests.studies.test_pages import answers_on, client_of

FOLDER = Path(sidestep.studies.__file__).parent
ENGLISH = re.compile(r"\b(the|your|please|this|rate|robot's|page|run|walk|answer|and|optional)\b", re.IGNORECASE)
PARTICIPANTS = (
    "base",
    "consent",
    "done",
    "meet_film",
    "meet_robot",
    "meet_walk",
    "message",
    "rate",
    "instruction",
    "trial",
)


@pytest.fixture
def german(tmp_path: Path) -> Store:
    scenarios = [
        {"name": "frontal-f1", "instruction": "Gehen Sie ans andere Ende.", "expected": "Er lässt Sie vorbei."}
    ]
    asks = [{"id": "alter", "label": "Ihr Alter", "required": True}, {"id": "b", "label": "Beruf"}]
    study = study_of(
        language="de", title="Roboter im Gang", consent="Ich nehme freiwillig teil.", scenarios=scenarios,
        comments=True, policies=["polite"], asks=asks,
    )  # fmt: skip
    return new_store(f"sqlite:///{tmp_path / 'x.sqlite'}", study)


def english_in(page: str) -> list[str]:
    """English words that a participant sees, hears or is told by a script."""
    page = re.sub(r'data-texts="[^"]*"', "", page)  # keys are English, what is said is tested below
    seen = re.sub(r"<style.*?</style>|<script.*?</script>", "", page, flags=re.DOTALL)
    said = re.findall(r'(?:aria-label|title|alt|placeholder)="([^"]*)"', seen)
    return ENGLISH.findall(html.unescape(re.sub(r"<[^>]+>", " ", seen) + " ".join(said)))


def test_every_page_of_a_german_study_is_german(german: Store) -> None:
    (token,) = german.add_participants("corridor")
    home, pages = f"/p/{token}/", []
    with client_of(german) as client:
        pages.append(client.get(home).text)
        pages.append(client.post(f"{home}consent", data={"agree": "no"}).text)
        pages.append(client.post(f"{home}consent", data={"agree": "yes"}).text)  # age is missing
        pages.append(client.post(f"{home}consent", data={"agree": "yes", "alter": "40"}).text)
        pages.append(client.post(f"{home}experienced", data={"position": 0}).text)
        pages.append(client.post(f"{home}rate", data={"position": "0"}).text)
        pages.append(client.post(f"{home}rate", data={"position": "0", "comment": "x" * 3000}).text)
        pages.append(
            client.post(f"{home}answer", json={"position": 0, "item": "q", "rating": 1, "key": "12345678"}).text
        )
        pages.append(client.post(f"{home}rate", data=answers_on(pages[4]) | {"position": "0"}).text)
        pages.append(client.get(f"{home}nothing").text)
        german.close("corridor")
        pages.append(client.get(home).text)
        pages.append(client.get("/p/unknown/", headers={"accept-language": "de-DE"}).text)
    assert "Vielen Dank" in pages[8]
    assert "Studie ist beendet" in pages[10]
    assert "nicht bekannt" in pages[11]
    for page in pages[:7] + pages[8:]:
        assert '<html lang="de">' in page
    for number, page in enumerate(pages):
        if number != 7:  # a message that no page of ours can cause repeats its reason
            assert english_in(page) == [], page


def test_the_catalogue_has_every_text() -> None:
    wanted = set(SCRIPT_TEXTS)
    for name in PARTICIPANTS:
        source = (FOLDER / f"templates/{name}.html").read_text("utf-8")
        wanted |= {text.replace("\\'", "'") for text in re.findall(r'_\(\s*"((?:[^"\\]|\\.)*)"', source)}
        wanted |= set(re.findall(r"_\(\s*'((?:[^'\\]|\\.)*)'", source))
    assert len(wanted) > 40
    assert wanted - set(catalogue("de")) == set()
    for text, german in catalogue("de").items():
        assert set(re.findall(r"\{\w+\}", text)) == set(re.findall(r"\{\w+\}", german)), text


def test_what_participants_are_refused_is_in_the_catalogue() -> None:
    """Messages of the modules that only participants reach."""
    missing = set()
    for file in ("participant_pages.py", "walking.py", "walk_pool.py", "films.py"):
        module = import_module(f"sidestep.studies.{file.removesuffix('.py')}")
        for node in ast.walk(ast.parse((FOLDER / file).read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Refused":
                given = node.args[1]
                text = getattr(module, given.id, None) if isinstance(given, ast.Name) else getattr(given, "value", None)
                if isinstance(text, str) and text not in catalogue("de"):
                    missing.add(text)
    assert missing == set()


def test_scripts_say_german_texts() -> None:
    for file in ("walk.js", "rate.js"):
        source = (FOLDER / "static" / file).read_text("utf-8")
        used = set(re.findall(r'texts\["([^"]+)"\]', source))
        assert used <= set(SCRIPT_TEXTS)
        plain = re.sub(r'texts\["[^"]+"\]|//.*', "", source)
        assert not re.findall(r'"[A-Z✓][a-z]+ [a-z ]+', plain)


def test_a_language_without_a_catalogue_is_english() -> None:
    assert say_in("fr")("Next") == "Next"
    assert say_in("de-AT")("Next") == "Weiter"


def test_an_expectation_that_is_left_empty_stays_empty() -> None:
    given = TEXT.replace("mode: robot", "mode: walk\nsuite: protocol").replace(
        "  - {name: narrow_doorway-n1, instruction: Go through the door.}",
        "  - {name: narrow_doorway-n1, expected: ''}\n  - {name: blind_corner-b1, instruction: ''}",
    )
    first, second, third = with_suite_texts(parse_study(given, "study.yaml")).scenarios
    assert first.expected == "The robot lets you pass."
    assert (second.expected, bool(second.instruction)) == ("", True)
    assert (third.instruction, bool(third.expected)) == ("", True)
