"""Our protocol, both ways round: ordinary run folders, the same bits as without a socket, modes, tokens, versions."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgpack
import pytest

from sidestep.errors import BadInput
from sidestep.policies.orca import Orca
from sidestep.records import load_record
from sidestep.runs.plan import make_plan
from sidestep.runs.remote.client import run_client, serve_policy
from sidestep.runs.remote.host import SidestepHost
from sidestep.runs.remote.wire import Address, Connection, Refused, connect, same_token
from sidestep.runs.runner import run_benchmark
from sidestep.runs.score import score_run
from sidestep.suites.files import load_suite
from tests.runs.remote.worlds import Ahead, Client, Turning, made_here, run_host, serve_to


@contextmanager
def policy_server(policy: Any, address: str = "127.0.0.1:0", token: str | None = None) -> Iterator[str]:
    """A policy behind an address."""
    found: list[str] = []
    is_ready, stop = threading.Event(), threading.Event()

    def ready(address: str) -> None:
        found.append(address)
        is_ready.set()

    client = Client(lambda: serve_policy(policy, address, token, ready, stop))
    assert is_ready.wait(10)
    try:
        yield found[0]
    finally:
        stop.set()
        client.join()


def test_a_policy_over_a_socket_makes_an_ordinary_run(suite: Path, tmp_path: Path) -> None:
    policy = Ahead()
    served = serve_to(lambda address: run_client(policy, address), suite, tmp_path / "run")
    assert served.outcomes == ["success"] * 3
    assert [task.name for task in policy.tasks] == ["alone", "met", "round"]
    assert [result["outcome"] for result in policy.results] == ["success"] * 3
    assert served.client.value == policy.results
    assert policy.results[0]["metrics"]["success"] == 1.0
    assert policy.tasks[0].time_limit_s == 4
    assert policy.tasks[0].robot.limits.max_speed == pytest.approx(1.2)
    [scores, *_] = score_run(tmp_path / "run").episodes
    assert scores.policy == "remote:ahead"
    record = load_record(next((tmp_path / "run" / "episodes").rglob("alone*.parquet")))
    assert record.policy.settings == {"eager": True}
    assert record.policy.needs == ("goal", "pedestrians")
    assert record.policy.version == "7"
    assert record.scenario.ego.dynamics == "holonomic"
    assert record.scenario.sensors.camera.width == 32


def test_resuming_runs_only_what_is_missing(suite: Path, tmp_path: Path) -> None:
    policy = Ahead()
    serve_to(lambda address: run_client(policy, address), suite, tmp_path / "run", limit=2)
    again = Ahead()
    served = serve_to(lambda address: run_client(again, address), suite, tmp_path / "run")
    assert [task.name for task in again.tasks] == ["round"]
    assert len(served.outcomes) == 3


@pytest.mark.parametrize("server", ["tcp", "unix"])
def test_remote_orca_is_orca_to_the_last_bit(server: str, tmp_path: Path) -> None:
    address = "127.0.0.1:0" if server == "tcp" else f"unix:{tmp_path}/policy.sock"
    core = load_suite("core")
    options: dict[str, Any] = {"scenario_glob": "doorway"}
    along_route = make_plan(core, ["orca"], settings={"orca": {"guide": "route"}}, **options)
    local = run_benchmark(along_route, tmp_path / "local")
    with policy_server(partial(Orca, guide="route"), address) as where:
        plan = make_plan(core, [f"remote:{where}"], **options)
        remote = run_benchmark(plan, tmp_path / "remote", make_policy=made_here)
    [one], [other] = local.episodes, remote.episodes
    assert other.policy == f"remote:{where}"
    assert one.outcome == other.outcome, other.error
    mine, theirs = (
        load_record(next((tmp_path / folder / "episodes").rglob("*.parquet"))) for folder in ("local", "remote")
    )
    assert (mine.robot_pose == theirs.robot_pose).all()
    assert (mine.person_position == theirs.person_position)[mine.person_present].all()
    assert theirs.policy.settings["remote_name"] == "orca"


def test_several_workers_have_a_session_each(suite: Path, tmp_path: Path) -> None:
    with policy_server(Ahead) as where:
        result = run_benchmark(make_plan(load_suite(str(suite)), [f"remote:{where}"]), tmp_path / "run", workers=2)
    assert [episode.outcome for episode in result.episodes] == ["success"] * 3


def test_nobody_at_the_address_is_said_before_the_run(suite: Path) -> None:
    with pytest.raises(BadInput, match=r"remote:127\.0\.0\.1:1: nobody answers"):
        make_plan(load_suite(str(suite)), ["remote:127.0.0.1:1"])
    with pytest.raises(BadInput, match="HOST:PORT"):
        make_plan(load_suite(str(suite)), ["remote:nowhere"])


def test_a_policy_server_that_goes_away_is_counted(suite: Path, tmp_path: Path) -> None:
    with policy_server(Ahead) as where:
        plan = make_plan(load_suite(str(suite)), [f"remote:{where}"], limit=2)
    result = run_benchmark(plan, tmp_path / "run", make_policy=made_here)
    assert [episode.outcome for episode in result.episodes] == ["policy_error"] * 2
    assert "nobody answers" in result.episodes[0].error


def test_a_policy_server_that_hangs_costs_one_episode(suite: Path, tmp_path: Path) -> None:
    made: list[Ahead] = []

    def make() -> Ahead:
        made.append(Ahead(lambda policy, asked: wake.wait(60) if policy is made[1] else None))
        return made[-1]

    wake = threading.Event()
    with policy_server(make) as where:
        plan = make_plan(load_suite(str(suite)), [f"remote:{where}"], act_limit_s=0.3)  # the first one made
        result = run_benchmark(plan, tmp_path / "run", make_policy=made_here)
        wake.set()
    assert [episode.outcome for episode in result.episodes] == ["policy_error", "success", "success"]
    assert "limit of 0.3 s" in result.episodes[0].error


def test_needs_are_all_that_is_sent(suite: Path, tmp_path: Path) -> None:
    served = serve_to(lambda address: run_client(Turning(), address), suite, tmp_path / "run", limit=1)
    assert served.outcomes == ["timeout"]


@pytest.mark.parametrize(("mode", "latency"), [("async", None), ("latency", 0.1)])
def test_the_world_goes_on(mode: Any, latency: float | None, suite: Path, tmp_path: Path) -> None:
    policy = Ahead()
    served = serve_to(
        lambda address: run_client(policy, address), suite, tmp_path / "run", limit=2, mode=mode, latency_s=latency
    )
    assert served.outcomes == ["success"] * 2, served.errors
    record = load_record(next((tmp_path / "run" / "episodes").rglob("alone*.parquet")))
    assert record.mode == mode
    assert record.command[0, 0] == -1  # nothing held yet in the first step


def test_a_unix_socket_is_private_and_removed(suite: Path, tmp_path: Path) -> None:
    path = tmp_path / "here.sock"
    host = SidestepHost(f"unix:{path}")
    assert path.stat().st_mode & 0o077 == 0
    with pytest.raises(BadInput, match="already listens"):
        SidestepHost(f"unix:{path}")
    client = Client(lambda: run_client(Ahead(), f"unix:{path}"))
    run_host(host, suite, tmp_path / "run", limit=1)
    client.join()
    assert not path.exists()
    path.write_text("mine")
    with pytest.raises(BadInput, match="not a socket"):
        SidestepHost(f"unix:{path}")
    assert path.read_text() == "mine"


def test_another_version_is_told_both_versions(suite: Path, tmp_path: Path) -> None:
    answers: list[Any] = []

    def client(address: str) -> None:
        stranger = Connection(connect(Address.parse(address)), 10**6, strict=False)
        stranger.send({"type": "hello", "sidestep": 9, "role": "policy", "name": "x", "needs": []})
        answers.append(stranger.receive(10))
        run_client(Ahead(), address)

    served = serve_to(client, suite, tmp_path / "run", limit=1)
    assert answers[0]["type"] == "refused"
    assert "protocol 1" in answers[0]["reason"]
    assert "protocol 9" in answers[0]["reason"]
    assert any("protocol 9" in line for line in served.said)
    assert served.outcomes == ["success"]


@pytest.mark.parametrize(
    ("hello", "reason"),
    [
        ({"needs": ["pedestrains"]}, "did you mean 'pedestrians'"),
        ({"name": "../../etc"}, "name is 1 to 64"),
        ({"needs": None}, "what the policy needs"),
        ({"dynamics": "hovercraft"}, "holonomic, unicycle"),
        ({"camera": 3}, "camera must be"),
        ({"role": "benchmark"}, "role 'policy'"),
        ({"token": "wrong"}, "wrong or missing token"),
        ({"type": "act"}, "must be a hello"),
    ],
)
def test_what_a_host_refuses(hello: dict[str, Any], reason: str, suite: Path, tmp_path: Path) -> None:
    good = {"type": "hello", "sidestep": 1, "role": "policy", "name": "x", "needs": [], "token": "open sesame"}
    answers: list[Any] = []

    def client(address: str) -> None:
        stranger = Connection(connect(Address.parse(address)), 10**6, strict=False)
        stranger.send(good | hello)
        answers.append(stranger.receive(10))
        run_client(Ahead(), address, token="open sesame")

    serve_to(client, suite, tmp_path / "run", limit=1, host_options={"token": "open sesame"})
    assert answers[0]["type"] == "refused"
    assert reason in answers[0]["reason"]


def test_a_token_is_required_off_this_machine() -> None:
    with pytest.raises(BadInput, match="a token"):
        SidestepHost("0.0.0.0:0")
    with pytest.raises(ValueError, match="a token"):
        serve_policy(Ahead(), "0.0.0.0:0")
    SidestepHost("0.0.0.0:0", token="x").close("done")
    assert same_token("x", "x")
    assert not same_token("y", "x")
    assert not same_token(None, "x")
    assert not same_token(7, "x")


def test_a_policy_server_asks_for_its_token(suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with policy_server(Ahead, token="secret") as where:
        with pytest.raises(BadInput, match="wrong or missing token"):
            make_plan(load_suite(str(suite)), [f"remote:{where}"])
        monkeypatch.setenv("SIDESTEP_TOKEN", "secret")
        plan = make_plan(load_suite(str(suite)), [f"remote:{where}"])
    assert "secret" not in plan.model_dump_json()


def test_a_policy_that_cannot_be_made_says_why(suite: Path) -> None:
    def make() -> Any:
        raise FileNotFoundError("weights.bin")

    with policy_server(make) as where, pytest.raises(BadInput, match=r"FileNotFoundError: weights\.bin"):
        make_plan(load_suite(str(suite)), [f"remote:{where}"])


@pytest.mark.parametrize("text", ["", "here", "here:", ":5", "here:66000", "here:-1", "unix:", "unix:" + "x" * 200])
def test_bad_addresses(text: str) -> None:
    with pytest.raises(ValueError):
        Address.parse(text)


@pytest.mark.parametrize(
    ("text", "local"),
    [("127.0.0.1:5", True), ("localhost:5", True), ("[::1]:5", True), ("unix:/x", True), ("10.0.0.1:5", False)],
)
def test_good_addresses(text: str, local: bool) -> None:
    assert Address.parse(text).is_local is local


def test_the_client_hears_why_it_was_refused(suite: Path, tmp_path: Path) -> None:
    host = SidestepHost("127.0.0.1:0", token="a")
    client = Client(lambda: run_client(Ahead(), host.address, token="b"))
    good = Client(lambda: (client.join(), run_client(Ahead(), host.address, token="a")))
    run_host(host, suite, tmp_path / "run", limit=1)
    good.join()
    assert isinstance(client.error, Refused)


def test_the_example_of_the_documentation_is_right() -> None:
    """The bytes in docs/remote.md are those of the message above them."""
    page = (Path(__file__).resolve().parents[3] / "docs" / "remote.md").read_text(encoding="utf-8")
    dump = page.partition("```hexdump\n")[2].partition("```")[0]
    data = bytes.fromhex("".join(line[10:59] for line in dump.splitlines()))
    assert int.from_bytes(data[:4], "big") == len(data) - 4
    assert msgpack.unpackb(data[4:]) == {"type": "act", "id": 7, "command": "velocity", "values": [0.5, -0.25]}
