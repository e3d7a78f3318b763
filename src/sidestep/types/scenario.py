"""What happens, to whom, where, for how long: the frozen description of an episode, as written in YAML files."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from sidestep._util import exact
from sidestep.types.base import (
    Angle,
    Coordinate,
    FarPoint,
    Finite,
    Model,
    NonNegative,
    Point,
    Pose,
    Positive,
    PositiveSpeed,
    Speed,
)
from sidestep.types.behaviour import BehaviourPlacement
from sidestep.types.events import EventSpec
from sidestep.types.outcome import Rules
from sidestep.types.robot import DynamicsName, RobotSpec
from sidestep.types.scene import SceneSpec
from sidestep.types.sensors import Sensors

Box = tuple[Coordinate, Coordinate, Coordinate, Coordinate]
"""x_min, y_min, x_max, y_max, m."""

AtEnd = Literal["stay", "leave", "loop"]
"""After the last waypoint: stand there, leave the world, or walk back to the start and round again."""

Reactivity = Literal["none", "pause", "reroute"]
"""What replayed people do when the robot interferes: nothing, wait, or walk round it and back to their recording."""


class Person(Model):
    """One pedestrian, placed by hand."""

    start: Point
    waypoints: tuple[Point, ...] = ()
    """Points to walk to, in order. None: the person stands."""
    speed: Speed | None = None
    """Preferred speed, m/s; None: sampled from the part's distribution."""
    radius: Positive | None = None
    group: int | None = None
    enter_s: NonNegative = 0.0
    heading: Angle | None = None


class CirclePlacement(Model):
    """People on a circle who walk to the opposite side: the classic crossing."""

    kind: Literal["circle"] = "circle"
    count: Annotated[int, Field(ge=0, le=100_000)]
    radius: Positive = 4.0
    centre: Point = (0.0, 0.0)
    jitter: NonNegative = 0.3
    """Uniform noise of each start about the circle, m."""


class RandomPlacement(Model):
    """People at free places of a box, who walk to other free places of it."""

    kind: Literal["random"] = "random"
    count: Annotated[int, Field(ge=0, le=100_000)]
    area: Box
    goals: Annotated[int, Field(ge=1, le=50)] = 1
    """How many places each person visits."""


class FlowPlacement(Model):
    """People who come into the world over time in one box and walk to another: a stream."""

    kind: Literal["flow"] = "flow"
    origin: Box
    destination: Box
    via: tuple[Point, ...] = ()
    per_minute: Positive
    """Expected arrivals (Poisson), people per minute."""
    until_s: Positive | None = None
    """Last arrival; None: the time limit."""
    already_walking: bool = True
    """Also people on their way at time 0, so that the stream is steady from the start."""
    group_share: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Share of arrivals that are pairs walking together."""


class ReplayPlacement(Model):
    """Recorded people, as they walked."""

    kind: Literal["replay"] = "replay"
    dataset: str | None = None
    """Name of an installed dataset."""
    path: str | None = None
    """A file with tracks; the format is detected."""
    rate_hz: Positive | None = None
    """How many frame numbers of the file at ``path`` pass in a second, unless the file says it."""
    start_s: Finite = 0.0
    """The recording's time that becomes time 0."""
    speed: Annotated[Positive, Field(le=1000)] = 1.0
    """How much faster than recorded the clock runs."""
    people: tuple[int, ...] | None = None
    """Only these; None: everybody present in the time window."""
    first_person: int | None = None
    """Only people from this number on, in the order of their numbers, up to the first who comes after the time window:
    SocNavBench's rule."""
    offset: FarPoint = (0.0, 0.0)
    rotation: Angle = 0.0
    """Dataset frame to world frame: mirror, scale, rotate (rad), then shift (m)."""
    mirror: bool = False
    """Whether the recording's y is turned round before anything else."""
    scale: Annotated[Positive, Field(le=1e6)] = 1.0

    @model_validator(mode="after")
    def _check(self) -> ReplayPlacement:
        if (self.dataset is None) == (self.path is None):
            raise ValueError("a replay needs either a dataset or a path")
        if self.dataset is not None and self.rate_hz is not None:
            raise ValueError("rate_hz goes with a path; an installed dataset has its own")
        return self


class SyntheticPlacement(Model):
    """People generated from the fitted statistics of a recording, then replayed."""

    kind: Literal["synthetic"] = "synthetic"
    statistics: str
    """Name of the fitted statistics; they name their floor plan, whose frame the people are in."""


