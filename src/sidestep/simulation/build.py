"""From a scenario and a seed to a world: every random number drawn, every array filled, every contradiction found."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from sidestep import registry
from sidestep._util import exact
from sidestep.errors import BadInput, UnknownName, plug_in_errors
from sidestep.interfaces import CrowdModel
from sidestep.kernels import layout
from sidestep.kernels.orca import HORIZON_PEOPLE
from sidestep.kernels.reactive_replay import REROUTE_HORIZON
from sidestep.scenes.compile import compile_scene
from sidestep.scenes.free_space import free_mask, shortest_path
from sidestep.scenes.load import resolve_scene
from sidestep.simulation.crowd.behaviour.background import Background
from sidestep.simulation.crowd.behaviour.journeys import FirstPaths, place_background
from sidestep.simulation.crowd.models import model_code, pack_parameters, plug_in_model
from sidestep.simulation.crowd.people import People, join_people, make_people
from sidestep.simulation.crowd.road_crossing import (
    MOST_ACCELERATION,
    CrossingPlans,
    CrossingWalkers,
    place_crossing_people,
)
from sidestep.simulation.crowd.spawn import Spawner
from sidestep.simulation.crowd.street_people import StreetPlans, place_street_people
from sidestep.simulation.crowd.street_walking import StreetWalkers
from sidestep.simulation.directors import (
    BackgroundDirector,
    CrossingDirector,
    CrowdModelDirector,
    Director,
    StreetDirector,
    add_event_people,
    background_network,
    event_directors,
    make_cast,
    write_scripts,
)
from sidestep.simulation.referee import CompiledRules, compile_rules
from sidestep.simulation.replay import Replay, load_replay
from sidestep.simulation.road_users import RoadUsers, TrafficDirector, load_specs, make_road_users, with_lane_traffic
from sidestep.simulation.seeds import generator_for
from sidestep.simulation.sensors.camera import with_robot_camera
from sidestep.simulation.synthetic import generate_crowd
from sidestep.types import CompiledScene, RobotSpec, Scenario, SceneSpec
from sidestep.types.base import FloatArray, IntArray
from sidestep.types.behaviour import BehaviourPlacement
from sidestep.types.road import Roads
from sidestep.types.scenario import CrossingPlacement, CrowdPart, ReplayPlacement, StreetPlacement, SyntheticPlacement

FASTER_THAN_PREFERRED = 1.3
"""How much faster than preferred a person may walk to get out of the way."""

SLOWEST_REROUTE = 0.5
"""m/s: the pace at which people whose recording has them stand or stroll get out of the way and back."""

_REACTIVITY = {"none": layout.REACT_NONE, "pause": layout.REACT_PAUSE, "reroute": layout.REACT_REROUTE}
_AT_END = {"stay": layout.END_STAY, "leave": layout.END_LEAVE, "loop": layout.END_LOOP}


@dataclass(frozen=True, eq=False)
class World:
    """The initial state of one world: N people, R robots and vehicles, W waypoints at most. The M columns are N + R and
    the discs that cover vehicles (``kernels.layout``)."""

    scenario: Scenario
    seed: int
    scene: CompiledScene
    robots: tuple[RobotSpec, ...]  # (R,) the scenario's robots, then its vehicles
    person_id: IntArray  # (N,) int64
    agents: FloatArray  # (AGENT_ROWS, M) float32
    flags: IntArray  # (FLAG_ROWS, M) int32
    routes: FloatArray  # (N, W, 2) float32
    route_length: IntArray  # (N,) int32
    robot_state: FloatArray  # (R, ROBOT_ROWS) float64
    body: FloatArray  # (R, BODY_ROWS, 2) float64
    limits: FloatArray  # (R, LIMITS) float64
    dynamics: IntArray  # (R,) int32
    goals: FloatArray  # (R, 2) float64
    rules: CompiledRules
    replay: FloatArray | None  # (T, N, 4) float32: x, y, vx, vy; NaN when absent or not replayed
    parameters: tuple[FloatArray, FloatArray, FloatArray]  # ORCA, Helbing, Moussaïd
    person_model: tuple[str, ...]  # (N,) name of the crowd model of each person
    direct: Callable[[], Director] | None = None  # makes the director of one episode; None: nobody is directed
    directs_people: bool = False  # False: it directs vehicles only

    @property
    def people(self) -> int:
        """Number of people, present or yet to come."""
        return len(self.person_id)


@lru_cache(maxsize=64)
def _compiled(spec_json: str, where: str) -> CompiledScene:
    return compile_scene(SceneSpec.model_validate_json(spec_json), where)


def build_world(scenario: Scenario, seed: int, base: Path | None = None) -> World:
    """The world of ``scenario`` under ``seed``. ``base`` is the folder that relative file names start from."""
    return WorldBuilder(scenario, base).build(seed)


class WorldBuilder:
    """Builds the worlds of one scenario: what all seeds share is prepared once."""

    def __init__(self, scenario: Scenario, base: Path | None = None) -> None:
        self._where = f"scenario {scenario.name!r}"
        spec = resolve_scene(scenario.scene, base)
        self._scene = _compiled(spec.model_dump_json(), self._where)
        self._base = base
        scenario, specs = load_specs(scenario.model_copy(update={"scene": spec}), base)
        self.scenario = with_robot_camera(scenario, specs[0])
        self._road_users = make_road_users(scenario, specs, self._scene, self._where)
        if scenario.traffic:  # drivers that do not fit are an error now, not in the first episode
            TrafficDirector(scenario, self._scene, 0, self._road_users.body, self._where)
        if scenario.lane_traffic is not None:
            self._with_traffic(0)
        check_extra_sensors(scenario.sensors.extra, self._where)
        self._codes = [model_code(part, self._where) for part in scenario.crowd]
        self._model_names = (*(part.model for part in scenario.crowd), "script")  # last: the people of events
        made = {index: plug_in_model(part, self._where) for index, part in enumerate(scenario.crowd)}
        self._plug_ins = {index: make for index, make in made.items() if make is not None}
        self._replays = {
            index: load_replay(part.placement, scenario.rules, self._where, base)
            for index, part in enumerate(scenario.crowd)
            if isinstance(part.placement, ReplayPlacement)
        }
        self._networks = {
            index: background_network(
                self._scene, part.placement.graph, part.radius, part.placement.behaviour.lane_m, self._where
            )
            for index, part in enumerate(scenario.crowd)
            if isinstance(part.placement, BehaviourPlacement)
        }
        self._part_settings = (
            np.array([*self._codes, layout.MODEL_SCRIPT], np.int32),  # last: the people of events
            np.array([*(_share_of(part) for part in scenario.crowd), 0.0]),
            np.array([*(part.sees_robot for part in scenario.crowd), False], bool),
            np.array([*(_AT_END[part.at_end] for part in scenario.crowd), layout.END_STAY], np.int32),
            np.array([*(_REACTIVITY[part.reactivity] for part in scenario.crowd), layout.REACT_NONE], np.int32),
            np.array([*(_hurry_of(part) for part in scenario.crowd), FASTER_THAN_PREFERRED]),
            np.array([*(_acceleration_of(part) for part in scenario.crowd), 0.0]),
        )
        self._parameters = pack_parameters(scenario.crowd, scenario.rules.step_s, self._where)
        if any(part.reactivity == "reroute" for part in scenario.crowd) and layout.MODEL_ORCA not in self._codes:
            # five seconds are for walkers who share the avoidance: among people who do not, they end all progress
            self._parameters[0][HORIZON_PEOPLE] = REROUTE_HORIZON
        self._rules = compile_rules(scenario, self._scene, self._where)

    def build(self, seed: int) -> World:
        """The world under ``seed``: all that is random is drawn here."""
        scenario, users, rules = self._with_traffic(seed)
        replays = self._replays | self._synthetic_crowds(seed)
        first_paths: dict[int, FirstPaths] = {}
        crossings: dict[int, CrossingPlans] = {}
        plans: dict[int, StreetPlans] = {}
        crowd, part_of = self._place_people(seed, replays, first_paths, crossings, plans, users.discs)
        scripts = write_scripts(scenario, self._scene, seed, users.discs, self._where)
        crowd, part_of = add_event_people(crowd, part_of, scripts, len(scenario.crowd))
        people = len(part_of)
        columns = people + users.agents.shape[1]
        agents = np.zeros((layout.AGENT_ROWS, columns), np.float32)
        flags = np.zeros((layout.FLAG_ROWS, columns), np.int32)
        self._fill_people(agents[:, :people], flags[:, :people], crowd, part_of)
        replay, person_id = self._fill_replay(agents, flags, part_of, replays)
        agents[:, people:], flags[:, people:] = users.agents, users.flags
        directors = [self._background(seed, index, part_of, first) for index, first in first_paths.items()]
        directors += [self._crossing(index, part_of, planned) for index, planned in crossings.items()]
        directors += [self._street(index, part_of, planned) for index, planned in plans.items()]
        directors += [
            partial(self._plug_in, seed, index, make, np.flatnonzero(part_of == index), person_id)
            for index, make in self._plug_ins.items()
        ]
        directors += event_directors(scripts, person_id)
        directs_people = bool(directors)
        if scenario.traffic:
            directors.append(partial(TrafficDirector, scenario, self._scene, seed, users.body, self._where))
        return World(
            scenario=scenario,
            seed=seed,
            scene=self._scene,
            robots=users.specs,
            person_id=person_id,
            agents=agents,
            flags=flags,
            routes=crowd.routes.astype(np.float32),
            route_length=crowd.route_length.astype(np.int32),
            robot_state=users.state,
            body=users.body,
            limits=users.limits,
            dynamics=users.dynamics,
            goals=users.goals,
            rules=rules,
            replay=replay,
            parameters=self._parameters,
            person_model=tuple(self._model_names[part] for part in part_of),
            direct=make_cast(directors),
            directs_people=directs_people,
        )

    def _with_traffic(self, seed: int) -> tuple[Scenario, RoadUsers, CompiledRules]:
        """The scenario with the vehicles of ``seed``, and what depends on them."""
        if self.scenario.lane_traffic is None:
            return self.scenario, self._road_users, self._rules
        scenario, specs = load_specs(with_lane_traffic(self.scenario, self._scene, seed, self._where), self._base)
        users = make_road_users(scenario, specs, self._scene, self._where)
        return scenario, users, compile_rules(scenario, self._scene, self._where)

    def _plug_in(
        self, seed: int, index: int, make: Callable[[], CrowdModel], columns: IntArray, person_id: IntArray
    ) -> Director:
        """The director of a crowd part with a plug-in model."""
        name, model = self._model_names[index], make()
        with plug_in_errors("crowd model", name, ()):
            model.begin(generator_for(self.scenario.suite, self.scenario.name, seed, "crowd_model", index))
        first = int(columns[0]) if len(columns) else 0
        return CrowdModelDirector(name, model, first, person_id[columns], self._scene.segments)

    def _background(self, seed: int, index: int, part_of: IntArray, first: FirstPaths) -> Callable[[], Director]:
        """What makes the director of the background people of part ``index``."""
        placement = self.scenario.crowd[index].placement
        assert isinstance(placement, BehaviourPlacement)
        suite, name = self.scenario.suite, self.scenario.name
        begin, end = np.searchsorted(part_of, [index, index + 1]).tolist()

        def make() -> Director:
            rng = generator_for(suite, name, seed, "behaviour", index)
            return BackgroundDirector(Background(self._networks[index], placement.behaviour, first, rng), begin, end)

        return make

    def _crossing(self, index: int, part_of: IntArray, plans: CrossingPlans) -> Callable[[], Director]:
        """What makes the director of the people of part ``index``, who cross a road."""
        placement = self.scenario.crowd[index].placement
        assert isinstance(placement, CrossingPlacement)
        begin, end = np.searchsorted(part_of, [index, index + 1]).tolist()
        return lambda: CrossingDirector(CrossingWalkers(plans, placement, self._codes[index]), begin, end)

    def _street(self, index: int, part_of: IntArray, plans: StreetPlans) -> Callable[[], Director]:
        """What makes the director of the people of part ``index``, who walk along a street."""
        begin, end = np.searchsorted(part_of, [index, index + 1]).tolist()
        return lambda: StreetDirector(StreetWalkers(plans, self._codes[index]), begin, end)

    def _synthetic_crowds(self, seed: int) -> dict[int, Replay]:
        """The generated crowds that are replayed, by crowd part."""
        rules, suite, name = self.scenario.rules, self.scenario.suite, self.scenario.name
        robots = tuple((robot.start[0], robot.start[1]) for robot in self.scenario.robots)
        return {
            index: generate_crowd(part.placement, rules, suite, name, seed, index, robots)
            for index, part in enumerate(self.scenario.crowd)
            if isinstance(part.placement, SyntheticPlacement)
        }

    def _place_people(
        self, seed: int, replays: dict[int, Replay], first_paths: dict[int, FirstPaths],
        crossings: dict[int, CrossingPlans], plans: dict[int, StreetPlans], road_users: FloatArray,
    ) -> tuple[People, IntArray]:  # fmt: skip
        """Everybody in column order, and the number of the crowd part that each belongs to; background people's first
        paths go into ``first_paths``, how people cross a road into ``crossings``, and what people of a street have in
        mind into ``plans``.
        ``road_users``: discs where nobody can stand."""
        scene, suite, name = self._scene, self.scenario.suite, self.scenario.name
        rules = self.scenario.rules
        walled, seconds = len(scene.wall_points) > 0, rules.head_start_s + rules.time_limit_s
        placer = Spawner(
            partial(free_mask, scene) if walled else None,
            (lambda start, goal, radius: shortest_path(scene, start, goal, radius)[1:]) if walled else None,
            self.scenario.rules.time_limit_s,
            self._where,
            road_users,
        )
        placed = []
        for index, part in enumerate(self.scenario.crowd):
            rng = generator_for(suite, name, seed, "placement", index)
            if index in replays:
                placed.append(_stand_ins(replays[index].group, part.radius))
            elif isinstance(part.placement, BehaviourPlacement):
                people, first_paths[index] = place_background(placer, part, part.placement, self._networks[index], rng)
                placed.append(people)
            elif isinstance(part.placement, CrossingPlacement):
                roads = scene.spec.roads or Roads()
                people, crossings[index] = place_crossing_people(placer, part, part.placement, roads, seconds, rng)
                placed.append(people)
            elif isinstance(part.placement, StreetPlacement):
                people, plans[index] = place_street_people(placer, part, part.placement, scene.spec, rng)
                placed.append(people)
            else:
                placed.append(placer.place(part, rng))
        part_of = np.repeat(np.arange(len(placed)), np.array([len(people) for people in placed], np.intp))
        return join_people(placed), part_of

    def _fill_people(self, agents: FloatArray, flags: IntArray, crowd: People, part_of: IntArray) -> None:
        """The columns of the people, ``agents`` and ``flags`` being theirs only."""
        code, share, sees_robot, at_end, reactivity, hurry, acceleration = (
            values[part_of] for values in self._part_settings
        )
        first = np.where((crowd.route_length > 0)[:, None], crowd.routes[:, 0], crowd.start)
        leg = first - crowd.start
        here = crowd.enter_s <= 0
        walking = (code != layout.MODEL_REPLAY) & (code != layout.MODEL_NONE)
        pace = np.where(walking, crowd.speed, 0.0) / np.maximum(exact.hypot(leg[:, 0], leg[:, 1]), 1e-6)
        agents[layout.PX : layout.PY + 1] = crowd.start.T
        agents[layout.VX : layout.VY + 1] = (leg * pace[:, None]).T
        agents[layout.RADIUS] = crowd.radius
        agents[layout.PREF_SPEED] = crowd.speed
        agents[layout.MAX_SPEED] = hurry * crowd.speed
        agents[layout.MAX_ACCELERATION] = acceleration
        agents[layout.SHARE] = share
        agents[layout.GOAL_X : layout.GOAL_Y + 1] = first.T
        agents[layout.HEADING] = np.where(np.isnan(crowd.heading), exact.arctan2(leg[:, 1], leg[:, 0]), crowd.heading)
        agents[layout.ENTER_TIME] = crowd.enter_s
        agents[layout.PACE] = 1.0
        agents[layout.HEAD_YAW] = np.nan
        flags[layout.MODEL] = code
        flags[layout.ACTIVE] = here & (code != layout.MODEL_REPLAY)
        flags[layout.GROUP] = crowd.group
        flags[layout.SEES_ROBOT] = sees_robot
        flags[layout.AT_END] = at_end
        flags[layout.REACTIVITY] = reactivity

    def _fill_replay(
        self, agents: FloatArray, flags: IntArray, part_of: IntArray, replays: dict[int, Replay]
    ) -> tuple[FloatArray | None, IntArray]:
        """The replay over all people (None: nobody is replayed), their state at time 0, and everybody's number."""
        people = len(part_of)
        person_id = np.arange(people, dtype=np.int64)
        if not replays:
            return None, person_id
        steps = max(len(replay.tracks) for replay in replays.values())
        replay = np.full((steps, people, 4), np.nan, np.float32)
        for index, (tracks, ids, _) in replays.items():
            columns = np.flatnonzero(part_of == index)
            replay[: len(tracks), columns] = tracks
            if len(replays) == 1 and len(ids):  # keep the recording's own numbers
                person_id += int(ids.max()) + 1
                person_id[columns] = ids
            here = np.isfinite(tracks[0, :, 0])
            agents[[[layout.PX], [layout.PY], [layout.VX], [layout.VY]], columns[here]] = tracks[0, here].T
            agents[layout.HEADING, columns[here]] = exact.arctan2(tracks[0, here, 3], tracks[0, here, 2])
            flags[layout.ACTIVE, columns[here]] = 1
            agents[layout.PREF_SPEED, columns] = np.maximum(_mean_speed(tracks), SLOWEST_REROUTE)
            agents[layout.MAX_SPEED, columns] = FASTER_THAN_PREFERRED * agents[layout.PREF_SPEED, columns]
        return replay, person_id


