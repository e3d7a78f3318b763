"""A guest gets the same objects, to the bit, drives the same, and nothing that anybody gets can be written to."""

from __future__ import annotations

import gc
import os
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, ClassVar

import msgpack
import numba
import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher
from pydantic import BaseModel, ValidationError

from sidestep import registry
from sidestep.runs.executors import Serial
from sidestep.runs.plan import Plan, PolicyPlan
from sidestep.runs.remote.guest_messages import (
    ObservationReceiver,
    ObservationSender,
    plans_message,
    task_message,
    task_of,
)
from sidestep.runs.remote.guests import GuestPolicy, GuestProcess, GuestProcesses
from sidestep.runs.runner import run_benchmark
from sidestep.runs.verify import verify_run
from sidestep.simulation import run_episode
from sidestep.types import Observation, Scenario, Task, Velocity
from sidestep.types.observation import NEEDS
from tests.simulation.scenarios import crossing, make, room

EVERYTHING = NEEDS - {"signals"}
FILE = Path(__file__).parent / "misbehaving.py"


class Witness:
    """Keeps everything that it gets."""

    needs: ClassVar[frozenset[str]] = EVERYTHING

    def reset(self, task: Task) -> None:
        self.task, self.seen = task, []

    def act(self, observation: Observation) -> Velocity:
        self.seen.append(observation)
        return Velocity(0.5, 0.1)


def busy_room(**changes: Any) -> Scenario:
    part = {"model": "orca", "at_end": "loop", "placement": {"kind": "circle", "count": 5, "radius": 2.2}}
    return make(
        scene=room(8.0),
        robots=[{"spec": "pioneer_3dx", "start": [-2.5, -2.0, 0.0], "goal": [2.5, -2.0]}],
        crowd=[part],
        rules={"step_s": 0.1, "time_limit_s": 1.0},
        sensors={
            "camera": {"width": 32, "height": 24, "rate_hz": 5, "latency_s": 0.1},
            "history_s": 0.5,
            "lidar3d": {"channels": 4, "rays": 30, "semantic": True},
        },
        **changes,
    )


@pytest.fixture(scope="module")
def witness() -> Witness:
    policy = Witness()
    record = run_episode(busy_room(), policy)
    assert not record.error
    return policy


def parts(value: Any, where: str) -> list[tuple[str, Any]]:
    """Everything inside a task or an observation, with its place."""
    found = [(where, value)]
    if is_dataclass(value):
        inner = [(item.name, getattr(value, item.name)) for item in fields(value)]
    elif isinstance(value, BaseModel):
        inner = [(name, getattr(value, name)) for name in type(value).model_fields]
    elif isinstance(value, tuple):
        inner = [(str(number), item) for number, item in enumerate(value)]
    else:
        inner = []
    if hasattr(value, "distance_cell"):
        inner += [("distance", value.distance), ("segments", value.segments)]
    for name, item in inner:
        found += parts(item, f"{where}.{name}")
    return found


def test_nothing_can_be_written_to(witness: Witness) -> None:
    everything = parts(witness.task, "task") + parts(witness.seen[-1], "observation")
    arrays = {where: value for where, value in everything if isinstance(value, np.ndarray)}
    assert {"task.map.distance", "task.map.wall_points", "task.route", "task.future.position"} <= set(arrays)
    assert {f"observation.{name}" for name in ("rgb", "depth", "semantic", "history.0.gaze")} <= set(arrays)
    writable = {where for where, array in arrays.items() if array.flags.writeable}
    assert writable == {"task.map.segments"}, "made anew at every call"
    with pytest.raises(ValueError, match="read-only"):
        witness.task.map.distance -= 0.4  # type: ignore[union-attr,operator,misc]
    for where, value in everything:
        assert not isinstance(value, list | dict | set), where
        if is_dataclass(value):
            with pytest.raises(AttributeError):
                setattr(value, fields(value)[0].name, None)
        if isinstance(value, BaseModel):
            with pytest.raises(ValidationError):
                setattr(value, next(iter(type(value).model_fields)), None)


