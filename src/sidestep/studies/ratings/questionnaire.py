"""Questionnaires as data: items, scale, source and translations, each in a YAML file.

A questionnaire is bundled (``protocol``) or a file of one's own. Texts are in the file's own language, or given by
language. A file ``NAME.de.yaml`` beside ``NAME.yaml`` holds the German texts; see ``Translation``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from glob import escape
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, StringConstraints, model_validator

from sidestep._util.reading import bundled_names, is_file, read_bundled, read_mapping
from sidestep.errors import BadInput, UnknownName
from sidestep.types.base import Model

DATA = "sidestep.studies.ratings/data"
MOST_LEVELS = 101
"""Maximum number of levels of a scale: those of a slider from 0 to 100."""
MOST_ITEMS = 500

Identifier = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$")]
Language = Annotated[str, StringConstraints(pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8})?$")]
Line = Annotated[str, StringConstraints(min_length=1, max_length=2000)]


def _no_truth_value(value: Any) -> Any:
    """YAML reads the words yes, no, on and off as truth values: a label must be quoted."""
    if isinstance(value, bool):
        raise ValueError('YAML reads this word as true or false; put it in quotes, such as "yes"')
    return value


Text = Annotated[Line | dict[Language, Line], BeforeValidator(_no_truth_value)]
"""Text in the language of the questionnaire, or one text per language."""


class Item(Model):
    """A statement or question. ``scenario`` None: asked after every scenario."""

    id: Identifier
    number: Annotated[int, Field(ge=1)]
    text: Text
    reverse: bool = False
    """Whether agreement is unfavourable, so that the rating is turned round before averaging."""
    scenario: Identifier | None = None
    subscale: Identifier | None = None
    """Items whose mean is reported, where an instrument has several."""
    ends: tuple[Text, Text] | None = None
    """Labels of the lowest and the highest level of this item, where they differ from item to item."""


class Scale(Model):
    """The levels of an answer, whole numbers from ``lowest`` to ``highest``."""

    lowest: int = 1
    highest: int = 5
    labels: tuple[Text, ...] = ()
    """One per level, or those of the two ends, or none."""
    cannot_tell: int | None = 0
    """Rating of an answer without an opinion: stored and counted, in no mean. None: there is no such answer."""
    cannot_tell_label: Text = "cannot tell"

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not 1 <= self.highest - self.lowest < MOST_LEVELS:
            raise ValueError(f"a scale has 2 to {MOST_LEVELS} levels; highest must be above lowest")
        if self.cannot_tell is not None and self.lowest <= self.cannot_tell <= self.highest:
            raise ValueError("cannot_tell is one of the levels; choose a number outside, or null for none")
        if len(self.labels) not in (0, 2, self.highest - self.lowest + 1):
            raise ValueError(f"{len(self.labels)} labels; give one per level, two for the ends, or none")
        return self

    @property
    def levels(self) -> range:
        """``lowest`` … ``highest``."""
        return range(self.lowest, self.highest + 1)

    @property
    def middle(self) -> float:
        """Neither agreement nor disagreement."""
        return (self.lowest + self.highest) / 2

    def turned(self, rating: float) -> float:
        """The rating of a reversed item: lowest + highest - rating."""
        return self.lowest + self.highest - rating

    def allows(self, rating: int) -> bool:
        """Whether it is a level, or the answer without an opinion."""
        return rating in self.levels or (self.cannot_tell is not None and rating == self.cannot_tell)

    def describe(self) -> str:
        """``1 to 5, or 0 for "cannot tell"``, for messages."""
        other = "" if self.cannot_tell is None else f', or {self.cannot_tell} for "cannot tell"'
        return f"{self.lowest} to {self.highest}{other}"


class OtherForm(Model):
    """A form of the same questionnaire that reverses some items the other way round."""

    name: Identifier
    items: Annotated[tuple[Identifier, ...], Field(min_length=1)]
    as_worded: bool
    """Whether that form, and not this one, follows the wording of these items."""


class Questionnaire(Model):
    """Items with one scale. ``source`` is the publication of the instrument."""

    name: Identifier
    title: Text
    instruction: Text | Literal[""] = ""
    scale: Scale = Scale()
    items: Annotated[tuple[Item, ...], Field(min_length=1, max_length=MOST_ITEMS)]
    source: str = ""
    language: Language = "en"
    """Language of the texts that are not given per language."""
    other_form: OtherForm | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        for name in self.other_form.items if self.other_form else ():
            self.item(name, "other_form")
        for what, values in (("id", [item.id for item in self.items]), ("number", [i.number for i in self.items])):
            twice = next((value for k, value in enumerate(values) if value in values[:k]), None)
            if twice is not None:
                raise ValueError(f"two items have the {what} {twice!r}; every item needs its own")
        return self

    @property
    def scenarios(self) -> tuple[str, ...]:
        """Those that have items of their own, in order of appearance."""
        return tuple(dict.fromkeys(item.scenario for item in self.items if item.scenario is not None))

    @property
    def languages(self) -> tuple[str, ...]:
        """Those in which every item has a text; the questionnaire's own first."""
        known = [self._languages(item.text) for item in self.items]
        every = set.intersection(*known) - {self.language}
        return (self.language, *sorted(every))

    def _languages(self, text: Text) -> set[str]:
        return {self.language} if isinstance(text, str) else set(text)

    def item(self, name: str, where: str = "") -> Item:
        """The item of that id; ``where`` opens the error message."""
        for item in self.items:
            if item.id == name:
                return item
        raise UnknownName("item", name, [item.id for item in self.items], where or f"questionnaire {self.name}")

    def items_for(self, scenario: str) -> tuple[Item, ...]:
        """Those asked after a scenario."""
        return tuple(item for item in self.items if item.scenario in (None, scenario))

    def turned_items(self, names: Iterable[str]) -> tuple[Item, ...]:
        """All items, with those of these names reversed the other way round."""
        turned = set(names)
        return tuple(
            item.model_copy(update={"reverse": not item.reverse}) if item.id in turned else item for item in self.items
        )

    def in_other_form(self) -> Questionnaire | None:
        """The other form, if there is one."""
        other = self.other_form
        if other is None:
            return None
        back = OtherForm(name=self.name, items=other.items, as_worded=not other.as_worded)
        return self.model_copy(update={"name": other.name, "items": self.turned_items(other.items), "other_form": back})

    def is_disputed(self, item: str) -> bool:
        """Whether the other form reverses the item the other way round."""
        return self.other_form is not None and item in self.other_form.items

    def follows_wording(self, item: Item) -> bool:
        """Whether ``reverse`` of an item agrees with its wording."""
        return self.other_form is None or not (self.other_form.as_worded and self.is_disputed(item.id))

    def say(self, text: Text, language: str | None = None) -> str:
        """``text`` in ``language``; in the questionnaire's own where there is no translation."""
        if isinstance(text, str):
            return text
        return text.get(language or self.language) or text.get(self.language) or next(iter(text.values()))

    def label(self, item: Item, level: int, language: str | None = None) -> str:
        """Label of a level of an item; empty where the scale names only its ends."""
        scale = self.scale
        if level == scale.cannot_tell:
            return self.say(scale.cannot_tell_label, language)
        place = {scale.lowest: 0, scale.highest: -1}.get(level)
        if item.ends is not None:
            return "" if place is None else self.say(item.ends[place], language)
        if len(scale.labels) == len(scale.levels):
            return self.say(scale.labels[level - scale.lowest], language)
        return "" if place is None or not scale.labels else self.say(scale.labels[place], language)

    def check_rating(self, item: str, rating: int, where: str = "answer") -> None:
        """BadInput for an unknown item or a rating that the scale does not have."""
        self.item(item, where)
        if isinstance(rating, bool) or not isinstance(rating, int) or not self.scale.allows(rating):
            raise BadInput(f"{where}: item {item}: rating {rating!r:.40} is not on the scale; {self.scale.describe()}")

    def with_translation(self, translation: Translation, where: str) -> Questionnaire:
        """The same with the texts of another language added."""
        known = {item.id for item in self.items}
        strange = next((name for name in translation.items if name not in known), None)
        if strange is not None:
            raise UnknownName("item", strange, known, where)
        missing = [item.id for item in self.items if item.id not in translation.items]
        if missing:
            raise BadInput(f"{where}: no text of {', '.join(missing[:10])}; translate every item")
        if len(translation.labels) != len(self.scale.labels):
            raise BadInput(f"{where}: {len(translation.labels)} labels; the scale has {len(self.scale.labels)}")

        def add(text: Text, other: str) -> dict[str, str] | str:
            own = {self.language: text} if isinstance(text, str) else text
            return own | {translation.language: other} if other else text

        scale = self.scale
        labels = tuple(add(own, other) for own, other in zip(scale.labels, translation.labels, strict=True))
        other_label = add(scale.cannot_tell_label, translation.cannot_tell_label)
        items = [self._translated(item, translation, add(item.text, translation.items[item.id])) for item in self.items]
        changes = {
            "title": add(self.title, translation.title),
            "instruction": add(self.instruction, translation.instruction),
            "scale": scale.model_copy(update={"labels": labels, "cannot_tell_label": other_label}),
            "items": tuple(items),
        }
        return self.model_copy(update=changes)

    def _translated(self, item: Item, translation: Translation, text: Text) -> Item:
        ends = item.ends
        if ends is not None and item.id in translation.ends:
            own = [{self.language: end} if isinstance(end, str) else end for end in ends]
            low, high = (a | {translation.language: b} for a, b in zip(own, translation.ends[item.id], strict=True))
            ends = (low, high)
        return item.model_copy(update={"text": text, "ends": ends})


