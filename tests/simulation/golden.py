"""Short episodes over all suites and bundled policies, and the digests that they have on every machine.

``golden.json`` holds the digests of chosen episodes (``CASES``), ``golden_pairs.json`` those of the first seconds of an
episode of every suite with every policy. After a change that is meant to change episodes, write them anew and say so
in the CHANGELOG; the recorded people of SocNav have to be installed for that::

    python -m tests.simulation.golden --write

Without ``--write`` the digests are printed as JSON: ``test_golden.py`` runs that in processes with other processor
features. Names after it choose cases.
"""

from __future__ import annotations

import argparse
import functools
import gc
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sidestep import registry
from sidestep.datasets import find_dataset
from sidestep.simulation import run_episode
from sidestep.suites.files import load_suite
from sidestep.types import EpisodeRecord, Scenario

FILE = Path(__file__).with_name("golden.json")
PAIRS_FILE = Path(__file__).with_name("golden_pairs.json")
PAIR_SECONDS = 3.0
NETWORKS = frozenset({"visual", "imitation", "ilqr_bc"})
"""Policies that a library runs which promises no bits."""
UNFIT = frozenset((suite, policy) for suite in ("intersection", "street") for policy in ("follow_lane", "expert"))
"""Policies of sidewalks drive unicycles; a car is none."""
RECORDINGS = tuple(f"socnavbench-{place}" for place in ("eth", "hotel", "univ", "zara01", "zara02"))


@dataclass(frozen=True)
class Case:
    """One episode. It ends after ``seconds``; ``robot`` replaces the spec, ``dynamics`` how it moves."""

    suite: str
    scenario: str
    policy: str
    seconds: float = 10.0
    options: tuple[tuple[str, str], ...] = ()
    robot: str = ""
    dynamics: str = ""
    seed: int = 0

    @property
    def name(self) -> str:
        """As in the file."""
        changes = [f"{key}={value}" for key, value in self.options]
        changes += [part for part in (self.robot, self.dynamics) if part]
        return " ".join([self.suite, self.scenario, self.policy, *changes])

    @property
    def is_recorded(self) -> bool:
        """Whether it needs recordings, which not every machine has."""
        return ("source", "recorded") in self.options

    def build(self) -> Scenario:
        """The scenario, shortened and changed."""
        suite = load_suite(self.suite)
        has_splits = self.suite.startswith("sidewalk-") or self.suite in ("intersection", "street")
        options = dict(self.options) | ({"split": "all"} if has_splits else {})
        if options:
            suite = suite.with_options(options)
        (scenario,) = (one for one in suite.scenarios() if one.name == self.scenario)
        changes: dict[str, Any] = {}
        if self.robot:
            changes["spec"] = self.robot
        if self.robot or self.dynamics:
            changes["dynamics"] = self.dynamics or None
        rules = scenario.rules.model_copy(update={"time_limit_s": min(scenario.rules.time_limit_s, self.seconds)})
        robots = (scenario.robots[0].model_copy(update=changes), *scenario.robots[1:])
        return scenario.model_copy(update={"rules": rules, "robots": robots})

    def run(self) -> EpisodeRecord:
        """The episode."""
        return run_episode(self.build(), registry.make_policy(self.policy), seed=self.seed, act_limit_s=None)


def _socnav(scenario: str, policy: str, source: str, **more: str) -> Case:
    return Case("socnav", scenario, policy, 8.0, (("source", source), *more.items()))


def _town(suite: str, scenario: str, policy: str, seconds: float = 16.0) -> Case:
    return Case(suite, scenario, policy, seconds)


