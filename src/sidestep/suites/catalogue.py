"""The field's catalogue of social navigation scenarios, ``data/catalogue.yaml``: one small world for each."""

from __future__ import annotations

from pathlib import Path

from sidestep.suites.files import load_suite

CATALOGUE = load_suite(Path(__file__).parent / "data" / "catalogue.yaml")
