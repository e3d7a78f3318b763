"""The worker processes of walks: each holds the episodes of many walks and steps them.

Everything that goes in and out is plain data. States are sent as the JSON text that the page reads, so that the server
only forwards them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from sidestep._util.threads import end_with_parent
from sidestep.errors import SidestepError, UnknownName
from sidestep.records.write import encode_record
from sidestep.registry import make_policy
from sidestep.simulation.live import LiveEpisode, LiveState, PersonInput
from sidestep.studies.access import Refused
from sidestep.studies.conduct import flag_of
from sidestep.suites.files import base_of, choose_options, load_suite
from sidestep.types import Scenario
from sidestep.types.events import Enacting

REHEARSED_STEPS = 40
"""2 s, in which policies have decided several times."""


@dataclass(frozen=True)
class WalkOrder:
    """Which episode to begin."""

    suite: str
    options: str
    """JSON."""
    scenario: str
    policy: str
    settings: str
    """JSON."""
    seed: int


_WALKS: dict[str, LiveEpisode] = {}


@cache
def _suite(suite: str, options: str) -> tuple[dict[str, Scenario], Path | None]:
    chosen = choose_options(load_suite(suite), json.loads(options))
    return {each.name: each for each in chosen.scenarios()}, base_of(chosen)


def begin(key: str, order: WalkOrder) -> tuple[str, str, float]:
    """Begin a walk, or begin it again; what the page draws, the first state, and the length of a step in s."""
    drop(key)
    scenarios, base = _suite(order.suite, order.options)
    if order.scenario not in scenarios:
        raise UnknownName("scenario", order.scenario, scenarios, f"suite {order.suite!r}")
    scenario = scenarios[order.scenario]
    policy = make_policy(order.policy, json.loads(order.settings))
    episode = LiveEpisode(scenario, policy, seed=order.seed, base=base)
    _WALKS[key] = episode
    return json.dumps(_scene(episode)), _state(episode.state), episode.step_s


def step(key: str, given: Mapping[str, Any]) -> tuple[str, bool]:
    """One step; the state after it and whether the walk is over."""
    if key not in _WALKS:
        raise Refused(409, "this walk was lost; it starts over")
    episode = _WALKS[key]
    if not episode.done:
        episode.step(PersonInput(**given))
    return _state(episode.state), episode.done


def step_all(walks: list[tuple[str, Mapping[str, Any]]]) -> list[tuple[str, bool] | str]:
    """One step of each of several walks; a text in place of a state is the reason why a walk cannot continue."""
    results: list[tuple[str, bool] | str] = []
    for key, given in walks:
        try:
            results.append(step(key, given))
        except SidestepError as error:
            results.append(str(error))
    return results


def finish(key: str) -> tuple[str, str, bytes, str]:
    """Outcome, digest, encoded record and flag of a walk that is over."""
    if key not in _WALKS:
        raise Refused(409, "this walk was lost; it starts over")
    record = _WALKS[key].record
    return str(record.outcome), record.digest, encode_record(record), flag_of(record)


def drop(key: str) -> None:
    """Forget a walk."""
    if key in _WALKS:
        _WALKS.pop(key).close()


def rehearse(order: WalkOrder) -> None:
    """Begin a walk, take some steps and drop it: raises the errors of a walk, and compiles what it needs."""
    begin("rehearsal", order)
    for _ in range(REHEARSED_STEPS):
        step("rehearsal", {"forward_mps": 0.5})
    finish("rehearsal")
    drop("rehearsal")


def warm_up() -> None:
    """Load what walks need before the first participant comes, and end with the server, even if that is killed."""
    from sidestep.simulation.prepare import prepare_kernels

    end_with_parent()
    prepare_kernels()


def _scene(episode: LiveEpisode) -> dict[str, Any]:
    """Everything that does not move: walls, the footprint of the robot, the marked path and the robot's mark."""
    world = episode.world
    footprint = world.robots[0].footprint
    mark = world.scenario.notes.get("mark")
    return {
        "walls": [[round(float(value), 3) for value in segment] for segment in world.scene.segments],
        "step_s": episode.step_s,
        "robot_radius": footprint.enclosing_radius,
        "robot_polygon": footprint.polygon,
        "path": _path(world.scenario),
        "mark": [float(value) for value in mark] if isinstance(mark, list | tuple) and len(mark) == 2 else None,
        "time_limit_s": world.scenario.rules.time_limit_s,
    }


def _path(scenario: Scenario) -> list[tuple[float, float]]:
    """The path of the person whom the participant plays; empty where the scenario has none."""
    for event in scenario.events:
        if isinstance(event, Enacting):
            return list(event.path)
    people = [person for part in scenario.crowd for person in part.people]
    return [people[0].start, *people[0].waypoints] if people else []


def _state(state: LiveState) -> str:
    people = [
        [p.id, round(p.x, 3), round(p.y, 3), round(p.heading, 3), round(p.radius, 2), p.gesture, int(p.is_participant)]
        for p in state.people
    ]
    return json.dumps(
        {
            "time": round(state.time, 3),
            "robot": [round(value, 3) for value in state.robot],
            "others": [[round(value, 3) for value in pose] for pose in state.others],
            "people": people,
            "started": state.started,
            "done": state.done,
        }
    )
