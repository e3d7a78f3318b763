"""The same episode has the same digest on every machine: golden digests, other processor features, moved last bits."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from sidestep import registry
from sidestep._util import exact
from sidestep.policies import trivial as straight
from sidestep.simulation import build
from tests.needs import need_recording
from tests.simulation import golden
from tests.simulation.golden import CASES, Case, clear_caches
from tests.ulp import perturbed

REPOSITORY = Path(__file__).parents[2]
EXPECTED = golden.expected()
INSTALLED = [case for case in CASES if golden.has_recordings() or not case.is_recorded]
SAMPLE = INSTALLED[::2]
"""Cases of the quick tests; of the slow ones, all."""


Forget = Callable[[], None]


@pytest.fixture
def forget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Forget]:
    """Empties every cache, in memory and on disk."""
    folders = (str(tmp_path / str(number)) for number in count())

    def forget_all() -> None:
        monkeypatch.setenv("SIDESTEP_CACHE", next(folders))  # towns; kernels stay where they were found at import
        clear_caches()

    yield forget_all
    clear_caches()


def test_the_cases_cover_all_suites_and_policies() -> None:
    assert len({case.name for case in CASES}) == 66
    assert {case.suite for case in CASES} == set(registry.SUITES)
    assert {case.policy for case in CASES} == set(registry.POLICIES) - golden.NETWORKS
    kinds = {case.scenario.split("-")[0] for case in CASES if case.suite == "sidewalk-reactive"}
    assert len(kinds) == 9
    assert set(EXPECTED) == {case.name for case in CASES}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_golden_digest(case: Case) -> None:
    if case not in INSTALLED:
        need_recording("socnavbench-eth")
    record = case.run()
    assert not record.error
    assert record.digest == EXPECTED[case.name], "see tests/simulation/golden.py on how to write the digests anew"


PAIRS = golden.pairs()


@pytest.mark.parametrize(("suite", "policy"), sorted(golden.UNFIT))
def test_pairs_that_are_left_out_do_not_fit(suite: str, policy: str) -> None:
    """A car is no unicycle, which the policy says at once."""
    scenario = next(golden.pair_of(name) for name in PAIRS if name.startswith(f"{suite} ")).scenario
    assert "sidewalk policies drive unicycles" in Case(suite, scenario, policy, golden.PAIR_SECONDS).run().error


def test_the_pairs_are_all_suites_with_all_policies() -> None:
    expected = golden.fitting_pairs()
    found = [(case.suite, case.policy) for case in map(golden.pair_of, PAIRS)]
    assert set(found) == expected, "write those that are missing: python -m tests.simulation.golden --pairs --write"
    assert len(found) == len(expected)
    assert all(golden.pair_of(name).name == name for name in PAIRS)


@pytest.mark.parametrize("suite", registry.SUITES)
def test_golden_digests_of_a_suite_with_every_policy(suite: str) -> None:
    names = [name for name in PAIRS if golden.pair_of(name).suite == suite]
    records = {name: golden.pair_of(name).run() for name in names}
    assert {name: record.error for name, record in records.items() if record.error} == {}
    assert {name: record.digest for name, record in records.items()} == {name: PAIRS[name] for name in names}


def without_processor_features() -> dict[str, str]:
    """Settings of a process in which NumPy uses nothing that only some processors have."""
    from numpy._core import _multiarray_umath as umath

    optional = [name for name in umath.__cpu_dispatch__ if umath.__cpu_features__.get(name)]
    return {"NPY_DISABLE_CPU_FEATURES": " ".join(optional)}


def digests_elsewhere(cases: list[Case], settings: dict[str, str]) -> dict[str, str]:
    """Digests of ``cases`` in a process with ``settings`` in its environment."""
    path = os.pathsep.join([str(REPOSITORY / "src"), str(REPOSITORY), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", "tests.simulation.golden", *(case.name for case in cases)],
        cwd=REPOSITORY, env={**os.environ, "PYTHONPATH": path, **settings}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    digests: dict[str, str] = json.loads(done.stdout)
    return digests


def test_digests_hold_without_optional_processor_features() -> None:
    """And with texts hashed otherwise, elsewhere on earth, and one thread."""
    elsewhere = {"PYTHONHASHSEED": "77", "TZ": "Asia/Kathmandu", "LC_ALL": "C", "OMP_NUM_THREADS": "1"}
    found = digests_elsewhere(SAMPLE, {**without_processor_features(), **elsewhere, "NUMBA_NUM_THREADS": "1"})
    assert found == {case.name: EXPECTED[case.name] for case in SAMPLE}


@pytest.mark.full
def test_digests_hold_when_compiled_for_a_generic_processor(tmp_path: Path) -> None:
    """Every kernel is compiled again, without vector extensions, and towns are made again."""
    generic = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": "", "SIDESTEP_CACHE": str(tmp_path)}
    found = digests_elsewhere(INSTALLED, {**without_processor_features(), **generic})
    assert found == {case.name: EXPECTED[case.name] for case in INSTALLED}


def moved(cases: list[Case], seed: int, forget: Forget) -> list[str]:
    """Names of the cases whose digest changes with the last bits of elementary functions. Every kernel is compiled and
    every module imported before the bits move."""
    before = {case.name: case.run().digest for case in cases}
    forget()
    with perturbed(seed):
        return [case.name for case in cases if case.run().digest != before[case.name]]


def test_no_last_bit_decides_anything(forget: Forget) -> None:
    assert moved(SAMPLE, 1, forget) == []


@pytest.mark.full
@pytest.mark.parametrize("seed", [2, 3, 4])
def test_no_last_bit_decides_anything_in_any_case(seed: int, forget: Forget) -> None:
    assert moved(INSTALLED, seed, forget) == []


def test_a_last_bit_in_a_world_would_be_noticed(forget: Forget, monkeypatch: pytest.MonkeyPatch) -> None:
    """Worlds whose people face where NumPy's ``arctan2`` says, as they once did, change with the last bits."""
    ours = {name: getattr(exact, name) for name in dir(exact)}
    monkeypatch.setattr(build, "exact", SimpleNamespace(**{**ours, "arctan2": lambda y, x: np.arctan2(y, x)}))
    case = next(case for case in CASES if case.policy == "straight" and "generated" in case.name)
    assert moved([case], 1, forget) == [case.name]


def test_a_last_bit_of_a_policy_would_be_noticed(forget: Forget, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands made with ``math.hypot``, as they once were, change with the last bits."""
    monkeypatch.setattr(straight, "hypot", lambda x, y: math.hypot(x, y))
    case = next(case for case in CASES if case.policy == "straight" and case.suite == "core")
    assert moved([case], 1, forget) == [case.name]
