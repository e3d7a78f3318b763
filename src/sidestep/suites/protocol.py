"""Validation protocols: scenarios that a person enacts with the robot, each at one or more places, and the bundled
protocol of five scenarios at ten places of one office floor.

A protocol is one YAML file with a few lines per scenario (docs/suites/protocol.md)::

    protocol: my_lab
    scene: office_floor
    questionnaire: protocol
    scenarios:
      frontal:
        conduct: walk_on
        instruction: Please walk along the path. The robot is expected to yield.
        expected: The robot yields early.
        locations:
          f1: {a: [[15.5, 5.5], [28.8, 5.5]]}

Each place becomes a scenario ``frontal-f1``: the robot goes along ``a`` and the person along ``b``, or the other way
round. The person is an event of kind ``enacting``, so a robot that takes precedence where it has to yield ends as
``disobeyed``. ``notes`` of the scenario hold what a study needs: instruction, expected behaviour, questionnaire.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import sqrt
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, StringConstraints

from sidestep._util import exact
from sidestep._util.exact import square
from sidestep._util.reading import file_beside, read_mapping
from sidestep.errors import BadInput, UnknownName
from sidestep.scenes.load import resolve_scene
from sidestep.suites.files import SUFFIXES, OptionSuite
from sidestep.types.base import Model, NonNegative, Point, Positive, PositiveSpeed
from sidestep.types.events import Conduct, Enacting
from sidestep.types.outcome import Rules
from sidestep.types.scenario import RobotPlacement, Scenario
from sidestep.types.scene import SceneSpec
from sidestep.types.sensors import Sensors

STEP_S, CONTROL_EVERY = 0.05, 2
"""The world moves at 20 Hz, the robot decides at 10 Hz."""
EXPECTED = "protocol, scene, questionnaire, scenarios"

Identifier = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.]{0,63}$")]
"""Without a hyphen, which joins the names of scenario and place."""
Language = Annotated[str, StringConstraints(pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8})?$")]
Line = Annotated[str, StringConstraints(min_length=1, max_length=2000)]
Text = Line | Annotated[dict[Language, Line], Field(min_length=1)]
"""In the language of the protocol, or by language."""
Path2D = Annotated[tuple[Point, ...], Field(min_length=2, max_length=50)]


class ProtocolLocation(Model):
    """A place where a scenario is enacted."""

    a: Path2D
    """Path of whoever starts at A, m."""
    b: Path2D | None = None
    """Path of the other; None: ``a`` backwards."""
    meet: Point | None = None
    """Where the paths meet; None: they are one path."""
    start_m: NonNegative | tuple[NonNegative, NonNegative] = 1.0
    """The person sets off when the robot has come so far along its path; two numbers: along ``a``, along ``b``."""
    person: dict[str, Any] = Field(default_factory=dict)
    """Settings of the event ``enacting`` at this place."""
    split: Literal["dev", "test"] = "test"
    """``dev``: policies may be tuned here."""

    @property
    def paths(self) -> tuple[Path2D, Path2D]:
        """The paths from A and from B."""
        return self.a, self.a[::-1] if self.b is None else self.b


class ProtocolScenario(Model):
    """What happens between a person and the robot, and what participants read about it."""

    title: Text | Literal[""] = ""
    conduct: Conduct = "walk_on"
    instruction: Text
    """Text for the participant."""
    expected: Text
    """What the robot is expected to do."""
    questions: str = ""
    """The scenario of the questionnaire whose items are asked; empty: that of the same name."""
    person: dict[str, Any] = Field(default_factory=dict)
    """Settings of the event ``enacting``: distances, patience, walking speed."""
    time_limit_s: Positive = 45.0
    locations: Annotated[dict[Identifier, ProtocolLocation], Field(min_length=1)]


class Protocol(Model):
    """A protocol as written in a file."""

    protocol: Identifier
    """Name of the suite."""
    summary: str = ""
    source: str = ""
    language: Language = "en"
    """Language of texts that are not given by language."""
    scene: str | SceneSpec
    """A floor plan's name, a path to a scene file, or the scene itself."""
    questionnaire: str | dict[str, Any] = "protocol"
    """Name of a bundled questionnaire, a file beside this one, or the questionnaire itself."""
    robot: str = "pioneer_3dx"
    """Name of a robot spec."""
    scenarios: Annotated[dict[Identifier, ProtocolScenario], Field(min_length=1)]

    @property
    def languages(self) -> tuple[str, ...]:
        """Those in which every scenario has an instruction; the protocol's own first."""
        texts = [scenario.instruction for scenario in self.scenarios.values()]
        known = [{self.language} if isinstance(text, str) else set(text) for text in texts]
        return (self.language, *sorted(set.intersection(*known) - {self.language}))

    def say(self, text: Text | Literal[""], language: str) -> str:
        """``text`` in ``language``; in the protocol's own where there is no translation."""
        if not isinstance(text, str):
            text = text.get(language) or text.get(self.language) or next(iter(text.values()))
        return text.strip()


