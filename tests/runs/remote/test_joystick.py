"""SocNavBench's joystick protocol, against a client that behaves as its own do."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sidestep.errors import BadInput
from sidestep.records import load_record
from sidestep.runs.episode import why_not_built
from sidestep.runs.remote.joystick import JoystickHost
from sidestep.runs.remote.joystick_sockets import JoystickSockets
from sidestep.runs.remote.joystick_state import NEVER_S, MapFrame, traversible
from sidestep.runs.verify import verify_run
from sidestep.scenes.compile import compile_scene
from sidestep.scenes.load import resolve_scene
from sidestep.simulation.robots import load_robot
from sidestep.types import Task
from tests.runs.remote import joystick_client
from tests.runs.remote.joystick_client import JoystickClient, one_position, ten_positions, velocity
from tests.runs.remote.worlds import Client, Served, run_host


def serve_joystick(
    client: JoystickClient | Any,
    prefix: Path,
    suite: Path,
    out: Path,
    dynamics: str = "holonomic",
    reconnect_s: float = 1.0,
    **options: Any,
) -> Served:
    said: list[str] = []
    host = JoystickHost(
        str(prefix),
        name="theirs",
        dynamics=dynamics,
        reason_not_built=why_not_built,
        reconnect_s=reconnect_s,
        say=said.append,
    )
    running = Client(client.run if isinstance(client, JoystickClient) else client)
    result = run_host(host, suite, out, **options)
    return Served(result, said, running.join())


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    return tmp_path / "joy"


def greet_again_and_again(prefix: Path, starts: int, longest_pause_s: float, busy: int) -> None:
    """Shake hands with a client of a process of its own, ``starts`` times. Each must be through within 10 s."""
    program = [sys.executable, joystick_client.__file__, str(prefix), str(starts), "7", str(longest_pause_s)]
    wires = JoystickSockets(str(prefix))
    with ExitStack() as ending:
        ending.callback(wires.close)
        for _ in range(busy):
            process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            ending.callback(process.wait)
            ending.callback(process.kill)
        client = subprocess.Popen(program)
        ending.callback(client.wait)
        ending.callback(client.kill)
        for number in range(starts):
            deadline = time.monotonic() + 10
            wires.shake_hands(deadline)
            wires.send(json.dumps({"episodes": [f"start {number}"]}), deadline)
        assert client.wait(10) == 0


def test_no_start_deadlocks(prefix: Path) -> None:
    greet_again_and_again(prefix, 300, 0.0, busy=0)


def test_no_start_deadlocks_on_a_busy_machine(prefix: Path) -> None:
    greet_again_and_again(prefix, 100, 0.002, busy=2)


@pytest.mark.full
@pytest.mark.parametrize(("pause", "busy"), [(0.0, 0), (0.002, 0), (0.001, 3)])
def test_no_start_in_ten_thousand_deadlocks(prefix: Path, pause: float, busy: int) -> None:
    greet_again_and_again(prefix, 10_000, pause, busy)


def test_the_file_of_an_earlier_client_is_out_of_the_way(prefix: Path, suite: Path, tmp_path: Path) -> None:
    for run in ("first", "second"):  # the client cannot listen where a file is, and leaves its own behind
        client = JoystickClient(str(prefix), one_position)
        served = serve_joystick(client, prefix, suite, tmp_path / run, limit=1)
        assert served.client.error is None, served.client.error
        assert os.path.exists(client.from_robot)
    Path(client.from_robot).unlink()
    Path(client.from_robot).write_text("mine")
    with pytest.raises(BadInput, match="not a socket"):
        JoystickHost(str(prefix))
    assert Path(client.from_robot).read_text() == "mine"


def test_the_first_command_may_take_longer(prefix: Path, suite: Path, tmp_path: Path) -> None:
    """Maps and controllers are built after ``ready``; every later answer has the ordinary limit."""
    late: list[int] = []

    def plan(client: JoystickClient, robot: list[float], step: float) -> Any:
        if len(client.states) == 1 or (len(client.metadata) == 2 and len(late) == 1):
            late.append(len(client.states))
            time.sleep(0.9)
        return one_position(client, robot, step)

    client = JoystickClient(str(prefix), plan)
    served = serve_joystick(client, prefix, suite, tmp_path / "run", limit=2, act_limit_s=0.3)
    assert served.outcomes == ["success"] * 2, served.errors

    def hesitates(client: JoystickClient, robot: list[float], step: float) -> Any:
        if len(client.states) == 4:
            time.sleep(0.9)
        return one_position(client, robot, step)

    served = serve_joystick(
        JoystickClient(str(prefix), hesitates), prefix, suite, tmp_path / "late", limit=1, act_limit_s=0.3
    )
    assert served.outcomes == ["policy_error"]
    assert "limit of 0.3 s" in served.errors[0]


def test_collisions_are_told(prefix: Path, suite: Path, tmp_path: Path) -> None:
    """A person who walks into the robot is in a cool-down of 20 steps; the robot remembers when it was."""
    walker = "{people: [{start: [3, 0], waypoints: [[-4, 0]]}], sees_robot: false}"
    suite.write_text(suite.read_text().replace("{name: alone}", f"{{name: alone, crowd: [{walker}]}}"))
    client = JoystickClient(str(prefix), lambda client, robot, step: [[[robot[0], robot[1], 0.0, 0.0]]])
    serve_joystick(client, prefix, suite, tmp_path / "run", limit=1)
    [robots] = zip(*([*state["robots"].values()] for state in client.states), strict=True)
    people = [next(iter(state["pedestrians"].values())) for state in client.states]
    assert robots[0]["last_collision_t"] == people[0]["last_collision_t"] == NEVER_S
    first = next(k for k, person in enumerate(people) if person["collision_cooldown"])
    here, there = (np.array(one["current_config"][:2]) for one in (robots[first], people[first]))
    assert np.hypot(*(here - there)) < robots[first]["radius"] + people[first]["radius"]
    assert people[first]["last_collision_t"] == client.states[first]["sim_t"] == robots[first]["last_collision_t"]
    assert [person["collision_cooldown"] for person in people[first : first + 4]] == [20, 19, 18, 17]
    assert all(robot["collision_cooldown"] == 0 for robot in robots)


def test_a_served_run_says_that_it_cannot_be_run_again(prefix: Path, suite: Path, tmp_path: Path) -> None:
    serve_joystick(JoystickClient(str(prefix), one_position), prefix, suite, tmp_path / "run", limit=1)
    with pytest.raises(BadInput, match=r"'remote:theirs' .* cannot be run again"):
        verify_run(tmp_path / "run")


@pytest.mark.parametrize("plan", [one_position, ten_positions])
def test_a_position_client_drives_to_the_goal(plan: Any, prefix: Path, suite: Path, tmp_path: Path) -> None:
    client = JoystickClient(str(prefix), plan)
    served = serve_joystick(client, prefix, suite, tmp_path / "run")
    assert served.client.error is None, served.client.error
    assert served.outcomes == ["success"] * 3, served.errors
    assert client.episodes == ["alone", "met", "round"]
    assert client.causes == ["Success"] * 3
    assert any("algorithm 'straight'" in line for line in served.said)
    assert [episode.policy for episode in served.result.episodes] == ["remote:theirs"] * 3
    assert not prefix.with_name("joy_recv").exists()


def test_metadata_and_states_have_the_keys_of_the_original(prefix: Path, suite: Path, tmp_path: Path) -> None:
    client = JoystickClient(str(prefix), one_position)
    serve_joystick(client, prefix, suite, tmp_path / "run")
    world = client.metadata[1]
    assert set(world) == {
        "robot_on", "environment", "episode_name", "pedestrians", "robots", "delta_t", "episode_max_time", "sim_t",
    }  # fmt: skip
    assert set(world["environment"]) == {"map_scale", "map_name", "room_center", "map_traversible"}
    assert set(world["robots"]) == {"robot_agent"}
    assert (world["delta_t"], world["episode_max_time"], world["sim_t"]) == (0.05, 4.0, 0.0)
    grid = np.array(world["environment"]["map_traversible"])
    assert np.allclose(np.array(grid.shape[::-1]) * 0.05 / 2, world["environment"]["room_center"][:2])
    with_people = [state for state in client.states if state["pedestrians"]]
    assert len(with_people) > 10
    assert set(with_people[0]) == set(world) - {"environment", "episode_name"}
    # the shift of the map is taken back: the robot really went from its start to its goal
    record = load_record(next((tmp_path / "run" / "episodes").rglob("met*.parquet")))
    assert record.robot_pose[0, :2].tolist() == [0.0, 0.0]
    assert np.hypot(*(record.robot_pose[-1, :2] - (1.5, 0.0))) < 0.31
    assert world["robots"]["robot_agent"]["start_config"] != [0.0, 0.0, 0.0]


def test_a_velocity_client_under_kinematic_constraints(prefix: Path, suite: Path, tmp_path: Path) -> None:
    client = JoystickClient(str(prefix), velocity)
    served = serve_joystick(client, prefix, suite, tmp_path / "run", dynamics="unicycle", limit=1)
    assert served.outcomes == ["success"], served.errors
    record = load_record(next((tmp_path / "run" / "episodes").rglob("alone*.parquet")))
    assert record.scenario.ego.dynamics == "unicycle"
    assert np.allclose(record.applied[1:-1, 0], 0.8)


def test_asynchronous(prefix: Path, suite: Path, tmp_path: Path) -> None:
    client = JoystickClient(str(prefix), one_position)
    served = serve_joystick(client, prefix, suite, tmp_path / "run", limit=2, mode="async")
    assert served.client.error is None, served.client.error
    assert served.outcomes == ["success"] * 2, served.errors


def test_a_scenario_that_cannot_be_built_is_left_out(prefix: Path, suite: Path, tmp_path: Path) -> None:
    block = "{name: block, regions: [{kind: obstacle, polygon: [[-1, -1], [1, -1], [1, 1], [-1, 1]]}]}"
    suite.write_text(suite.read_text().replace("{name: alone}", f"{{name: alone, scene: {block}}}"))
    client = JoystickClient(str(prefix), one_position)
    served = serve_joystick(client, prefix, suite, tmp_path / "run", limit=2)
    assert served.client.error is None, served.client.error
    assert client.episodes == ["met"]
    assert served.outcomes == ["success"]
    assert len(served.result.skipped) == 1


def test_abandon_costs_the_episode(prefix: Path, suite: Path, tmp_path: Path) -> None:
    def plan(client: JoystickClient, robot: list[float], step: float) -> Any:
        if len(client.metadata) == 1 and len(client.states) == 5:
            client.say("abandon")
            return []
        return one_position(client, robot, step)

    client = JoystickClient(str(prefix), plan)
    served = serve_joystick(client, prefix, suite, tmp_path / "run", limit=2)
    assert served.outcomes == ["policy_error", "success"]
    assert "abandoned" in served.errors[0]
    assert client.causes == ["Timeout", "Success"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "not a joystick message"),
        ('{"j_input": 3}', "not a joystick message"),
        ('{"j_input": []}', "1 to 10000 commands"),
        ('{"j_input": [[1, 2, 3]]}', "4 numbers"),
        ('{"j_input": [[1e999, 2]]}', "not finite"),
        ('{"j_input": [[NaN, 2]]}', "not finite"),
        ('{"j_input": [["a", 2]]}', "not a joystick message"),
        ("[" * 100_000, "not a joystick message"),
        ("x" * 300_000, "more than 262144 bytes"),
    ],
)
def test_garbage_costs_the_episode(text: str, reason: str, prefix: Path, suite: Path, tmp_path: Path) -> None:
    def plan(client: JoystickClient, robot: list[float], step: float) -> Any:
        if len(client.states) == 3:
            with suppress(OSError):  # cut off in the middle of something far too long
                client.say(text)
            return []
        return one_position(client, robot, step)

    client = JoystickClient(str(prefix), plan)
    served = serve_joystick(client, prefix, suite, tmp_path / "run", limit=2)
    assert served.client.error is None, served.client.error
    assert served.outcomes == ["policy_error", "success"], served.errors
    assert reason in served.errors[0]


def test_a_client_that_dies_may_start_again(prefix: Path, suite: Path, tmp_path: Path) -> None:
    class Dies(Exception):
        pass

    def die(client: JoystickClient, robot: list[float], step: float) -> Any:
        raise Dies

    again = JoystickClient(str(prefix), one_position, removes_file=True)

    def run() -> None:
        first = JoystickClient(str(prefix), die)
        with pytest.raises(Dies):
            first.run()
        first.listener.close()
        time.sleep(0.3)
        again.run()

    served = serve_joystick(run, prefix, suite, tmp_path / "run", act_limit_s=5.0)
    assert served.outcomes == ["policy_error", "success", "success"], served.errors
    assert again.episodes == ["met", "round"]
    assert "started again" in served.errors[0]


class Killed(Exception):
    pass


def killed(client: JoystickClient, robot: list[float], step: float) -> Any:
    """In the middle of the second episode, with messages on their way."""
    if len(client.metadata) == 2 and len(client.states) > 5:
        for text in ("sense", '{"j_input": [[9, 9, 0, 0]]}', "sense"):
            client.say(text)
        raise Killed
    return one_position(client, robot, step)


def return_after(pause_s: float, prefix: Path, suite: Path, out: Path, **options: Any) -> tuple[Served, JoystickClient]:
    """A client dies and starts again. The file that it listened at stays, as after a kill."""
    again = JoystickClient(str(prefix), one_position, removes_file=True)

    def run() -> None:
        first = JoystickClient(str(prefix), killed)
        with pytest.raises(Killed):
            first.run()
        first.listener.close()
        time.sleep(pause_s)
        again.run()

    return serve_joystick(run, prefix, suite, out, **options), again


RETURNS = (0.0, 0.4, 1.0, 2.4)
"""After 0, 2, 5 and 12 s, with limits and waits that are a fifth of the usual ones."""


def check_return(pause_s: float, prefix: Path, suite: Path, out: Path) -> None:
    served, again = return_after(pause_s, prefix, suite, out, act_limit_s=0.6, reconnect_s=6.0)
    assert served.client.error is None, served.client.error
    assert again.episodes[-1] == "round"
    assert [world["episode_name"] for world in again.metadata] == again.episodes
    assert again.causes == ["Success"] * len(again.episodes)
    assert served.outcomes == ["success", "policy_error", "success"], served.errors


@pytest.mark.parametrize("pause_s", RETURNS)
def test_a_client_that_returns_hears_nothing_of_the_old_episode(
    pause_s: float, prefix: Path, suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither its state, nor that it is over, nor what the next one begins with: the first message is the answer to
    its greeting, the second the names of the episodes."""
    monkeypatch.setattr("sidestep.runs.remote.joystick_sockets.SEND_S", 2.0)
    check_return(pause_s, prefix, suite, tmp_path / "run")


