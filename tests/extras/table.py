"""Name → the optional extras that it needs. Every policy, predictor, sensor, suite, command and page stands here;
what is not named in ``NEEDS`` needs none."""

from __future__ import annotations

from pathlib import Path

from typer.main import get_command

from sidestep import registry
from sidestep.cli.app import app

ROOT = Path(__file__).resolve().parents[2]

POLICIES = {"ilqr_bc": "onnx", "imitation": "onnx", "visual": "onnx"}
PREDICTORS = {"cvae": "onnx"}
SENSORS: dict[str, str] = {}
SUITES: dict[str, str] = {}
COMMANDS = {
    "study new": "web",
    "study serve": "web",
    "study export": "web",
    "study list": "web",
    "study add": "web",
    "study delete": "web",
    "study close": "web",
    "study reopen": "web",
    "study password": "web",
    "study backup": "web",
    "drive intersection": "web",
    "train cadrl": "learn",
    "train intersection": "learn",
    "train protocol": "learn",
    "predict train": "learn",
    "predict ablate": "learn",
    "pack keygen": "sign",
}
"""Commands that do nothing without their extra."""
OPTIONS = {
    "run --video": "video",
    "run --ray": "ray",
    "run --policy sb3:": "learn",
    "replay --video mp4": "video",
    "replay --rrd": "export",
    "replay --mcap": "export",
    "pack run --sign": "sign",
    "import rosbag": "export",
    "evaluate NN": "onnx",
    "evaluate TorchScript": "learn",
    "demos convert lerobot": "video",
}
"""Options and arguments that need more than their command does."""
PAGES = {
    "CONTRIBUTING.md": "",
    "README.md": "",
    "docs/cli.md": "web,learn,onnx,video,export,sign,ray",
    "docs/datasets.md": "",
    "docs/decisions.md": "",
    "docs/demonstrations.md": "video,web,learn,onnx",
    "docs/design.md": "",
    "docs/extending.md": "",
    "docs/gym.md": "learn",
    "docs/index.md": "video,onnx",
    "docs/leaderboard.md": "sign",
    "docs/performance.md": "ray,bench",
    "docs/policies.md": "onnx,learn",
    "docs/prediction.md": "onnx,learn",
    "docs/predictors.md": "onnx,learn",
    "docs/records.md": "export",
    "docs/remote.md": "",
    "docs/rendering.md": "",
    "docs/roadmap.md": "",
    "docs/robots.md": "",
    "docs/scenarios.md": "",
    "docs/scenes.md": "",
    "docs/security.md": "",
    "docs/simulation.md": "",
    "docs/statistics.md": "onnx",
    "docs/studies.md": "web,video",
    "docs/suites/core.md": "",
    "docs/suites/intersection.md": "onnx,learn,video",
    "docs/suites/protocol.md": "onnx,learn,web",
    "docs/suites/sidewalk.md": "video",
    "docs/suites/sidewalk_events.md": "",
    "docs/suites/sidewalk_places.md": "",
    "docs/suites/socnav.md": "",
    "docs/tutorial.md": "",
    "docs/viewer.md": "video,export",
}
"""Every page that is written by hand, with the extras that its commands need. It names each as ``pip install`` takes
it; a page with commands that need none says so."""


def commands() -> list[str]:
    """Every command, with its group."""
    found: list[str] = []

    def walk(command: object, name: str) -> None:
        inner = getattr(command, "commands", None)
        if inner is None:
            found.append(name)
            return
        for each, below in inner.items():
            walk(below, f"{name} {each}".strip())

    walk(get_command(app), "")
    return found


def written_pages() -> set[str]:
    """The pages of the documentation that no program writes as a whole."""
    found = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")}
    return found - {"docs/api.md", "docs/metrics.md"}


def known() -> dict[str, set[str]]:
    """What there is of each kind in the table."""
    return {
        "policies": {*registry.POLICIES, *registry.OTHER_NAMES},
        "predictors": set(registry.PREDICTORS),
        "sensors": set(registry.SENSORS),
        "suites": set(registry.SUITES),
        "commands": set(commands()),
        "pages": {"README.md", "CONTRIBUTING.md", *written_pages()},
    }


TABLE = {
    "policies": POLICIES,
    "predictors": PREDICTORS,
    "sensors": SENSORS,
    "suites": SUITES,
    "commands": COMMANDS,
    "pages": PAGES,
}