def equal(one: Any, other: Any, where: str) -> None:
    """Same types, same bits."""
    assert type(one) is type(other), where
    if isinstance(one, np.ndarray):
        assert (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes()), where
        assert not other.flags.writeable or where.endswith(".segments"), where
    elif isinstance(one, float):
        assert one.hex() == other.hex(), where
    elif not is_dataclass(one) and not isinstance(one, tuple) and not callable(one):
        assert one == other, where


def travel(message: Any) -> Any:
    return msgpack.unpackb(msgpack.packb(message), raw=False)


def test_a_guest_gets_the_same_to_the_bit(witness: Witness) -> None:
    pairs = [("task", witness.task, task_of(travel(task_message(witness.task))))]
    sender, receiver = ObservationSender(), ObservationReceiver()
    for number, seen in enumerate(witness.seen):
        pairs.append((f"{number}", seen, receiver.observation(travel(sender.message(seen)))))
    for where, ours, theirs in pairs:
        left, right = parts(ours, where), parts(theirs, where)
        assert [place for place, _ in left] == [place for place, _ in right]
        for (place, one), (_, other) in zip(left, right, strict=True):
            equal(one, other, place)
    assert len(witness.seen[-1].history or ()) == 5
    here, there = witness.task.map, pairs[0][2].map
    assert here is not None
    assert here.clearance(0.3, -1.7).hex() == there.clearance(0.3, -1.7).hex()


def test_a_large_scene_computes_its_distances_in_the_guest() -> None:
    policy = Witness()
    policy.needs = frozenset({"map"})  # type: ignore[misc]
    wide = [[-60, -60], [60, -60], [60, 60], [-60, 60]]
    scene = {
        **room(4.0),
        "regions": [{"kind": "obstacle", "polygon": p} for p in ([[3, 3], [4, 3], [4, 4]], wide[:0])][:1],
    }
    scene["regions"] += [{"kind": "walkable", "polygon": wide}]
    run_episode(make(scene={**scene, "enclosed": False}, rules={"step_s": 0.1, "time_limit_s": 0.2}), policy)
    message = travel(task_message(policy.task))
    assert message["map"]["distance"] is None
    here, there = policy.task.map, task_of(message).map
    assert here is not None
    assert there is not None
    equal(here.distance, there.distance, "distance")


@pytest.fixture(scope="module")
def guests() -> Any:
    with GuestProcesses() as guests:
        yield guests


def same_motion(guests: GuestProcesses, name: str, scenario: Scenario) -> None:
    ours = run_episode(scenario, registry.make_policy(name, {}))
    theirs = run_episode(scenario, guests.policy(registry.POLICIES[name], {}))
    assert not theirs.error
    for item in fields(ours):
        value = getattr(ours, item.name)
        if isinstance(value, np.ndarray) and item.name != "planning_time":
            assert value.tobytes() == getattr(theirs, item.name).tobytes(), item.name
    assert ours.plans == theirs.plans
    assert (ours.outcome, ours.events) == (theirs.outcome, theirs.events)


@pytest.mark.parametrize("name", ["mpc", "oracle"])
def test_a_guest_drives_as_it_would_here(guests: GuestProcesses, name: str) -> None:
    scenario = crossing(6, scene=room(12.0), rules={"step_s": 0.1, "time_limit_s": 5})
    same_motion(guests, name, scenario)
    if name == "mpc":
        assert len(run_episode(scenario, guests.policy(registry.POLICIES[name], {})).plans) > 5


@pytest.mark.full
@pytest.mark.parametrize("name", ["orca", "social_force", "sampling", "cadrl", "depth_reactive", "straight", "stop"])
def test_every_guest_drives_as_it_would_here(guests: GuestProcesses, name: str) -> None:
    same_motion(guests, name, crossing(12, scene=room(12.0), rules={"step_s": 0.1, "time_limit_s": 5}))


