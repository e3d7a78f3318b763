"""A participant drives a person: the record is an ordinary one."""

from __future__ import annotations

from math import pi

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidestep.errors import BadInput
from sidestep.simulation.driver import Timing
from sidestep.simulation.live import FASTEST_MPS, MODEL_NAME, SKIN_M, LiveEpisode, PersonInput
from sidestep.types import EpisodeRecord, Observation, Outcome, Scenario, Task, Velocity
from sidestep.types.events import GESTURES

ROOM = {
    "enclosed": True,
    "regions": [{"kind": "walkable", "polygon": [[-5, -2], [5, -2], [5, 2], [-5, 2]]}],
}


def meeting(**changes: object) -> Scenario:
    """A robot on the left and a person on the right of a room 10 m long."""
    data: dict[str, object] = {
        "name": "meeting",
        "scene": ROOM,
        "robots": [{"start": [-4, 0, 0], "goal": [4.4, 0]}],
        "crowd": [{"model": "orca", "people": [{"start": [3, 0], "waypoints": [[-4, 0]], "radius": 0.3}]}],
        "rules": {"step_s": 0.05, "control_every": 2, "time_limit_s": 6.0},
    }
    return Scenario.parse(data | changes, "test")


def walk(inputs: list[PersonInput], policy: object = "stop", scenario: Scenario | None = None) -> EpisodeRecord:
    episode = LiveEpisode(scenario or meeting(), policy)
    for given_input in inputs:
        if episode.done:
            break
        episode.step(given_input)
    episode.close()
    return episode.record


def test_inputs_move_the_person_in_the_body_frame() -> None:
    """Heading π/2: forward is +y, left is -x. One step of 0.05 s."""
    record = walk([PersonInput(forward_mps=1.0, sideways_mps=0.5, heading=pi / 2)])
    assert record.person_position[1, 0] == pytest.approx([3.0 - 0.025, 0.05], abs=1e-6)
    assert record.person_heading[1, 0] == pytest.approx(pi / 2, abs=1e-6)


def test_the_body_turns_at_the_given_rate_also_while_it_walks_sideways() -> None:
    """The person faces the waypoint at first (π); 20 steps at 0.5 rad/s are 0.5 rad."""
    record = walk([PersonInput(sideways_mps=0.2, turn_rad_s=0.5)] * 20)
    turned = (float(record.person_heading[20, 0]) - float(record.person_heading[0, 0])) % (2 * pi)
    assert turned == pytest.approx(0.5, abs=1e-5)


def test_speed_is_cut_at_the_limit() -> None:
    record = walk([PersonInput(forward_mps=30.0, sideways_mps=40.0, heading=pi / 2)])
    moved = np.linalg.norm(record.person_position[1, 0] - record.person_position[0, 0])
    assert moved == pytest.approx(FASTEST_MPS * 0.05, abs=1e-5)


def test_a_person_without_input_stands_though_the_scenario_has_a_route() -> None:
    record = walk([PersonInput()] * 30)
    assert np.ptp(record.person_position[:, 0], axis=0) == pytest.approx([0.0, 0.0])
    assert record.person_model == (MODEL_NAME,)


def test_a_wave_is_in_the_record_of_its_steps_alone() -> None:
    record = walk([PersonInput(wave=k in (3, 4)) for k in range(8)])
    assert record.person_gesture[:, 0].tolist() == [0, 0, 0, 0, GESTURES["go_on"], GESTURES["go_on"], 0, 0, 0]


class Forward:
    """Drives on whatever comes, and notes the gestures that it sees."""

    needs = frozenset({"goal", "pedestrians"})

    def reset(self, task: Task) -> None:
        self.seen: list[int] = []

    def act(self, observation: Observation) -> Velocity:
        assert observation.pedestrians is not None
        assert observation.pedestrians.gesture is not None
        self.seen += observation.pedestrians.gesture.tolist()
        return Velocity(0.5, 0.0)


def test_the_policy_sees_the_wave() -> None:
    """Input of step 0 is in the state after it; the policy is asked at steps 0, 2, 4."""
    policy = Forward()
    walk([PersonInput(wave=k == 1) for k in range(6)], policy)
    assert policy.seen == [0, GESTURES["go_on"], 0]


@settings(max_examples=15, deadline=None)
@given(
    st.lists(
        st.builds(
            PersonInput,
            forward_mps=st.floats(-3, 3),
            sideways_mps=st.floats(-3, 3),
            turn_rad_s=st.floats(-6, 6),
            wave=st.booleans(),
        ),
        min_size=1,
        max_size=40,
    )
)
def test_same_inputs_same_digest_and_never_through_a_wall(inputs: list[PersonInput]) -> None:
    first, second = walk(inputs, "straight"), walk(inputs, "straight")
    assert first.digest == second.digest
    x, y = first.person_position[:, 0, 0], first.person_position[:, 0, 1]
    assert (np.abs(x) <= 5 - 0.3 + 1e-3).all()
    assert (np.abs(y) <= 2 - 0.3 + 1e-3).all()