CASES: tuple[Case, ...] = (
    Case("core", "circle-crossing", "straight", 8.0),
    Case("core", "circle-crossing-blind", "orca"),
    Case("core", "corridor-counterflow", "social_force"),
    Case("core", "doorway", "sampling"),
    Case("core", "blind-corner", "mpc"),
    Case("core", "hallway-crossing", "cadrl"),
    Case("core", "four-way", "social_force", dynamics="holonomic"),
    Case("core", "plaza", "orca", robot="robot_dog"),
    Case("core", "lobby", "sampling", robot="car"),
    Case("core", "lobby", "social_force", robot="humanoid", seed=3),
    Case("core", "crowd-of-100", "mpc", 3.0),
    Case("core", "circle-crossing", "cadrl", robot="car"),
    Case("core", "doorway", "mpc", dynamics="unicycle"),
    Case("core", "circle-crossing", "stop", 2.0, robot="point", seed=7),
    Case("core", "doorway", "depth_reactive", 2.0),
    Case("core", "hallway-crossing", "ilqr", 10.0),
    Case("core", "hallway-crossing", "dynamic_window", 5.0),
    _socnav("t_ETH1", "straight", "recorded"),
    _socnav("t_zara1_wrap", "social_force", "recorded"),
    _socnav("t_univ1", "orca", "recorded"),
    _socnav("t_hotel_cross", "mpc", "recorded"),
    _socnav("t_zara2", "cadrl", "recorded"),
    _socnav("t_dhotel_bottopmid", "oracle", "recorded"),
    _socnav("t_univ_trapTR", "sampling", "recorded", time="as-shipped"),
    _socnav("t_eth_dense_flow", "social_force", "recorded", reactivity="reroute"),
    _socnav("t_hotel_follow", "orca", "recorded", reactivity="pause"),
    _socnav("t_ETH2", "straight", "generated"),
    _socnav("t_univ_across", "social_force", "generated"),
    _socnav("t_zara1_dense", "orca", "generated"),
    _socnav("t_eth_against", "mpc", "generated"),
    _socnav("t_zara2_wrap", "cadrl", "generated"),
    _socnav("t_hotel_against", "oracle", "generated"),
    _socnav("t_eth_follow", "straight", "generated", reactivity="pause"),
    _socnav("t_zara1_dense_rev", "mpc", "generated", reactivity="reroute"),
    _town("sidewalk-unit", "straight-alderwick", "follow_lane"),
    _town("sidewalk-unit", "curve-piper-parade-1", "expert"),
    _town("sidewalk-unit", "crosswalk-alderwick", "follow_lane"),
    _town("sidewalk-reactive", "static-yarrowby", "expert"),
    _town("sidewalk-reactive", "obstructing-alderwick", "expert"),
    _town("sidewalk-reactive", "conversing-alderwick", "follow_lane", 20.0),
    _town("sidewalk-reactive", "queuing-alderwick", "expert"),
    _town("sidewalk-reactive", "frontal-alderwick", "expert"),
    _town("sidewalk-reactive", "lateral-alderwick", "social_force"),
    _town("sidewalk-reactive", "overtaking-alderwick", "straight"),
    _town("sidewalk-reactive", "crossing-alderwick", "expert", 20.0),
    _town("sidewalk-reactive", "gesturing-alderwick", "expert", 20.0),
    _town("sidewalk-long", "long-lantern-court-1", "expert", 40.0),
    Case("catalogue", "frontal-approach", "social_force"),
    Case("catalogue", "entering-elevator", "mpc"),
    Case("catalogue", "following-human", "expert", dynamics="unicycle"),
    Case("catalogue", "crowd-navigation", "oracle"),
    Case("catalogue", "robot-crowding", "cadrl"),
    Case("intersection", "scene0-pose1-left", "pid", 20.0),
    Case("intersection", "scene2-pose3-right", "pid_noise", 20.0),
    Case("intersection", "scene4-pose2-left", "comfort_zone", 20.0),
    Case("intersection", "scene1-pose0-straight", "comfort_zone", 20.0, (("vehicles", "true"),)),
    Case("intersection", "scene5-pose0-right", "pid", 20.0, (("reacts", "true"),)),
    Case("street", "zebra-65-east", "human_driver", 20.0),
    Case("street", "zebra+island-60-west", "comfort_zone", 20.0, (("people", "many"),)),
    Case("street", "none-70-east", "human_driver", 15.0, (("people", "many"),)),
    Case("street", "island-70-west", "anticipatory", 15.0),
    Case("protocol", "frontal-f1", "social_force", 12.0),
    Case("protocol", "intersection_wait-w2", "orca", 15.0),
    Case("protocol", "intersection_gesture-g2", "mpc", 15.0),
    Case("protocol", "narrow_doorway-n1", "orca", 12.0, (("roles", "ba"),)),
    Case("protocol", "blind_corner-b1", "social_force", 15.0),
)


