"""The SocNav suite: SocNavBench's 33 episodes among real pedestrians who are replayed, ``data/socnav.yaml``.

Without the recordings each episode runs among its *twin*, a crowd generated from the fitted statistics of the same
minutes at the same place. Records and tables say which it was: ``recorded`` or ``generated``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from sidestep.datasets import find_dataset
from sidestep.errors import BadInput
from sidestep.reading import read_yaml
from sidestep.types.base import Finite, Model, Point, Pose, Positive
from sidestep.types.outcome import Rules
from sidestep.types.robot import DynamicsName
from sidestep.types.scenario import CrowdPart, ReplayPlacement, RobotPlacement, Scenario, TwinPlacement

DATA = Path(__file__).parent / "data" / "socnav.yaml"
STEP_S = 0.05
PERSON_RADIUS_M = 0.2


class Recording(Model):
    """A replay file, and how it lies on the floor plan."""

    dataset: str
    recorded_hz: Positive
    shipped_hz: Positive
    mirror: bool
    rotation: Finite
    offset: Point


class Window(Model):
    """The people of one recording from a moment on."""

    recording: str
    first_person: int
    first_frame: int
    twin: str


class Episode(Model):
    """One line of SocNavBench's list."""

    name: str
    scene: str
    start: Pose
    goal: Point
    budget_s: Positive
    people: tuple[Window, ...]
    duplicate_of: str | None = None


class SocnavData(Model):
    """The file as a whole."""

    recordings: dict[str, Recording]
    episodes: tuple[Episode, ...]


class SocnavOptions(Model):
    """What can be chosen with ``--set``."""

    source: Literal["auto", "recorded", "generated"] = "auto"
    """``auto``: recorded where the recordings are installed, else generated."""
    time: Literal["native", "as-shipped"] = "native"
    """``as-shipped``: hotel and univ at 0.6 times their speed, as SocNavBench's configuration replays them."""
    reactivity: Literal["none", "pause", "reroute"] = "none"
    """What people do when the robot is in their way."""
    robot: str = "pioneer_3dx"
    """Name of a robot spec."""
    dynamics: DynamicsName | Literal["policy"] = "policy"
    """``holonomic``: position mode with a speed limit; ``unicycle``: velocity mode; ``policy``: as each policy asks."""
    step_s: Positive = STEP_S


@cache
def socnav_data() -> SocnavData:
    """The episodes and recordings of the data file."""
    (document,) = read_yaml(DATA)
    return SocnavData.parse(document, str(DATA))


@dataclass(frozen=True)
class Socnav:
    """The suite under one choice of options."""

    options: SocnavOptions = field(default_factory=SocnavOptions)
    name: str = "socnav"
    summary: str = "33 episodes among recorded pedestrians (ETH, hotel, university, Zara), or their generated twins"

    def with_options(self, options: dict[str, Any]) -> Socnav:
        """The same suite, run differently."""
        return Socnav(SocnavOptions.parse({**self.options.model_dump(), **options}, "options of suite socnav"))

    def scenarios(self) -> tuple[Scenario, ...]:
        """All 33 in the order of the published list; the one that equals another is tagged ``duplicate``."""
        return tuple(self._scenario(episode) for episode in socnav_data().episodes)

    def _scenario(self, episode: Episode) -> Scenario:
        recorded = self._is_recorded(episode)
        crowd = tuple(self._part(window, recorded) for window in episode.people)
        ego = RobotPlacement(
            spec=self.options.robot, dynamics=self.options.dynamics, start=episode.start, goal=episode.goal
        )
        notes: dict[str, Any] = {"options": self.options.model_dump()}
        if episode.duplicate_of is not None:
            notes["duplicate_of"] = episode.duplicate_of
        return Scenario(
            name=episode.name,
            suite=self.name,
            summary=f"{episode.scene.removeprefix('socnav_')}, {'recorded' if recorded else 'generated'} people",
            scene=episode.scene,
            robots=(ego,),
            crowd=crowd,
            rules=Rules(step_s=self.options.step_s, time_limit_s=episode.budget_s, collision_cooldown_s=1.0),
            tags=("duplicate",) if episode.duplicate_of else (),
            notes=notes,
        )

    def _is_recorded(self, episode: Episode) -> bool:
        if self.options.source == "generated":
            if self.options.time == "as-shipped":
                raise BadInput("suite socnav: time=as-shipped is a way to replay recordings, not generated people")
            return False
        missing = [name for name in self._datasets(episode) if find_dataset(name) is None]
        if missing and (self.options.source == "recorded" or self.options.time == "as-shipped"):
            raise BadInput(
                f"suite socnav: {episode.name} needs the recording {missing[0]!r}, which is not installed; "
                "see `sidestep data list`, or leave source to auto for generated people"
            )
        return not missing

    def _datasets(self, episode: Episode) -> list[str]:
        recordings = socnav_data().recordings
        return [recordings[window.recording].dataset for window in episode.people]

    def _part(self, window: Window, recorded: bool) -> CrowdPart:
        placement: ReplayPlacement | TwinPlacement
        if recorded:
            recording = socnav_data().recordings[window.recording]
            placement = ReplayPlacement(
                dataset=recording.dataset,
                start_s=window.first_frame / recording.recorded_hz,
                speed=recording.shipped_hz / recording.recorded_hz if self.options.time == "as-shipped" else 1.0,
                first_person=window.first_person,
                mirror=recording.mirror,
                rotation=recording.rotation,
                offset=recording.offset,
            )
        else:
            placement = TwinPlacement(twin=window.twin)
        return CrowdPart(
            model="replay",
            placement=placement,
            radius=PERSON_RADIUS_M,
            sees_robot=self.options.reactivity != "none",
            reactivity=self.options.reactivity,
        )


SOCNAV = Socnav()