class Translation(Model):
    """The texts of a questionnaire in another language: ``NAME.LANGUAGE.yaml``."""

    translates: Identifier
    language: Language
    title: str = ""
    instruction: str = ""
    labels: tuple[Line, ...] = ()
    cannot_tell_label: str = ""
    items: dict[Identifier, Line]
    ends: dict[Identifier, tuple[Line, Line]] = Field(default_factory=dict)


_TRANSLATED = re.compile(r"(?P<name>.+)\.(?P<language>[a-z]{2,3}(-[A-Za-z0-9]{2,8})?)")


def questionnaire_names() -> list[str]:
    """Those of the bundled questionnaires."""
    return [name for name in bundled_names(DATA) if not _TRANSLATED.fullmatch(name)]


def load_questionnaire(name_or_file: str | Path) -> Questionnaire:
    """A bundled questionnaire by name, or one from a YAML file, with the translations that lie beside it."""
    text = str(name_or_file)
    if text in questionnaire_names():
        data = read_bundled(DATA, text)
        if "based_on" in data:
            return _based_on(data, f"bundled {text}")
        found = Questionnaire.parse(data, f"bundled {text}")
        others = [name for name in bundled_names(DATA) if (m := _TRANSLATED.fullmatch(name)) and m["name"] == text]
        return _with_translations(found, ((f"bundled {name}", read_bundled(DATA, name)) for name in others))
    path = Path(name_or_file)
    if not is_file(path) and path.suffix not in (".yaml", ".yml"):
        raise UnknownName("questionnaire", text, questionnaire_names())
    data = read_mapping(path, "questionnaire", "name, title, scale, items")
    if "based_on" in data:
        return _based_on(data, str(path))
    found = Questionnaire.parse(data, str(path))
    names = sorted(path.parent.glob(f"{escape(path.stem)}.*{path.suffix}"))
    beside = [file for file in names if _TRANSLATED.fullmatch(file.stem)]
    return _with_translations(found, ((str(file), read_mapping(file, "translation")) for file in beside))


