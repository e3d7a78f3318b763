"""IntersectNav's environment as its scripts call it, over the episodes of the intersection suite."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import degrees
from typing import Any, Literal, NamedTuple, Unpack

import numpy as np
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray

from sidestep.errors import BadInput, UnknownName
from sidestep.gym.intersection import (
    NEEDS,
    IntersectionEnv,
    IntersectionSuiteOptions,
    as_spaces,
    choose_scenarios,
    drive_from_action,
)
from sidestep.metrics.intersectnav_code import COLLISIONS, program_results
from sidestep.policies.driving.measurements import published_measurements
from sidestep.policies.driving.pid import NoisyPidDriver, PidDriver
from sidestep.render.mesh import Semantic
from sidestep.simulation.session import Session
from sidestep.suites.driving_place import TOWNS, own_places, published_place
from sidestep.suites.intersection import CAMERA_MOUNT, DENSITY, MIDDLE_M
from sidestep.types import Drive, Observation, Outcome, Scenario
from sidestep.types.base import FloatArray

Agent = Literal["NN", "PID", "PID_NOISE"]
AGENTS: dict[str, type[PidDriver] | None] = {"NN": None, "PID": PidDriver, "PID_NOISE": NoisyPidDriver}
COLLISION, LANE_INVASION, WRONG_DIRECTION = 1, 2, 3
"""Error codes of a step; 0 is none."""
FULL_CAMERA = {"preset": "car_front", "mount": CAMERA_MOUNT, "crop": None, "output_size": None}
PED_VEH_NEEDS = (*NEEDS, "depth", "semantic")
NO_VEHICLES = (0, 0)
COUNTS = ("NumOfWal", "NumOfVeh")
"""Keys of published scenes: fewest and most people and vehicles."""


class Location(NamedTuple):
    """In the published frame, m."""

    x: float
    y: float
    z: float


class Rotation(NamedTuple):
    """In the published frame, degrees."""

    pitch: float
    yaw: float
    roll: float


class StepInfo(dict[str, Any]):
    """What a step tells besides the state. ``FrontRGB``, the camera's whole picture, is drawn when it is asked for."""

    def __init__(self, values: Mapping[str, Any], draw: Callable[[], Any]) -> None:
        super().__init__(values)
        self._draw = draw

    def __missing__(self, key: str) -> Any:
        if key != "FrontRGB":
            raise KeyError(key)
        self[key] = self._draw()
        return self[key]

    def __contains__(self, key: object) -> bool:
        return key == "FrontRGB" or super().__contains__(key)

    def get(self, key: str, default: Any = None, /) -> Any:
        """As of any dict; it draws ``FrontRGB`` too."""
        try:
            return self[key]
        except KeyError:
            return default


class EnvOptions(IntersectionSuiteOptions, total=False):
    """Keyword arguments of :class:`Env`: options of the suite, and ``scenes``."""

    scenes: Sequence[int] | None
    """Numbers of the scenes that episodes are drawn from; all unless given."""