class CrossingPlacement(Model):
    """People who cross a road at the scene's crossings, between pairs of boxes. Defaults: IntersectNav's."""

    kind: Literal["crossing"] = "crossing"
    boxes: Annotated[tuple[tuple[Box, Box], ...], Field(min_length=1)]
    """People of one box walk to the other, and the other way round."""
    count: tuple[Annotated[int, Field(ge=0, le=1000)], Annotated[int, Field(ge=0, le=1000)]] = (20, 30)
    """Fewest and most, drawn uniformly; then rounded up so that every box has the same number."""
    speed: tuple[PositiveSpeed, PositiveSpeed] = (1.3, 1.8)
    """Preferred speed, drawn uniformly, m/s."""
    look_s: tuple[NonNegative, NonNegative] = (0.4, 1.4)
    """How long people look before they step onto the road, drawn uniformly, s."""
    accepts_gap_s: NonNegative | None = None
    """People wait until every vehicle leaves them this much more time than they need, s; None: they go whatever
    comes."""
    rest_s: tuple[NonNegative, NonNegative] | None = None
    """How long people who have crossed stay in the box before they turn to a new goal: another box that is paired with
    it, drawn uniformly, s; None: they cross once."""

    @model_validator(mode="after")
    def _check(self) -> CrossingPlacement:
        for name in ("count", "speed", "look_s", "rest_s"):
            least, most = getattr(self, name) or (0.0, 0.0)
            if least > most:
                raise ValueError(f"{name} is (least, most)")
        return self


class StreetPlacement(Model):
    """People on the sidewalks of a street along x (``scene: street:…``): most walk on, the others have to do with the
    road. They cross at a zebra or an island where there is one in reach, or anywhere; run across; hesitate in front of
    a car; go to the kerb and turn back; or wait there and stay."""

    kind: Literal["street"] = "street"
    count: tuple[Annotated[int, Field(ge=0, le=1000)], Annotated[int, Field(ge=0, le=1000)]] = (10, 16)
    """Fewest and most, drawn uniformly."""
    sidewalk_m: Positive = 3.5
    """Width of the sidewalks behind the kerbs."""
    at_kerb_share: Annotated[float, Field(ge=0, le=1)] = 0.5
    """Share of people who have to do with the road."""
    vehicle_x: Coordinate = -52.0
    """Where along the street a vehicle is expected at time 0."""
    vehicle_mps: Annotated[Finite, Field(ge=-100, le=100)] = 9.0
    """Velocity along x at which it is expected to come."""
    arrive_s: tuple[Finite, Finite] = (-9.0, 1.5)
    """When people get to the kerb, drawn uniformly: after the moment at which that vehicle would pass there, s."""
    gap_s: tuple[Finite, NonNegative] = (1.8, 1.2)
    """Mean and standard deviation of what people want to have left of the time gap to a vehicle when they have left its
    lane, s; at least -0.8 s, and 0.7 s less at a zebra, where most also go if the driver can stop."""
    speed_at_run: tuple[PositiveSpeed, PositiveSpeed] = (2.2, 3.2)
    """Speed of people who run across, drawn uniformly, m/s."""

    @model_validator(mode="after")
    def _check(self) -> StreetPlacement:
        for least, most in (self.count, self.arrive_s, self.speed_at_run):
            if least > most:
                raise ValueError("count, arrive_s and speed_at_run are (least, most)")
        if abs(self.vehicle_mps) < 1.0:
            raise ValueError("vehicle_mps is a velocity along x of at least 1 m/s, negative to the west")
        return self


Placement = Annotated[
    CirclePlacement
    | RandomPlacement
    | FlowPlacement
    | ReplayPlacement
    | SyntheticPlacement
    | BehaviourPlacement
    | CrossingPlacement
    | StreetPlacement,
    Field(discriminator="kind"),
]


class SpeedDistribution(Model):
    """Preferred walking speeds: normal, cut at the limits. Default: Weidmann 1993 (1.34 ± 0.26 m/s)."""

    mean: PositiveSpeed = 1.34
    sd: Speed = 0.26
    low: Speed = 0.6
    high: PositiveSpeed = 2.0

    @model_validator(mode="after")
    def _check(self) -> SpeedDistribution:
        if not self.low <= self.mean <= self.high:
            raise ValueError("speeds need low ≤ mean ≤ high")
        return self