def check_extra_sensors(extra: Iterable[str], where: str) -> None:
    """``BadInput`` unless every sensor that has settings in ``sensors.extra`` is an installed plug-in."""
    for name in extra:
        if name in registry.SENSORS and name not in registry.SET_BY_POLICIES:
            raise BadInput(f"{where}: sensors.extra is for plug-ins; the settings of {name!r} are elsewhere in sensors")
        if name not in registry.names("sensors"):
            known = [known for known in registry.names("sensors") if known not in registry.SENSORS]
            raise UnknownName("plug-in sensor", name, known, where)


def _share_of(part: CrowdPart) -> float:
    if part.share is not None:
        return part.share
    return 0.0 if part.model in ("static", "replay") else 1.0


def _hurry_of(part: CrowdPart) -> float:
    """How much faster than preferred people of a part walk at most; speeds of those who cross are published limits."""
    return 1.0 if isinstance(part.placement, CrossingPlacement) else FASTER_THAN_PREFERRED


def _acceleration_of(part: CrowdPart) -> float:
    """m/s²; 0: unlimited."""
    return MOST_ACCELERATION if isinstance(part.placement, CrossingPlacement) else 0.0


def _mean_speed(tracks: FloatArray) -> FloatArray:
    """Each replayed person's recorded speed, averaged over the time in which they are there, m/s."""
    there = np.isfinite(tracks[..., 0])
    speed = np.where(there, exact.hypot(tracks[..., 2], tracks[..., 3]), 0.0).sum(axis=0)
    mean: FloatArray = speed / np.maximum(there.sum(axis=0), 1)
    return mean


def _stand_ins(groups: IntArray, radius: float) -> People:
    """Replayed people before their recording says where they are."""
    n = len(groups)
    return make_people(np.zeros((n, 2)), np.zeros((n, 1, 2)), np.zeros(n, np.int64), np.zeros(n), radius, group=groups)
