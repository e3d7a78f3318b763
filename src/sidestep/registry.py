"""Lazy tables: a name, and where the thing lives. Nothing is imported until it is asked for.

Outside packages add to the same tables through entry points (groups ``sidestep.policies``, ``sidestep.metrics``,
``sidestep.suites``, ``sidestep.datasets``, ``sidestep.cameras``, ``sidestep.predictors``, ``sidestep.road_users``,
``sidestep.drivers``, ``sidestep.looks``, ``sidestep.report_sections``) and touch none of our files.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Callable
from functools import cache, partial
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from sidestep.errors import BadInput, UnknownName, describe_error, did_you_mean, place_of
from sidestep.types.observation import NEEDS

Kind = Literal[
    "policies", "metrics", "suites", "datasets", "cameras", "predictors", "road_users", "drivers", "looks",
    "report_sections",
]  # fmt: skip

POLICIES: dict[str, str] = {
    "straight": "sidestep.policies.trivial:Straight",
    "stop": "sidestep.policies.trivial:Stop",
    "orca": "sidestep.policies.orca:Orca",
    "social_force": "sidestep.policies.social_force:SocialForce",
    "sampling": "sidestep.policies.sampling.policy:Sampling",
    "cadrl": "sidestep.policies.cadrl.policy:Cadrl",
    "mpc": "sidestep.policies.mpc.policy:Mpc",
    "oracle": "sidestep.policies.oracle:Oracle",
    "follow_lane": "sidestep.policies.sidewalk.follow_lane:FollowLane",
    "expert": "sidestep.policies.sidewalk.follow_lane:Expert",
    "visual": "sidestep.policies.visual:VisualPolicy",
    "depth_reactive": "sidestep.policies.depth_reactive:DepthReactive",
}

SUITES: dict[str, str] = {
    "core": "core.yaml",
    "socnav": "sidestep.suites.socnav:SOCNAV",
    "catalogue": "catalogue.yaml",
    "sidewalk-unit": "sidestep.suites.sidewalk.scenarios:SIDEWALK_UNIT",
    "sidewalk-reactive": "sidestep.suites.sidewalk.scenarios:SIDEWALK_REACTIVE",
    "sidewalk-long": "sidestep.suites.sidewalk.scenarios:SIDEWALK_LONG",
}
"""A file name is a file of ``sidestep/suites/data``; ``sidestep.suites.files.load_suite`` loads every suite."""

REMOTE = "remote:"
"""Opens the name of a policy that another process serves."""

DATASETS: dict[str, str] = {
    "plain": "sidestep.datasets.plain:PLAIN",
    "biwi": "sidestep.datasets.biwi:BIWI",
    "ucy_vsp": "sidestep.datasets.ucy_vsp:UCY_VSP",
    "socnavbench": "sidestep.datasets.csv_formats:SOCNAVBENCH",
    "trajnet": "sidestep.datasets.trajnet:TRAJNET",
    "vci_dut": "sidestep.datasets.csv_formats:VCI_DUT",
    "sidestep": "sidestep.datasets.sidestep_tracks:SIDESTEP",
}

CAMERAS: dict[str, str] = {"raster": "sidestep.render.camera:RobotCamera"}
"""Factories of cameras (``sidestep.interfaces.MakeCamera``); the first serves ``rgb``, ``depth`` and ``semantic``."""

PREDICTORS: dict[str, str] = {"constant_velocity": "sidestep.prediction.constant_velocity:ConstantVelocity"}
PREDICTOR_NEEDS = frozenset({"map", "ego"})
"""What a predictor may name in ``needs``."""

ROAD_USERS: dict[str, str] = {"car": "car.yaml", "van": "van.yaml", "bicycle": "bicycle.yaml"}
"""A file name is a file of ``sidestep/traffic/specs``; ``sidestep.traffic.load_vehicle`` loads every kind."""

DRIVERS: dict[str, str] = {
    "parked": "sidestep.traffic.drivers:Parked",
    "follow_path": "sidestep.traffic.drivers:FollowPath",
}

LOOKS: dict[str, str] = {
    "car": "sidestep.render.vehicles:car_look",
    "van": "sidestep.render.vehicles:van_look",
    "bicycle": "sidestep.render.vehicles:bicycle_look",
}
"""Functions from a spec and a number to the figure that cameras draw; the number varies the paint."""

REPORT_SECTIONS: dict[str, str] = {
    "socnavbench": "sidestep.report.papers.socnavbench.section:SECTION",
    "sidewalkbench": "sidestep.report.papers.sidewalkbench.section:SECTION",
}
"""Sections of a report about certain suites (``sidestep.report.papers.ReportSection``), in the order of the page."""


@cache
def table(kind: Kind) -> dict[str, str]:
    """Name → ``module:attribute`` of everything known: bundled first, then plug-ins, which cannot replace them."""
    if kind == "metrics":
        from sidestep.metrics import METRICS  # the table of metrics is long and lives with them

        known = dict(METRICS)
    else:
        bundled = {
            "policies": POLICIES, "suites": SUITES, "datasets": DATASETS, "cameras": CAMERAS,
            "predictors": PREDICTORS, "road_users": ROAD_USERS, "drivers": DRIVERS, "looks": LOOKS,
            "report_sections": REPORT_SECTIONS,
        }  # fmt: skip
        known = dict(bundled[kind])
    for point in entry_points(group=f"sidestep.{kind}"):
        if point.name in known:
            raise BadInput(
                f"plug-in {point.value} wants the name {point.name!r} in {kind}, which {known[point.name]} has; "
                "rename it in the plug-in's entry points"
            )
        known[point.name] = point.value
    return known


def names(kind: Kind) -> list[str]:
    """Every name of a kind, bundled in table order, then plug-ins."""
    return list(table(kind))


def load(kind: Kind, name: str) -> Any:
    """The thing called ``name``, or an error with the nearest known names."""
    known = table(kind)
    if name not in known:
        raise UnknownName(kind_in_singular(kind), name, known)
    return import_attribute(known[name])


def kind_in_singular(kind: Kind) -> str:
    """``policies`` → ``policy``, for messages."""
    singular: dict[Kind, str] = {
        "policies": "policy",
        "metrics": "metric",
        "suites": "suite",
        "datasets": "dataset format",
        "cameras": "camera",
        "predictors": "predictor",
        "road_users": "kind of road user",
        "drivers": "driver",
        "looks": "look",
        "report_sections": "section of reports",
    }
    return singular[kind]


def import_attribute(reference: str) -> Any:
    """The object at ``package.module:attribute`` or ``path/to/file.py:attribute``."""
    module_name, separator, attribute = reference.rpartition(":")
    if not separator or not module_name or not attribute:
        raise BadInput(f"{reference!r} is not of the form package.module:Name or path/to/file.py:Name")
    module = _import_file(module_name) if module_name.endswith(".py") else _import_module(module_name)
    try:
        return getattr(module, attribute)
    except AttributeError:
        public = [name for name in vars(module) if not name.startswith("_")]
        raise UnknownName("attribute", attribute, public, where=module_name) from None


def _import_module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise BadInput(f"cannot import {name!r}: {error}") from error


def _import_file(path: str) -> ModuleType:
    file = Path(path).resolve()
    if not file.is_file():
        raise BadInput(f"{path}: no such file; a policy is named path/to/file.py:Class")
    name = f"sidestep_user_{file.stem}_{hashlib.sha256(str(file).encode()).hexdigest()[:8]}"
    if name in sys.modules:
        return sys.modules[name]
    if str(file.parent) not in sys.path:
        sys.path.append(str(file.parent))  # as Python does for a script: what lies beside it can be imported
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise BadInput(f"{path}: cannot be imported: {describe_error(error)}{place_of(error)}") from error
    return module


def is_guest(reference: str) -> bool:
    """Whether a policy is somebody else's code, which a run keeps in a process of its own (``sidestep.remote``)."""
    return reference not in POLICIES and not reference.startswith(REMOTE)


