"""Lazy tables: a name, and where the thing lives. Nothing is imported until it is asked for.

Outside packages add to the same tables through entry points (groups ``sidestep.policies``, ``sidestep.sensors`` and so
on, one per kind) and touch none of our files.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from importlib.metadata import entry_points
from numbers import Real
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, Literal

from sidestep._util.extras import check_extras
from sidestep.errors import BadInput, UnknownName, describe_error, did_you_mean, place_of
from sidestep.interfaces import Loader, Policy, PolicyLike, Predictor, PredictorMembers, Suite
from sidestep.types import Command, CompiledScene, EpisodeEnd, Observation, Task
from sidestep.types.base import FloatArray
from sidestep.types.forecast import Ego, Forecast, TrackHistory
from sidestep.types.observation import TASK_NEEDS

Kind = Literal[
    "policies", "metrics", "suites", "datasets", "predictors", "sensors", "events", "crowd_models",
    "road_users", "drivers", "looks", "report_sections", "logs",
]  # fmt: skip

POLICIES: dict[str, str] = {
    "straight": "sidestep.policies.trivial:Straight",
    "stop": "sidestep.policies.trivial:Stop",
    "orca": "sidestep.policies.orca:Orca",
    "social_force": "sidestep.policies.social_force:SocialForce",
    "sampling": "sidestep.policies.sampling.policy:Sampling",
    "cadrl": "sidestep.policies.cadrl.policy:Cadrl",
    "mpc": "sidestep.policies.mpc.policy:Mpc",
    "ilqr": "sidestep.policies.ilqr.policy:Ilqr",
    "ilqr_bc": "sidestep.policies.ilqr.cloned:IlqrBc",
    "oracle": "sidestep.policies.oracle:Oracle",
    "follow_lane": "sidestep.policies.sidewalk.follow_lane:FollowLane",
    "expert": "sidestep.policies.sidewalk.follow_lane:Expert",
    "visual": "sidestep.policies.visual:VisualPolicy",
    "depth_reactive": "sidestep.policies.depth_reactive:DepthReactive",
    "dynamic_window": "sidestep.policies.dynamic_window.policy:DynamicWindow",
    "pid": "sidestep.policies.driving.pid:PidDriver",
    "pid_noise": "sidestep.policies.driving.pid:NoisyPidDriver",
    "comfort_zone": "sidestep.policies.driving.comfort_zone:ComfortZoneDriver",
    "anticipatory": "sidestep.policies.driving.anticipatory:AnticipatoryDriver",
    "human_driver": "sidestep.policies.driving.human:HumanDriver",
    "imitation": "sidestep.policies.driving.imitation:ImitationDriver",
}

OTHER_NAMES: dict[str, str] = {"astar_pid": "pid", "cil": "imitation", "mpc_bc": "ilqr_bc"}
"""Other name of a policy → its name. Runs and records hold the name."""

SUITES: dict[str, str] = {
    "core": "core.yaml",
    "socnav": "sidestep.suites.socnav:SOCNAV",
    "catalogue": "catalogue.yaml",
    "sidewalk-unit": "sidestep.suites.sidewalk.scenarios:SIDEWALK_UNIT",
    "sidewalk-reactive": "sidestep.suites.sidewalk.scenarios:SIDEWALK_REACTIVE",
    "sidewalk-long": "sidestep.suites.sidewalk.scenarios:SIDEWALK_LONG",
    "intersection": "sidestep.suites.intersection:INTERSECTION_SUITE",
    "street": "sidestep.suites.street:STREET_SUITE",
    "protocol": "sidestep.suites.protocol:PROTOCOL_SUITE",
}
"""A file name is a file of ``sidestep/suites/data``; ``sidestep.suites.files.load_suite`` loads every suite."""

REMOTE = "remote:"
"""Opens the name of a policy that another process serves."""
SB3 = "sb3:"
"""Opens the path of a file that Stable-Baselines3 saved."""
ONNX = "onnx:"
"""Opens the path of an interface file that the policy ``visual`` runs; the file names its network."""
SET_BY_POLICIES = frozenset({"learning", "measurements"})
"""Bundled sensors that have settings in ``sensors.extra``, or from the policy (``Policy.sensor_settings``)."""

DATASETS: dict[str, str] = {
    "plain": "sidestep.datasets.plain:PLAIN",
    "biwi": "sidestep.datasets.eth_ucy:BIWI",
    "ucy_vsp": "sidestep.datasets.eth_ucy:UCY_VSP",
    "socnavbench": "sidestep.datasets.csv_formats:SOCNAVBENCH",
    "trajnet": "sidestep.datasets.trajnet:TRAJNET",
    "vci_dut": "sidestep.datasets.csv_formats:VCI_DUT",
    "sidestep": "sidestep.datasets.sidestep_tracks:SIDESTEP",
}

LOGS: dict[str, str] = {
    "rosbag": "sidestep.records.logs.rosbag:ROSBAG",
    "trajnet": "sidestep.records.logs.tracks:TRAJNET_LOG",
    "eth_ucy": "sidestep.records.logs.tracks:ETH_UCY",
    "csv": "sidestep.records.logs.csv_log:CSV_LOG",
    "lerobot": "sidestep.records.logs.lerobot:LEROBOT",
}
"""Formats of logs of real robots (``sidestep.records.logs.drive.LogReader``)."""

SENSORS: dict[str, str] = {
    "pedestrians": "sidestep.simulation.sensors.planar:PedestrianSensor",
    "history": "sidestep.simulation.sensors.planar:PedestrianSensor",
    "vehicles": "sidestep.simulation.sensors.vehicles:VehicleSensor",
    "lidar": "sidestep.simulation.sensors.planar:PlanarLidar",
    "points": "sidestep.render.lidar3d:Lidar3D",
    "rgb": "sidestep.simulation.sensors.camera:CameraSensor",
    "depth": "sidestep.simulation.sensors.camera:CameraSensor",
    "semantic": "sidestep.simulation.sensors.camera:CameraSensor",
    "learning": "sidestep.simulation.sensors.learning:LearningSensor",
    "signals": "sidestep.simulation.sensors.signals:SignalSensor",
    "measurements": "sidestep.policies.driving.measurements:DrivingSensor",
    "high_level_command": "sidestep.policies.driving.measurements:DrivingSensor",
    "lane_markings": "sidestep.simulation.road_judge:LaneMarkingSensor",
}
"""Need of a policy → the sensor (``sidestep.interfaces.Sensor``) that serves it."""

EVENTS: dict[str, str] = {
    "obstructing": "sidestep.simulation.crowd.events.standing:obstructing",
    "conversing": "sidestep.simulation.crowd.events.standing:conversing",
    "queuing": "sidestep.simulation.crowd.events.standing:queuing",
    "frontal": "sidestep.simulation.crowd.events.approaching:frontal",
    "lateral": "sidestep.simulation.crowd.events.approaching:lateral",
    "overtaking": "sidestep.simulation.crowd.events.approaching:overtaking",
    "crossing": "sidestep.simulation.crowd.events.crossing:crossing",
    "gesturing": "sidestep.simulation.crowd.events.right_of_way:gesturing",
    "joining": "sidestep.simulation.crowd.events.standing:joining",
    "leaving": "sidestep.simulation.crowd.events.standing:leaving",
    "following": "sidestep.simulation.crowd.events.company:following",
    "leading": "sidestep.simulation.crowd.events.company:leading",
    "accompanying": "sidestep.simulation.crowd.events.company:accompanying",
    "crowding": "sidestep.simulation.crowd.events.company:crowding",
    "yielding": "sidestep.simulation.crowd.events.right_of_way:yielding",
    "claiming": "sidestep.simulation.crowd.events.right_of_way:claiming",
    "exiting": "sidestep.simulation.crowd.events.right_of_way:exiting",
    "entering": "sidestep.simulation.crowd.events.right_of_way:entering",
    "enacting": "sidestep.simulation.crowd.events.enacting:enacting",
}
"""Kind of an event → what writes its script: (event, setting, generator) →
``sidestep.simulation.crowd.events.Script``."""

CROWD_MODELS: dict[str, str] = {
    "orca": "sidestep.kernels.orca:orca_world",
    "social_force_helbing": "sidestep.kernels.social_force_helbing:helbing_world",
    "social_force_moussaid": "sidestep.kernels.social_force_moussaid:moussaid_world",
    "replay": "sidestep.kernels.people:replay_people",
    "static": "sidestep.kernels.layout:MODEL_NONE",
    "script": "sidestep.kernels.layout:MODEL_SCRIPT",
}
"""Models of a crowd part. These are inside the compiled step (``kernels.world``, numbers in ``kernels.layout``); their
parameters are in ``simulation.crowd.models``. Plug-ins are ``sidestep.interfaces.CrowdModel``."""

PREDICTORS: dict[str, str] = {
    "constant_velocity": "sidestep.prediction.predictors.constant_velocity:ConstantVelocity",
    "kalman": "sidestep.prediction.predictors.kalman:Kalman",
    "social_force": "sidestep.prediction.predictors.social_force:SocialForce",
    "cvae": "sidestep.prediction.predictors.cvae:Cvae",
}
PREDICTOR_NEEDS = frozenset({"map", "ego", "body", "head"})
"""What a predictor may name in ``needs``."""

ROAD_USERS: dict[str, str] = {"car": "car.yaml", "van": "van.yaml", "bicycle": "bicycle.yaml"}
"""A file name is a file of ``sidestep/simulation/traffic/specs``; ``sidestep.simulation.traffic.load_vehicle`` loads
every kind."""

DRIVERS: dict[str, str] = {
    "parked": "sidestep.simulation.traffic.drivers:Parked",
    "follow_path": "sidestep.simulation.traffic.drivers:FollowPath",
    "lane": "sidestep.simulation.traffic.lane_traffic:LaneDriver",
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
    "intersectnav": "sidestep.report.papers.intersectnav.section:SECTION",
}
"""Sections of a report about certain suites (``sidestep.report.papers.ReportSection``), in the order of the page."""

CONTRACTS: dict[Kind, type] = {"suites": Suite, "datasets": Loader}
"""Kinds whose entries are objects, and the class that these objects derive from."""


@cache
def table(kind: Kind) -> dict[str, str]:
    """Name → ``module:attribute`` of everything known: bundled first, then plug-ins, which cannot replace them."""
    known = dict(_bundled(kind))
    for point in entry_points(group=f"sidestep.{kind}"):
        if (taken := true_name(kind, point.name)) in known:
            raise BadInput(
                f"plug-in {point.value} wants the name {point.name!r} in {kind}, which {known[taken]} has; "
                "rename it in the plug-in's entry points"
            )
        known[point.name] = point.value
    return known


def _bundled(kind: Kind) -> dict[str, str]:
    if kind == "metrics":
        from sidestep.metrics import METRICS  # the table of metrics is long and lives with them

        return METRICS
    tables: dict[Kind, dict[str, str]] = {
        "policies": POLICIES, "suites": SUITES, "datasets": DATASETS, "sensors": SENSORS,
        "events": EVENTS, "crowd_models": CROWD_MODELS, "road_users": ROAD_USERS, "drivers": DRIVERS,
        "looks": LOOKS, "predictors": PREDICTORS, "report_sections": REPORT_SECTIONS, "logs": LOGS,
    }  # fmt: skip
    return tables[kind]


def is_plug_in(kind: Kind, name: str) -> bool:
    """Whether an installed plug-in has registered ``name``."""
    return name in table(kind) and name not in _bundled(kind)


def true_name(kind: Kind, name: str) -> str:
    """The name that stands in the table for ``name``, which may be another name of the same thing."""
    return OTHER_NAMES.get(name, name) if kind == "policies" else name


def names(kind: Kind) -> list[str]:
    """Every name of a kind, bundled in table order, then plug-ins."""
    return list(table(kind))


def load(kind: Kind, name: str) -> Any:
    """The thing called ``name``, or an error with the nearest known names."""
    known, found = table(kind), true_name(kind, name)
    if found not in known:
        raise UnknownName(kind_in_singular(kind), name, [*known, *(OTHER_NAMES if kind == "policies" else ())])
    thing, contract = import_attribute(known[found]), CONTRACTS.get(kind)
    if contract is not None and not isinstance(thing, contract):
        raise BadInput(
            f"{kind_in_singular(kind)} {name!r} ({known[found]}) is not a {contract.__name__}: derive its class from "
            f"sidestep.interfaces.{contract.__name__}"
        )
    return thing


def kind_in_singular(kind: Kind) -> str:
    """``policies`` → ``policy``, for messages."""
    singular: dict[Kind, str] = {
        "policies": "policy", "metrics": "metric", "suites": "suite", "datasets": "dataset format",
        "sensors": "sensor", "events": "event", "crowd_models": "crowd model",
        "predictors": "predictor", "road_users": "kind of road user", "drivers": "driver", "looks": "look",
        "report_sections": "section of reports",
        "logs": "format of logs",
    }  # fmt: skip
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
    loaded = sys.modules.get(name)
    if loaded is not None:  # as importlib does, at a twentieth of the time: all metrics are looked up in every episode
        return loaded
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
    """Whether a policy is somebody else's code, which runs in a process of its own (``sidestep.runs.remote``)."""
    return true_name("policies", reference) not in POLICIES and not reference.startswith((REMOTE, ONNX))


