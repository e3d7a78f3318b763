"""Environments that have Sidestep and exactly some of its extras.

A folder of links to the installed packages that Sidestep with these extras needs, directly or not, is the
``site-packages`` of a new virtual environment: what is not linked is not there. Nothing is downloaded, and the compiled
kernels of the checkout are used.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

from tools.pin_constraints import installed_closure

SOURCE = Path(__file__).resolve().parents[2] / "src"


def make_environment(folder: Path, extras: tuple[str, ...] = ()) -> Path:
    """A virtual environment in ``folder``; returns its Python."""
    command = [sys.executable, "-m", "venv", "--without-pip", str(folder)]
    subprocess.run(command, check=True, capture_output=True)
    [packages] = folder.glob("[Ll]ib/**/site-packages")
    for name in ("sidestep", *installed_closure(extras=extras)):
        found = distribution(name)
        for top in {path.parts[0] for path in found.files or ()} - {"..", "__pycache__"}:
            target, link = Path(str(found.locate_file(top))), packages / top
            if name == "sidestep" and not top.endswith(".dist-info"):
                continue
            if not link.exists():
                link.symlink_to(target, target_is_directory=target.is_dir())
    (packages / "sidestep.pth").write_text(f"{SOURCE}\n", encoding="utf-8")
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