def pair_of(name: str) -> Case:
    """The case of a name in ``golden_pairs.json``."""
    suite, scenario, policy, *changes = name.split()
    options = [tuple(change.split("=")) for change in changes if "=" in change]
    dynamics = "".join(change for change in changes if "=" not in change)
    return Case(suite, scenario, policy, PAIR_SECONDS, tuple((key, value) for key, value in options), dynamics=dynamics)


def pairs() -> dict[str, str]:
    """Names and digests of ``golden_pairs.json``."""
    digests: dict[str, str] = json.loads(PAIRS_FILE.read_text()) if PAIRS_FILE.exists() else {}
    return digests


def fitting_pairs() -> set[tuple[str, str]]:
    """Every suite with every policy that can drive its robot and is not run by a library for networks."""
    policies = registry.POLICIES.keys() - NETWORKS
    return {(suite, policy) for suite in registry.SUITES for policy in policies} - UNFIT


def choose_pairs() -> Iterator[Case]:
    """An episode of every suite with every policy: those of the file, and one for each pair that it does not have.

    The scenarios of a suite take turns. Policies of sidewalks drive unicycles only, which the robots of ``core`` are
    not unless told.
    """
    expected = fitting_pairs()
    known = {(case.suite, case.policy): case for case in map(pair_of, pairs())}
    for suite in registry.SUITES:
        options = (("source", "generated"),) if suite == "socnav" else ()
        loaded = load_suite(suite).with_options(dict(options)) if options else load_suite(suite)
        names = [scenario.name for scenario in loaded.scenarios()]
        if suite.startswith("sidewalk") or suite == "socnav":
            names = names[:1]  # each has a town or a crowd of its own, which takes a second to make
        for number, policy in enumerate(name for name in registry.POLICIES if name not in NETWORKS):
            told = "unicycle" if suite == "core" and policy in ("follow_lane", "expert") else ""
            new = Case(suite, names[number % len(names)], policy, PAIR_SECONDS, options, dynamics=told)
            if (suite, policy) in expected:
                yield known.get((suite, policy), new)


def has_recordings() -> bool:
    """Whether the recordings of SocNav are installed."""
    return all(find_dataset(name) is not None for name in RECORDINGS)


def clear_caches() -> None:
    """Forget every scene, crowd, recording and table that was made before."""
    for thing in gc.get_objects():
        if type(thing) is functools._lru_cache_wrapper and thing.__module__.startswith("sidestep."):
            thing.cache_clear()


def expected() -> dict[str, str]:
    """The digests of the file."""
    digests: dict[str, str] = json.loads(FILE.read_text())
    return digests


def main() -> None:
    """Print or write the digests."""
    parser = argparse.ArgumentParser(description="Digests of the golden episodes.")
    parser.add_argument("names", nargs="*", help="only the cases with these names")
    parser.add_argument("--pairs", action="store_true", help="every suite with every policy")
    parser.add_argument("--write", action="store_true", help="write the file")
    arguments = parser.parse_args()
    cases = [case for case in CASES if not arguments.names or case.name in arguments.names]
    if arguments.write and not has_recordings():
        raise SystemExit("the recordings of SocNav are needed to write golden.json: set SIDESTEP_DATA")
    if arguments.pairs:
        cases = [case for case in choose_pairs() if not arguments.names or case.name in arguments.names]
    file = PAIRS_FILE if arguments.pairs else FILE
    text = json.dumps({case.name: case.run().digest for case in cases}, indent=1) + "\n"
    if arguments.write:
        file.write_text(text)
    else:
        print(text)


if __name__ == "__main__":
    main()
