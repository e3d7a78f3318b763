"""Events: people who do something because of where the robot is, as written in a scenario's ``events``; and the
gestures that people make, by name and by the number that records hold.

The first eight events are those of SidewalkBench (Table 4), the others are from the catalogue of social navigation
scenarios, and ``enacting`` is for the scenarios of validation protocols. Distances are in metres between centres unless
a field says otherwise; "ahead" and "behind" mean within 60° of the robot's heading or of its opposite. Left and right
are the robot's. How each event behaves is described in docs/suites/sidewalk_events.md.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from sidestep.types.base import Angle, Finite, Model, NonNegative, Point, Positive, PositiveSpeed

Gesture = Literal["none", "talk", "queue", "look_around", "wave", "stop", "go_on", "phone"]

GESTURES: dict[str, int] = {
    name: code for code, name in enumerate(("none", "talk", "queue", "look_around", "wave", "stop", "go_on", "phone"))
}
"""Numbers are stable: records hold them."""

GESTURE_NAMES: tuple[str, ...] = tuple(GESTURES)


Side = Literal["left", "right"]


class EventBase(Model):
    """What all events have in common."""

    radius: Positive = 0.3
    """Radius of each person's body, m."""


class Walking(EventBase):
    """An event whose people walk."""

    speed: PositiveSpeed | None = None
    """m/s; None: sampled from 1.1 … 1.65."""


class Obstructing(EventBase):
    """Somebody stands in the middle of the robot's path and looks around."""

    kind: Literal["obstructing"] = "obstructing"
    at: Point
    facing: Finite | None = None
    """rad; None: random."""
    trigger_m: Positive = 10.0
    """Ahead of the robot."""


class Conversing(EventBase):
    """People stand in a circle and talk."""

    kind: Literal["conversing"] = "conversing"
    at: Point
    """Centre of the circle."""
    people: Annotated[int, Field(ge=2, le=12)] | None = None
    """None: 2, 3 or 4, at random."""
    spacing_m: Positive = 1.1
    """Between neighbours on the circle."""
    facing: Finite | None = None
    """Direction from the centre to the first person, rad; None: random."""
    trigger_m: Positive = 10.0
    """Ahead of the robot, of the nearest of them."""


class Queuing(EventBase):
    """People stand in line."""

    kind: Literal["queuing"] = "queuing"
    at: Point
    """Where the first in line stands, at one side of the sidewalk."""
    people: Annotated[int, Field(ge=2, le=30)] | None = None
    """None: 3, 4 or 5, at random."""
    spacing_m: Positive | None = None
    """Between neighbours; None: sampled from 0.7 … 0.9."""
    direction: Angle | None = None
    """Where the line leads to from its head, rad; None: square to the robot's path, towards and across it."""
    last_at: Point | None = None
    """Where the last one stands, if the queue leaves a gap for people who pass; None: in line with the others."""
    trigger_m: Positive = 10.0
    """Ahead of the robot, of the nearest of them."""


class Frontal(Walking):
    """Somebody walks straight at the robot."""

    kind: Literal["frontal"] = "frontal"
    at: Point
    commit_m: NonNegative = 6.0
    """Nearer than this the person aims no more and walks straight on."""
    walk_on_m: Positive = 12.0
    """The path from there on, after which the person leaves the world."""
    trigger_m: Positive = 20.0
    """Ahead of the robot."""


class Lateral(Walking):
    """Somebody crosses right before the robot, at the speed at which both would meet."""

    kind: Literal["lateral"] = "lateral"
    at: Point
    """The point of the robot's path that the person crosses."""
    side: Side | None = None
    """From which side; None: random."""
    side_m: Positive = 2.0
    """How far beside ``at`` the person waits."""
    direction: Angle | None = None
    """Direction of the robot's path at ``at``, rad; None: that of the nearest leg of its route."""
    max_speed: PositiveSpeed = 2.0
    walk_on_m: Positive = 6.0
    """How far past the robot's line the person walks before leaving the world."""
    trigger_m: Positive = 4.0
    """Ahead of the robot, of the waiting person."""


class Overtaking(Walking):
    """Somebody comes from behind and passes."""

    kind: Literal["overtaking"] = "overtaking"
    at: Point
    """Behind the robot, or beside its path: then the person waits until it has passed."""
    side: Side | None = None
    """On which side the person passes; None: random."""
    gap_m: Positive = 0.4
    """Between the bodies while passing."""
    margin: Positive = 0.5
    """How much faster than the robot, m/s."""
    max_speed: PositiveSpeed = 2.2
    walk_on_m: Positive = 20.0
    """How far ahead of the robot the person leaves the world."""
    trigger_m: Positive = 1.0
    """Behind the robot, between the bodies."""


