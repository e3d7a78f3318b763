"""``sidestep doctor``: check the installation."""

from __future__ import annotations

import os
import platform
import sys
from dataclasses import asdict, dataclass
from importlib.metadata import requires
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import typer
from packaging.requirements import Requirement

from sidestep.cli.verb import CHECK_FAILED, AsJson, print_json, verb

Status = Literal["ok", "missing", "failed"]
"""``missing``: optional and not installed. ``failed``: required and missing or wrong."""


@dataclass(frozen=True)
class Check:
    """One line of the output; ``remedy`` says what to do if the status is not ok."""

    name: str
    status: Status
    found: str
    remedy: str = ""


@verb
def doctor(as_json: AsJson = False) -> None:
    """Check the installation: what is installed, what is missing, and how to install it. Exit code 1 if a required
    part is missing."""
    checks = [*check_python(), *check_dependencies(), *check_extras(), check_cache(), *check_places()]
    if as_json:
        print_json({"checks": [asdict(check) for check in checks], "ok": all(c.status != "failed" for c in checks)})
    else:
        for check in checks:
            mark = {"ok": "✓", "missing": "–", "failed": "✗"}[check.status]
            typer.echo(f"{mark} {check.name:<22} {check.found}{'   → ' + check.remedy if check.remedy else ''}")
    if any(check.status == "failed" for check in checks):
        raise typer.Exit(CHECK_FAILED)


def check_python() -> list[Check]:
    """Python and Sidestep itself."""
    from sidestep.version import __version__

    new_enough = sys.version_info >= (3, 11)
    python = Check(
        "python", "ok" if new_enough else "failed", platform.python_version(), "" if new_enough else "use 3.11 or newer"
    )
    return [Check("sidestep", "ok", __version__), python]


def check_dependencies() -> list[Check]:
    """The required dependencies of the package."""
    from sidestep.runs.provenance import installed_version

    checks = []
    for line in requires("sidestep") or []:
        if "extra ==" in line:
            continue
        name = Requirement(line).name
        version = installed_version(name)
        if version is None:
            checks.append(Check(name, "failed", "not installed", f"pip install '{line}'"))
        else:
            checks.append(Check(name, "ok", version))
    return checks


def check_extras() -> list[Check]:
    """The optional extras, each with the command that installs it and the policies and predictors that wait for it."""
    from sidestep._util.extras import extras, missing_packages
    from sidestep.runs.provenance import installed_version

    checks = []
    for extra, packages in extras().items():
        if missing := missing_packages(extra):
            waiting = _needing(extra)
            checks.append(
                Check(
                    f"[{extra}]",
                    "missing",
                    f"without {', '.join(missing)}{': no ' + ', '.join(waiting) if waiting else ''}",
                    f"pip install 'sidestep[{extra}]'",
                )
            )
        else:
            versions = ", ".join(f"{name} {installed_version(name) or '?'}" for name in packages)
            checks.append(Check(f"[{extra}]", "ok", versions))
    return checks


def _needing(extra: str) -> list[str]:
    """Bundled policies and predictors that do not run without an extra."""
    from sidestep import registry

    policies = [name for name in registry.POLICIES if extra in registry.extras_of(name)]
    predictors = [name for name in registry.PREDICTORS if extra in registry.load("predictors", name).extras]
    return [*(f"policy {name}" for name in policies), *(f"predictor {name}" for name in predictors)]


def check_cache() -> Check:
    """The folder of compiled kernels; without one, every process compiles them again."""
    try:
        from sidestep.kernels import jit
        from sidestep.simulation.prepare import needs_compiling
    except ImportError as error:
        return Check(
            "kernel cache", "failed", f"numba cannot be imported: {error}", "pip install --force-reinstall numba"
        )
    if jit.CACHE_FOLDER is None:
        return Check(
            "kernel cache", "failed", "no writable folder", "set SIDESTEP_CACHE to a folder that only you can write to"
        )
    return Check(
        "kernel cache", "ok", f"{jit.CACHE_FOLDER}{' (cold: the first run compiles)' if needs_compiling() else ''}"
    )


def check_places() -> list[Check]:
    """Threads, data folder and video encoder."""
    checks = []
    if find_spec("numba") is not None:
        import numba

        checks.append(Check("numba threads", "ok", f"{numba.get_num_threads()} of {os.cpu_count()} cores"))
    data = os.environ.get("SIDESTEP_DATA")
    if data is None:
        checks.append(
            Check("SIDESTEP_DATA", "missing", "not set", "set it to a folder with recorded data, if you have one")
        )
    elif Path(data).is_dir():
        checks.append(Check("SIDESTEP_DATA", "ok", data))
    else:
        checks.append(Check("SIDESTEP_DATA", "failed", f"{data}: no such folder", "make it, or unset the variable"))
    return [*checks, check_sandbox(), check_video()]


def check_sandbox() -> Check:
    """What this system can hold around policies that are not bundled: a guest is started to see."""
    from sidestep.errors import GuestFailed
    from sidestep.runs.remote.guests import GuestProcess
    from sidestep.types.record import WALLS

    try:
        guest = GuestProcess("straight")
    except GuestFailed as error:
        return Check("sandbox", "failed", str(error), "report this with the output of `sidestep doctor --json`")
    guest.kill()
    missing = [wall for wall in WALLS if wall not in guest.sandbox]
    if not missing:
        return Check("sandbox", "ok", "policies of others see their own files only, no network, no other process")
    return Check(
        "sandbox", "missing", f"not held: {', '.join(missing)}",
        "Linux 5.13 with Landlock and seccomp; containers may have to allow these calls",
    )  # fmt: skip


def check_video() -> Check:
    """Whether an MP4 file can be written. GIF files always can."""
    from sidestep.errors import MissingExtra, SidestepError
    from sidestep.render.films.film import check_film

    try:
        check_film(Path("film.mp4"))
    except MissingExtra:
        return Check("video", "missing", "GIF only: no PyAV", "pip install 'sidestep[video]'")
    except SidestepError as error:
        found, _, remedy = str(error).removeprefix("film.mp4: ").partition("; ")
        return Check("video", "missing", f"GIF only: {found}", remedy)
    return Check("video", "ok", "MP4 and GIF")