def known_needs() -> frozenset[str]:
    """Everything that a policy may name in ``needs``: what the task holds, and what sensors serve, plug-ins too."""
    return TASK_NEEDS | frozenset(names("sensors"))


def check_needs(needs: Iterable[str], policy: str) -> None:
    """``BadInput`` unless every need of ``policy`` can be served."""
    if isinstance(needs, str) or not isinstance(needs, Iterable):
        raise BadInput(f"policy {policy!r}: `needs` is a set of names such as {{'goal', 'pedestrians'}}, not {needs!r}")
    for need in sorted(str(need) for need in needs):
        if need not in known_needs():
            raise BadInput(
                f"policy {policy!r} needs {need!r}, which nobody provides{did_you_mean(need, known_needs())}"
            )


def declared(thing: Any, member: str, contract: type[Policy] | type[Predictor] = Policy) -> Any:
    """An optional member of a class or object that stands for a policy or predictor, whether or not it derives from
    that contract: its own, else the default."""
    return getattr(thing, member, getattr(contract, member))


def name_of(policy: Any) -> str:
    """Name of a class, function or object that stands for a policy: as it declares it, else of the class."""
    named = policy if isinstance(policy, type | FunctionType) else type(policy)
    name = declared(policy, "name")  # of a class it may be a property
    return name if isinstance(name, str) and name else named.__name__


