"""Interactions from the simulator: drives of the suites, with drivers, over seeds, until there are enough tracks.

The same plan gives the same data whatever the number of workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import count, islice
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field

from sidestep import registry
from sidestep.errors import BadInput
from sidestep.prediction.data.assemble import STEP_S, ClipTracks, assemble, compact
from sidestep.prediction.data.from_records import ground_of, tracks_of_record
from sidestep.prediction.data.splits import LABELLED_SHARE, LEAST_S, TEST_TRACKS, keep_labels, split_clips
from sidestep.runs.episode import EpisodeTask, TaskResult, as_failed, simulate
from sidestep.runs.executors import Serial, WorkerProcesses, run_with_retry
from sidestep.runs.plan import make_plan
from sidestep.runs.runner import tasks_of
from sidestep.scenes.load import resolve_scene
from sidestep.suites.files import choose_options, load_suite
from sidestep.types.base import Model
from sidestep.types.interactions import GroundMap, Interactions
from sidestep.types.scene import SceneSpec

Progress = Callable[[int, int, str], None]
"""Called with the number of tracks so far, the number wanted, and the episode."""
SURPLUS = 60
"""More tracks than wanted, since the clips of the test split have a few too many."""
FIRST_EPISODES = 4, 24
"""Fewest and most episodes of the first round, from which the length of the next is estimated."""


class Drives(Model):
    """Drives of one suite."""

    suite: str
    options: dict[str, Any] = Field(default_factory=dict)
    policy: str = "human_driver"
    settings: dict[str, Any] = Field(default_factory=dict)
    scenarios: int | None = Field(default=None, ge=1)
    """How many scenarios are drawn for each seed; None: all."""


class GeneratePlan(Model):
    """What to generate."""

    drives: tuple[Drives, ...] = Field(min_length=1)
    tracks: int = Field(default=20_000, ge=1)
    """Number of tracks for training, validation and test together."""
    seed: int = Field(default=0, ge=0)
    test_tracks: int = Field(default=TEST_TRACKS, ge=0)
    labelled_share: float = Field(default=LABELLED_SHARE, ge=0.0, le=1.0)


_STREET = {"split": "dev"}
_INTERSECTION = {"split": "dev", "reacts": True}
DEFAULT_DRIVES = (
    *(Drives(suite="street", options={**_STREET, "people": people}) for people in ("few", "standard", "many")),
    Drives(suite="street", options={**_STREET, "start_kmh": 40.0}),
    *(
        Drives(suite="intersection", options={**_INTERSECTION, "vehicles": vehicles}, scenarios=4)
        for vehicles in (False, True)
    ),
)
"""Streets and intersections of the development split, so that drives on the test split are new to predictors."""


def default_plan(**changes: Any) -> GeneratePlan:
    """Streets and intersections with human drivers."""
    return GeneratePlan.parse({"drives": DEFAULT_DRIVES, **changes}, "plan")


@dataclass(frozen=True)
class Extracted(TaskResult):
    """The tracks of one episode, without the map."""

    tracks: ClipTracks | None = None


def extract(task: EpisodeTask) -> Extracted:
    """Simulate an episode and take its tracks. Runs in worker processes."""
    if task.failure:
        return Extracted(skipped=task.failure)
    try:
        record = simulate(task, registry.make_policy(task.policy.made_from, task.policy.settings))
        if record.error:
            return Extracted(skipped=f"the driver failed: {record.error}")
        return Extracted(tracks=tracks_of_record(record)._replace(ground=None))
    except BadInput as error:
        return Extracted(skipped=str(error))


def generate(plan: GeneratePlan, workers: int = 1, progress: Progress | None = None) -> Interactions:
    """The interactions of ``plan``, split and labelled. ``BadInput`` if an episode cannot be run."""
    episodes = _episodes(plan)
    executor = Serial() if workers <= 1 else WorkerProcesses(workers)
    work: Any = extract
    found: list[ClipTracks] = []
    grounds: dict[str, GroundMap | None] = {}
    usable, ran = 0, 0
    while usable < plan.tracks + SURPLUS:
        tasks = list(islice(episodes, _how_many(plan, usable, ran)))
        results: dict[int, Extracted] = {}
        number = {id(task): k for k, task in enumerate(tasks)}
        seen = usable
        for task, result in run_with_retry(executor, work, tasks, as_failed):
            if not isinstance(result, Extracted) or result.tracks is None:
                raise BadInput(f"{task.label}: {result.skipped or 'no result'}")
            results[number[id(task)]] = result
            seen += _usable(result.tracks)
            if progress is not None:
                progress(min(seen, plan.tracks), plan.tracks, task.label)
        for k, task in enumerate(tasks):
            tracks = results[k].tracks
            assert tracks is not None
            found.append(tracks._replace(ground=_ground(task, grounds)))
            usable += _usable(tracks)
        ran += len(tasks)
        if usable == 0:
            raise BadInput(f"no tracks in {ran} episodes; choose other suites or drivers")
    data = split_clips(assemble(found), plan.seed, plan.test_tracks)
    return compact(keep_labels(_cut(data, plan), plan.seed, plan.labelled_share))


def _cut(data: Interactions, plan: GeneratePlan) -> Interactions:
    """The data with at most the planned number of tracks: surplus training tracks are left out at the end."""
    surplus = len(data) - plan.tracks
    training = np.nonzero(data.split == 0)[0]
    kept = np.ones(len(data), bool)
    if surplus > 0:
        kept[training[max(len(training) - surplus, 0) :]] = False
    return data.choose(kept)


def _usable(tracks: ClipTracks) -> int:
    """Number of tracks that are long enough for training."""
    return sum(len(track.position) > round(LEAST_S / STEP_S) for track in tracks.tracks)


def _how_many(plan: GeneratePlan, usable: int, ran: int) -> int:
    """Episodes of the next round, by the tracks that episodes had so far."""
    if not ran:
        return min(max(plan.tracks // 20, FIRST_EPISODES[0]), FIRST_EPISODES[1])
    missing = plan.tracks + SURPLUS - usable
    return max(int(np.ceil(1.05 * missing * ran / max(usable, 1))), 4)


def _episodes(plan: GeneratePlan) -> Iterator[EpisodeTask]:
    """Seed by seed, the drives of a seed in an order of their own, so that any beginning is a mixture of all."""
    every = [(drives, _tasks(drives)) for drives in plan.drives]
    for seed in count(plan.seed * 1_000_000):
        rng = np.random.default_rng([seed, 3])
        tasks = []
        for drives, known in every:
            chosen = rng.permutation(len(known))[: drives.scenarios]
            tasks += [replace(known[k], seed=seed) for k in chosen.tolist()]
        for k in rng.permutation(len(tasks)).tolist():
            yield tasks[k]


def _tasks(drives: Drives) -> list[EpisodeTask]:
    """The scenarios of a suite as tasks; the options are part of the name of a clip."""
    suite = choose_options(load_suite(drives.suite), drives.options)
    plan = make_plan(suite, [drives.policy], settings={drives.policy: drives.settings})
    kind = ",".join(f"{key}={value}" for key, value in sorted(drives.options.items()) if key != "split")
    return [
        replace(task, scenario=task.scenario.model_copy(update={"name": f"{task.scenario.name}[{kind}]"}))
        for task in tasks_of(plan, Path())
    ]


def _ground(task: EpisodeTask, grounds: dict[str, GroundMap | None]) -> GroundMap | None:
    scene = task.scenario.scene
    key = scene.model_dump_json() if isinstance(scene, SceneSpec) else scene
    if key not in grounds:
        grounds[key] = ground_of(resolve_scene(scene, task.base))
    return grounds[key]
