"""What tests need that a machine may lack: packages, programs, recordings. A skip names what installs it."""

from __future__ import annotations

import re
import shutil
from importlib.util import find_spec

import pytest

from sidestep.datasets.sources import data_folders, find_dataset, remedy

EXTRA_OF = {
    "av": "video",
    "duckdb": "dev",
    "fastapi": "web",
    "hatchling": "dev",
    "httpx": "dev",
    "irsim": "bench",
    "jupedsim": "bench",
    "mcap": "export",
    "mcap_ros2": "export",
    "onnx": "learn",
    "onnxruntime": "onnx",
    "pandas": "dev",
    "pettingzoo": "learn",
    "playwright": "dev",
    "psycopg": "postgres",
    "pyrvo": "dev",
    "pysocialforce": "bench",
    "ray": "ray",
    "rerun": "export",
    "sqlalchemy": "web",
    "stable_baselines3": "learn",
    "statsmodels": "web",
    "toml": "bench",
    "torch": "learn",
}
"""Module → the extra that installs it."""

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def reason_missing(module: str) -> str:
    """Why a test is skipped without ``module``, and what installs it."""
    return f"{module} is not installed: pip install 'sidestep[{EXTRA_OF[module]}]'"


def names_a_remedy(reason: str) -> bool:
    """Whether a reason to skip says what to install, or that the test is for certain systems only."""
    return bool(
        re.search(
            r"(pip|apt-get) install|sidestep data (get|add)|SIDESTEP_DATA=|\bonly (on|as|where|without)\b", reason
        )
    )


def skip_without_package(*modules: str) -> pytest.MarkDecorator:
    """A mark: skipped unless all of these modules are installed."""
    missing = [module for module in modules if find_spec(module) is None]
    return pytest.mark.skipif(bool(missing), reason="; ".join(map(reason_missing, missing or modules)))


in_browser = [
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed: apt-get install chromium"),
    skip_without_package("playwright"),
]
"""Marks of a test that opens pages in a browser."""


def skip_without_recording(name: str) -> pytest.MarkDecorator:
    """A mark: skipped unless the recording is installed."""
    return pytest.mark.skipif(find_dataset(name) is None, reason=f"{name} is not installed: {remedy(name)}")


def need_recording(name: str) -> None:
    """Skip the running test unless the recording is installed."""
    if find_dataset(name) is None:
        pytest.skip(f"{name} is not installed: {remedy(name)}")


def skip_without_data(path: str) -> pytest.MarkDecorator:
    """A mark: skipped unless a folder of ``SIDESTEP_DATA`` holds this file or folder, which no command installs."""
    found = any((folder / path).exists() for folder in data_folders())
    return pytest.mark.skipif(not found, reason=f"{path} is not installed: export SIDESTEP_DATA=FOLDER that holds it")
