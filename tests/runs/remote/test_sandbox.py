"""What a guest in a sandbox tries to reach: the simulator, files, other processes, the network, its own limits.

Every attack is code that runs inside a policy. It has failed if the policy meets the named error, or if nothing outside
has changed; an attack that succeeds prints ``ESCAPED``.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from sidestep.errors import GuestFailed
from sidestep.records import load_record
from sidestep.runs import executors
from sidestep.runs.episode import EpisodeTask, TaskResult, run_task
from sidestep.runs.plan import PolicyPlan
from sidestep.runs.remote import guest_process, guest_sandbox
from sidestep.runs.remote import guests as guests_module
from sidestep.runs.remote.guests import GuestProcess, GuestProcesses, GuestRefused
from sidestep.runs.remote.isolation import Isolation
from sidestep.runs.remote.sandbox import LIBRARY, PACKAGE, is_library, readable_paths
from sidestep.types.record import WALLS, EpisodeRecord
from tests.runs.remote.test_misbehaviour import SCENARIOS
from tests.runs.remote.test_users_policy import is_there, within

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or guest_sandbox.landlock_version() == 0,
    reason="only on Linux with Landlock (kernel 5.13): run it there",
)

POLICY = """
import ctypes, importlib, os, re, resource, signal, socket, subprocess, sys, threading, time
from pathlib import Path
from sidestep.types import Velocity

libc = ctypes.CDLL(None, use_errno=True)