class CrossingEvent(Walking):
    """People cross a crosswalk in both directions when the robot is on it."""

    kind: Literal["crossing"] = "crossing"
    zone: str | tuple[Point, ...] | None = None
    """Name of a region of the scene or a polygon; None: the crosswalk nearest to the robot's path."""
    front: Annotated[int, Field(ge=0, le=20)] = 2
    """People who come towards the robot."""
    behind: Annotated[int, Field(ge=0, le=20)] = 2
    """People who come from behind it."""
    direction: Angle | None = None
    """Direction of the robot's path over the zone, rad; None: that of the nearest leg of its route."""
    free_side: Side | None = None
    """The side of the crosswalk that nobody uses; None: random."""
    trigger_m: NonNegative = 0.0
    """From the robot's centre to the zone; 0: when it is inside."""

    @model_validator(mode="after")
    def _check(self) -> CrossingEvent:
        if self.front + self.behind < 1:
            raise ValueError("a crossing needs at least one person")
        if isinstance(self.zone, tuple) and len(self.zone) < 3:
            raise ValueError(f"a zone needs at least 3 corners, got {len(self.zone)}")
        return self


class Gesturing(EventBase):
    """Somebody turns to the robot and makes a gesture, by default to stop."""

    kind: Literal["gesturing"] = "gesturing"
    at: Point
    gesture: Gesture = "stop"
    trigger_m: Positive = 10.0
    """Ahead of the robot."""


class Joining(Walking):
    """Somebody walks up to people who talk and joins them."""

    kind: Literal["joining"] = "joining"
    at: Point
    """Centre of the circle, which keeps a place free on the side of ``start``."""
    start: Point
    """Where the person who joins waits."""
    people: Annotated[int, Field(ge=1, le=11)] | None = None
    """Those who talk already; None: 2 or 3, at random."""
    spacing_m: Positive = 1.1
    trigger_m: Positive = 8.0
    """Ahead of the robot, of the nearest of them."""


class Leaving(Walking):
    """Somebody leaves people who talk."""

    kind: Literal["leaving"] = "leaving"
    at: Point
    """Centre of the circle."""
    to: Point
    """Where the person who leaves walks; there it leaves the world."""
    people: Annotated[int, Field(ge=2, le=12)] | None = None
    """All of them; None: 3 or 4, at random."""
    spacing_m: Positive = 1.1
    trigger_m: Positive = 8.0
    """Ahead of the robot, of the nearest of them."""


class Following(Walking):
    """Somebody follows the robot."""

    kind: Literal["following"] = "following"
    at: Point
    distance_m: Positive = 1.5
    """Kept from the robot."""
    duration_s: Positive | None = None
    """Then the person turns away and leaves; None: to the end."""
    max_speed: PositiveSpeed = 2.0
    trigger_m: Positive = 3.0
    """From the robot, in any direction."""


class Leading(Walking):
    """Somebody walks ahead of the robot and waits for it."""

    kind: Literal["leading"] = "leading"
    at: Point
    path: tuple[Point, ...] = ()
    """Where to; at its end the person leaves the world. Empty: the rest of the robot's route."""
    distance_m: Positive = 2.5
    """Kept from the robot."""
    max_speed: PositiveSpeed = 2.0
    trigger_m: Positive = 4.0
    """Ahead of the robot."""


class Accompanying(Walking):
    """Somebody walks beside the robot."""

    kind: Literal["accompanying"] = "accompanying"
    at: Point
    side: Side | None = None
    """None: where the person is at the trigger."""
    gap_m: Positive = 0.5
    """Between the bodies."""
    max_speed: PositiveSpeed = 2.0
    trigger_m: Positive = 3.0
    """From the robot, in any direction."""


class Crowding(Walking):
    """People close in on the robot, look at it for a while and go away."""

    kind: Literal["crowding"] = "crowding"
    at: Point
    """They stand on a circle about this point."""
    people: Annotated[int, Field(ge=2, le=12)] | None = None
    """None: 4, 5 or 6, at random."""
    around_m: Positive = 3.0
    """Radius of that circle."""
    gap_m: Positive = 0.4
    """Between each of them and the robot."""
    stay_s: Positive = 10.0
    """From the trigger until they go away."""
    trigger_m: Positive = 2.0
    """From the robot to ``at``, in any direction."""


