"""Packs of a bundled policy in which one thing is forged, by somebody who knows the format: what is found without
running an episode again."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sidestep.errors import BadInput
from sidestep.leaderboard.audit import Audit
from sidestep.leaderboard.pack import write_pack
from sidestep.leaderboard.verify_pack import verify_pack
from sidestep.types import EpisodeRecord, Footprint, Outcome
from tests.leaderboard.forging import (
    edit_both,
    edit_plan,
    edit_records,
    forged,
    in_scenario,
    real_run,
    records_of,
)

Forge = Callable[[Path], None]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return real_run(tmp_path_factory.mktemp("real"))


def audit_of(pack: Path) -> Audit:
    return verify_pack(pack, 0).audit


def test_the_honest_pack(run: Path, tmp_path: Path) -> None:
    write_pack(run, tmp_path / "honest.pack")
    found = audit_of(tmp_path / "honest.pack")
    assert found.problems == ()
    assert (found.worlds_checked, found.unbuilt) == (4, ())


def robot(**changes: Any) -> Forge:
    """Another robot in the records, below the plan's back."""
    return lambda run: edit_records(run, lambda r: replace(r, robot=r.robot.model_copy(update=changes)))


def record(**changes: Any) -> Forge:
    return lambda run: edit_records(run, lambda r: replace(r, **changes))


def array(name: str, change: Callable[[Any], Any]) -> Forge:
    return lambda run: edit_records(run, lambda r: replace(r, **{name: change(np.array(getattr(r, name)))}))


def moved(array: Any) -> Any:
    array[0, ..., 0] += 0.5
    return array


def in_plan(**changes: Any) -> Forge:
    """Other fields of the first scenario, in the plan and in every record."""

    def forge(run: Path) -> None:
        def of_plan(plan: dict[str, Any]) -> None:
            plan["scenarios"][0] |= changes

        name = "circle-crossing"
        edit_both(run, of_plan, lambda r: in_scenario(**changes)(r) if r.scenario.name == name else r)

    return forge


def rules(**changes: Any) -> Forge:
    """Other rules in the plan and in the records."""

    def forge(run: Path) -> None:
        def of_plan(plan: dict[str, Any]) -> None:
            for scenario in plan["scenarios"]:
                scenario["rules"] |= changes

        def of_record(r: EpisodeRecord) -> EpisodeRecord:
            return in_scenario(rules=r.scenario.rules.model_copy(update=changes))(r)

        edit_both(run, of_plan, of_record)

    return forge


def policy(**changes: Any) -> Forge:
    """The policy otherwise, in the plan and in the records."""

    def forge(run: Path) -> None:
        def of_plan(plan: dict[str, Any]) -> None:
            plan["policies"][0] |= {key: value for key, value in changes.items() if key != "needs"}

        edit_both(run, of_plan, lambda r: replace(r, policy=replace(r.policy, **changes)))

    return forge


def swap(run: Path) -> None:
    first, second = records_of(run)[:2]
    kept = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(kept)


def other_seeds(run: Path) -> None:
    """A record of another seed under the seed of the plan."""
    edit_records(run, lambda r: replace(r, seed=0), most=2)


def renamed(run: Path) -> None:
    """The records of the doorway under the name of the crossing."""
    first, _, third, _ = records_of(run)
    first.write_bytes(third.read_bytes())
    edit_records(run, lambda r: in_scenario(name="circle-crossing")(r))


def faster(run: Path) -> None:
    """The right robot, but on a path that it drives at three times the speed."""

    def change(r: EpisodeRecord) -> EpisodeRecord:
        pose = np.array(r.robot_pose)
        pose[1:, 1] = pose[0, 1] + 3.6 * r.step_s * np.arange(1, len(pose))
        return replace(r, robot_pose=pose)

    edit_records(run, change)