def call(number, *arguments):
    result = libc.syscall(number, *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result

class Attacker:
    needs = frozenset({"goal"})

    def reset(self, task):
        self.task = task

    def act(self, observation):
        if self.task.goal[0] > 1.0 and observation.time > 0.15:
            self.attack(observation)
            print("ESCAPED")
            raise RuntimeError("escaped")
        return Velocity(1.0, 0.0)

    def attack(self, observation):
"""
DENIED = "Permission denied"
NOT_PERMITTED = "not permitted"
REFUSED = ("PermissionError", "FileNotFoundError", "ProcessLookupError")
"""Where a layer hides what another would refuse."""
REFUSED_IMPORT = "cannot import sidestep."
SIMULATOR = str(PACKAGE / "simulation" / "build.py")

ATTACKS = {
    # the simulator
    "imports_the_simulator": ("import sidestep.simulation.build", REFUSED_IMPORT),
    "imports_a_suite": ("from sidestep.suites.files import load_suite", REFUSED_IMPORT),
    "imports_recordings": ("import sidestep.datasets", REFUSED_IMPORT),
    "imports_scenes": ("from sidestep.scenes import load", REFUSED_IMPORT),
    "imports_runs": ("from sidestep.runs import folder", REFUSED_IMPORT),
    "uses_the_api": ("import sidestep\nsidestep.open_episode", REFUSED_IMPORT),
    "imports_it_by_importlib": ("importlib.import_module('sidestep.simulation.loop')", REFUSED_IMPORT),
    "removes_the_refusal": (
        "sys.meta_path[:] = [each for each in sys.meta_path if 'sidestep' not in type(each).__module__]\n"
        "import sidestep.simulation.build",
        DENIED,
    ),
    "executes_its_source": (f"exec(open({SIMULATOR!r}).read())", DENIED),
    "loads_it_under_another_name": (
        "from importlib.util import module_from_spec, spec_from_file_location\n"
        f"spec = spec_from_file_location('other', {SIMULATOR!r})\n"
        "spec.loader.exec_module(module_from_spec(spec))",
        DENIED,
    ),
    "reads_compiled_modules": (
        f"from importlib.util import cache_from_source\nopen(cache_from_source({SIMULATOR!r}), 'rb')",
        REFUSED,
    ),
    "reads_suites": (f"open({str(PACKAGE / 'suites' / 'data' / 'core.yaml')!r})", DENIED),
    "starts_a_python_that_may": (
        "done = subprocess.run([sys.executable, '-c', 'import sidestep.simulation.build'], capture_output=True)\n"
        "assert done.returncode == 0, 'a child could not either'",
        "a child could not either",
    ),
    # files
    "reads_the_run": ("open(RUN)", DENIED),
    "lists_the_run": ("os.listdir(os.path.dirname(RUN))", DENIED),
    "reads_recordings": ("open(os.path.join(DATA, 'people.csv'))", DENIED),
    "reads_a_home": ("open(os.path.expanduser('~/.bashrc'))\nopen('/etc/gshadow')", REFUSED),
    "reads_passwords": ("open('/etc/shadow')", DENIED),
    "reads_another_project": ("open(NEIGHBOUR)", DENIED),
    "follows_a_link": ("os.symlink(NEIGHBOUR, os.environ['TMPDIR'] + '/x')\nopen(os.environ['TMPDIR'] + '/x')", DENIED),
    "makes_a_hard_link": ("os.link(NEIGHBOUR, os.environ['TMPDIR'] + '/y')", (*REFUSED, "cross-device")),
    "writes_beside_itself": ("open(os.path.join(os.path.dirname(__file__), 'x'), 'w')", DENIED),
    "changes_itself": ("open(__file__, 'a')", DENIED),
    "writes_to_tmp": ("open('/tmp/sidestep-escaped', 'w')", DENIED),
    "removes_the_run": ("os.remove(RUN)", DENIED),
    "renames_the_run": ("os.rename(os.path.dirname(RUN), os.path.dirname(RUN) + '2')", REFUSED),
    "truncates_the_run": ("os.truncate(RUN, 0)", DENIED),
    "poisons_compiled_kernels": (
        "from sidestep.kernels import jit\nassert jit.CACHE_FOLDER is not None\nopen(jit.CACHE_FOLDER / 'x.nbi', 'w')",
        DENIED,
    ),
    "changes_the_library": (f"open({str(PACKAGE / 'types' / 'command.py')!r}, 'a')", DENIED),
    "opens_by_handle": ("call(304, -100, b'x', 0)", NOT_PERMITTED),
    "opens_a_terminal": ("open('/dev/tty', 'w')", REFUSED),
    "opens_memory": ("open('/dev/mem', 'rb')", REFUSED),
    # processes
    "looks_at_its_parents": (
        "seen = [each for each in os.listdir('/proc') if each.isdigit()]\nassert WORKER in seen, 'it is not there'",
        ("it is not there", *REFUSED),
    ),
    "reads_a_command_line": ("open(f'/proc/{WORKER}/cmdline')", REFUSED),
    "reads_memory": ("open(f'/proc/{WORKER}/mem', 'rb')", REFUSED),
    "writes_to_the_output_of_others": ("open(f'/proc/{WORKER}/fd/1', 'w').write('ESCAPED')", REFUSED),
    "traces": ("call(101, 16, int(WORKER), 0, 0)", NOT_PERMITTED),
    "traces_its_parent": ("call(101, 16, os.getppid(), 0, 0)", NOT_PERMITTED),
    "reads_with_vm_readv": ("call(310, int(WORKER), 0, 0, 0, 0, 0)", NOT_PERMITTED),
    "kills_the_worker": ("os.kill(int(WORKER), signal.SIGKILL)", REFUSED),
    "stops_the_worker": ("os.kill(int(WORKER), signal.SIGSTOP)", REFUSED),
    "stops_its_parent": ("os.kill(os.getppid(), signal.SIGSTOP)", REFUSED),
    "kills_everybody": (
        "os.kill(-1, signal.SIGSTOP)\ntime.sleep(0.3)\nraise OSError('nobody is left')",
        ("nobody is left", *REFUSED),
    ),
    "limits_the_worker": ("resource.prlimit(int(WORKER), resource.RLIMIT_NOFILE, (0, 0))", REFUSED),
    "slows_the_worker": ("os.setpriority(os.PRIO_PROCESS, int(WORKER), 19)", REFUSED),
    "takes_its_files": ("call(438, 3, 1, 0)", NOT_PERMITTED),
    # the system
    "enters_a_namespace": ("if call(272, 0x10000000) == 0: os.system('id')", NOT_PERMITTED),
    "clones_a_namespace": ("call(56, 0x10000000 | 17, 0, 0, 0, 0)", NOT_PERMITTED),
    "mounts": ("call(165, b'tmpfs', b'/tmp', b'tmpfs', 0, 0)", NOT_PERMITTED),
    "leaves_its_root": ("os.chroot('/')", NOT_PERMITTED),
    "watches_the_processor": ("call(298, 0, 0, -1, -1, 0)", NOT_PERMITTED),
    "loads_a_program_into_the_kernel": ("call(321, 0, 0, 0)", NOT_PERMITTED),
    "uses_a_ring": ("call(425, 1, 0)", NOT_PERMITTED),
    "becomes_the_superuser": ("os.setuid(0 if os.getuid() else 1)", (NOT_PERMITTED, "Invalid argument")),
    # the network
    "opens_a_socket": ("socket.socket()", NOT_PERMITTED),
    "opens_a_datagram_socket": ("socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)", NOT_PERMITTED),
    "opens_a_unix_socket": ("socket.socket(socket.AF_UNIX)", NOT_PERMITTED),
    "opens_a_raw_socket": ("socket.socket(socket.AF_PACKET, socket.SOCK_RAW)", NOT_PERMITTED),
    "asks_the_network_by_a_child": (
        "child = 'import socket; socket.socket()'\n"
        "assert subprocess.run([sys.executable, '-c', child], capture_output=True).returncode == 0, 'no socket'",
        "no socket",
    ),
}


@pytest.fixture(scope="module", params=["namespaces", pytest.param("landlock", marks=pytest.mark.full)])
def guests(request: pytest.FixtureRequest) -> Iterator[GuestProcesses]:
    """Guests with every layer that there is, and in the full tests as in a container that forbids namespaces."""
    with pytest.MonkeyPatch.context() as patch, GuestProcesses() as guests:
        if request.param == "landlock":
            if guest_sandbox.landlock_version() < 6:
                pytest.skip("only on Linux 6.12 and later, where Landlock has scopes")
            patch.setattr(guest_process, "USE_NAMESPACES", False)
        yield guests


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What attackers want to reach."""
    folder = tmp_path_factory.mktemp("world")
    places = {"RUN": folder / "runs" / "one" / "run.json", "NEIGHBOUR": folder / "neighbour" / "notes.txt"}
    data = folder / "data"
    for file in (*places.values(), data / "people.csv"):
        file.parent.mkdir(parents=True)
        file.write_text("secret")
    return {name: str(path) for name, path in places.items()} | {"DATA": str(data), "WORKER": str(os.getpid())}


def drive(guests: GuestProcesses, policy: PolicyPlan, index: int, folder: Path, **options: object) -> EpisodeRecord:
    path = folder / f"{SCENARIOS[index].name}.parquet"
    isolation = Isolation.parse(options, "options")
    run_task(EpisodeTask(SCENARIOS[index], policy, 0, path, act_limit_s=20.0, isolation=isolation), guests=guests)
    return load_record(path)


def written(folder: Path, code: str, places: dict[str, str]) -> PolicyPlan:
    folder.mkdir(exist_ok=True)
    file = folder / "attacker.py"
    constants = "".join(f"{name} = {value!r}\n" for name, value in places.items())
    file.write_text(constants + POLICY + "".join(f"        {line}\n" for line in code.splitlines()))
    return PolicyPlan(name=f"{file}:Attacker")


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_fails_and_costs_its_own_episode_only(
    name: str, guests: GuestProcesses, places: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIDESTEP_DATA", places["DATA"])
    code, words = ATTACKS[name]
    policy = written(tmp_path / "own", code, places)
    attacked = drive(guests, policy, 0, tmp_path)
    assert attacked.outcome == "policy_error", "it escaped"
    assert any(word in attacked.error for word in ([words] if isinstance(words, str) else words)), attacked.error
    assert Path(places["RUN"]).read_text() == "secret"
    assert not Path("/tmp/sidestep-escaped").exists()
    good = drive(guests, policy, 1, tmp_path)
    assert good.outcome == "success", good.error
    assert good.policy.sandbox is not None
    assert set(good.policy.sandbox) == set(WALLS)


class Sleeper:
    """Policies that cost time where no step is being asked for."""

    needs = "    @property\n    def needs(self):\n        time.sleep(1000)\n"
    drop = "    def __del__(self):\n        time.sleep(1000)\n"


def test_an_endless_needs_is_refused_within_seconds(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    members = "    def reset(self, task): ...\n    def act(self, observation): ...\n"
    file.write_text("import time\n\nclass Own:\n" + Sleeper.needs + members)
    begun = time.monotonic()
    with pytest.raises(GuestFailed, match="did not answer within its limit of 10 s"):
        GuestProcess(f"{file}:Own")
    assert time.monotonic() - begun < 60.0


def test_a_sleeping_del_costs_seconds_and_one_episode(guests: GuestProcesses, tmp_path: Path) -> None:
    policy = written(tmp_path / "own", "time.sleep(0)", {})
    file = tmp_path / "own" / "attacker.py"
    file.write_text(file.read_text().replace("    def act(self", Sleeper.drop + "\n    def act(self"))
    begun = time.monotonic()
    first, second = (drive(guests, policy, 1, tmp_path / name) for name in ("a", "b"))
    assert first.outcome == "success"
    assert "did not answer within its limit" in second.error
    assert time.monotonic() - begun < 60.0


DAEMON = """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in range(3, 64):
            try:
                os.close(number)
            except OSError:
                pass
        while True:
            time.sleep(0.05)
            open(os.environ["TMPDIR"] + "/beat", "w").write(str(time.time()))
    os._exit(0)
os.wait()
"""


def test_daemons_end_with_the_guest_when_its_keeper_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The keeper is killed from outside: inside nobody can see it."""
    monkeypatch.setattr(guest_process, "USE_NAMESPACES", True)
    policy = written(tmp_path / "own", "pass", {})
    file = tmp_path / "own" / "attacker.py"
    file.write_text(file.read_text() + DAEMON)
    before = set(_processes())
    guest = GuestProcess(policy.name)
    if not guest.look().is_namespace:
        pytest.skip("only where user namespaces are allowed, not in a chroot or a closed container")
    assert within(10.0, lambda: len(set(_processes()) - before) >= 4), "keeper, first process, guest, daemon"
    started = set(_processes()) - before
    guest._process._keeper.send_signal(signal.SIGKILL)  # type: ignore[union-attr]
    assert within(10.0, lambda: not any(is_there(pid) for pid in started))
    guest.kill()


def _processes() -> list[int]:
    return [int(each) for each in os.listdir("/proc") if each.isdigit()]


def test_a_stopped_worker_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another program stops a worker process: the task is run once more, and the run goes on."""
    monkeypatch.setattr(executors, "STOPPED_CHECKS", 3)
    task = EpisodeTask(SCENARIOS[1], PolicyPlan(name="straight"), 0, tmp_path / "a.parquet")
    begun = time.monotonic()
    [(_, result)] = executors.WorkerProcesses(1).run(stop_myself, [task])
    assert isinstance(result, executors.WorkerDied)
    assert "it was stopped for 3 s" in result.reason
    assert time.monotonic() - begun < 60.0


def stop_myself(task: EpisodeTask) -> TaskResult:
    os.kill(os.getpid(), signal.SIGSTOP)
    raise AssertionError("it went on")


def test_what_is_required_and_missing_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guests_module, "WALLS", (*WALLS, "time"))
    policy = written(tmp_path / "own", "pass", {})
    with pytest.raises(GuestRefused, match=r"\(time missing\)"):
        GuestProcess(policy.name, isolation=Isolation(sandbox="require"))
    GuestProcess(policy.name).kill()


def test_off_is_said_in_the_record(guests: GuestProcesses, tmp_path: Path) -> None:
    policy = written(tmp_path / "own", "pass", {})
    assert drive(guests, policy, 1, tmp_path, sandbox="off").policy.sandbox == ()
    assert drive(guests, PolicyPlan(name="straight"), 1, tmp_path / "other").policy.sandbox is None


def test_files_of_a_policy_can_be_read(guests: GuestProcesses, tmp_path: Path) -> None:
    """Beside its own file, in its packages, named by settings, allowed by the user; it can write temporary files."""
    own, weights, notes = tmp_path / "own", tmp_path / "weights.bin", tmp_path / "notes" / "more.txt"
    (own / "parts").mkdir(parents=True)
    notes.parent.mkdir()
    for file in (own / "beside.txt", own / "parts" / "table.txt", weights, notes):
        file.write_text("mine")
    (own / "parts" / "__init__.py").write_text("from .number import SPEED\n")
    (own / "parts" / "number.py").write_text("SPEED = 1.0\n")
    (own / "helper.py").write_text("from parts import SPEED\n")
    (own / "policy.py").write_text(
        "import tempfile\nfrom pathlib import Path\nfrom helper import SPEED\nfrom sidestep.types import Velocity\n"
        "here = Path(__file__).parent\n"
        "class Own:\n    needs = frozenset()\n"
        "    def __init__(self, weights, notes):\n"
        "        files = [here / 'beside.txt', here / 'parts' / 'table.txt', Path(weights), Path(notes)]\n"
        "        assert [file.read_text() for file in files] == ['mine'] * 4\n"
        "        with tempfile.TemporaryFile() as file:\n            file.write(b'x')\n"
        "    def reset(self, task): ...\n"
        "    def act(self, observation):\n        return Velocity(SPEED, 0.0)\n"
    )
    plan = PolicyPlan(name=f"{own / 'policy.py'}:Own", settings={"weights": str(weights), "notes": notes.name})
    allowed = drive(guests, plan, 1, tmp_path / "a", allow_read=[str(notes.parent)])
    assert "No such file" in allowed.error, "the folder is allowed, but the name is relative to another"
    plan = plan.model_copy(update={"settings": {"weights": str(weights), "notes": "notes/more.txt"}})
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        assert drive(guests, plan, 1, tmp_path / "b").outcome == "success"


def test_a_bundled_policy_gives_the_same_record_in_a_sandbox(guests: GuestProcesses, tmp_path: Path) -> None:
    inside = drive(guests, PolicyPlan(name="sampling"), 1, tmp_path / "a")
    outside = drive(guests, PolicyPlan(name="sampling"), 1, tmp_path / "b", all_policies=True)
    assert outside.policy.sandbox is not None
    assert inside.digest == outside.digest


@pytest.mark.parametrize("part", LIBRARY)
def test_the_library_imports_nothing_else(part: str) -> None:
    """What a guest may import comes along without the simulator."""
    code = (
        "from sidestep.runs.remote import guest_child\n"
        "from sidestep.runs.remote.guest_imports import guard_imports\n"
        "guard_imports({})\n"
        "import importlib, pkgutil\n"
        f"package = importlib.import_module('sidestep.{part}')\n"
        "for each in pkgutil.walk_packages(getattr(package, '__path__', []), package.__name__ + '.'):\n"
        "    try:\n"
        "        importlib.import_module(each.name)\n"
        "    except ModuleNotFoundError as error:\n"
        "        assert 'sidestep' not in (error.name or ''), error\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_what_is_not_a_library() -> None:
    assert not any(
        map(is_library, ("sidestep.simulation.build", "sidestep.suites", "sidestep.runs.plan", "sidestep.api"))
    )
    assert all(map(is_library, ("sidestep", "sidestep.gym", "sidestep.gym.policy", "sidestep.types.command")))


def test_a_home_and_recordings_are_not_given_away_by_settings(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    paths = readable_paths("straight", {"a": str(Path.home()), "b": "/", "c": str(data)}, (), [data])
    assert not {str(Path.home()), "/", str(data)} & set(paths.readable)


@pytest.mark.parametrize("machine", guest_sandbox.ARCHITECTURES)
@pytest.mark.parametrize(("hidden", "held"), [(True, True), (False, True), (False, False)])
def test_the_filter_of_calls_jumps_inside_itself(machine: str, hidden: bool, held: bool) -> None:
    """Every path through the program ends in a verdict: jumps lead forward, and the last instruction returns."""
    program = np.frombuffer(guest_sandbox.call_filter(machine, hidden, held, 4711), "<u2,u1,u1,<u4")
    for place, (code, yes, no, _) in enumerate(program.tolist()):
        if code in (guest_sandbox.JUMP_EQUAL, guest_sandbox.JUMP_SET, guest_sandbox.JUMP_AT_LEAST):
            assert place + 1 + max(yes, no) < len(program)
    assert program[-1].tolist() == (guest_sandbox.RETURN, 0, 0, guest_sandbox.ALLOW)
    assert _verdict(program, machine, 0xFFFF) == guest_sandbox.ALLOW
    kill = guest_sandbox._SIGNALS["kill"][0][list(guest_sandbox.ARCHITECTURES).index(machine)]
    assert (_verdict(program, machine, kill, 1) == guest_sandbox.ALLOW) == (hidden or held)
    assert _verdict(program, machine, kill, 4711) == guest_sandbox.ALLOW
    assert _verdict(program, "other", 0xFFFF) == guest_sandbox.REFUSE


def _verdict(program: np.ndarray, machine: str, number: int, argument: int = 0) -> int:
    """What the filter says, by a plain interpreter of it."""
    data = {0: number, 4: guest_sandbox.ARCHITECTURES.get(machine, 0), 16: argument, 24: 0, 32: 0}
    place = held = 0
    while True:
        code, yes, no, k = program[place].tolist()
        place += 1
        if code == guest_sandbox.RETURN:
            return int(k)
        if code == guest_sandbox.LOAD:
            held = data[k]
        else:
            tests = {guest_sandbox.JUMP_EQUAL: held == k, guest_sandbox.JUMP_SET: bool(held & k)}
            place += yes if tests.get(code, held >= k) else no