def test_the_participant_cannot_walk_through_a_wall() -> None:
    """From x = 3 to the wall at x = 5: the body, 0.3 m, stops at 4.7 m."""
    record = walk([PersonInput(forward_mps=1.5, heading=0.0)] * 60)
    assert record.person_position[-1, 0, 0] == pytest.approx(4.7, abs=0.01)


def test_walking_into_a_standing_robot_is_no_collision() -> None:
    """The robot (radius 0.2) stands at x = -4 + 0: the person stops in front of it and touches nothing."""
    record = walk([PersonInput(forward_mps=1.5, heading=pi)] * 119)
    assert record.person_position[-1, 0, 0] == pytest.approx(-4 + 0.2 + 0.3 + SKIN_M, abs=0.01)
    assert not [event for event in record.events if event.kind == "collision_start"]


def test_a_robot_that_drives_into_the_participant_collides() -> None:
    record = walk([PersonInput()] * 200, "straight")
    assert record.outcome == Outcome.PEDESTRIAN_COLLISION


def test_people_beside_the_participant_are_solid() -> None:
    crowd = [{"model": "static", "people": [{"start": [3, 0], "radius": 0.3}, {"start": [1, 0], "radius": 0.3}]}]
    record = walk([PersonInput(forward_mps=1.0, heading=pi)] * 60, scenario=meeting(crowd=crowd))
    assert record.person_position[-1, 0, 0] == pytest.approx(1.6 + SKIN_M, abs=0.01)
    assert record.person_model == (MODEL_NAME, "static")


class Broken:
    needs = frozenset({"goal"})

    def reset(self, task: Task) -> None:
        self.calls = 0

    def act(self, observation: Observation) -> Velocity:
        self.calls += 1
        if self.calls == 3:
            raise RuntimeError("no idea")
        return Velocity(0.2, 0.0)


def test_a_policy_that_crashes_ends_the_episode() -> None:
    """Asked at steps 0, 2 and 4: four steps are recorded."""
    episode = LiveEpisode(meeting(), Broken())
    for _ in range(5):
        state = episode.step()
    assert state.done
    assert episode.done
    assert episode.outcome == Outcome.POLICY_ERROR
    assert "no idea" in episode.record.error
    assert len(episode.record.time) == 5
    with pytest.raises(BadInput, match="is over"):
        episode.step()


class Sleepy:
    needs = frozenset({"goal"})

    def reset(self, task: Task) -> None:
        pass

    def act(self, observation: Observation) -> Velocity:
        import time

        time.sleep(2.0)
        return Velocity(0.0, 0.0)


def test_a_policy_that_is_too_slow_ends_the_episode() -> None:
    episode = LiveEpisode(meeting(), Sleepy(), timing=Timing(act_limit_s=0.1))
    state = episode.step()
    assert state.done
    assert state.outcome == Outcome.POLICY_ERROR
    assert "0.1 s" in episode.record.error


def test_the_state_says_where_everybody_is() -> None:
    episode = LiveEpisode(meeting(), "stop")
    state = episode.step(PersonInput(forward_mps=1.0, heading=pi, wave=True))
    assert state.time == pytest.approx(0.05)
    assert state.robot == pytest.approx((-4.0, 0.0, 0.0))
    (person,) = state.people
    assert (person.x, person.y) == pytest.approx((2.95, 0.0), abs=1e-6)
    assert person.is_participant
    assert person.gesture == "go_on"
    assert person.radius == pytest.approx(0.3)
    assert state.started
    assert not state.done


def test_the_time_limit_ends_the_episode() -> None:
    record = walk([PersonInput()] * 200)
    assert record.outcome == Outcome.TIMEOUT
    assert len(record.time) == 121


@pytest.mark.parametrize("person", [1, -1])
def test_a_person_who_is_not_there_is_refused(person: int) -> None:
    with pytest.raises(BadInput, match=r"person -?1 is not present at time 0; choose one of 0"):
        LiveEpisode(meeting(), "stop", person=person)


def test_a_scenario_without_people_is_refused() -> None:
    with pytest.raises(BadInput, match="nobody is present"):
        LiveEpisode(meeting(crowd=[]), "stop")


@pytest.mark.parametrize("name", ["forward_mps", "sideways_mps", "turn_rad_s", "heading"])
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_inputs_are_finite(name: str, value: float) -> None:
    with pytest.raises(BadInput, match=name):
        PersonInput(**{name: value})  # type: ignore[arg-type]


def test_the_person_of_an_event_is_handed_over() -> None:
    """The act of the event goes on, its trigger tells the participant to start, and its word does not count."""
    events = [{"kind": "frontal", "at": [3, 0], "trigger_m": 5.0, "radius": 0.3}]
    scenario = meeting(crowd=[], events=events)
    episode = LiveEpisode(scenario, "straight")
    started: list[bool] = []
    while not episode.done and len(started) < 60:
        started.append(episode.step().started)
    record = episode.record
    assert started[0] is False
    assert started[-1] is True
    assert [event.text for event in record.events if event.kind == "trigger"] == ["frontal"]
    assert np.ptp(record.person_position[:, 0], axis=0) == pytest.approx([0.0, 0.0])