FORGERIES: dict[str, tuple[Forge, str, str]] = {
    "size of the robot": (robot(footprint=Footprint(radius=0.01)), "world", "robot differs .* footprint"),
    "mass of the robot": (robot(mass=1.0), "world", "robot differs .* mass"),
    "dynamics of the robot": (robot(dynamics="unicycle"), "world", "robot differs .* dynamics"),
    "speed of the motion": (faster, "world", "moves at .* limit"),
    "walls": (
        lambda run: edit_records(run, lambda r: replace(r, walls=r.walls[:0]), most=4),
        "world",
        "the walls differ",
    ),
    "first pose": (array("robot_pose", moved), "world", "the robot's first pose"),
    "first velocity": (array("robot_velocity", moved), "world", "first velocity"),
    "first positions of people": (array("person_position", moved), "world", "first positions"),
    "numbers of people": (array("person_id", lambda ids: ids + 100), "world", "numbers of the people"),
    "radii of people": (array("person_radius", lambda radius: radius / 10), "world", "radii of the people"),
    "headings of people": (array("person_heading", lambda angle: angle + 0.1), "world", "headings"),
    "people absent": (array("person_present", np.zeros_like), "world", "present"),
    "groups": (array("person_group", lambda group: group + 7), "world", "groups"),
    "models of people": (
        lambda run: edit_records(run, lambda r: replace(r, person_model=("script",) * len(r.person_id))),
        "world",
        "models of the people",
    ),
    "people declared as recorded": (record(source="recorded"), "world", "people are recorded"),
    "shortest path": (record(shortest_path_m=30.0), "world", "shortest path"),
    "times": (array("time", lambda time: time / 2), "world", "steps of 0.05 s"),
    "time limit": (rules(time_limit_s=1000.0), "scenario", "rules.time_limit_s"),
    "length of a step": (rules(step_s=0.1), "scenario", "rules.step_s"),
    "rules of the record alone": (
        lambda run: edit_records(
            run, lambda r: in_scenario(rules=r.scenario.rules.model_copy(update={"step_s": 0.1}))(r)
        ),
        "misplaced",
        "another episode",
    ),
    "crowd": (in_plan(crowd=()), "scenario", "crowd"),
    "tags": (in_plan(tags=("easy",)), "scenario", "tags"),
    "scene of the record": (
        lambda run: edit_records(run, in_scenario(scene="corridor")),
        "world",
        "scene",
    ),
    "mode": (record(mode="async"), "misplaced", "another episode"),
    "exchanged episodes": (swap, "misplaced", "another episode"),
    "another seed": (other_seeds, "misplaced", "another episode"),
    "another scenario": (renamed, "misplaced", "another episode"),
    "version of the policy": (policy(version="sidestep 9"), "policy", "version sidestep 9"),
    "needs of the policy": (policy(needs=("lidar",)), "policy", "observes lidar"),
    "privileged policy": (policy(privileged=True), "policy", "privileged"),
    "other options of the suite": (
        lambda run: edit_plan(run, lambda plan: plan["scenarios"][0]["notes"].update(options={"people": 0})),
        "scenario",
        "notes",
    ),
    "options without end": (
        lambda run: edit_plan(run, lambda plan: plan["scenarios"][0]["notes"].update(options={"walkers": 10**9})),
        "scenario",
        "no options of a suite",
    ),
    "options of any number": (
        lambda run: edit_plan(
            run,
            lambda plan: plan.update(
                scenarios=[
                    plan["scenarios"][0] | {"name": f"s{k}", "notes": {"options": {"walkers": k}}} for k in range(17)
                ]
                + plan["scenarios"]
            ),
        ),
        "scenario",
        "more than 16 sets of options",
    ),
    "a scenario of its own": (
        lambda run: edit_both(
            run,
            lambda plan: plan["scenarios"][0].update(name="mine"),
            lambda r: in_scenario(name="mine")(r) if r.scenario.name == "circle-crossing" else r,
        ),
        "missing|scenario",
        "no scenario of this name|missing",
    ),
}