class CrowdPart(Model):
    """Some of the people, all moved by one crowd model. A mixed crowd has several parts."""

    model: str = "orca"
    """Name of a crowd model: orca, social_force_helbing, social_force_moussaid, static (stands) or replay."""
    people: tuple[Person, ...] = ()
    placement: Placement | None = None
    sees_robot: bool = True
    share: NonNegative | None = None
    """Weight of these people's part of a mutual avoidance (ORCA): i takes share_i / (share_i + share_j). None: 1, and 0
    for static and replayed people, who give way to nobody."""
    reactivity: Reactivity = "none"
    """What replayed people do when the robot interferes (docs/simulation.md, reactive replay)."""
    at_end: AtEnd = "stay"
    speed: SpeedDistribution = Field(default_factory=SpeedDistribution)
    radius: Positive = 0.25
    parameters: dict[str, Finite] = Field(default_factory=dict)
    """Overrides of the model's parameters by name."""

    @model_validator(mode="before")
    @classmethod
    def _accept_older_words(cls, data: Any) -> Any:
        """``placement: {kind: twin, twin: NAME}``, as in records and scenario files up to version 0.2."""
        placement = data.get("placement") if isinstance(data, dict) else None
        if not isinstance(placement, dict) or placement.get("kind") != "twin" or "twin" not in placement:
            return data
        others = {key: value for key, value in placement.items() if key not in ("kind", "twin")}
        return {**data, "placement": {**others, "kind": "synthetic", "statistics": placement["twin"]}}

    @model_validator(mode="after")
    def _check(self) -> CrowdPart:
        replayed = isinstance(self.placement, ReplayPlacement | SyntheticPlacement)
        if replayed != (self.model == "replay"):
            raise ValueError("model: replay and placement: {kind: replay} or {kind: synthetic} go together")
        if self.people and replayed:
            raise ValueError("replayed people come from a recording; put hand-placed people in another part")
        if self.reactivity != "none" and self.model != "replay":
            raise ValueError("reactivity is for replayed people; people of the other models react by themselves")
        if not self.people and self.placement is None:
            raise ValueError("a crowd part needs people or a placement")
        if isinstance(self.placement, BehaviourPlacement):
            self._check_behaviour()
        return self

    def _check_behaviour(self) -> None:
        if self.model in ("static", "script"):
            raise ValueError("people on a behaviour graph walk; take the model orca or one of the social forces")
        if self.people:
            raise ValueError("people on a behaviour graph are placed by it; put hand-placed people in another part")
        if self.at_end != "stay":
            raise ValueError("people on a behaviour graph have no end; leave at_end out")
        if self.speed != SpeedDistribution():
            raise ValueError("people on a behaviour graph have placement.speeds; leave speed out")


class RobotPlacement(Model):
    """One robot: what it is, where it starts, where it is to go."""

    spec: str | RobotSpec = "pioneer_3dx"
    start: Pose
    goal: Point
    route: tuple[Point, ...] = ()
    """Points to pass before the goal, for policies that need ``route`` and for route completion."""
    dynamics: DynamicsName | Literal["policy"] | None = None
    """Replaces the spec's dynamics (``holonomic``: position mode with a speed limit). ``policy``: what the
    policy declares in its ``dynamics``, else the spec's."""
    share: NonNegative = 1.0
    """The share of an avoidance that people who see the robot expect it to take."""
    speed: Speed = Field(default=0.0, exclude_if=lambda speed: speed == 0.0)
    """Speed along its heading at time 0, m/s."""


class VehiclePlacement(Model):
    """One vehicle: what it is, where it starts, and who drives it. It is never driven by the policy under test."""

    kind: str
    """Name of a kind of road user: car, van, bicycle, or one of a plug-in."""
    start: Pose | None = None
    """x, y (m) and heading (rad) of the reference point, the rear axle of the bundled kinds; None: the beginning of
    the path."""
    path: tuple[Point, ...] = ()
    """Points that its driver follows, m."""
    speed: Speed = 0.0
    """Speed at time 0, and the speed that its driver wants to keep, m/s."""
    driver: str | None = None
    """Name of a driver; None: ``follow_path`` where there is a path, else ``parked``."""
    parameters: dict[str, Any] = Field(default_factory=dict)
    """Settings of the driver by name."""
    spec: RobotSpec | None = None
    """Footprint, limits and look in place of the kind's own. Records always hold it."""

    @model_validator(mode="after")
    def _check(self) -> VehiclePlacement:
        if len(self.path) == 1:
            raise ValueError("a path has at least two points; a vehicle that stands has a start instead")
        if self.start is None and not self.path:
            raise ValueError("a vehicle needs a start (x, y, heading) or a path")
        return self

    @property
    def pose(self) -> Pose:
        """Where it starts: x, y, heading."""
        if self.start is not None:
            return self.start
        (x, y), (ahead_x, ahead_y) = self.path[:2]
        return x, y, float(exact.arctan2(ahead_y - y, ahead_x - x))

    @property
    def driver_name(self) -> str:
        """Name of who drives it."""
        return self.driver or ("follow_path" if self.path else "parked")


