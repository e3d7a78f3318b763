"""Background people: every state is reached, on the ground, reproducibly, and talkers face each other."""

from __future__ import annotations

import numpy as np
import pytest

from sidestep.kernels import layout
from sidestep.policies.trivial import Stop
from sidestep.scenes.free_space import free_mask
from sidestep.simulation import run_episode, run_episodes
from sidestep.simulation.build import build_world
from sidestep.simulation.crowd.behaviour.background import IDLE, INTERACT, TALK, WAIT, WALK
from sidestep.simulation.crowd.behaviour.stops import PeopleView
from sidestep.simulation.loop import Episode, describe_policy
from sidestep.types.events import GESTURES
from tests.simulation.crowd.behaviour.streets import open_street, street

STEPS = 2400  # two minutes


def test_every_state_is_reached_and_left_and_nobody_leaves_the_ground() -> None:
    scenario = street(10)
    worlds, director = open_street(scenario)
    scene, n = worlds.worlds[0].scene, 10
    entered, left = set(), set()
    gestures: dict[int, set[int]] = {state: set() for state in range(5)}
    before = director.background.state.copy()
    for step in range(STEPS):
        worlds.step()
        state = director.background.state
        changed = state != before
        entered |= set(state[changed].tolist())
        left |= set(before[changed].tolist())
        before = state.copy()
        for code, hand in zip(state.tolist(), worlds.flags[0, layout.GESTURE, :n].tolist(), strict=True):
            gestures[code].add(hand)
        if step % 10 == 0:
            assert free_mask(scene, worlds.agents[0, :2, :n].T, 0.249).all()
    assert entered | {WAIT} == {WALK, IDLE, INTERACT, TALK, WAIT}
    assert {WALK, IDLE, INTERACT, TALK} <= left
    assert gestures[WALK] == {GESTURES["none"]}
    assert {GESTURES["phone"], GESTURES["look_around"]} <= gestures[IDLE]
    assert {GESTURES["phone"], GESTURES["queue"]} <= gestures[INTERACT]
    assert GESTURES["talk"] in gestures[TALK]


@pytest.mark.parametrize("model", ["orca", "social_force_moussaid"])
@pytest.mark.parametrize("paths", ["push_and_rotate", "shortest"])
def test_people_get_around(model: str, paths: str) -> None:
    """Within half a minute everybody who walks has come some way, at speeds of 1.1 to 1.65 m/s."""
    worlds, director = open_street(street(9, model, paths=paths))
    speeds = worlds.agents[0, layout.PREF_SPEED, :9]
    assert speeds.min() >= 1.1
    assert speeds.max() <= 1.65
    walked, pace = np.zeros(9), []
    for _ in range(600):
        was = worlds.agents[0, :2, :9].copy()
        worlds.step()
        step = np.hypot(*(worlds.agents[0, :2, :9] - was))
        walked += step
        pace += (step[director.background.state == WALK] / 0.05).tolist()
    assert walked.min() > 2.0
    assert np.mean(pace) > 0.9


def test_more_people_than_nodes_start_along_the_edges() -> None:
    world = build_world(street(30), 3)
    places = world.agents[:2, :30].T
    gaps = np.hypot(*(places[:, None] - places[None]).T) + 9 * np.eye(30)
    assert gaps.min() >= 0.5
    assert free_mask(world.scene, places, 0.249).all()


def test_talkers_stand_together_and_face_each_other() -> None:
    worlds, director = open_street(street(10), seed=1)
    formed: dict[tuple[int, int], int] = {}
    off, apart = [], []
    for _ in range(STEPS):
        worlds.step()
        for i, group in enumerate(director.background.groups):
            if group is None:
                continue
            assert {int(worlds.flags[0, layout.GROUP, k]) for k in group.members} == {group.number}
            since = formed.setdefault((group.number, len(group.members)), int(worlds.clock[0]))
            if worlds.clock[0] < since + 60:  # three seconds to come together and turn
                continue
            x, y = worlds.agents[0, layout.PX, i], worlds.agents[0, layout.PY, i]
            others = worlds.agents[0, :2, [k for k in group.members if k != i]].mean(axis=0)
            turn = worlds.agents[0, layout.HEADING, i] - np.arctan2(others[1] - y, others[0] - x)
            off.append(abs((turn + np.pi) % (2 * np.pi) - np.pi))
            apart.append(np.hypot(others[0] - x, others[1] - y))
    assert len(off) > 1000
    assert np.mean(np.array(off) < 0.5) > 0.9
    assert np.mean(np.array(apart) < 1.6) > 0.9
    assert all(worlds.flags[0, layout.GROUP, i] == -1 for i in range(10) if director.background.groups[i] is None)