def check_policy(policy: Any, reference: str) -> None:
    """``BadInput`` unless the object is a policy whose needs are known."""
    for method in ("reset", "act"):
        if not callable(getattr(policy, method, None)):
            raise BadInput(f"policy {reference!r} has no method {method!r}; a policy has `needs`, `reset` and `act`")
    needs = getattr(policy, "needs", None)
    if needs is None:
        raise BadInput(
            f"policy {reference!r} does not say what it `needs`, a set of names such as {{'goal', 'pedestrians'}}"
        )
    for need in needs:
        if need not in NEEDS:
            raise BadInput(
                f"policy {reference!r} needs {need!r}, which nobody provides{did_you_mean(str(need), NEEDS)}"
            )


def make_policy(reference: str, settings: dict[str, Any] | None = None) -> Any:
    """A new policy from a name in the table, ``package.module:Class``, ``path/to/file.py:Class`` or
    ``remote:ADDRESS``."""
    return policy_maker(reference, settings)()


def policy_maker(reference: str, settings: dict[str, Any] | None = None) -> Callable[[], Any]:
    """What makes such a policy as often as it is called: the name is looked up once."""
    if reference.startswith(REMOTE):
        factory = partial(import_attribute("sidestep.remote.session:RemotePolicy"), reference.removeprefix(REMOTE))
    else:
        factory = import_attribute(reference) if ":" in reference else load("policies", reference)

    def make() -> Any:
        try:
            return factory(**(settings or {}))
        except TypeError as error:
            why = f"{error}{place_of(error)}"  # no place: the policy's own code was never entered
            raise BadInput(f"policy {reference!r} does not take these settings {settings or {}}: {why}") from error

    return make


def make_predictor(reference: str, settings: dict[str, Any] | None = None) -> Any:
    """A new predictor from a name in the table, ``package.module:Class`` or ``path/to/file.py:Class``."""
    factory = import_attribute(reference) if ":" in reference else load("predictors", reference)
    try:
        predictor = factory(**(settings or {}))
    except TypeError as error:
        why = f"{error}{place_of(error)}"
        raise BadInput(f"predictor {reference!r} does not take these settings {settings or {}}: {why}") from error
    check_predictor_members(predictor, reference)
    return predictor


def check_predictor_members(predictor: Any, reference: str) -> None:
    """``BadInput`` unless the object has the members of a predictor (``sidestep.interfaces.Predictor``)."""
    if not callable(getattr(predictor, "predict", None)):
        raise BadInput(f"predictor {reference!r} has no method 'predict'; it has `needs`, `history_s` and `predict`")
    for need in getattr(predictor, "needs", ("needs",)):
        if need not in PREDICTOR_NEEDS:
            raise BadInput(
                f"predictor {reference!r}: `needs` must be a set of names{did_you_mean(str(need), PREDICTOR_NEEDS)}"
            )
    if not 0.0 <= getattr(predictor, "history_s", -1.0) < float("inf"):
        raise BadInput(f"predictor {reference!r}: `history_s` must say how many seconds of history it wants, 0 or more")