@pytest.mark.full
@pytest.mark.parametrize("pause_s", RETURNS)
def test_six_of_six_returns(pause_s: float, suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sidestep.runs.remote.joystick_sockets.SEND_S", 2.0)
    for number in range(6):
        check_return(pause_s, tmp_path / f"joy{number}", suite, tmp_path / f"run{number}")


def test_a_client_whose_place_was_taken_is_not_heard(
    prefix: Path, suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was only stopped, and goes on after another process has greeted."""
    if not hasattr(socket, "SO_PEERCRED"):
        pytest.skip("this system does not tell processes apart")
    monkeypatch.setattr("sidestep.runs.remote.joystick_sockets.SEND_S", 2.0)
    wires = JoystickSockets(str(prefix))
    program = [sys.executable, joystick_client.__file__, str(prefix), "1", "7", "0"]
    greets = subprocess.Popen(program)
    wires.shake_hands(time.monotonic() + 10)
    wires.send(json.dumps({"episodes": ["start 0"]}), time.monotonic() + 10)
    assert greets.wait(10) == 0
    threading.Thread(target=JoystickClient(str(prefix), one_position, removes_file=True).shake_hands).start()
    wires.forget_client()
    wires.shake_hands(time.monotonic() + 10)
    say = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.sendall(b'sense')"
    other = subprocess.Popen([sys.executable, "-c", say, wires.here])
    wires._replaced.add(other.pid)
    with pytest.raises(TimeoutError):
        wires.receive(time.monotonic() + 2.0)
    other.wait()  # hung up on
    subprocess.run([sys.executable, "-c", say, wires.here], check=True)
    assert wires.receive(time.monotonic() + 2.0) == "sense"
    assert greets.pid in wires._replaced
    wires.close()


def test_a_client_that_stays_away_costs_all_that_is_left(
    prefix: Path, suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sidestep.runs.remote.joystick_sockets.SEND_S", 0.3)

    def run() -> None:
        client = JoystickClient(str(prefix), one_position)
        client.shake_hands()
        client.hear()
        client.listener.close()

    served = serve_joystick(run, prefix, suite, tmp_path / "run", act_limit_s=0.3)
    assert served.outcomes == ["policy_error"] * 3
    assert "did not come back" in served.errors[2]


def test_one_host_per_prefix(prefix: Path) -> None:
    host = JoystickHost(str(prefix))
    with pytest.raises(BadInput, match="already listens"):
        JoystickHost(str(prefix))
    host.close("done")
    left_behind = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    left_behind.bind(f"{prefix}_recv")
    left_behind.close()
    JoystickHost(str(prefix)).close("done")


def test_the_grid_is_the_scene() -> None:
    scene = compile_scene(resolve_scene("narrow_doorway"))
    task = Task(load_robot("pioneer_3dx"), (-6.0, 0.0, 0.0), 0.05, 10.0, 0.3, goal=(6.0, 0.0))
    frame = MapFrame.around(scene, task)
    grid = traversible(scene, frame)
    assert json.dumps(grid[0][:2])
    assert frame.x <= scene.bounds[0]
    for x, y in [(-6.0, 0.0), (0.0, 0.0), (0.0, 0.3), (0.0, 0.6), (0.0, 1.5), (5.0, -1.2), (-3.0, 2.0)]:
        row, column = int((y - frame.y) / 0.05), int((x - frame.x) / 0.05)
        middle = frame.x + (column + 0.5) * 0.05, frame.y + (row + 0.5) * 0.05
        assert grid[row][column] == (1.0 if scene.clearance(*middle) > 0 else 0.0), (x, y)
    assert 0.0 in np.array(grid)
    assert 1.0 in np.array(grid)