class Role(NamedTuple):
    """Paths of robot and person: indices of ``ProtocolLocation.paths``."""

    name: str
    robot: int
    person: int


ROLES = {"ab": Role("ab", 0, 1), "ba": Role("ba", 1, 0)}


class ProtocolOptions(Model):
    """What can be chosen with ``--set``."""

    roles: Literal["ab", "ba", "alternate"] = "ab"
    """``ab``: the robot starts at A, the person at B; ``ba``: the other way round; ``alternate``: every scenario both
    ways, one after the other, with ``-ab`` and ``-ba`` after its name."""
    split: Literal["dev", "test", "all"] = "all"
    """``dev``: places to develop and tune on; ``test``: places for tables; ``all``: both, as in a study."""
    language: str = ""
    """Language of the texts in ``notes``; empty: the protocol's own."""
    robot: str = ""
    """Name of a robot spec; empty: that of the protocol."""
    person_mps: PositiveSpeed | None = None
    """Walking speed of the person; None: drawn between 1.1 and 1.65 m/s, or what the protocol says."""


@dataclass(frozen=True, kw_only=True)
class ProtocolSuite(OptionSuite):
    """A protocol under one choice of options."""

    protocol: Protocol
    options: ProtocolOptions = field(default_factory=ProtocolOptions)
    name: str = "protocol"
    summary: str = ""

    def __post_init__(self) -> None:
        known = self.protocol.languages
        if self.options.language not in ("", *known):
            raise UnknownName("language", self.options.language, known, f"options of suite {self.name}")

    def scenarios(self) -> tuple[Scenario, ...]:
        """Scenario by scenario, place by place."""
        found = tuple(self._all())
        if not found:
            split = self.options.split
            raise BadInput(f"suite {self.name}: no place has `split: {split}`; choose split=all, or mark places")
        return found

    def _all(self) -> Iterator[Scenario]:
        chosen = self.options.roles
        for kind, scenario in self.protocol.scenarios.items():
            for place, location in scenario.locations.items():
                if self.options.split not in (location.split, "all"):
                    continue
                for role in ROLES.values() if chosen == "alternate" else (ROLES[chosen],):
                    name = f"{kind}-{place}" + (f"-{role.name}" if chosen == "alternate" else "")
                    yield self._scenario(name, kind, place, scenario, location, role)

    def _scenario(
        self, name: str, kind: str, place: str, scenario: ProtocolScenario, location: ProtocolLocation, role: Role
    ) -> Scenario:
        path, language = location.paths[role.robot], self.options.language or self.protocol.language
        title = self.protocol.say(scenario.title, language) or kind
        person = Enacting.parse(_event(scenario, location, role, self.options.person_mps), f"{self.name}: {name}")
        return Scenario(
            name=name,
            suite=self.name,
            summary=f"{title} at {place}; the robot starts at {role.name[0].upper()}",
            scene=self.protocol.scene,
            robots=(_drive_along(path, self.options.robot or self.protocol.robot),),
            events=(person,),
            rules=_rules(scenario, f"{self.name}: {name}"),
            sensors=Sensors.parse({"pedestrians": {"occlusion": True}}, self.name),
            tags=(kind, place, role.name),
            notes={
                "title": title,
                "instruction": self.protocol.say(scenario.instruction, language),
                "expected": self.protocol.say(scenario.expected, language),
                "questionnaire": self.protocol.questionnaire,
                "scenario": scenario.questions or kind,
                "location": place,
                "roles": role.name,
                "mark": list(_point_along(path, person.start_m)),
            },
        )