class AdaptedPolicy(Policy):
    """An object that has ``needs``, ``reset`` and ``act`` without deriving from ``Policy``. What it says about itself
    is read once, what it publishes whenever somebody looks."""

    def __init__(self, wrapped: Any, reference: str) -> None:
        for method in ("reset", "act"):
            if not callable(getattr(wrapped, method, None)):
                raise BadInput(
                    f"policy {reference!r} has no method {method!r}; a policy has `needs`, `reset` and `act`"
                )
        needs = getattr(wrapped, "needs", None)
        if needs is None:
            raise BadInput(
                f"policy {reference!r} does not say what it `needs`, a set of names such as {{'goal', 'pedestrians'}}"
            )
        check_needs(needs, reference)
        self.wrapped = wrapped
        self.needs = frozenset(needs)  # type: ignore[misc]  # of this object
        self.name = str(declared(wrapped, "name") or type(wrapped).__name__)
        self.version = str(declared(wrapped, "version") or "")
        settings = declared(wrapped, "settings")
        self.settings = dict(settings) if isinstance(settings, Mapping) else {}
        members = ("summary", "citation", "dynamics", "camera", "sensor_settings", "privileged", "first_answer_s")
        for member in (*members, "resources"):
            setattr(self, member, declared(wrapped, member))

    @property
    def plan(self) -> Any:
        """As the object publishes it."""
        return declared(self.wrapped, "plan")

    @property
    def forecast(self) -> Any:
        """As the object publishes it."""
        return declared(self.wrapped, "forecast")

    @property
    def plan_step_s(self) -> Any:  # type: ignore[override]
        """As the object publishes it."""
        return declared(self.wrapped, "plan_step_s")

    def reset(self, task: Task) -> None:
        """Ask the object."""
        self.wrapped.reset(task)

    def act(self, observation: Observation) -> Command:
        """Ask the object."""
        command: Command = self.wrapped.act(observation)
        return command

    def end_episode(self, end: EpisodeEnd) -> None:
        """Tell the object, if it has a method for it."""
        self._tell("end_episode", end)

    def check_reachable(self) -> None:
        """Ask the object, if it has a method for it."""
        self._tell("check_reachable")

    def close(self) -> None:
        """Tell the object, if it has a method for it."""
        self._tell("close")

    def _tell(self, method: str, *arguments: Any) -> None:
        if callable(found := getattr(self.wrapped, method, None)):
            found(*arguments)


