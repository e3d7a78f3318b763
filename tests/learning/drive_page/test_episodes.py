"""What is kept of episodes that somebody drives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sidestep.errors import BadInput, UnknownName
from sidestep.learning.demonstrations import DemonstrationWriter, read_demonstrations
from sidestep.learning.drive_page.episodes import HandDriving, HandPlan
from sidestep.simulation.session import Session
from sidestep.suites.intersection import PED_ONLY_WEATHERS
from sidestep.types import Drive
from tests.learning.drive_page.conftest import straight_on

AHEAD, LEFT = Drive(0.0, 0.6, 0.0), Drive(1.0, 0.6, 0.0)


def drive(driving: HandDriving, command: Drive, steps: int = 1000) -> int:
    """Until it is over, or for some steps."""
    driving.go()
    for done in range(steps):
        if driving.phase != "driving":
            return done
        driving.step(command)
    return steps


def test_success_is_written_and_failures_are_not(tmp_path: Path) -> None:
    file = tmp_path / "demos.h5"
    with DemonstrationWriter(file) as writer:
        driving = HandDriving(straight_on(weathers=["CloudyNoon"]), writer)
        driving.load()
        steps = drive(driving, AHEAD)
        assert driving.outcome == "success"
        driving.store()
        driving.store()  # no second time
        assert (driving.kept_episodes, driving.kept_frames) == (1, steps)
        driving.leave()
        driving.load()
        drive(driving, LEFT)
        assert driving.outcome not in ("", "success")
        driving.leave()
        assert (driving.number, driving.kept_episodes, driving.kept_frames) == (2, 1, steps)
    with read_demonstrations(file) as demos:
        assert demos.frames == {-1: 0, 0: steps, 1: 0}
        (episode,) = demos.episodes
        assert episode.finished
        assert (episode.scene, episode.pose, episode.town, episode.trace) == (0, 2, 3, 0)
        assert PED_ONLY_WEATHERS[episode.weather] == "CloudyNoon"
        actions = demos.column(0, "action")
        assert np.allclose(actions, [0.0, 0.6, 0.0])


def test_frames_are_those_of_the_simulator(tmp_path: Path) -> None:
    """The frame holds what was seen before the command: speed 0 at first, and steer to the right is positive."""
    file = tmp_path / "demos.h5"
    plan = straight_on()
    with DemonstrationWriter(file) as writer:
        driving = HandDriving(plan, writer, keep_failures=True)
        driving.load()
        drive(driving, Drive(0.25, 0.5, 0.0), 5)
        driving.finish()
    session = Session(plan[0].scenario, needs={"measurements"})
    speeds = [session.reset(plan[0].seed).robot.speed]
    speeds += [session.step(Drive(0.25, 0.5, 0.0))[0].robot.speed for _ in range(4)]
    with read_demonstrations(file) as demos:
        measured = demos.column(0, "measurements")
        assert measured[:, 0] == pytest.approx(np.array(speeds) * 3.6 / 30.0)
        assert measured[0, 0] == 0.0
        assert demos[0].action == pytest.approx([-0.25, 0.5, 0.0])


def test_failures_are_written_while_they_are_driven(tmp_path: Path) -> None:
    file = tmp_path / "demos.h5"
    with DemonstrationWriter(file, batch=8) as writer:
        driving = HandDriving(straight_on(), writer, keep_failures=True)
        driving.load()
        drive(driving, AHEAD, 20)
        with read_demonstrations(file) as demos:
            assert demos.frames[0] == 16  # at most one batch is lost
        driving.leave(again=True)
        driving.load()
        drive(driving, LEFT)
        driving.finish()
        assert driving.kept_episodes == 1
    with read_demonstrations(file) as demos:
        first, second = demos.episodes
        assert not first.finished
        assert second.finished
        assert (first.trace, second.trace) == (0, 1)
        assert first.stop - first.start == 20
        assert demos.frames[0] == driving.kept_frames


def test_pause_stops_the_clock(tmp_path: Path) -> None:
    with DemonstrationWriter(tmp_path / "demos.h5") as writer:
        driving = HandDriving(straight_on(), writer)
        assert driving.phase == "loading"
        driving.go()
        assert driving.phase == "loading"
        driving.load()
        with pytest.raises(BadInput, match="go"):
            driving.step(AHEAD)
        drive(driving, AHEAD, 3)
        driving.pause()
        with pytest.raises(BadInput, match="paused"):
            driving.step(AHEAD)
        drive(driving, AHEAD, 2)
        assert driving.session.time == pytest.approx(5 * 0.05)


def test_plans_take_turns() -> None:
    plan = HandPlan(scene=2, branch=0, people="few", weathers=["ClearNoon", "WetNoon", "CloudyNoon"], seed=7)
    assert plan.routes == 4
    first, second = [plan[k] for k in range(4)], [plan[k] for k in range(4, 8)]
    assert [each.scenario.name for each in first] == [each.scenario.name for each in second]
    assert len({each.scenario.name for each in first}) == 4
    assert [each.seed for each in first + second] == [7] * 4 + [8] * 4
    assert [each.weather for each in first] == ["ClearNoon", "WetNoon", "CloudyNoon", "ClearNoon"]
    assert all(one.weather != other.weather for one, other in zip(first, second, strict=True))
    assert {each.task for each in first} == {"go straight"}
    assert all(each.scenario.notes["options"]["weather"] == each.weather for each in first + second)


def test_development_scenes_are_the_default() -> None:
    plan = HandPlan(people="none")
    assert {plan[k].scenario.notes["scene"] for k in range(plan.routes)} == {0, 1, 2, 3}


def test_routes_that_do_not_exist() -> None:
    with pytest.raises(UnknownName, match="scene"):
        HandPlan(scene=6)
    with pytest.raises(UnknownName, match="branch"):
        HandPlan(branch=2)
    with pytest.raises(BadInput, match="0, 1, 2"):
        HandPlan(scene=0, branch=0, pose=9)
    with pytest.raises(BadInput, match="ClearNoon"):
        HandPlan(weathers=["Clearnoon"])
    with pytest.raises(BadInput, match="people"):
        HandPlan(people="lots")
