"""Everything that ``make`` installs is pinned, so that a fresh checkout gets what was tested."""

from __future__ import annotations

import tomllib
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from tools.pin_constraints import FILE, installed_closure, read_pins

ROOT = Path(__file__).parents[2]


def test_every_requirement_has_a_pin_that_fulfils_it() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    texts = [*project["dependencies"], *(text for extra in project["optional-dependencies"].values() for text in extra)]
    pins = read_pins()
    for need in map(Requirement, texts):
        if need.name != "sidestep":
            assert canonicalize_name(need.name) in pins, need
            assert need.specifier.contains(pins[canonicalize_name(need.name)]), need


def test_what_is_installed_indirectly_is_pinned_too() -> None:
    unpinned = installed_closure(extras=("dev",)).keys() - read_pins().keys()
    assert not unpinned, f"run `python -m tools.pin_constraints`: {sorted(unpinned)} have no pin in {FILE.name}"


def test_pinned_versions_install_on_the_oldest_python() -> None:
    oldest = "3.11.0"  # the first of those that `requires-python` admits; Debian 12 has 3.11.2
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert SpecifierSet(project["requires-python"]).contains(oldest)
    refusing = {
        name: needed
        for name in installed_closure(extras=("dev",))
        if (needed := distribution(name).metadata.get("Requires-Python")) and not SpecifierSet(needed).contains(oldest)
    }
    assert not refusing, f"these versions do not install on Python {oldest}: pin older ones in {FILE.name}"


def test_a_pin_without_a_version_is_not_read_as_one(tmp_path: Path) -> None:
    file = tmp_path / "constraints.txt"
    file.write_text("# comment\n\nnumpy==2.4.6\n")
    assert read_pins(file) == {"numpy": "2.4.6"}
