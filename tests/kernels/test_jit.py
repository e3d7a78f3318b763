"""Where compiled kernels are kept, and what happens when nothing can be written."""

from __future__ import annotations

import importlib
import os
import re
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sidestep.kernels import jit

CODE = """
import numpy as np
from sidestep.kernels import jit
from sidestep.kernels.dynamics import heading_to
print(jit.CACHE_FOLDER)
print(round(float(heading_to(0.0, 1.0)), 6))
"""


def run(environment: dict[str, str]) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", CODE], env={**os.environ, **environment}, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="only where /proc is: a folder in which not even root can write")
def test_a_read_only_home_falls_back_to_a_private_temporary_folder(tmp_path: Path) -> None:
    folder, angle = run(
        {"HOME": "/proc/home", "XDG_CACHE_HOME": "/proc/cache", "SIDESTEP_CACHE": "/proc/own", "TMPDIR": str(tmp_path)}
    )
    assert angle == "1.570796"
    assert Path(folder).is_relative_to(tmp_path)
    assert not Path(folder).stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def test_without_any_folder_kernels_still_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jit, "_is_private_and_writable", lambda folder: False)
    assert jit.find_cache_folder() is None
    monkeypatch.setattr(jit, "CACHE_FOLDER", None)

    @jit.kernel
    def double(x):  # type: ignore[no-untyped-def]
        return 2 * x

    assert double(21) == 42
    assert not jit.is_compiled("world.step_worlds")


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="only where files have modes")
def test_a_folder_that_others_can_write_is_never_used(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    assert not jit._is_private_and_writable(shared)
    assert jit._is_private_and_writable(tmp_path / "own")


def test_the_folder_changes_with_the_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels, constants beside them and ``exact`` count; files elsewhere do not."""
    monkeypatch.setattr(jit, "PACKAGE", tmp_path)
    names = ("kernels/a.py", "policies/mpc/search.py", "policies/mpc/layout.py", "_util/exact.py", "cli/words.py")
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("from sidestep.kernels.jit import kernel" if name in names[:2] else "x = 1")
    hashes = [jit.source_hash()]
    for name in names:
        with (tmp_path / name).open("a") as file:
            file.write("\ny = 2")
        hashes.append(jit.source_hash())
    assert len(set(hashes)) == len(names)
    assert hashes[-1] == hashes[-2]


def test_every_file_with_kernels_is_hashed() -> None:
    hashed = set(jit.kernel_sources())
    decorated = re.compile(r"^@(kernel|inlined)\b", re.MULTILINE)
    with_kernels = {path for path in jit.PACKAGE.rglob("*.py") if decorated.search(path.read_text(encoding="utf-8"))}
    assert len(with_kernels) > 30
    assert with_kernels <= hashed
    assert jit.PACKAGE / "render" / "raster" / "layout.py" in hashed  # constants only


def test_numbas_own_cache_setting_is_left_alone() -> None:
    from numba.core import config

    before = config.CACHE_DIR
    jit.kernel(lambda x: x)
    assert before == config.CACHE_DIR


def test_every_kernel_says_whether_it_counts_references() -> None:
    """One that left it open would take its first caller's way, and the cache would hand it to callers of the other."""
    found = 0
    for path in jit.kernel_sources():
        if b"kernels.jit import" in path.read_bytes():
            module = ".".join(("sidestep", *path.relative_to(jit.PACKAGE).with_suffix("").parts))
            for name, thing in vars(importlib.import_module(module)).items():
                if hasattr(thing, "targetoptions"):
                    found += 1
                    assert "_nrt" in thing.targetoptions, f"{module}.{name}"
    assert found > 300


SAVE = """
import sys
import time

import numpy as np

sys.path.insert(0, sys.argv[1])
import racing

kind, start = sys.argv[2], float(sys.argv[3])
array = np.full(3, 2, dtype=kind)
time.sleep(max(0.0, start - time.time()))
assert racing.total(array) == 6, kind
"""

RACING = """
from sidestep.kernels.jit import kernel


@kernel
def total(values):
    result = values[0] - values[0]
    for value in values:
        result += value
    return result
"""


@pytest.mark.full
def test_processes_that_compile_at_once_do_not_mix_up_machine_code(tmp_path: Path) -> None:
    """Each saves another signature of one kernel; afterwards each signature must load as itself."""
    (tmp_path / "racing.py").write_text(RACING)
    cache = tmp_path / "cache"
    environment = {**os.environ, "SIDESTEP_CACHE": str(cache)}
    kinds = ["int32", "int64", "float32", "float64", "complex64", "uint8"]

    def start(kind: str, when: float) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", SAVE, str(tmp_path), kind, str(when)]
        return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE)

    for when in (time.time() + 4.0, 0.0):  # compile together, then load
        running = [start(kind, when) for kind in kinds]
        for process in running:
            _, complaint = process.communicate(timeout=120)
            assert process.returncode == 0, complaint.decode()
    assert len(list(cache.rglob("racing.total-*.nbc"))) == len(kinds)