class Variant(Model):
    """Another form of a bundled questionnaire: the same items, some of them reversed the other way round."""

    name: Identifier
    based_on: Identifier
    title: Text
    reverse: Annotated[dict[Identifier, bool], Field(min_length=1)]
    """Item → whether it is reversed."""
    as_worded: bool = True
    """Whether this form follows the wording of these items, and the one that it is based on does not."""


def _based_on(data: object, where: str) -> Questionnaire:
    variant = Variant.parse(data, where)
    if variant.based_on not in questionnaire_names():
        raise UnknownName("questionnaire", variant.based_on, questionnaire_names(), where)
    base = load_questionnaire(variant.based_on)
    for name, reverse in variant.reverse.items():
        if base.item(name, where).reverse == reverse:
            raise BadInput(
                f"{where}: item {name} is {'' if reverse else 'not '}reversed in {base.name}, too; remove it"
            )
    changed = tuple(variant.reverse)
    back = OtherForm(name=base.name, items=changed, as_worded=not variant.as_worded)
    changes = {"name": variant.name, "title": variant.title, "items": base.turned_items(changed), "other_form": back}
    return base.model_copy(update=changes)


def _with_translations(found: Questionnaire, files: Iterable[tuple[str, object]]) -> Questionnaire:
    for where, data in files:
        translation = Translation.parse(data, where)
        if translation.translates != found.name:
            raise BadInput(f"{where}: translates {translation.translates!r}, but lies beside {found.name!r}; rename it")
        found = found.with_translation(translation, where)
    return found
