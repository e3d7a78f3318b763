"""The closed loop: predictors are put into a car, and their effect on the driving is measured.

Every predictor drives the same policy, ``anticipatory``, with the thresholds at which its false alarms on the
validation split are those of the In-ROI Sensitivity. All drive the same scenarios with the same seeds, the human-like
driver as well; an empty drive of each scenario gives its duration without people.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sidestep import registry
from sidestep.errors import BadInput
from sidestep.metrics.score import score
from sidestep.prediction import check_predictor
from sidestep.prediction.data.corridor import CORRIDOR_M, project
from sidestep.prediction.data.from_records import body_of, interactions_of, path_of
from sidestep.prediction.data.samples import make_samples
from sidestep.prediction.forecasts import forecast_samples
from sidestep.prediction.gaps import find_encounters
from sidestep.prediction.scores import Scores, score_forecast
from sidestep.prediction.working_points import driver_scores
from sidestep.records import load_record
from sidestep.runs.folder import episode_path
from sidestep.runs.plan import Plan, make_plan
from sidestep.runs.runner import run_benchmark
from sidestep.suites.files import choose_options, load_suite
from sidestep.types.base import BoolArray, FloatArray
from sidestep.types.interactions import Interactions
from sidestep.types.outcome import Outcome
from sidestep.types.record import EpisodeRecord

DRIVER, HUMAN, EMPTY = "anticipatory", "human_driver", "empty"
WITH = "with-"
"""Prefix of the label of a predictor in the name of its driver: a predictor may have the name of a policy."""
BRAKES = 0.5
"""m/s²: decelerating more than this, and more than on the empty road, is braking."""
LOOK_AHEAD_S, REACH_S = 4.0, 7.0
"""Braking was needless if within the next 4 s nobody is in the corridor as far ahead as the car would drive in 7 s: the
longest horizon and the comfort zone behind it."""
SHORT_GAP_S = 2.0
"""Drivers seldom leave pedestrians less."""

ProgressCallback = Callable[[int, int, str], None]


@dataclass(frozen=True)
class LoopPredictor:
    """A predictor under test: its label, and a name in the registry, ``file.py:Class`` or a network's ``.onnx``."""

    label: str
    reference: str

    def make(self) -> Any:
        """The predictor itself."""
        return registry.make_predictor(*self._made_from())

    def _made_from(self) -> tuple[str, dict[str, Any]]:
        return ("cvae", {"file": self.reference}) if self.reference.endswith(".onnx") else (self.reference, {})

    def settings(self, thresholds: Iterable[float]) -> dict[str, Any]:
        """Settings of the policy ``anticipatory``."""
        name, own = self._made_from()
        file = {"predictor_file": own["file"]} if own else {}
        return {"predictor": name, "thresholds": [float(each) for each in thresholds], **file}


def check_predictors(predictors: Sequence[LoopPredictor]) -> None:
    """``BadInput`` unless labels differ and every predictor can be made and keeps its contract."""
    labels = [each.label for each in predictors]
    for label in labels:
        if labels.count(label) > 1:
            raise BadInput(f"two predictors have the label {label!r}; give them others: LABEL=PREDICTOR")
        if label in (HUMAN, EMPTY):
            raise BadInput(f"the label {label!r} is that of another driver of the loop; give another: LABEL=PREDICTOR")
    for each in predictors:
        if each.reference.endswith(".h5"):
            raise BadInput(f"{each.reference}: a file of forecasts cannot drive; name a predictor or a network (.onnx)")
        check_predictor(each.make())


def scored_splits(
    data: Interactions, predictors: Sequence[LoopPredictor], every: int
) -> tuple[list[Scores], list[Scores]]:
    """Scores of all predictors at every ``every``-th frame: on the validation split with the zone of the driver, on the
    test split with that of the metrics."""
    checks, tests = [], []
    for split in ("validation", "test"):
        tracks = data.of_split(split)
        if len(tracks) < 2:
            raise BadInput(
                f"the split {split!r} has {len(tracks)} tracks: thresholds come from the validation split and metrics "
                "from the test split; `sidestep predict info` counts the tracks of each"
            )
        samples = make_samples(tracks, every)
        for each in predictors:
            forecast = forecast_samples(each.make(), samples)
            scores = score_forecast(samples, forecast, name=each.label)
            if split == "test":
                tests.append(replace(scores, is_network=each.reference.endswith(".onnx")))
            else:
                checks.append(driver_scores(samples, forecast, scores))
    return checks, tests


@dataclass(frozen=True, eq=False)
class LoopEpisode:
    """The measures of one episode."""

    driver: str
    suite: str
    scenario: str
    seed: int
    outcome: str
    duration_s: float
    empty_s: float
    """Duration of the drive without people."""
    gaps_s: FloatArray  # (K,) smallest time gap of each encounter; infinite: the car stood
    braking_s: float
    needless_s: float
    """Time of needless braking."""
    hardest: float
    """Strongest deceleration, m/s²."""
    jerk: float
    """Mean absolute jerk, m/s³."""

    @property
    def succeeded(self) -> bool:
        """Whether the car arrived."""
        return self.outcome == Outcome.SUCCESS

    @property
    def hit_somebody(self) -> bool:
        """Whether it hit a pedestrian."""
        return self.outcome == Outcome.PEDESTRIAN_COLLISION