def as_policy(policy: PolicyLike, settings: Mapping[str, Any] | None = None) -> Policy:
    """A policy from whatever stands for one: a name or reference (:func:`make_policy`), a class or function that makes
    one (with ``settings`` as keyword arguments), a ``Policy``, or any object with ``needs``, ``reset`` and ``act``.
    ``BadInput`` if it is none, or if it needs what nobody provides."""
    if isinstance(policy, str):
        made, reference = make_policy(policy, settings), policy
    elif isinstance(policy, type) or (callable(policy) and not hasattr(policy, "act")):
        reference = name_of(policy)
        made = PolicyMaker(policy, settings or {}, reference)()
    elif settings:
        raise BadInput(f"policy {policy!r:.80} is made already; give its settings to its class")
    else:
        reference = type(policy).__name__
        made = policy if isinstance(policy, Policy) else AdaptedPolicy(policy, reference)
    check_needs(made.needs, reference)
    return made


def make_policy(reference: str, settings: Mapping[str, Any] | None = None) -> Policy:
    """A new policy from a name in the table, ``package.module:Class``, ``path/to/file.py:Class``,
    ``remote:ADDRESS``, ``sb3:FILE.zip`` or ``onnx:SPEC.yaml``."""
    return policy_maker(reference, settings)()