def read_only_signatures() -> set[str]:
    """Kernels that were compiled for arrays that cannot be written to."""
    kernels = [thing for thing in gc.get_objects() if issubclass(type(thing), Dispatcher)]  # proxies may be dead
    every = {f"{one.py_func.__module__}.{one.py_func.__name__}{types}" for one in kernels for types in one.signatures}
    return {signature for signature in every if signature.startswith("sidestep") and "', True, aligned" in signature}


def test_no_kernel_is_compiled_again_because_arrays_are_read_only() -> None:
    frozen = np.zeros(3)
    frozen.flags.writeable = False
    assert "', True, aligned" in repr(numba.typeof(frozen))
    before = read_only_signatures()
    scenario = crossing(4, scene=room(12.0), rules={"step_s": 0.1, "time_limit_s": 0.5})
    for name in ("orca", "social_force", "sampling", "cadrl", "mpc", "oracle"):
        assert not run_episode(scenario, registry.make_policy(name, {})).error
    assert read_only_signatures() == before


def test_each_episode_has_an_object_of_its_own_and_each_policy_a_process(
    guests: GuestProcesses, tmp_path: Path
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "import os\nfrom sidestep.types import Velocity\nclass Mine:\n    needs = frozenset()\n    made = 0\n"
        "    def __init__(self):\n        Mine.made += 1\n        self.number = Mine.made\n"
        "    def reset(self, task): ...\n"
        "    def act(self, o): return Velocity(0.001 * self.number, 0.0)\n"
        "class Yours(Mine): ...\n"
    )
    speeds, processes = [], []
    for name in ("Mine", "Mine", "Yours"):
        policy = guests.policy(f"{file}:{name}", {})
        record = run_episode(make(rules={"step_s": 0.1, "time_limit_s": 0.2}), policy)
        speeds.append(record.command[0, 1])
        processes.append(policy.process.pid)
    assert speeds == [0.001, 0.002, 0.001]
    assert processes[0] == processes[1]
    assert len({*processes, os.getpid()}) == 3


def test_a_run_with_a_guest_verifies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("runner", "verify"):
        monkeypatch.setattr(f"sidestep.runs.{module}.choose_executor", lambda *_: Serial())
    policy = PolicyPlan(name=f"{Path(__file__).parent / 'looking.py'}:Looks")
    scenario = crossing(6, rules={"step_s": 0.1, "time_limit_s": 2})
    run_benchmark(Plan(suite="tests", scenarios=(scenario,), policies=(policy,), seeds=(0, 1)), tmp_path / "run")
    assert verify_run(tmp_path / "run").equal == 2


@pytest.mark.skipif(os.name != "posix", reason="only on POSIX systems")
def test_over_loopback_as_on_windows() -> None:
    process = GuestProcess(f"{FILE}:Drives", {}, over_loopback=True)
    record = run_episode(make(rules={"step_s": 0.1, "time_limit_s": 0.5}), GuestPolicy(process))
    assert not record.error
    assert record.steps == 5
    process.kill()
    assert not process.is_usable


def test_a_guest_costs_little_time(guests: GuestProcesses) -> None:
    """With 20 people; the median is 0.1 to 0.2 ms on an idle machine."""
    scenario = crossing(20, rules={"step_s": 0.1, "time_limit_s": 20})
    policy = guests.policy(f"{Path(__file__).parent / 'looking.py'}:Looks", {})
    record = run_episode(scenario, policy)
    assert not record.error
    assert len(record.person_id) == 20
    assert np.nanpercentile(record.planning_time, 10) < 0.0006


def test_a_guest_without_plans_publishes_none() -> None:
    class Broken:
        plan = "nonsense"
        forecast = 3
        plan_step_s = 0.1

    assert plans_message(object()) == {}
    assert plans_message(Broken())["plan"] is None