def _rules(scenario: ProtocolScenario, where: str) -> Rules:
    steps = {"step_s": STEP_S, "control_every": CONTROL_EVERY}
    return Rules.parse({**steps, "time_limit_s": scenario.time_limit_s}, where)


def _event(scenario: ProtocolScenario, location: ProtocolLocation, role: Role, speed: float | None) -> dict[str, Any]:
    """The person as plain data; a place's own settings come before those of the scenario."""
    start = location.start_m[role.robot] if isinstance(location.start_m, tuple) else location.start_m
    own: dict[str, Any] = {
        "kind": "enacting",
        "path": location.paths[role.person],
        "conduct": scenario.conduct,
        "meet": location.meet,
        "start_m": start,
    }
    return own | scenario.person | location.person | ({} if speed is None else {"speed": speed})


def _drive_along(path: Path2D, robot: str) -> RobotPlacement:
    (x, y), (to_x, to_y) = path[:2]
    heading = float(exact.arctan2(to_y - y, to_x - x))
    return RobotPlacement(spec=robot, start=(x, y, heading), goal=path[-1], route=path[1:-1])


def _point_along(path: Path2D, metres: float) -> Point:
    """The point so far along a path; its end if it is shorter."""
    for (ax, ay), (bx, by) in itertools.pairwise(path):
        length = sqrt(square(bx - ax) + square(by - ay))
        if metres <= length and length > 0.0:
            return ax + (bx - ax) * metres / length, ay + (by - ay) * metres / length
        metres -= length
    return path[-1]


def parse_protocol(data: dict[Any, Any], path: Path) -> ProtocolSuite:
    """The suite that the document ``data`` of the file ``path`` describes; files that it names are read now, and
    mistakes in the settings of people are reported."""
    protocol = Protocol.parse(data, str(path))
    for name, scenario in protocol.scenarios.items():
        _rules(scenario, f"{path}: scenarios.{name}")
        for place, location in scenario.locations.items():
            for role in ROLES.values():
                Enacting.parse(
                    _event(scenario, location, role, None), f"{path}: scenarios.{name}.locations.{place}: person"
                )
    changes: dict[str, Any] = {}
    if isinstance(protocol.scene, str):
        scene = resolve_scene(protocol.scene, path.parent)
        if scene.name != protocol.scene:
            changes["scene"] = scene
    if isinstance(protocol.questionnaire, str) and protocol.questionnaire.endswith(SUFFIXES):
        file = file_beside(path, protocol.questionnaire, "questionnaire")
        changes["questionnaire"] = read_mapping(file, "questionnaire", "name, title, scale, items")
    protocol = protocol.model_copy(update=changes)
    summary = protocol.summary or f"Protocol of {path.name}"
    return ProtocolSuite(protocol=protocol, name=protocol.protocol, summary=summary)


def load_protocol(path: Path) -> ProtocolSuite:
    """The suite of a protocol file."""
    return parse_protocol(read_mapping(path, "protocol", EXPECTED), path)


PROTOCOL_SUITE = load_protocol(Path(__file__).parent / "data" / "protocol.yaml")