@dataclass(frozen=True)
class PolicyMaker:
    """Makes a policy as often as it is called: its name has been looked up. A call builds it and then adapts it, which
    reads its members."""

    factory: Callable[..., Any]
    settings: Mapping[str, Any]
    reference: str

    def build(self) -> Any:
        """The policy as its code makes it."""
        try:
            return self.factory(**self.settings)
        except TypeError as error:
            why = f"{error}{place_of(error)}"  # no place: the policy's own code was never entered
            taken = f"does not take these settings {dict(self.settings)}"
            raise BadInput(f"policy {self.reference!r} {taken}: {why}") from error

    def adapt(self, made: Any) -> Policy:
        """The same as a ``Policy``."""
        return made if isinstance(made, Policy) else AdaptedPolicy(made, self.reference)

    def __call__(self) -> Policy:
        return self.adapt(self.build())


def policy_maker(reference: str, settings: Mapping[str, Any] | None = None) -> PolicyMaker:
    """What makes such a policy as often as it is called: the name is looked up once."""
    if reference.startswith(REMOTE):
        factory = partial(import_attribute("sidestep.runs.remote.session:RemotePolicy"), reference.removeprefix(REMOTE))
    elif reference.startswith(SB3):
        factory = partial(import_attribute("sidestep.gym.sb3_file:load_sb3"), reference.removeprefix(SB3))
    elif reference.startswith(ONNX):
        factory = partial(load("policies", "visual"), spec=reference.removeprefix(ONNX))
    else:
        factory = import_attribute(reference) if ":" in reference else load("policies", reference)
    check_extras(f"policy {reference!r}", *extras_of(reference))
    return PolicyMaker(factory, settings or {}, reference)