class Yielding(Walking):
    """Somebody lets the robot go first: signs to it to go on, and goes when it has passed."""

    kind: Literal["yielding"] = "yielding"
    at: Point
    """Beside the robot's path: at an intersection, at a door."""
    to: Point | None = None
    """Where the person goes afterwards; None: square across the robot's path, as far beyond it."""
    trigger_m: Positive = 6.0
    """Ahead of the robot."""


class Claiming(Walking):
    """Somebody signs to the robot to wait, goes first, and signs to it to go on."""

    kind: Literal["claiming"] = "claiming"
    at: Point
    """Beside the robot's path: at an intersection, at a door."""
    to: Point | None = None
    """Where the person goes; None: square across the robot's path, as far beyond it."""
    hold_s: NonNegative = 1.0
    """How long the person signs before setting off."""
    trigger_m: Positive = 6.0
    """Ahead of the robot."""


class Exiting(Walking):
    """People come out of a room or a lift before anybody can go in."""

    kind: Literal["exiting"] = "exiting"
    door: Point
    """The middle of the door."""
    direction: Angle
    """Where it leads out to, rad."""
    people: Annotated[int, Field(ge=1, le=12)] | None = None
    """None: 2, 3 or 4, at random."""
    inside_m: Positive = 1.0
    """How far behind the door the first one stands; the others 0.9 m behind each other."""
    spread: NonNegative = 0.9
    """Angle by which they turn off outside, one to the left, one to the right, rad."""
    walk_on_m: Positive = 6.0
    """How far from the door they leave the world."""
    trigger_m: Positive = 4.0
    """From the robot to the door, in any direction."""


class Entering(Walking):
    """Somebody goes into a room or a lift with the robot."""

    kind: Literal["entering"] = "entering"
    door: Point
    """The middle of the door."""
    direction: Angle
    """Where it leads out to, rad."""
    at: Point
    """Where the person waits."""
    to: Point
    """Where the person stands inside."""
    first: Literal["person", "robot"] = "person"
    """Whether the person or the robot goes first; a person who lets the robot go first signs to it to go on."""
    trigger_m: Positive = 3.0
    """From the robot to the door, in any direction."""


Conduct = Literal["walk_on", "wave_on", "first_come", "surprise"]
"""What the person of an ``enacting`` does: walk on; stop and wave the robot on; go first if first at the door; meet the
robot at a corner, startled."""


class Enacting(Walking):
    """Somebody enacts a scenario of a validation protocol: sets off when the robot has come to a mark, walks along a
    path, and gives way to the robot only where ``conduct`` says so. A robot that takes a precedence that it does not
    have, or that rushes at a startled person, ends as ``disobeyed``."""

    kind: Literal["enacting"] = "enacting"
    path: Annotated[tuple[Point, ...], Field(min_length=2)]
    """From where the person waits to where the person leaves the world."""
    conduct: Conduct = "walk_on"
    start_m: NonNegative = 1.0
    """The person sets off when the robot has come so far along its route."""
    meet: Point | None = None
    """Where the paths meet: the middle of a crossing or a door, a corner. None: they are one path."""
    zone_m: Positive = 1.2
    """The robot is at ``meet`` when its centre is nearer than this; only one of both has precedence there."""
    arrive_m: Positive = 2.5
    """The first to come nearer to ``meet`` than this has arrived first (``first_come``)."""
    wait_m: Positive = 1.8
    """How far before ``meet`` a person stops who lets the robot go first."""
    startle_m: Positive = 2.0
    """At this distance from the robot, near ``meet``, the person is startled and stops (``surprise``)."""
    patience_s: NonNegative = 4.0
    """How long the person waits before a robot that stands in the path, then walks round it."""
    side: Side = "right"
    """On which side of the person's path."""

    @model_validator(mode="after")
    def _check(self) -> Enacting:
        if self.meet is None and self.conduct != "walk_on":
            raise ValueError(f"conduct: {self.conduct} needs meet, the point where the paths meet")
        return self


class PluginEvent(EventBase):
    """An event that a plug-in package writes (entry point group ``sidestep.events``)."""

    kind: Literal["plugin"] = "plugin"
    name: str
    """Name of the entry point."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """The plug-in's own; it says what they mean."""


EventSpec = Annotated[
    Obstructing
    | Conversing
    | Queuing
    | Frontal
    | Lateral
    | Overtaking
    | CrossingEvent
    | Gesturing
    | Joining
    | Leaving
    | Following
    | Leading
    | Accompanying
    | Crowding
    | Yielding
    | Claiming
    | Exiting
    | Entering
    | Enacting
    | PluginEvent,
    Field(discriminator="kind"),
]
"""An event of any kind."""