class Env:
    """IntersectNav's environment: ``reset(scene)``, then ``step(action, lateral=…, longitude=…)``.

    A state is (image, lidar, measurements, command, location, rotation): a BGR picture (88, 200, 3), (720,) ranges,
    (4,) measurements, (2,) commands, (x, y, z) and (pitch, roll, yaw), as in the published files. Actions are [steer,
    acceleration] or [steer, throttle, brake] with positive steer to the *right*. ``lateral`` and ``longitude`` say who
    steers and who accelerates: ``NN`` (the action), ``PID`` or ``PID_NOISE``.

    Among vehicles the state is that of Ped-Veh: (image, depth, semantic, lidar, measurements, command, location,
    rotation), with the kinds of lanes as three more measurements. Depth is a grey picture (88, 200, 3) on CARLA's
    logarithmic scale, semantic a BGR picture in the colours of Cityscapes.

    ``step`` returns the state, a reward of three numbers (collision, lane invasion, success: 0 or 1), whether the
    episode is over, information and an error code (0; 1 collision, 2 lane invasion, 3 wrong direction).

    Information has ``a_t`` (the command [steer, throttle, brake] as published), ``location``, ``rotation``,
    ``FrontRGB`` (drawn when it is asked for), and what :class:`IntersectionEnv` says: ``scenario``, ``is_success`` and
    ``termination_reason``; after a reset also ``world_seed`` and the scenario's notes (``scene``, ``branch``, ``pose``,
    …).
    """

    def __init__(
        self,
        port: int = 2000,
        debug: bool = False,
        town: str = "Town03",
        *,
        seed: int = 0,
        branches: Sequence[int] | None = None,
        **options: Unpack[EnvOptions],
    ) -> None:
        """``options`` are those of the suite, and ``scenes``; invasions of lanes are limited as in the program unless
        ``invasions`` says otherwise. ``port`` is accepted and means nothing: there is no
        server. ``debug`` prints where an episode begins. ``town`` is that of the next scene, and changes with it."""
        del port
        self.town, self.debug = town, debug
        self._options: dict[str, Any] = {"invasions": "program", **options}
        self._branches = branches
        self._environments: dict[str, IntersectionEnv] = {}
        self._environment = self._with(self._options)
        self._rng = np.random.default_rng(seed)
        self._drivers: dict[str, PidDriver] = {}
        self._counted: tuple[int, dict[str, Any]] | None = None
        self._seen_events = 0
        self._lane_type: tuple[int, int, int] | None = None

    start_frame = 0
    """:attr:`frame` at the beginning of an episode."""

    def reset(
        self, scene: Any, debug: bool | None = None, *, branch: int | None = None, pose: int | None = None
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Begin an episode on a route of ``scene``: its number, or the published object or dict. ``branch`` and
        ``pose`` say which route, else those of the scene, else it is drawn. A scene's weather and numbers of people and
        vehicles (``NumOfWal``, ``NumOfVeh``) hold for its episode."""
        wanted = _Scene(scene)
        branch, pose = (given if given is not None else said for given, said in
                        ((branch, wanted.branch), (pose, wanted.pose)))  # fmt: skip
        self._environment = self._with(wanted.options(self._options))
        scenarios = self._environment.scenarios
        routes = [
            each
            for each in scenarios
            if each.notes["scene"] == wanted.number
            and branch in (None, each.notes["branch"])
            and pose in (None, each.notes["pose"])
        ]
        if not routes:
            raise BadInput(f"scene {wanted.number} has no route with branch {branch} and pose {pose}")
        chosen = routes[int(self._rng.integers(len(routes)))]
        options = {"scenario": chosen.name, "world_seed": int(self._rng.integers(2**31))}
        _, info = self._environment.reset(options=options)
        session = self._session()
        self.town = f"Town{TOWNS.get(wanted.number, 0):02d}"
        self._drivers = {name: make() for name, make in AGENTS.items() if make is not None}
        for driver in self._drivers.values():
            driver.reset(session.task)
        self._counted, self._seen_events = None, 0
        has_vehicles = session.scenario.lane_traffic is not None
        self._lane_type = lane_type(chosen) if has_vehicles else None
        if self.debug if debug is None else debug:
            print(f"# {self.town}, {chosen.name}, seed {info['world_seed']}")
        state = published_state(session.observation, self._lane_type)
        return state, self._info(Drive(0.0, 0.0, 0.0), {**info, **chosen.notes})

    def step(
        self, action: Any, lateral: str = "NN", longitude: str = "NN"
    ) -> tuple[tuple[Any, ...], FloatArray, bool, dict[str, Any], int]:
        """Drive for one step: the next state, reward, whether it is over, information, and the error code."""
        session = self._session()
        if session.done:
            raise ResetNeeded("the episode is over: call reset(scene) before step()")
        for who in (lateral, longitude):
            if who not in AGENTS:
                raise UnknownName("control agent", who, AGENTS)
        published = drive_from_action(action)
        given = Drive(-published.steer, published.throttle, published.brake)
        answers = {name: driver.act(session.observation) for name, driver in self._drivers.items()}
        steer, speed = (answers.get(who, given) for who in (lateral, longitude))
        assert isinstance(steer, Drive)
        assert isinstance(speed, Drive)
        command = Drive(steer.steer, speed.throttle, speed.brake)
        *_, info = self._environment.step([command.steer, command.throttle, command.brake])
        reward, error = self._judge(session)
        state = published_state(session.observation, self._lane_type)
        return state, reward, session.done, self._info(command, info), error

    @property
    def res(self) -> dict[str, Any]:
        """What the program notes of the episode so far, under its keys; values that are changed stay until the next
        step. As there, leaving on the right side is a success wherever it was: ``sidestep evaluate`` compares the end
        with the expert's pose."""
        steps = self._steps()
        if self._counted is None or self._counted[0] != steps:
            found = program_results(self._session().record, judged=False)
            found["time_out"] = False
            del found["tot_step"]
            self._counted = steps, found
        return self._counted[1]

    @property
    def frame(self) -> int:
        """Number of steps driven in the episode; ``frame - start_frame`` is the program's ``tot_step``."""
        return self._steps()

    def close(self, expected_end_steps: int | None = None) -> dict[str, Any]:
        """End the episode; its results, with the number of steps, and ``time_out`` if that is
        ``expected_end_steps``."""
        found = self.res
        found["tot_step"] = self._steps()
        if found["tot_step"] == expected_end_steps:
            found["time_out"] = True
        self.destroy()
        return found

    def destroy(self) -> None:
        """Forget the episode but for its results."""
        if self._environment.session is not None:
            self._counted = self._steps(), self.res
        for environment in self._environments.values():
            environment.session = None

    def _steps(self) -> int:
        """Steps driven; of an episode that was closed those that it had."""
        if self._environment.session is None and self._counted is not None:
            return self._counted[0]
        session = self._session()
        return round(session.time / session.world.scenario.rules.step_s)

    def _session(self) -> Session:
        session = self._environment.session
        if session is None:
            raise ResetNeeded("no episode is under way: call reset(scene) first")
        return session

    def _with(self, options: Mapping[str, Any]) -> IntersectionEnv:
        """An environment with these options of the suite; one is kept for each choice."""
        key = repr(sorted(options.items(), key=lambda item: item[0]))
        if key not in self._environments:
            plain = dict(options)
            counts = {name: plain.pop(name, None) for name in COUNTS}
            scenarios = choose_scenarios(plain.pop("scenes", None), self._branches, plain)
            needs = NEEDS if all(each.lane_traffic is None for each in scenarios) else PED_VEH_NEEDS
            made = IntersectionEnv(scenarios=[_with_counts(each, counts) for each in scenarios], needs=needs)
            if len(self._environments) >= _MOST_ENVIRONMENTS:
                self._environments.pop(next(iter(self._environments)))
            self._environments[key] = made
        return self._environments[key]

    def _judge(self, session: Session) -> tuple[FloatArray, int]:
        """Reward and error code of the step that was just driven."""
        events = session.events
        new, self._seen_events = events[self._seen_events :], len(events)
        rules = session.world.scenario.rules
        counts_any = getattr(rules.lanes, "counts", "") == "any"
        hit = session.done and session.outcome in COLLISIONS
        invaded = session.done and session.outcome is Outcome.LANE_INVASION
        invaded |= any(each.kind == "lane_crossing" and (counts_any or each.subject != "broken") for each in new)
        sides = [each.subject for each in new if each.kind in ("exited", "wrong_exit")]
        assert rules.exit is not None
        arrived = bool(sides) and sides[-1] == rules.exit.side
        error = COLLISION if hit else 0
        if invaded:
            error = LANE_INVASION
        if sides and not arrived:
            error = WRONG_DIRECTION
        return np.array([int(hit), int(invaded), int(arrived)]), error

    def _info(self, command: Drive, more: Mapping[str, Any]) -> StepInfo:
        session = self._session()
        time, location, rotation = session.time, *published_pose(session.observation)
        pitch, roll, yaw = rotation.tolist()

        def draw() -> Any:
            if self._environment.session is not session or session.time != time:
                raise BadInput("FrontRGB is drawn when it is first asked for: ask before the next step or reset")
            return session.draw(FULL_CAMERA)[..., ::-1]

        state = {
            "a_t": [0.0 - command.steer, command.throttle, command.brake],
            "location": Location(*location.tolist()),
            "rotation": Rotation(pitch, yaw, roll),
        }
        return StepInfo({**more, **state}, draw)


_MOST_ENVIRONMENTS = 8


class _Scene:
    """What a published scene says, whether it is a number, an object or a dict."""

    def __init__(self, scene: Any) -> None:
        def said(name: str) -> Any:
            return scene.get(name) if isinstance(scene, Mapping) else getattr(scene, name, None)

        number = scene if isinstance(scene, int | np.integer) else said("scene_id")
        if isinstance(number, bool) or not isinstance(number, int | np.integer):
            raise BadInput(
                f"a scene is its number, or an object or dict with 'scene_id'; got {scene!r:.80}, which has none"
            )
        self.number = int(number)
        self.branch, self.pose = said("branch"), said("pose")
        self._weather = said("weather")
        self._people, self._vehicles = (_range(said(name), name) for name in COUNTS)

    def options(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The options of the suite with what the scene says laid over them."""
        found = dict(given)
        if self._weather is not None:
            found["weather"] = self._weather
        if self._vehicles is not None:
            found["vehicles"] = self._vehicles != NO_VEHICLES
        if self._people is not None:
            preset = next((name for name, count in DENSITY.items() if count == self._people), None)
            found["people"] = preset or "many"
            if preset is None:
                found["NumOfWal"] = self._people
        if self._vehicles not in (None, NO_VEHICLES):
            found["NumOfVeh"] = self._vehicles
        return found


def _range(value: Any, name: str) -> tuple[int, int] | None:
    if value is None:
        return None
    try:
        least, most = (int(number) for number in value)
    except (TypeError, ValueError):
        least, most = 1, 0
    if not 0 <= least <= most:
        raise BadInput(f"scene: {name} is [least, most], whole numbers; got {value!r:.60}")
    return least, most


def _with_counts(scenario: Scenario, counts: Mapping[str, tuple[int, int] | None]) -> Scenario:
    """The scenario with other numbers of people and vehicles, where they are given."""
    people, vehicles = (counts[name] for name in COUNTS)
    changes: dict[str, Any] = {}
    if people is not None and scenario.crowd:
        part = scenario.crowd[0]
        assert part.placement is not None
        placement = part.placement.model_copy(update={"count": people})
        changes["crowd"] = (part.model_copy(update={"placement": placement}), *scenario.crowd[1:])
    if vehicles is not None and scenario.lane_traffic is not None:
        changes["lane_traffic"] = scenario.lane_traffic.model_copy(update={"count": vehicles})
    return scenario.model_copy(update=changes)


def published_pose(observation: Observation) -> tuple[FloatArray, FloatArray]:
    """Location (x, y, z) of the middle of the body, m, and rotation (pitch, roll, yaw), degrees, in the published
    left-handed frame."""
    robot = observation.robot
    x = robot.x + MIDDLE_M * np.cos(robot.heading)
    y = robot.y + MIDDLE_M * np.sin(robot.heading)
    return np.array([x, -y, 0.0]), np.array([0.0, 0.0, -degrees(robot.heading)])


def lane_type(scenario: Scenario) -> tuple[int, int, int]:
    """Whether the published program has a route to the left, straight on and to the right from where this one starts:
    1 or 0 each."""
    number, place = scenario.notes["scene"], scenario.notes["options"].get("place")
    places = [published_place(number)] if place is None else own_places(place)
    routes = next(each.routes for each in places if each.number == number)
    there = {route.branch for route in routes if route.pose == scenario.notes["pose"]}
    left, straight, right = (int(branch in there) for branch in (-1, 0, 1))
    return left, straight, right


def published_state(observation: Observation, lane_type: Sequence[int] | None = None) -> tuple[Any, ...]:
    """(image, lidar, measurements, command, location, rotation) as published: BGR, positive to the right. With
    ``lane_type`` as among vehicles: depth and semantic pictures after the image, and seven measurements."""
    seen = as_spaces(observation)
    image = np.ascontiguousarray(seen["image"][..., ::-1])
    measured = published_measurements(seen["measurements"])
    lidar, pose = seen["lidar"][::-1].copy(), published_pose(observation)
    if lane_type is None:
        return (image, lidar, measured, seen["command"], *pose)
    measured = np.concatenate([measured, np.array(lane_type, np.float32)])
    pictures = depth_picture(observation.depth), CITYSCAPES[np.asarray(observation.semantic)]
    return (image, *pictures, lidar, measured, seen["command"], *pose)


def depth_picture(depth: Any) -> NDArray[np.uint8]:
    """(H, W, 3) grey picture of (H, W) depths, m, as CARLA's logarithmic depth: 1 + ln(depth / 1000 m) / 5.70378, at
    least 0.005, at most 1."""
    share = np.maximum(np.asarray(depth, np.float64), 1e-3) / CARLA_FAR_M
    grey = np.clip(1.0 + np.log(share) / 5.70378, 0.005, 1.0)
    return np.repeat(np.rint(255.0 * grey).astype(np.uint8)[..., None], 3, axis=2)


def _cityscapes() -> NDArray[np.uint8]:
    """(256, 3) BGR colour of each class; black where Cityscapes has none."""
    colours = {
        (70, 130, 180): [Semantic.SKY], (70, 70, 70): [Semantic.BUILDING, Semantic.DOOR, Semantic.WINDOW],
        (102, 102, 156): [Semantic.WALL], (128, 64, 128): [Semantic.ROAD],
        (157, 234, 50): [Semantic.LANE_MARKING, Semantic.CROSSWALK],
        (244, 35, 232): [Semantic.SIDEWALK, Semantic.KERB, Semantic.FLOOR], (152, 251, 152): [Semantic.GRASS],
        (107, 142, 35): [Semantic.TREE], (153, 153, 153): [Semantic.POLE], (220, 220, 0): [Semantic.SIGN],
        (220, 20, 60): [Semantic.PERSON], (0, 0, 142): [Semantic.VEHICLE, Semantic.ROBOT],
    }  # fmt: skip
    table = np.zeros((256, 3), np.uint8)
    for colour, kinds in colours.items():
        table[[int(kind) for kind in kinds]] = colour[::-1]
    return table


CARLA_FAR_M = 1000.0
CITYSCAPES = _cityscapes()


__all__ = [
    "AGENTS", "Agent", "Env", "Location", "Rotation", "StepInfo", "depth_picture", "lane_type", "published_pose",
    "published_state",
]  # fmt: skip