@pytest.mark.parametrize("name", sorted(FORGERIES))
def test_what_is_forged_is_found(name: str, run: Path, tmp_path: Path) -> None:
    forge, kinds, text = FORGERIES[name]
    found = audit_of(forged(run, tmp_path, forge))
    matching = [each for each in found.problems if each.kind in kinds.split("|")]
    assert matching
    assert any(re.search(text, each.text) for each in matching)


def test_where_nothing_is_right_the_pack_is_named(run: Path, tmp_path: Path) -> None:
    def forge(copy: Path) -> None:
        edit_records(copy, in_scenario(name="other"), most=4)

    pack = forged(run, tmp_path, forge, score=False)
    with pytest.raises(BadInput, match=r"forged\.pack: no record of the plan can be read"):
        audit_of(pack)


def stranger(plan: dict[str, Any]) -> None:
    plan["simulator"] = "sidestep 9.9"


def test_another_simulator_is_no_excuse(run: Path, tmp_path: Path) -> None:
    """Records of a bundled suite begin in its worlds, whatever code they are said to be of."""

    def forge(copy: Path) -> None:
        edit_plan(copy, stranger)
        robot(footprint=Footprint(radius=0.01))(copy)

    assert {problem.kind for problem in audit_of(forged(run, tmp_path, forge)).problems} == {"world"}


def test_files_that_are_said_to_be_others_are_told(run: Path, tmp_path: Path) -> None:
    """Then nothing is compared, and nothing can be run again: no rank."""

    def forge(copy: Path) -> None:
        edit_plan(copy, lambda plan: plan.update(files={"pioneer_3dx": "0123"}))
        robot(footprint=Footprint(radius=0.01))(copy)

    found = verify_pack(forged(run, tmp_path, forge))
    assert found.again.checked == 0
    assert {each.scenario for each in found.audit.unbuilt} == {"circle-crossing", "doorway"}
    assert "pioneer_3dx is missing here" in found.audit.unbuilt[0].reason
    document = found.as_json()["pack"]
    assert (document["worlds"], len(document["worlds_not_checked"])) == (0, 2)


def test_code_of_somebody_else_under_a_bundled_name(run: Path, tmp_path: Path) -> None:
    pack = forged(run, tmp_path, lambda copy: edit_plan(copy, lambda p: p["policies"][0].update(reference="x.py:Mine")))
    [problem, *_] = audit_of(pack).problems
    assert problem.kind == "policy"
    assert "has the name of a bundled policy, but is 'x.py:Mine'" in problem.text


def test_an_outcome_that_nobody_checked_takes_a_second_run(run: Path, tmp_path: Path) -> None:
    """The limits of this: outcome and results agree, and the beginning is right."""
    pack = forged(run, tmp_path, record(outcome=Outcome.SUCCESS))
    assert audit_of(pack).problems == ()
    assert not verify_pack(pack).ok


def test_worlds_that_would_fill_the_memory_are_not_built(tmp_path: Path) -> None:
    """In a suite of one's own everything may be asked for."""
    from sidestep.leaderboard.worlds import WorldCheck
    from sidestep.runs.plan import Plan
    from sidestep.runs.provenance import simulator_version
    from sidestep.types.scenario import CirclePlacement, CrowdPart
    from tests.records.example import example_scenario

    crowd = (CrowdPart(model="orca", placement=CirclePlacement(kind="circle", count=100_000, radius=5.0)),)
    plain = example_scenario("plain")
    endless = example_scenario("endless", rules=plain.rules.model_copy(update={"time_limit_s": 20_000.0}))
    scenarios = (plain, endless, example_scenario("full", crowd=crowd))
    plan = Plan(suite="mine", scenarios=scenarios, policies=(), seeds=(0,), simulator=simulator_version())
    unbuilt = {each.scenario: each.reason for each in WorldCheck(plan).unbuilt}
    assert set(unbuilt) == {"endless", "full"}
    assert "100,000 people" in unbuilt["full"]
    older = plan.model_copy(update={"simulator": "sidestep 0.0"})
    assert "another simulator" in WorldCheck(older).unbuilt[0].reason
