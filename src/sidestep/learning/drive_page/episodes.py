"""Episodes of the intersection suite that are driven by hand, one after another, and their demonstrations.

This module does not depend on the page: a program can call the methods of :class:`HandDriving` as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sidestep.errors import BadInput
from sidestep.gym.intersection import choose_scenarios
from sidestep.learning.demonstrations import BRANCHES, DemonstrationFrame, DemonstrationWriter
from sidestep.learning.drive_demos import NEEDS, episode_labels, make_frame
from sidestep.learning.drive_page.messages import Phase
from sidestep.simulation.session import Session
from sidestep.suites.intersection import SCENES, TEST_SCENES
from sidestep.types import Drive, Scenario

DEVELOPMENT_SCENES = tuple(scene for scene in range(SCENES) if scene not in TEST_SCENES)
STANDING = Drive(0.0, 0.0, 0.0)


class HandEpisode(NamedTuple):
    """An episode to drive."""

    scenario: Scenario
    weather: str
    seed: int

    @property
    def branch(self) -> int:
        """-1 turn left, 0 go straight, 1 turn right."""
        branch: int = self.scenario.notes["branch"]
        return branch

    @property
    def task(self) -> str:
        """The task in words."""
        return BRANCHES[self.branch]


class HandPlan:
    """The episodes to drive: the chosen routes in turn, then again with the next seed; weathers in turn, so that a
    route gets another one each time. There is no last episode."""

    def __init__(
        self,
        *,
        scene: int | None = None,
        branch: int | None = None,
        pose: int | None = None,
        people: str = "standard",
        vehicles: bool = False,
        weathers: Sequence[str] = ("ClearNoon",),
        seed: int = 0,
    ) -> None:
        if not weathers:
            raise BadInput("weathers: at least one is needed, such as ClearNoon")
        scenes = DEVELOPMENT_SCENES if scene is None else (scene,)
        branches = None if branch is None else (branch,)
        options = {"people": people, "vehicles": vehicles}
        self._weathers, self._seed = tuple(weathers), seed
        self._routes: list[tuple[Scenario, ...]] = []
        for weather in self._weathers:
            found = choose_scenarios(scenes, branches, {**options, "weather": weather})
            poses = sorted({each.notes["pose"] for each in found})
            chosen = tuple(each for each in found if pose is None or each.notes["pose"] == pose)
            if not chosen:
                raise BadInput(f"no such route starts at pose {pose}; choose one of {', '.join(map(str, poses))}")
            self._routes.append(chosen)

    @property
    def routes(self) -> int:
        """Number of routes that take turns."""
        return len(self._routes[0])

    def __getitem__(self, number: int) -> HandEpisode:
        """Episode ``number``, counted from 0."""
        turn, route = divmod(number, self.routes)
        weather = (turn + route) % len(self._weathers)
        return HandEpisode(self._routes[weather][route], self._weathers[weather], self._seed + turn)


class HandDriving:
    """Drives the episodes of a plan with commands that come from outside, and writes demonstrations.

    Frames of an episode are written when it has ended with success; with ``keep_failures`` they are written while it
    is driven, however it ends.
    """

    session: Session

    def __init__(self, plan: HandPlan, writer: DemonstrationWriter, *, keep_failures: bool = False) -> None:
        self._plan, self._writer, self._keep_failures = plan, writer, keep_failures
        self.phase: Phase = "loading"
        self.number = 0
        """Number of the episode, from 0."""
        self.kept_episodes = self.kept_frames = 0
        self.last = STANDING
        """The command that moved the car last."""
        self._waiting: list[DemonstrationFrame] = []
        self._driven = False
        self._sessions: dict[str, Session] = {}

    @property
    def episode(self) -> HandEpisode:
        """The episode under way, or the next to be loaded."""
        return self._plan[self.number]

    @property
    def outcome(self) -> str:
        """Outcome of the episode; empty until it is over."""
        return str(self.session.outcome) if self.phase == "over" else ""

    def leave(self, again: bool = False) -> None:
        """Leave the episode for the next one, or for the same one ``again``, which :meth:`load` then begins."""
        self.store()
        self._waiting.clear()
        self.number += 0 if again else 1
        self.phase = "loading"

    def load(self) -> None:
        """Begin the episode: the car waits at its start."""
        scenario, weather, seed = self.episode
        key = f"{scenario.name} {weather}"
        if key not in self._sessions:
            self._sessions = {key: Session(scenario, needs=NEEDS, name="hand")}
            self._sessions[key].step(STANDING)  # compiles what a step needs before the clock runs
        self.session = self._sessions[key]
        self.session.reset(seed)
        self._labels = episode_labels(scenario, weather, self._writer.next_trace, self._writer.weathers)
        self._driven = False
        self.last = STANDING
        self.phase = "ready"

    def go(self) -> None:
        """Start, or go on after a pause."""
        if self.phase in ("ready", "paused"):
            self.phase = "driving"

    def pause(self) -> None:
        """Stop the clock."""
        if self.phase == "driving":
            self.phase = "paused"

    def park(self) -> None:
        """Pause because nobody drives, or write the episode that is over."""
        self.pause()
        self.store()

    def step(self, command: Drive) -> None:
        """Drive for one step of the simulation. Frames hold what was seen before the step, and the command."""
        if self.phase != "driving":
            raise BadInput(f"the episode is {self.phase}; call go() before step()")
        seen = self.session.observation
        _, terminated, truncated, _ = self.session.step(command)
        done = terminated or truncated
        self.last = command
        self._driven = True
        frame = make_frame(seen, command, self._labels, done)
        if self._keep_failures:
            self._write(frame)
        else:
            self._waiting.append(frame)
        if done:
            self.phase = "over"

    def store(self) -> None:
        """Write what is to be kept of an episode that is over. Takes about a second for a thousand frames."""
        if self.phase != "over" or not self._driven:
            return
        if self._keep_failures or self.outcome == "success":
            for frame in self._waiting:
                self._write(frame)
            self.kept_episodes += 1
        self._waiting.clear()
        self._driven = False

    def _write(self, frame: DemonstrationFrame) -> None:
        self._writer.add(self.episode.branch, frame)
        self.kept_frames += 1

    def finish(self) -> None:
        """Write everything that is to be kept; nothing is driven after that."""
        self.store()
        self._writer.flush()