def extras_of(reference: str) -> tuple[str, ...]:
    """The optional extras that a policy declares. Somebody else's code is not imported for it: that has none."""
    if reference.startswith(SB3):
        return ("learn",)
    name = "visual" if reference.startswith(ONNX) else true_name("policies", reference)
    return tuple(declared(load("policies", name), "extras")) if name in POLICIES else ()


class AdaptedPredictor(Predictor):
    """An object that has ``needs``, ``history_s`` and ``predict`` without deriving from ``Predictor``."""

    def __init__(self, wrapped: PredictorMembers, reference: str = "") -> None:
        check_predictor_members(wrapped, reference or type(wrapped).__name__)
        self.wrapped = wrapped
        self.needs = frozenset(wrapped.needs)  # type: ignore[misc]  # of this object
        self.history_s = wrapped.history_s  # type: ignore[misc]
        self.name = str(declared(wrapped, "name", Predictor) or type(wrapped).__name__)
        for member in ("summary", "citation", "settings"):
            setattr(self, member, declared(wrapped, member, Predictor))

    def predict(
        self, history: TrackHistory, horizons_s: FloatArray, scene: CompiledScene | None = None, ego: Ego | None = None
    ) -> Forecast:
        """Ask the object."""
        return self.wrapped.predict(history, horizons_s, scene=scene, ego=ego)


def as_predictor(predictor: Predictor | PredictorMembers, reference: str = "") -> Predictor:
    """A predictor from one, or from any object with ``needs``, ``history_s`` and ``predict``; ``BadInput`` if it has
    not, or if its members are wrong."""
    if not isinstance(predictor, Predictor):
        return AdaptedPredictor(predictor, reference)
    check_predictor_members(predictor, reference or type(predictor).__name__)
    return predictor


def make_predictor(reference: str, settings: dict[str, Any] | None = None) -> Predictor:
    """A new predictor from a name in the table, ``package.module:Class`` or ``path/to/file.py:Class``."""
    factory = import_attribute(reference) if ":" in reference else load("predictors", reference)
    check_extras(f"predictor {reference!r}", *declared(factory, "extras", Predictor))
    try:
        predictor = factory(**(settings or {}))
    except TypeError as error:
        why = f"{error}{place_of(error)}"
        raise BadInput(f"predictor {reference!r} does not take these settings {settings or {}}: {why}") from error
    return as_predictor(predictor, reference)


def check_predictor_members(predictor: Any, reference: str) -> None:
    """``BadInput`` unless the object has the members of a predictor (``sidestep.interfaces.Predictor``)."""
    if not callable(getattr(predictor, "predict", None)):
        raise BadInput(f"predictor {reference!r} has no method 'predict'; it has `needs`, `history_s` and `predict`")
    needs = getattr(predictor, "needs", None)
    for need in needs if isinstance(needs, set | frozenset | tuple | list) else ("needs",):
        if need not in PREDICTOR_NEEDS:
            raise BadInput(
                f"predictor {reference!r}: `needs` must be a set of names{did_you_mean(str(need), PREDICTOR_NEEDS)}"
            )
    history_s = getattr(predictor, "history_s", None)
    if not isinstance(history_s, Real) or not 0.0 <= float(history_s) < float("inf"):
        raise BadInput(f"predictor {reference!r}: `history_s` must say how many seconds of history it wants, 0 or more")