def plan_drives(
    suite: str, options: dict[str, Any], drivers: dict[str, dict[str, Any]], repeats: int, limit: int | None = None
) -> tuple[Plan, Plan]:
    """The drives with people and those without. ``BadInput`` for what cannot be driven."""
    chosen = choose_options(load_suite(suite), options)
    labelled = [f"{WITH}{label}={DRIVER}" for label in drivers]
    given = {WITH + label: settings for label, settings in drivers.items()}
    plan = make_plan(chosen, [*labelled, HUMAN], settings=given, repeats=repeats, limit=limit)
    alone = choose_options(load_suite(suite), {**options, "people": "none"})
    return plan, make_plan(alone, [f"{EMPTY}={DRIVER}"], limit=limit)


def drive_all(
    suite: str,
    options: dict[str, Any],
    drivers: dict[str, dict[str, Any]],
    out: Path,
    repeats: int,
    workers: int,
    progress: ProgressCallback,
    limit: int | None = None,
) -> list[LoopEpisode]:
    """Drive the scenarios of a suite with every driver (label → settings of ``anticipatory``), the human-like driver
    and, once, without people; and measure all episodes. Runs are kept below ``out`` and resumed from there. ``limit``:
    number of scenarios, the first ones."""
    plan, empty = plan_drives(suite, options, drivers, repeats, limit)
    folder, nobody = out / suite, out / f"{suite}-empty"

    def labelled(text: str) -> Callable[..., None]:
        return lambda done, of, task, _: progress(done, of, f"{text} {task.label}")

    run_benchmark(plan, folder, workers, labelled(suite))
    run_benchmark(empty, nobody, workers, labelled(f"{suite}, no people"))
    found = []
    total, done = len(plan.scenarios) * len(plan.policies) * len(plan.seeds), 0
    for scenario in plan.scenarios:
        free = load_record(episode_path(nobody, EMPTY, scenario.name, empty.seeds[0]))
        for policy in plan.policies:
            for seed in plan.seeds:
                record = load_record(episode_path(folder, policy.name, scenario.name, seed))
                found.append(measure_drive(record, free, policy.name.removeprefix(WITH)))
                done += 1
                progress(done, total, f"measuring {suite}")
    return found


def measure_drive(record: EpisodeRecord, empty: EpisodeRecord, driver: str) -> LoopEpisode:
    """Measure one episode against the empty drive of its scenario."""
    braking, needless, hardest = _braking(record, empty)
    encounters = find_encounters(interactions_of([record]))
    gaps = [np.inf if each.gap_s is None else each.gap_s for each in encounters]
    return LoopEpisode(
        driver=driver,
        suite=record.scenario.suite,
        scenario=record.scenario.name,
        seed=record.seed,
        outcome=str(record.outcome),
        duration_s=float(record.time[-1]),
        empty_s=float(empty.time[-1]),
        gaps_s=np.array(gaps, np.float64),
        braking_s=braking,
        needless_s=needless,
        hardest=hardest,
        jerk=float(score(record, ["ego_jerk"])["ego_jerk"].value),
    )


def _speed(record: EpisodeRecord) -> FloatArray:
    velocity = record.robot_velocity
    return np.sqrt(velocity[:, 0] * velocity[:, 0] + velocity[:, 1] * velocity[:, 1])


def _braking(record: EpisodeRecord, empty: EpisodeRecord) -> tuple[float, float, float]:
    """Seconds of braking, of needless braking, and the strongest deceleration."""
    where = record.scenario.name
    path = path_of(record, where)
    length, _, middle = body_of(record.robot, where)
    step_s = float(record.time[1] - record.time[0])
    own, alone = (np.maximum(-np.diff(_speed(each)) / step_s, 0.0) for each in (record, empty))
    along, there = (project(path, each.robot_pose[:-1, :2])[0] for each in (record, empty))
    order = np.argsort(there, kind="stable")
    usual = np.interp(along, there[order], alone[order])
    brakes = own > usual + BRAKES
    needed = _somebody_ahead(record, path, along + middle + length / 2, step_s)
    seconds = step_s * brakes.sum(), step_s * (brakes & ~needed[:-1]).sum()
    return float(seconds[0]), float(seconds[1]), float(own.max(initial=0.0))


def _somebody_ahead(record: EpisodeRecord, path: FloatArray, bumper: FloatArray, step_s: float) -> BoolArray:
    """(T + 1,) whether somebody is in the corridor soon, as far ahead as the car may get."""
    states, people = record.person_position.shape[:2]
    here: BoolArray = record.person_present
    points = np.where(here[..., None], record.person_position, 1e6).reshape(-1, 2).astype(np.float64)
    along, left = (values.reshape(states, people) for values in project(path, points))
    inside = here & (np.abs(left) <= CORRIDOR_M / 2)
    reach, speed = np.append(bumper, bumper[-1]), _speed(record)
    found = np.zeros(states, bool)
    soon = round(LOOK_AHEAD_S / step_s)
    for k in range(states):
        then = slice(k, k + soon + 1)
        ahead = along[then] - reach[k]
        found[k] = bool((inside[then] & (ahead > 0.0) & (ahead < REACH_S * speed[k] + 1.0)).any())
    return found
