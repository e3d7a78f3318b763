"""A study as a file: policies, scenarios, questionnaire, number of runs, consent, and what participants are asked."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from sidestep._util.reading import parse_mapping, read_text
from sidestep.errors import BadInput, UnknownName
from sidestep.interfaces import Suite
from sidestep.types.base import Model

Mode = Literal["walk", "film", "robot"]
"""A participant walks in the simulation, watches a film, or has just met a real robot."""

MOST_TRIALS = 2000
"""Maximum number of runs of one participant."""
MOST_BYTES = 256_000
"""Maximum size of a definition."""

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=60)]
Short = Annotated[str, Field(min_length=1, max_length=200)]
Long = Annotated[str, Field(max_length=20_000)]


class StudyPolicy(Model):
    """One of the compared policies. Participants never see its name."""

    name: Name
    """Name in the ratings table."""
    policy: Annotated[str, Field(max_length=500)] = ""
    """Policy as for ``sidestep run``; empty: as ``name``. Only used where participants walk."""
    settings: dict[str, Any] = Field(default_factory=dict)

    @property
    def reference(self) -> str:
        """Name or file of the policy, as ``make_policy`` takes it."""
        return self.policy or self.name


class StudyScenario(Model):
    """One of the situations in which participants meet the robot."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][\w.,=+-]*$", max_length=120)]
    """Name of the scenario in the suite; any name in studies without walks."""
    scenario: Annotated[str, Field(max_length=80)] = ""
    """Which items of the questionnaire are asked; empty: ``name`` up to the last hyphen."""
    location: Annotated[str, Field(max_length=80)] = ""
    """Empty: ``name`` from the last hyphen on."""
    instruction: Long | None = None
    """Instruction for the participant. None: the text of the suite; empty: no instruction."""
    expected: Long | None = None
    """Expected behaviour of the robot, shown to the participant. None and empty: as ``instruction``."""

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, data: Any) -> Any:
        return {"name": data} if isinstance(data, str) else data

    @property
    def group(self) -> str:
        """Which items of the questionnaire belong to it."""
        return self.scenario or self.name.rpartition("-")[0] or self.name

    @property
    def place(self) -> str:
        """Where it happens."""
        return self.location or (self.name.rpartition("-")[2] if "-" in self.name else "")


class Question(Model):
    """A question about the participant, asked once, after consent."""

    id: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=40)]
    label: Short
    choices: tuple[Short, ...] = ()
    """Answers to choose from; none: free text."""
    required: bool = False
    longest: Annotated[int, Field(ge=1, le=2000)] = 200
    """Characters of a free text, at most."""