def test_nobody_overlaps() -> None:
    """Neither walkers, whom the kernels hold apart, nor people who stroll to the place where they stand."""
    worlds, _ = open_street(street(20), seed=5)
    for _ in range(STEPS // 2):
        worlds.step()
        places = worlds.agents[0, :2, :20].T.astype(np.float64)
        gaps = np.hypot(*(places[:, None] - places[None]).T) + 9 * np.eye(20)
        assert gaps.min() > 0.5 - 1e-3


def test_a_queue_moves_up_and_only_its_head_is_served() -> None:
    choice = {"walk": 1e-6, "interact": 1.0}
    behaviour = {
        "after_walk": choice,
        "after_interact": {"walk": 1.0},
        "interact": {"mean_s": 5, "low_s": 5, "high_s": 5},
        "objects": 1.0,
        "meet": 0.0,
        "goal_low_m": 0.0,
    }
    till = {"name": "till", "at": [-8, 0], "kind": "object", "heading": 3.1416, "interaction": "queue", "capacity": 5}
    graph = {"nodes": [till, {"at": [0, 0]}, {"at": [10, 0]}], "edges": [[0, 1], [1, 2]]}
    worlds, director = open_street(street(4, behaviour=behaviour, graph=graph, paths="shortest"))
    longest = 0
    for _ in range(1200):
        worlds.step()
        state, until = director.background.state, director.background.until
        inside = np.flatnonzero(state == INTERACT)
        assert np.isfinite(until[inside]).sum() <= 1
        longest = max(longest, len(inside))
    assert longest >= 2


def test_seeds_give_the_same_course_alone_and_in_a_batch() -> None:
    scenarios = [street(9), street(6, name="other"), street(9, paths="shortest", name="third"), street(12, name="full")]
    scenarios = [s.model_copy(update={"rules": s.rules.model_copy(update={"time_limit_s": 20.0})}) for s in scenarios]
    episodes = [
        Episode(build_world(scenario, seed), Stop(), describe_policy(Stop())) for seed, scenario in enumerate(scenarios)
    ]
    together = [record.digest for record in run_episodes(episodes)]
    alone = [run_episode(scenario, Stop(), seed=seed).digest for seed, scenario in enumerate(scenarios)]
    assert together == alone
    assert run_episode(scenarios[0], Stop(), seed=7).digest != alone[0]


def test_a_world_can_be_run_again() -> None:
    """Every episode of a world gets a director of its own: the first run leaves no trace."""
    scenario = street(8)
    worlds, _ = open_street(scenario)
    ends = []
    for _ in range(2):
        worlds.load(0, worlds.worlds[0])
        for _ in range(300):
            worlds.step()
        ends.append(worlds.agents[0].copy())
    assert np.array_equal(ends[0], ends[1], equal_nan=True)


def test_adding_background_people_leaves_other_parts_where_they_were() -> None:
    alone = street(5)
    part = {"model": "orca", "placement": {"kind": "random", "count": 3, "area": [-19, -1.5, 19, 1.5]}}
    other = type(alone).parse({**alone.model_dump(), "crowd": [part]}, "test")
    both = type(alone).parse({**alone.model_dump(), "crowd": [part, alone.crowd[0].model_dump()]}, "test")
    one, two = build_world(other, 4), build_world(both, 4)
    assert np.array_equal(one.agents[:2, :3], two.agents[:2, :3])
    assert two.people == 8


def test_the_plan_gives_everybody_a_turn_at_every_node() -> None:
    """Who comes to a node in the plan does so after all who were there before have left it."""
    worlds, director = open_street(street(7), seed=2)
    journeys = director.background._journeys
    visits: dict[int, list[int]] = {}
    for i, nodes in enumerate(journeys._nodes):
        turns = journeys._turns[i]
        assert turns is not None
        for node, turn in zip(nodes, turns, strict=True):
            visits.setdefault(node, []).append(turn)
    for turns_at in visits.values():
        assert len(set(turns_at)) == len(turns_at)
    for _ in range(1200):
        worlds.step()
    assert not any(journeys.is_planned(i) for i in range(7))


def test_stage_sends_people() -> None:
    agents = np.zeros((layout.AGENT_ROWS, 2), np.float32)
    flags = np.zeros((layout.FLAG_ROWS, 2), np.int32)
    stage = PeopleView(agents, flags, np.zeros((2, 8, 2), np.float32), np.zeros(2, np.int32), 0.0, agents, flags, 0, 2)
    stage.send(1, [(1.0, 2.0), (3.0, 4.0)])
    assert stage.route_length.tolist() == [0, 2]
    assert agents[[layout.GOAL_X, layout.GOAL_Y], 1].tolist() == [1.0, 2.0]
