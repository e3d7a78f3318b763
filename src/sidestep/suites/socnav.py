"""The SocNav suite: SocNavBench's 33 episodes among real pedestrians who are replayed, ``data/socnav.yaml``.

Without the recordings each episode runs among a *synthetic crowd*, generated from the fitted statistics of the same
minutes at the same place. Records and tables say which it was: ``recorded`` or ``generated``.

The 33 are the development split: bundled policies were tuned on them. ``split=test`` has other minutes of the same
recordings (``data/socnav_test.yaml``) that nothing was tuned on; it needs the recordings.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from sidestep._util.reading import read_yaml
from sidestep.datasets import find_dataset
from sidestep.errors import BadInput
from sidestep.suites.files import OptionSuite
from sidestep.types.base import Angle, Finite, Model, Point, Pose, Positive
from sidestep.types.outcome import Rules
from sidestep.types.robot import DynamicsName
from sidestep.types.scenario import CrowdPart, ReplayPlacement, RobotPlacement, Scenario, SyntheticPlacement

DATA = Path(__file__).parent / "data" / "socnav.yaml"
TEST_DATA = Path(__file__).parent / "data" / "socnav_test.yaml"
TEST_LIMIT_S = 60.0
STEP_S = 0.05
PERSON_RADIUS_M = 0.2


class Recording(Model):
    """A replay file, and how it lies on the floor plan."""

    dataset: str
    recorded_hz: Positive
    shipped_hz: Positive
    mirror: bool
    rotation: Angle
    offset: Point


class Window(Model):
    """The people of one recording from a moment on."""

    recording: str
    first_person: int
    first_frame: int
    synthetic: str


class PublishedEpisode(Model):
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
    episodes: tuple[PublishedEpisode, ...]


class HeldOutWindow(Model):
    """One episode of the test split: ``route`` is the published episode whose floor plan, start and goal it has."""

    recording: str
    start_s: Finite
    route: str


class HeldOutData(Model):
    """The file of the test split."""

    windows: tuple[HeldOutWindow, ...]


class SocnavOptions(Model):
    """What can be chosen with ``--set``."""

    split: Literal["dev", "test"] = "dev"
    """``dev``: the 33 published episodes; ``test``: 151 other windows of the same recordings."""
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


@cache
def held_out_data() -> HeldOutData:
    """The windows of the test split."""
    (document,) = read_yaml(TEST_DATA)
    return HeldOutData.parse(document, str(TEST_DATA))


@dataclass(frozen=True)
class Socnav(OptionSuite):
    """The suite under one choice of options."""

    options: SocnavOptions = field(default_factory=SocnavOptions)
    name: str = "socnav"
    summary: str = "33 episodes among recorded pedestrians (ETH, hotel, university, Zara), or synthetic crowds"

    def scenarios(self) -> tuple[Scenario, ...]:
        """All 33 in the order of the published list; the one that equals another is tagged ``duplicate``. The
        test split has 151 windows, recording by recording."""
        if self.options.split == "test":
            return tuple(self._test_scenario(window) for window in held_out_data().windows)
        return tuple(self._published_scenario(episode) for episode in socnav_data().episodes)

    def _published_scenario(self, episode: PublishedEpisode) -> Scenario:
        recorded = self._is_recorded(episode)
        notes = {"duplicate_of": episode.duplicate_of} if episode.duplicate_of is not None else {}
        return self._scenario(
            episode,
            name=episode.name,
            summary=f"{episode.scene.removeprefix('socnav_')}, {'recorded' if recorded else 'generated'} people",
            crowd=tuple(self._part(self._placement(window, recorded)) for window in episode.people),
            limit_s=episode.budget_s,
            tags=("duplicate",) if episode.duplicate_of else (),
            notes=notes,
        )

    def _test_scenario(self, window: HeldOutWindow) -> Scenario:
        if self.options.source == "generated":
            raise BadInput("suite socnav: split=test are windows of recordings; generated people have split=dev only")
        route = next(episode for episode in socnav_data().episodes if episode.name == window.route)
        recording = socnav_data().recordings[window.recording]
        if find_dataset(recording.dataset) is None:
            raise BadInput(
                f"suite socnav: split=test needs the recording {recording.dataset!r}, which is not installed; see "
                "`sidestep data list`"
            )
        placement = self._replay(recording, window.start_s)
        return self._scenario(
            route,
            name=f"w_{window.recording}_{window.start_s:03.0f}",
            summary=f"{route.scene.removeprefix('socnav_')}, recorded people from {window.start_s:g} s on",
            crowd=(self._part(placement),),
            limit_s=TEST_LIMIT_S,
            tags=("test",),
            notes={"route_of": window.route},
        )

    def _scenario(
        self,
        route: PublishedEpisode,
        *,
        name: str,
        summary: str,
        crowd: tuple[CrowdPart, ...],
        limit_s: float,
        tags: tuple[str, ...],
        notes: dict[str, Any],
    ) -> Scenario:
        ego = RobotPlacement(
            spec=self.options.robot, dynamics=self.options.dynamics, start=route.start, goal=route.goal
        )
        return Scenario(
            name=name,
            suite=self.name,
            summary=summary,
            scene=route.scene,
            robots=(ego,),
            crowd=crowd,
            rules=Rules(step_s=self.options.step_s, time_limit_s=limit_s, collision_cooldown_s=1.0),
            tags=tags,
            notes={"options": self.options.model_dump(), **notes},
        )

    def _is_recorded(self, episode: PublishedEpisode) -> bool:
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

    def missing_recordings(self) -> list[str]:
        """Recordings that are not installed, for want of which people are generated."""
        if self.options.source != "auto":
            return []
        names = {recording.dataset for recording in socnav_data().recordings.values()}
        return sorted(name for name in names if find_dataset(name) is None)

    def _datasets(self, episode: PublishedEpisode) -> list[str]:
        recordings = socnav_data().recordings
        return [recordings[window.recording].dataset for window in episode.people]

    def _placement(self, window: Window, recorded: bool) -> ReplayPlacement | SyntheticPlacement:
        if not recorded:
            return SyntheticPlacement(statistics=window.synthetic)
        recording = socnav_data().recordings[window.recording]
        return self._replay(recording, window.first_frame / recording.recorded_hz, window.first_person)

    def _replay(self, recording: Recording, start_s: float, first_person: int | None = None) -> ReplayPlacement:
        return ReplayPlacement(
            dataset=recording.dataset,
            start_s=start_s,
            speed=recording.shipped_hz / recording.recorded_hz if self.options.time == "as-shipped" else 1.0,
            first_person=first_person,
            mirror=recording.mirror,
            rotation=recording.rotation,
            offset=recording.offset,
        )

    def _part(self, placement: ReplayPlacement | SyntheticPlacement) -> CrowdPart:
        return CrowdPart(
            model="replay",
            placement=placement,
            radius=PERSON_RADIUS_M,
            sees_robot=self.options.reactivity != "none",
            reactivity=self.options.reactivity,
        )


SOCNAV = Socnav()
