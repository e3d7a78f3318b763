"""A participant who does not take part decides nothing about the robot."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from sidestep.simulation.live import LiveEpisode, LiveState, PersonInput
from sidestep.studies.conduct import NEVER_MOVED, WAVED_EARLY, flag_of
from sidestep.suites.files import load_suite
from sidestep.types import Task, Velocity

Plays = Callable[[LiveState], PersonInput]


@cache
def scenario(name: str):  # type: ignore[no-untyped-def]
    return next(each for each in load_suite("protocol").scenarios() if each.name == name)


class StopsAndGoes:
    """Drives straight on, stands before the crossing from 6 to 9 s, and goes on."""

    needs = frozenset({"goal"})

    def reset(self, task: Task) -> None:
        self.time = 0.0

    def act(self, observation: object) -> Velocity:
        self.time += 0.1
        return Velocity(0.0 if 4.0 < self.time < 9.0 else 0.7, 0.0)


def played(name: str, policy: object, plays: Plays) -> tuple[str, str]:
    """Outcome and flag."""
    episode = LiveEpisode(scenario(name), policy, seed=1)
    state = episode.state
    while not episode.done and state.time < 40.0:
        state = episode.step(plays(state))
    return str(episode.outcome), flag_of(episode.record)


def test_waving_from_the_start_counts_as_no_success_of_a_robot_that_never_stops() -> None:
    """`straight` crosses without a look; the participant makes it succeed by a wave that it does not see."""
    outcome, flag = played("intersection_gesture-g1", "straight", lambda state: PersonInput(wave=True))
    assert flag in (WAVED_EARLY, NEVER_MOVED)
    walks_and_waves = lambda state: PersonInput(forward_mps=0.4 if state.time < 6 else 0.0, wave=True)  # noqa: E731
    outcome, flag = played("intersection_gesture-g1", "straight", walks_and_waves)
    assert (outcome, flag) == ("success", WAVED_EARLY)


def test_a_wave_after_the_robot_has_stopped_counts() -> None:
    def waits_for_the_robot(state: LiveState) -> PersonInput:
        stands = state.robot_speed < 0.02 and state.time > 2.0
        return PersonInput(forward_mps=0.3 if state.time < 5.0 else 0.0, wave=stands)

    assert played("intersection_gesture-g1", StopsAndGoes(), waits_for_the_robot)[1] == ""


def test_a_wave_long_before_the_robot_stops_does_not_count() -> None:
    early = lambda state: PersonInput(forward_mps=0.3 if state.time < 5.0 else 0.0, wave=True)  # noqa: E731
    assert played("intersection_gesture-g1", StopsAndGoes(), early)[1] == WAVED_EARLY


def test_a_wave_after_the_robot_has_crossed_excuses_nothing() -> None:
    """Asked to wave, people wave at a robot that has driven through: its failure counts."""
    late = lambda state: PersonInput(forward_mps=0.4 if state.time < 6 else 0.0, wave=state.time > 6.0)  # noqa: E731
    assert played("intersection_gesture-g1", "straight", late) == ("disobeyed", "")


@pytest.mark.parametrize("name", ["intersection_wait-w1", "narrow_doorway-n1", "frontal-f1"])
def test_a_participant_who_never_moves_makes_no_robot_disobey(name: str) -> None:
    assert played(name, "orca", lambda state: PersonInput())[1] == NEVER_MOVED
    walks = lambda state: PersonInput(forward_mps=1.2 if state.started else 0.0)  # noqa: E731
    assert played(name, "orca", walks)[1] == ""


def test_nobody_is_blamed_for_waiting_for_a_robot_that_never_comes() -> None:
    assert played("frontal-f1", "stop", lambda state: PersonInput())[1] == ""
