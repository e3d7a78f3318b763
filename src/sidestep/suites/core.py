"""The ground suite, ``data/core.yaml``: small generated worlds that exercise every part of the simulator."""

from __future__ import annotations

from pathlib import Path

from sidestep.suites.files import load_suite

CORE = load_suite(Path(__file__).parent / "data" / "core.yaml")
