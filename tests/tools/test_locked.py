"""Hashes of what is pinned: the file fits the pins, is chosen from an index as it should be, and pip keeps to it."""

from __future__ import annotations

import base64
import hashlib
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tools.locked_install import chosen_lines, read_locked, requirements_of
from tools.pin_constraints import read_pins
from tools.pin_hashes import FILE, choose, files_of, fits, lines_of, local_files, write_locked

PAGE = """<html><body>
<a href="../../a/thing-1.2-py3-none-any.whl#sha256={}" data-requires-python="&gt;=3.10">thing-1.2-py3-none-any.whl</a>
<a href="https://files.test/thing-1.2.tar.gz#sha256={}">thing-1.2.tar.gz</a>
<a href="thing-1.3-py3-none-any.whl#sha256={}">thing-1.3-py3-none-any.whl</a>
<a href="thing-1.2%2Bcpu-cp312-cp312-linux_x86_64.whl#sha256={}">x</a><a href="other.txt">other</a>
</body></html>""".format(*(digit * 64 for digit in "abcd"))


def test_every_pin_has_hashes_and_nothing_else_has() -> None:
    """A hash too few is found when somebody installs; a pin that was changed without `tools.pin_hashes`, here."""
    locked = read_locked(FILE.read_text(encoding="utf-8"))
    assert {name: line.split()[0].partition("==")[2] for name, line in locked.items()} == read_pins()
    for line in locked.values():
        hashes = line.split()[1:]
        assert hashes
        assert all(len(each) == len("--hash=sha256:") + 64 and each.startswith("--hash=sha256:") for each in hashes)
        assert len(set(hashes)) == len(hashes)


def test_no_address_is_in_it() -> None:
    assert "://" not in FILE.read_text(encoding="utf-8")


def test_files_of_a_page() -> None:
    files = files_of(PAGE)
    assert files["thing-1.2.tar.gz"] == "b" * 64
    assert choose(files, "thing", "1.2") == ["a" * 64, "d" * 64]
    assert choose(files, "thing", "1.3") == ["c" * 64]
    assert choose({"thing-1.2.tar.gz": "b"}, "thing", "1.2") == ["b"]
    assert choose(files, "other", "1.2") == choose(files, "thing", "1.4") == []


@pytest.mark.parametrize(
    ("name", "is_ours"),
    [
        ("thing-1.2-cp311-cp311-manylinux_2_28_x86_64.whl", True),
        ("thing-1.2-cp313-cp313-macosx_11_0_arm64.whl", True),
        ("thing-1.2-cp313-cp313t-macosx_11_0_arm64.whl", False),
        ("thing-1.2-cp310-cp310-win_amd64.whl", False),
        ("thing-1.2-cp38-abi3-win_amd64.whl", True),
        ("thing-1.2-cp314-abi3-win_amd64.whl", False),
        ("thing-1.2-py2.py3-none-any.whl", True),
        ("thing-1.2-pp311-pypy311_pp73-win_amd64.whl", False),
        ("Thing-1.2-py3-none-any.whl", True),
        ("thing-1.2.1-py3-none-any.whl", False),
        ("thing-1.2.zip", False),
    ],
)
def test_wheels_that_may_be_installed(name: str, is_ours: bool) -> None:
    assert fits(name, "thing", "1.2") is is_ours


def test_a_pin_without_files_is_named(tmp_path: Path) -> None:
    file = tmp_path / "locked.txt"
    missing = write_locked({"thing": "1.2", "gone": "3"}, lambda name: PAGE, {}, file)
    assert missing == ["gone"]
    assert read_locked(file.read_text()) == {"thing": f"thing==1.2 --hash=sha256:{'a' * 64} --hash=sha256:{'d' * 64}"}


def test_extras_are_followed() -> None:
    project = {
        "dependencies": ["a"],
        "optional-dependencies": {"dev": ["sidestep[x, y]", "b; os_name == 'nt'"], "x": ["c"], "y": ["sidestep[x]"]},
    }
    assert list(requirements_of(project, ["dev"])) == ["a", "b; os_name == 'nt'", "c"]


def installed(*names: str) -> dict[str, Any]:
    pairs = (name.split("==") for name in names)
    return {"install": [{"metadata": {"name": name, "version": version}} for name, version in pairs]}


def test_only_what_is_needed_here_and_all_of_it() -> None:
    locked = {"a-b": "a-b==1 --hash=sha256:x", "torch": "torch==2.1 --hash=sha256:y", "win": "win==3 --hash=sha256:z"}
    assert chosen_lines(installed("A_B==1", "torch==2.1+cpu"), locked) == [locked["a-b"], locked["torch"]]
    with pytest.raises(SystemExit, match=r"not in locked\.txt: a-b==2, nvidia-x==1\. Another build of torch"):
        chosen_lines(installed("a-b==2", "nvidia-x==1", "torch==2.1"), locked)


def small_wheel(folder: Path, body: str) -> Path:
    """A wheel of one module."""
    about = "Metadata-Version: 2.1\nName: thing\nVersion: 1.2\n"
    members = {
        "thing.py": body,
        "thing-1.2.dist-info/METADATA": about,
        "thing-1.2.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    sums = {
        name: base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        for name, text in members.items()
    }
    record = "".join(f"{name},sha256={sums[name]},{len(text)}\n" for name, text in members.items())
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / "thing-1.2-py3-none-any.whl", "w") as archive:
        for name, text in {**members, "thing-1.2.dist-info/RECORD": record}.items():
            archive.writestr(name, text)
    return folder


def test_pip_keeps_to_the_hashes(tmp_path: Path) -> None:
    wheels = small_wheel(tmp_path / "wheels", "x = 1\n")
    file = tmp_path / "locked.txt"
    assert write_locked({"thing": "1.2"}, lambda name: "", local_files(wheels), file) == []
    assert file.read_text().endswith(lines_of("thing", "1.2", local_files(wheels).values()))
    command = [
        sys.executable, "-m", "pip", "--isolated", "install", "--no-index", "--find-links", str(wheels), "--no-deps",
        "--require-hashes", "--target", str(tmp_path / "there"), "-r", str(file),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    small_wheel(wheels, "x = 2  # by somebody else\n")
    done = subprocess.run([*command, "--upgrade"], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "DO NOT MATCH THE HASHES" in done.stderr
    assert (tmp_path / "there/thing.py").read_text() == "x = 1\n"