class LaneTraffic(Model):
    """Vehicles drawn for every seed, which drive along the scene's lanes (``driver: lane``)."""

    count: tuple[Annotated[int, Field(ge=0, le=100)], Annotated[int, Field(ge=0, le=100)]] = (6, 15)
    """Fewest and most; drawn uniformly."""
    per_km: NonNegative | None = None
    """Vehicles per kilometre of lane outside of junctions, in place of ``count``, at most 100; they may start on every
    such lane."""
    returns_s: Positive | None = None
    """Time in seconds after which a vehicle that has left the scene comes in again where its lanes begin, as soon as
    there is room; None: it does not return."""
    parked_share: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Share of the scene's parking bays in which a car stands."""
    kinds: dict[str, Positive] = Field(default_factory=lambda: {"car": 8.0, "van": 1.0, "bicycle": 1.0})
    """Kinds of road users and how often each is drawn."""
    speed_share: tuple[Positive, Positive] = (0.8, 1.1)
    """Desired speed of drivers as a share of a lane's speed limit, from … to, drawn uniformly."""
    starts: Literal["rolling", "standing"] = "rolling"
    """At time 0, or at the beginning of the head start: ``rolling`` at the speed that the driver wants, or standing."""
    anywhere: bool = False
    """Whether vehicles may start on every lane outside of junctions, off crossings, as they do with ``per_km``; else on
    lanes that lead to a junction."""
    apart_m: Positive = 12.0
    """Between two vehicles at the start, and from the robots."""
    parameters: dict[str, Any] = Field(default_factory=dict)
    """Settings of all drivers by name."""

    @model_validator(mode="after")
    def _check(self) -> LaneTraffic:
        if self.count[0] > self.count[1] or self.speed_share[0] > self.speed_share[1]:
            raise ValueError("count and speed_share are (least, most)")
        return self


class Scenario(Model):
    """One episode's description. With a seed it is one world, down to the last bit."""

    name: str
    suite: str = "custom"
    summary: str = ""
    scene: str | SceneSpec = Field(default_factory=SceneSpec)
    """A floor plan's name, a path to a scene file, or the scene itself."""
    robots: tuple[RobotPlacement, ...]
    """The first is the one under test."""
    crowd: tuple[CrowdPart, ...] = ()
    events: tuple[EventSpec, ...] = ()
    """People who do something because of where the first robot is (docs/suites/sidewalk_events.md)."""
    traffic: tuple[VehiclePlacement, ...] = ()
    """Vehicles: cars, cyclists and other road users than people and robots under test (docs/scenarios.md)."""
    lane_traffic: LaneTraffic | None = None
    """Further vehicles, drawn with the seed; in a record they are part of ``traffic``."""
    rules: Rules = Field(default_factory=Rules)
    sensors: Sensors = Field(default_factory=Sensors)
    tags: tuple[str, ...] = ()
    notes: dict[str, Any] = Field(default_factory=dict)
    """Anything a suite wants to carry along; not read by the simulator."""

    @model_validator(mode="after")
    def _check(self) -> Scenario:
        if not self.robots:
            raise ValueError("a scenario needs at least one robot")
        if self.rules.head_start_s > 0.0:
            replayed = any(isinstance(part.placement, ReplayPlacement | SyntheticPlacement) for part in self.crowd)
            if replayed or self.events or any(robot.speed > 0.0 for robot in self.robots):
                raise ValueError(
                    "rules.head_start_s does not go with replayed people, events, or robots that have a speed at "
                    "time 0: leave it out"
                )
        return self

    @property
    def ego(self) -> RobotPlacement:
        """The robot under test."""
        return self.robots[0]

    @property
    def source(self) -> Literal["recorded", "generated", "mixed"]:
        """Where the people come from."""
        recorded = {isinstance(part.placement, ReplayPlacement) for part in self.crowd}
        if recorded == {True} and not self.events:
            return "recorded"
        return "mixed" if True in recorded else "generated"
