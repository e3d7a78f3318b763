"""Behaviour graphs: where background people walk, stop, look at things and talk, and how often they do."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from sidestep.errors import did_you_mean
from sidestep.types.base import Angle, Model, NonNegative, Point, Positive

Interaction = Literal["look", "look_around", "phone", "queue", "talk", "wave"]
"""What people do at an object: stand before it, or that with a gesture; ``queue``: one behind the other, one served."""

Share = Annotated[float, Field(ge=0, le=1)]

CHOOSES = "chooses"
"""Text of an event of a counterfactual: a background person draws what to do next for the first time."""


class BehaviourNode(Model):
    """A place to walk to. People stand at ``at``, so it must be free, also where it belongs to an object."""

    at: Point
    kind: Literal["waypoint", "object"] = "waypoint"
    name: str = ""
    """Name that edges use; without one, they use the node's number, from 0."""
    heading: Angle | None = None
    """Where people who stand here face, rad: at an object toward it. None: anywhere."""
    interaction: Interaction = "look"
    capacity: Annotated[int, Field(ge=1, le=50)] = 3
    """How many people can stand here at once."""

    @model_validator(mode="after")
    def _check(self) -> BehaviourNode:
        if self.kind == "object" and self.heading is None:
            raise ValueError("an object node needs a heading: where its object is from the place where people stand")
        return self


class BehaviourGraph(Model):
    """Nodes, and the straight edges between them, walked in both directions."""

    nodes: tuple[BehaviourNode, ...]
    edges: tuple[tuple[str | int, str | int], ...] | None = None
    """Pairs of names or numbers of nodes. None: each node with its nearest ones in sight."""
    nearest: Annotated[int, Field(ge=1, le=20)] = 3
    """Without edges: how many each node is joined to, at least."""
    longest_m: Positive = 60.0
    """Without edges: nodes farther apart than this are not joined."""

    @model_validator(mode="after")
    def _check(self) -> BehaviourGraph:
        if len(self.nodes) < 2:
            raise ValueError(f"a behaviour graph needs at least 2 nodes, got {len(self.nodes)}")
        names = [node.name for node in self.nodes if node.name]
        twice = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
        if twice:
            raise ValueError(f"node names must be different; more than once: {', '.join(twice)}")
        if self.edges is not None:
            pairs = self.pairs()
            alone = set(range(len(self.nodes))) - {node for pair in pairs for node in pair}
            if alone:
                raise ValueError(f"no edge leads to {self.label(min(alone))} ({len(alone)} such); join or remove it")
        return self

    def pairs(self) -> list[tuple[int, int]]:
        """The given edges as numbers of nodes."""
        number = {node.name: k for k, node in enumerate(self.nodes) if node.name}
        found = []
        for edge in self.edges or ():
            ends = []
            for end in edge:
                place = number.get(end) if isinstance(end, str) else end
                if place is None:
                    raise ValueError(f"edge {list(edge)}: unknown node {end!r}{did_you_mean(str(end), number)}")
                if not 0 <= place < len(self.nodes):
                    raise ValueError(f"edge {list(edge)}: unknown node {end!r}; numbers are 0 … {len(self.nodes) - 1}")
                ends.append(place)
            if ends[0] == ends[1]:
                raise ValueError(f"edge {list(edge)} leads from a node to itself")
            found.append((ends[0], ends[1]))
        return found

    def label(self, number: int) -> str:
        """How a message calls a node."""
        node = self.nodes[number]
        return f"node {node.name or number!r} at ({node.at[0]:g}, {node.at[1]:g})"


class Dwell(Model):
    """How long something lasts: at least ``low_s``, then exponential with this mean in all, cut at ``high_s``."""

    mean_s: Positive
    low_s: NonNegative
    high_s: Positive

    @model_validator(mode="after")
    def _check(self) -> Dwell:
        if not self.low_s <= self.mean_s <= self.high_s:
            raise ValueError("times need low_s ≤ mean_s ≤ high_s")
        return self


class Choice(Model):
    """Weights of what comes next; what is not possible just then (no object, no room, nobody to talk to) drops out."""

    walk: Positive = 1.0
    idle: NonNegative = 0.0
    interact: NonNegative = 0.0
    talk: NonNegative = 0.0


class Behaviour(Model):
    """The state machine of background people: walk, idle, interact, talk."""

    after_walk: Choice = Choice(walk=0.4, idle=0.15, interact=1.0, talk=0.3)
    """At the goal."""
    after_idle: Choice = Choice(walk=0.8, talk=0.2)
    after_interact: Choice = Choice(walk=0.9, idle=0.1)
    after_talk: Choice = Choice(walk=0.9, idle=0.1)
    """Choice of people who were not on their way; the others walk on."""
    meet: Share = 0.05
    """Probability that two people who come within 2 m of each other near a node stop to talk."""
    phone: Share = 0.4
    """Share of idle people who look at their phone; the others look around."""
    most_talking: Annotated[int, Field(ge=2, le=8)] = 4
    idle: Dwell = Dwell(mean_s=12.0, low_s=3.0, high_s=60.0)
    interact: Dwell = Dwell(mean_s=20.0, low_s=5.0, high_s=120.0)
    talk: Dwell = Dwell(mean_s=25.0, low_s=8.0, high_s=150.0)
    goal_low_m: NonNegative = 15.0
    goal_high_m: Positive = 150.0
    """Goals are sampled among nodes at these distances along the edges, or, where there are none, among all."""
    objects: Share = 0.4
    """Share of goals that are objects, where there are any."""
    lane_m: NonNegative = 0.6
    """People keep to the right of an edge by up to this, where there is room."""
    patience_s: NonNegative = 10.0
    """Time that a person waits at a node for those who go first in the plan of Push and Rotate, s."""

    @model_validator(mode="after")
    def _check(self) -> Behaviour:
        if self.goal_low_m > self.goal_high_m:
            raise ValueError("goals need goal_low_m ≤ goal_high_m")
        return self


class BehaviourPlacement(Model):
    """Background people who live on a behaviour graph: they walk, stop, interact with objects and talk."""

    kind: Literal["behaviour"] = "behaviour"
    count: Annotated[int, Field(ge=0, le=100_000)]
    graph: BehaviourGraph
    paths: Literal["push_and_rotate", "shortest"] = "push_and_rotate"
    """How the first goals are reached: by a plan without conflicts over nodes, where there are at least two more nodes
    than people; else, and for all later goals, by shortest paths."""
    speeds: tuple[Positive, Positive] = (1.1, 1.65)
    """Preferred speeds, m/s, even between these."""
    behaviour: Behaviour = Behaviour()

    @model_validator(mode="after")
    def _check(self) -> BehaviourPlacement:
        if self.speeds[0] > self.speeds[1]:
            raise ValueError("speeds need low ≤ high")
        return self
