"""Questionnaires as files: the bundled ones, one's own, translations, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidestep.errors import BadInput
from sidestep.studies.ratings.questionnaire import Scale, load_questionnaire, questionnaire_names
from tests.studies.ratings.tables import PROTOCOL

OWN = """
name: mine
title: Mine
scale: {lowest: 1, highest: 3, labels: ["no", perhaps, "yes"], cannot_tell: null}
items:
  - {id: a, number: 1, text: Was it good?}
  - {id: b, number: 2, text: {en: Was it bad?, fr: Était-ce mauvais ?}, reverse: true, scenario: hall}
"""


def test_protocol_has_21_items_in_five_scenarios_with_six_reversed() -> None:
    assert [item.number for item in PROTOCOL.items] == list(range(1, 22))
    assert [item.number for item in PROTOCOL.items if item.reverse] == [2, 4, 14, 17, 20, 21]
    sizes = {name: len(PROTOCOL.items_for(name)) for name in PROTOCOL.scenarios}
    assert sizes == {
        "frontal": 5, "intersection_wait": 4, "intersection_gesture": 4, "narrow_doorway": 4, "blind_corner": 4,
    }  # fmt: skip
    assert (PROTOCOL.scale.lowest, PROTOCOL.scale.highest, PROTOCOL.scale.cannot_tell) == (1, 5, 0)


def test_every_item_and_label_of_the_protocol_is_in_german() -> None:
    assert PROTOCOL.languages == ("en", "de")
    for item in PROTOCOL.items:
        assert PROTOCOL.say(item.text, "de") != PROTOCOL.say(item.text, "en")
    assert PROTOCOL.label(PROTOCOL.items[0], 5, "de") == "stimme voll und ganz zu"
    assert PROTOCOL.say(PROTOCOL.items[0].text, "xx") == "The robot moved to avoid me."


def test_the_corrected_protocol_differs_in_item_17_only() -> None:
    corrected = load_questionnaire("protocol-corrected")
    assert corrected.name in questionnaire_names()
    assert [item.number for item in corrected.items if item.reverse] == [2, 4, 14, 20, 21]
    same = [item.id for item, own in zip(corrected.items, PROTOCOL.items, strict=True) if item == own]
    assert same == [item.id for item in PROTOCOL.items if item.id != "q17"]
    assert corrected.languages == PROTOCOL.languages
    assert corrected.source == PROTOCOL.source
    assert PROTOCOL.in_other_form() is not None
    assert PROTOCOL.in_other_form().items == corrected.items  # type: ignore[union-attr]
    assert corrected.in_other_form().items == PROTOCOL.items  # type: ignore[union-attr]
    assert [each.is_disputed("q17") for each in (PROTOCOL, corrected)] == [True, True]
    item = PROTOCOL.item("q17")
    assert (PROTOCOL.follows_wording(item), corrected.follows_wording(corrected.item("q17"))) == (False, True)
    assert type(PROTOCOL).model_validate(corrected.model_dump(mode="json")) == corrected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: x\nbased_on: protocl\ntitle: X\nreverse: {q17: false}\n", "did you mean 'protocol'"),
        ("name: x\nbased_on: protocol\ntitle: X\nreverse: {q18: false}\n", "item q18 is not reversed in protocol, too"),
        ("name: x\nbased_on: protocol\ntitle: X\nreverse: {q99: false}\n", "unknown item 'q99'"),
        ("name: x\nbased_on: protocol\ntitle: X\nreverse: {}\n", "reverse"),
    ],
)
def test_mistakes_in_another_form_are_named(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "x.yaml").write_text(text)
    with pytest.raises(BadInput, match=message):
        load_questionnaire(tmp_path / "x.yaml")


@pytest.mark.parametrize(("name", "items"), [("godspeed", 24), ("rosas", 18), ("nasa_tlx", 6), ("usability", 6)])
def test_other_instruments_load_with_their_source(name: str, items: int) -> None:
    found = load_questionnaire(name)
    assert len(found.items) == items
    assert found.source
    assert name in questionnaire_names()


def test_ends_of_an_item_take_the_place_of_the_scale_labels() -> None:
    load = load_questionnaire("nasa_tlx")
    assert load.label(load.item("performance"), 21) == "failure"
    assert load.label(load.item("effort"), 21) == "very high"
    assert load.label(load.item("effort"), 5) == ""


def test_own_file_with_translation_beside_it(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(OWN, encoding="utf-8")
    (tmp_path / "mine.de.yaml").write_text(
        "translates: mine\nlanguage: de\nlabels: [nein, vielleicht, ja]\nitems: {a: War es gut?, b: War es schlecht?}\n"
    )
    found = load_questionnaire(tmp_path / "mine.yaml")
    assert found.languages == ("en", "de")
    assert found.say(found.item("b").text, "fr") == "Était-ce mauvais ?"
    assert found.label(found.item("a"), 2, "de") == "vielleicht"
    assert [item.id for item in found.items_for("elsewhere")] == ["a"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("number: 2", "number: 1"), "two items have the number 1"),
        (("id: b", "id: a"), "two items have the id 'a'"),
        (("highest: 3", "highest: 1"), "2 to 101 levels"),
        (("cannot_tell: null", "cannot_tell: 2"), "one of the levels"),
        (('["no", perhaps, "yes"]', "[a, b, c, d]"), "4 labels"),
        (('"yes"', "yes"), "put it in quotes"),
        (("reverse: true", "revers: true"), "did you mean 'reverse'"),
    ],
)
def test_mistakes_in_a_file_are_named(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(OWN.replace(*change), encoding="utf-8")
    with pytest.raises(BadInput, match=message):
        load_questionnaire(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("translates: mine\nlanguage: de\nlabels: [x, y, z]\nitems: {a: Gut?}\n", "no text of b"),
        ("translates: mine\nlanguage: de\nlabels: [x]\nitems: {a: Gut?, b: Schlecht?}\n", "1 labels; the scale has 3"),
        ("translates: other\nlanguage: de\nitems: {a: Gut?, b: Schlecht?}\n", "translates 'other'"),
        ("translates: mine\nlanguage: de\nitems: {a: Gut?, c: Schlecht?}\n", "unknown item 'c'"),
    ],
)
def test_mistakes_in_a_translation_are_named(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "mine.yaml").write_text(OWN, encoding="utf-8")
    (tmp_path / "mine.de.yaml").write_text(text)
    with pytest.raises(BadInput, match=message):
        load_questionnaire(tmp_path / "mine.yaml")


def test_unknown_name_is_told_the_nearest() -> None:
    with pytest.raises(BadInput, match="did you mean 'protocol'"):
        load_questionnaire("protocoll")


def test_ratings_must_be_on_the_scale() -> None:
    for rating in range(6):
        PROTOCOL.check_rating("q1", rating)
    for item, rating, message in [
        ("q1", 6, "rating 6 is not on the scale"),
        ("q1", -1, "not on the scale"),
        ("q1", True, "not on the scale"),
        ("q", 1, "unknown item"),
    ]:
        with pytest.raises(BadInput, match=message):
            PROTOCOL.check_rating(item, rating)


def test_scale_turns_round_its_middle() -> None:
    scale = Scale(lowest=1, highest=5)
    assert [scale.turned(level) for level in scale.levels] == [5, 4, 3, 2, 1]
    assert not Scale(cannot_tell=None).allows(0)