class Study(Model):
    """The definition of a study."""

    name: Name
    title: Short
    policies: Annotated[tuple[StudyPolicy, ...], Field(min_length=1, max_length=26)]
    scenarios: Annotated[tuple[StudyScenario, ...], Field(min_length=1, max_length=200)]
    questionnaire: Annotated[str, Field(min_length=1, max_length=500)] = "protocol"
    """Name of a bundled questionnaire or a file."""
    mode: Mode = "walk"
    suite: Annotated[str, Field(max_length=500)] = "protocol"
    """Suite of the scenarios; used where participants walk, and for instructions that the file does not give."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Options of the suite."""
    films: Annotated[str, Field(max_length=500)] = "films/{policy}/{scenario}.mp4"
    """File of a run's film, beside the definition; ``{policy}``, ``{scenario}`` and ``{run}`` are filled in."""
    sets: Annotated[int, Field(ge=1, le=100)] = 1
    """How often a participant goes through everything, e.g. on different days."""
    runs: Annotated[int, Field(ge=1, le=100)] = 1
    """Runs in a row of the same policy and scenario within a set."""
    order: Literal["balanced", "fixed"] = "balanced"
    """``balanced``: balanced Latin squares of policies and scenarios; ``fixed``: as listed."""
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0
    """Decides the blinding letters and which participant gets which row of the squares."""
    language: Annotated[str, Field(pattern=r"^[a-z]{2,3}(-[A-Z]{2})?$")] = "en"
    consent: Annotated[str, Field(min_length=1, max_length=20_000)]
    """What the participant agrees to before anything is stored."""
    asks: Annotated[tuple[Question, ...], Field(max_length=30)] = ()
    comments: bool = False
    """Whether a participant may add a free text to every rating."""
    valid_days: Annotated[float, Field(gt=0, le=3650)] = 90.0
    """Days after which a participant's link expires."""
    view: Literal["first", "top"] = "first"
    """View with which a walk begins; participants can switch."""

    @field_validator("policies", mode="before")
    @classmethod
    def _from_names(cls, value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [{"name": each} if isinstance(each, str) else each for each in value]
        return value

    @field_validator("films")
    @classmethod
    def _known_fields(cls, value: str) -> str:
        for field in re.findall(r"\{(.*?)\}", value):
            if field not in ("policy", "scenario", "run"):
                raise ValueError(f"{{{field}}} is unknown; use {{policy}}, {{scenario}} and {{run}}")
        value.format(policy="", scenario="", run=1)
        return value

    @model_validator(mode="after")
    def _check(self) -> Study:
        for kind, names in (
            ("policies", [each.name for each in self.policies]),
            ("scenarios", [each.name for each in self.scenarios]),
            ("asks", [each.id for each in self.asks]),
        ):
            if len(set(names)) < len(names):
                raise ValueError(f"{kind}: a name is given twice")
        trials = len(self.policies) * len(self.scenarios) * self.sets * self.runs
        if trials > MOST_TRIALS:
            raise ValueError(f"{trials} runs for each participant; at most {MOST_TRIALS}: reduce sets or runs")
        return self

    def film(self, policy: str, scenario: str, run: int) -> str:
        """Name of the film of a run, relative to the definition."""
        return self.films.format(policy=policy, scenario=scenario, run=run)


def parse_study(text: str, where: str) -> Study:
    """A definition from YAML or JSON; ``where`` opens error messages."""
    if len(text.encode("utf-8", "surrogatepass")) > MOST_BYTES:
        raise BadInput(f"{where}: a study has at most {MOST_BYTES // 1000} kB")
    return Study.parse(parse_mapping(text, where, "name, title, policies, scenarios, consent, …"), where)


def read_study(path: Path) -> Study:
    """The definition in a YAML or JSON file."""
    return parse_study(read_text(path, "study definition", MOST_BYTES), str(path))


_NOT_GIVEN: dict[str, tuple[str | None, ...]] = {
    "scenario": ("",), "location": ("",), "instruction": (None,), "expected": (None,),
}  # fmt: skip
"""Key of a scenario → values in whose place the suite's text comes."""


def needs_suite(study: Study) -> bool:
    """Whether the suite is looked at: participants walk, or a scenario has no instruction of its own."""
    return study.mode == "walk" or any(each.instruction is None for each in study.scenarios)


def _suite_of(study: Study) -> Suite:
    """The suite under the study's options, in the study's language where it has that."""
    from sidestep.suites.files import choose_options, load_suite

    suite = load_suite(study.suite)
    with suppress(BadInput):
        return choose_options(suite, {"language": study.language, **study.options})
    return choose_options(suite, study.options)


def with_suite_texts(study: Study) -> Study:
    """The study with the texts of its suite for each scenario that has none of its own.

    A scenario that the suite does not have is an error where participants walk; else it is the lab's own.
    """
    if not needs_suite(study):
        return study
    try:
        suite = _suite_of(study)
    except BadInput:
        if study.mode != "walk":
            return study
        raise
    known = {each.name: each for each in suite.scenarios()}
    filled = []
    for each in study.scenarios:
        if each.name not in known:
            if study.mode == "walk":
                raise UnknownName("scenario", each.name, known, f"study {study.name!r}, suite {study.suite!r}")
            filled.append(each)
            continue
        notes = known[each.name].notes
        texts: dict[str, str] = {
            key: str(notes[key])
            for key in ("scenario", "location", "instruction", "expected")
            if key in notes and getattr(each, key) in _NOT_GIVEN[key]
        }
        filled.append(each.model_copy(update=texts))
    return study.model_copy(update={"scenarios": _with_own_places(filled)})


def _with_own_places(scenarios: list[StudyScenario]) -> tuple[StudyScenario, ...]:
    """Give scenarios at the same place, such as one in both roles, places that distinguish their ratings."""
    cells = [(each.group, each.place) for each in scenarios]
    return tuple(
        each.model_copy(update={"location": each.name.removeprefix(f"{each.group}-")})
        if cells.count(cell) > 1
        else each
        for each, cell in zip(scenarios, cells, strict=True)
    )
