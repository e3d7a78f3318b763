"""What a figure is: rates, medians, spreads, peers, targets, the printed table."""

from __future__ import annotations

import pytest

from benchmarks import bench_table, measure
from benchmarks.figures import Target, orca_cost_growth
from benchmarks.measure import Effort, Figure, Peer, find_peer, rate, rates


class Clock:
    """A clock that only works advance."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Fake:
    """Takes ``seconds`` a run for 10 units; what it prepares takes a minute, which must not count."""

    def __init__(self, clock: Clock, seconds: float, log: list[str], name: str) -> None:
        self._clock, self._seconds, self._log, self._name = clock, seconds, log, name

    def prepare(self) -> None:
        self._clock.now += 60.0

    def run(self) -> float:
        self._clock.now += self._seconds
        self._log.append(self._name)
        return 10.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(measure, "perf_counter", clock)
    return clock


def test_rate_counts_timed_seconds_only(clock: Clock) -> None:
    log: list[str] = []
    assert rate(Fake(clock, 0.5, log, "a"), block_s=1.2) == pytest.approx(20.0)
    assert len(log) == 3


def test_rate_runs_at_least_once(clock: Clock) -> None:
    assert rate(Fake(clock, 0.5, [], "a"), block_s=0.0) == pytest.approx(20.0)


def test_works_take_turns(clock: Clock) -> None:
    log: list[str] = []
    works = [Fake(clock, 0.2, log, "ours"), Fake(clock, 0.4, log, "peer")]
    values = rates(works, Effort(repeats=3, block_s=0.1, warm_up_s=0.1))
    assert values == [pytest.approx([50.0] * 3), pytest.approx([25.0] * 3)]
    assert log == ["ours", "peer"] * 4


def test_figure_by_hand() -> None:
    figure = Figure("orca/n=10/threads=1", "agent-steps/s", [4.0, 1.0, 2.0], "rvo", [0.5, 0.25, 1.0])
    assert figure.to_dict() == {
        "id": "orca/n=10/threads=1",
        "value": 2.0,
        "unit": "agent-steps/s",
        "repeats": 3,
        "spread": 1.5,
        "peer": {"name": "rvo", "value": 0.5, "ratio": 4.0},
    }


def test_missing_or_broken_peer_is_left_out_with_a_note() -> None:
    notes: list[str] = []

    def missing(_: int) -> Peer:
        raise ImportError("No module named 'rvo'")

    def broken(_: int) -> Peer:
        raise AttributeError("gone in version 9")

    assert find_peer(None, 1, notes.append) is None
    assert notes == []
    assert find_peer(missing, 1, notes.append) is None
    assert find_peer(broken, 1, notes.append) is None
    assert "sidestep[bench]" in notes[0]
    assert "gone in version 9" in notes[1]


@pytest.mark.parametrize(
    ("target", "value", "ratio", "met"),
    [
        (Target(at_least=2.0), 2.0, None, True),
        (Target(at_least=2.0), 1.9, None, False),
        (Target(at_most=1.0), 1.1, None, False),
        (Target(at_least=2.0, times_peer=5), 3.0, 4.9, False),
        (Target(at_least=2.0, times_peer=5), 3.0, 5.0, True),
        (Target(at_least=2.0, times_peer=5), 3.0, None, None),
        (Target(at_least=2.0, times_peer=5), 1.0, None, False),
    ],
)
def test_target(target: Target, value: float, ratio: float | None, met: bool | None) -> None:
    peer = None if ratio is None else {"name": "rvo", "value": value / ratio, "ratio": ratio}
    assert target.is_met({"value": value, "peer": peer}) is met


def test_table_shows_peer_target_and_growth() -> None:
    figures = [
        Figure("orca/n=200/threads=1", "agent-steps/s", [2.0e6]),
        Figure("orca/n=5000/threads=1", "agent-steps/s", [1.25e6], "rvo", [0.5e6]),
        Figure("start/warm", "s", [1.5]),
    ]
    results = [figure.to_dict() for figure in figures]
    assert orca_cost_growth({entry["id"]: entry for entry in results}) == pytest.approx(1.6)
    machine = {"cpu": "Test CPU", "cores": 2, "versions": {"numpy": "2.0"}}
    lines = bench_table({"machine": machine, "results": results}).splitlines()
    assert lines[0] == "Test CPU, 2 cores"
    large = next(line for line in lines if line.startswith("orca/n=5000"))
    assert "1.25 M" in large
    assert "2.5×" in large
    assert large.endswith("yes")
    assert next(line for line in lines if line.startswith("start/warm")).endswith("no")
    assert "1.60 times" in lines[-1]
    assert lines[-1].endswith("no")
