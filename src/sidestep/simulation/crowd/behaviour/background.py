"""The state machine of background people: walk along edges, idle, interact with an object, talk with others.

Only who has arrived, whose time is over, or who just met somebody decides anything; that is a few people per step. All
random numbers come from one generator, in the order of the people's numbers, so that a seed gives one course of events.
"""

from __future__ import annotations

from math import pi

import numpy as np
from scipy.spatial import cKDTree

from sidestep._util import exact
from sidestep._util.exact import arctan2
from sidestep.kernels import layout
from sidestep.simulation.crowd.behaviour.journeys import FirstPaths, Journeys, draw_goal
from sidestep.simulation.crowd.behaviour.network import Network
from sidestep.simulation.crowd.behaviour.stops import (
    Group,
    PeopleView,
    Standing,
    gap_square,
    hold_people,
    pass_waypoints,
    pose_people,
    ring_centre,
    ring_places,
    squared_length,
)
from sidestep.types.base import BoolArray, FloatArray, Point
from sidestep.types.behaviour import Behaviour, Choice, Dwell
from sidestep.types.events import GESTURES

WALK, IDLE, INTERACT, TALK, WAIT = range(5)
"""States. Wait: at a node, for those who go first in the plan."""

ARRIVED_M = 0.6
HELD_UP_M, SLOW_MPS = 1.5, 0.3
"""A person this close to a goal and this slow has also arrived."""
SETTLED_M = 0.35
"""People this close to their place face what they do."""
GIVE_UP_S = 6.0
"""People who do not reach their place in this time stand where they are."""
MEET_M, MEET_NODE_M, MEET_EVERY_S = 2.0, 3.0, 0.5
"""People who come so near to each other, so near to a node, may stop to talk; time between two checks, s."""
CALL_M = 6.0
"""People who want to talk go to somebody who stands within this distance."""
STUCK_M, STUCK_S = 0.5, 10.0
"""People who walk no farther than this in this time go elsewhere."""
FIRST_GROUP = 2_000_000
"""Numbers of talking groups start here, above those of walking groups."""


class Background:
    """N people of one crowd part in one episode."""

    def __init__(self, network: Network, behaviour: Behaviour, first: FirstPaths, rng: np.random.Generator) -> None:
        n = len(first.lane)
        self._network, self._behaviour, self._rng = network, behaviour, rng
        self.state = np.full(n, WALK, np.int8)
        self.until = np.full(n, np.inf)  # s: when somebody who stands decides again
        self.first_choice_s = np.full(n, np.inf)  # s: when somebody first drew what to do next
        self.groups: list[Group | None] = [None] * n  # the group in which each talks
        self._journeys = Journeys(network, first)
        self._standing = Standing(network, n)
        self._on_the_way = np.zeros(n, bool)  # of people who talk: whether they walk on afterwards
        self._face = np.zeros(n, np.float32)
        self._gesture = np.zeros(n, np.int32)
        self._phase = rng.random(n)
        self._groups_made = 0
        self._near: set[tuple[int, int]] = set()
        self._next_meeting, self._next_check = 0.0, 0.0
        self._anchor: FloatArray | None = None
        self._share = np.ones(n, np.float32)  # of an avoidance, while walking
        self._model = np.zeros(n, np.int32)  # which moves them while walking
        self._since = np.zeros(n)  # s: when somebody was last sent to a place to stand
        self._begun = False

    def advance(self, stage: PeopleView, dt: float) -> None:
        """Tell everybody what to do in the coming step of ``dt`` seconds."""
        if not self._begun:
            self._begun = True
            self._share = stage.agents[layout.SHARE].copy()
            self._model = stage.flags[layout.MODEL].copy()
            for i in range(len(self.state)):
                self._set_out(stage, i)
        walking = self.state == WALK
        pass_waypoints(stage, walking)
        for i in np.flatnonzero(walking & _has_arrived(stage)).tolist():
            self._arrive(stage, i)
        for i in np.flatnonzero(self.until <= stage.now).tolist():
            if self.until[i] <= stage.now:  # a group's time is over for all of its members at once
                self._time_over(stage, i)
        if stage.now >= self._next_meeting:
            self._next_meeting += MEET_EVERY_S
            self._meet(stage)
            self._settle_here(stage)
        if stage.now >= self._next_check:
            self._next_check += STUCK_S
            self._free_stuck(stage)
        standing = self.state != WALK
        hold_people(stage, standing, self._model, self._share, dt)
        settled = standing & (gap_square(stage) < SETTLED_M * SETTLED_M)
        pose_people(stage, settled, self._face, self._gesture, self._phase, dt)

    def _set_out(self, stage: PeopleView, i: int) -> None:
        """At a node: further along the path, or a decision at its end."""
        if self._journeys.is_over(i):
            self._decide(stage, i, self._behaviour.after_walk)
        elif self._journeys.is_planned(i):
            self._go_on(stage, i)
        else:
            self._journeys.walk(stage, i)

    def _arrive(self, stage: PeopleView, i: int) -> None:
        """At the last waypoint that was handed over."""
        if self._journeys.note_passed(stage, i, arrived=True):
            self._set_out(stage, i)
        else:
            self._journeys.walk(stage, i)

    def _go_on(self, stage: PeopleView, i: int) -> None:
        """Under the plan: to the next node if it is this person's turn there, else wait."""
        if self._journeys.may_leave(i):
            self._leave(stage, i)
        else:
            self._stand(stage, i, WAIT, stage.place(i), float(stage.agents[layout.HEADING, i]), "none")
            self.until[i] = stage.now + self._behaviour.patience_s

    def _leave(self, stage: PeopleView, i: int) -> None:
        self.state[i], self.until[i] = WALK, np.inf
        for j in self._journeys.leave(i):
            self.until[j] = stage.now
        self._journeys.walk(stage, i)

    def _time_over(self, stage: PeopleView, i: int) -> None:
        match self.state[i]:
            case state if state == WAIT:
                self._leave(stage, i)
            case state if state == TALK:
                self._part(stage, i)
            case state if state == IDLE:
                self._decide(stage, i, self._behaviour.after_idle)
            case _:
                self._decide(stage, i, self._behaviour.after_interact)

    def _decide(self, stage: PeopleView, i: int, choice: Choice) -> None:
        """Draw what comes next among what is possible here."""
        self.first_choice_s[i] = min(self.first_choice_s[i], stage.now)
        node = self._journeys.last_node(i)
        self._give_up_place(stage, i)
        room = self._standing.has_room(node)
        partner = self._partner(stage, i) if choice.talk > 0 else None
        weights = np.array(
            [
                choice.walk,
                choice.idle if room else 0.0,
                choice.interact if room and self._network.is_object[node] else 0.0,
                choice.talk if partner is not None else 0.0,
            ]
        )
        drawn = self._rng.random() * weights.sum()
        state = min(int(np.searchsorted(np.cumsum(weights), drawn, side="right")), TALK)
        if state == TALK and partner is not None and self._talk(stage, i, partner):
            return
        if state == IDLE:
            self._idle(stage, i, node)
        elif state == INTERACT:
            self._interact(stage, i, node)
        else:
            self._walk(stage, i, node)

    def _walk(self, stage: PeopleView, i: int, node: int) -> None:
        goal = draw_goal(self._network, node, self._behaviour, self._rng, set())
        self.state[i], self.until[i] = WALK, np.inf
        self._journeys.begin(stage, i, self._network.path(node, goal, self._behaviour.goal_high_m))

    def _idle(self, stage: PeopleView, i: int, node: int) -> None:
        place, _ = self._standing.take(i, node)
        heading = self._network.graph.nodes[node].heading
        phone, turn = self._rng.random(2)
        face = float(2 * pi * turn) if heading is None else heading
        self._stand(stage, i, IDLE, place, face, "phone" if phone < self._behaviour.phone else "look_around")
        self.until[i] = stage.now + self._dwell(self._behaviour.idle)

    def _interact(self, stage: PeopleView, i: int, node: int) -> None:
        place, first = self._standing.take(i, node)
        self._stand(stage, i, INTERACT, place, self._network.graph.nodes[node].heading or 0.0, "none")
        self._gesture[i] = self._network.gesture[node]
        waits = self._standing.is_queue(node) and not first
        self.until[i] = np.inf if waits else stage.now + self._dwell(self._behaviour.interact)

    def _stand(self, stage: PeopleView, i: int, state: int, place: Point, face: float, gesture: str) -> None:
        self.state[i] = state
        self._face[i], self._gesture[i] = face, GESTURES[gesture]
        self._since[i] = stage.now
        stage.send(i, [place])

    def _settle_here(self, stage: PeopleView) -> None:
        """Let people who cannot reach their place stand where they are."""
        away = gap_square(stage) > SETTLED_M * SETTLED_M
        late = (self.state != WALK) & (self._since < stage.now - GIVE_UP_S) & away
        for i in np.flatnonzero(late).tolist():
            here, group = stage.place(i), self.groups[i]
            stage.send(i, [here])
            if group is not None:
                self._face[i] = arctan2(group.centre[1] - here[1], group.centre[0] - here[0])

    def _give_up_place(self, stage: PeopleView, i: int) -> None:
        for j, place, first in self._standing.release(i):
            stage.send(j, [place])
            self._since[j] = stage.now
            if first:
                self.until[j] = stage.now + self._dwell(self._behaviour.interact)

    def _dwell(self, dwell: Dwell) -> float:
        return float(min(dwell.low_s + (dwell.mean_s - dwell.low_s) * exact.exponential(self._rng), dwell.high_s))

    def _partner(self, stage: PeopleView, i: int) -> int | None:
        """The nearest person who stands idle or talks in a group with room, in sight."""
        x, y = stage.place(i)
        open_to_talk = (self.state == IDLE) | (self.state == TALK)
        open_to_talk[i] = False
        near = open_to_talk & (
            squared_length(stage.agents[layout.PX] - x, stage.agents[layout.PY] - y) < CALL_M * CALL_M
        )
        candidates = np.flatnonzero(near)
        order = np.argsort(
            squared_length(stage.agents[layout.PX, near] - x, stage.agents[layout.PY, near] - y), kind="stable"
        )
        for j in candidates[order].tolist():
            group = self.groups[j]
            if group is not None and len(group.members) >= self._behaviour.most_talking:
                continue
            if self._network.ground.is_clear((x, y), stage.place(j), self._network.radius):
                return int(j)
        return None

    def _talk(self, stage: PeopleView, i: int, j: int) -> bool:
        """``i`` joins ``j``; False: walls are in the way."""
        group = self.groups[j]
        members = [i, *(group.members if group is not None else [j])]
        centre = group.centre if group is not None else ring_centre(stage.place(i), stage.place(j))
        places = ring_places(centre, [stage.place(k) for k in members], self._network.ground, self._network.radius)
        if places is None:
            return False
        if group is None:
            group = Group(FIRST_GROUP + self._groups_made, [], centre, stage.now + self._dwell(self._behaviour.talk))
            self._groups_made += 1
        for k, place in zip(members, places, strict=True):
            if self.groups[k] is None:
                self._join(stage, k, group)
            self._stand(stage, k, TALK, place, arctan2(centre[1] - place[1], centre[0] - place[0]), "talk")
            self.until[k] = group.until
        group.members = members
        return True

    def _join(self, stage: PeopleView, i: int, group: Group) -> None:
        self._on_the_way[i] = self.state[i] == WALK and not self._journeys.is_over(i)
        if self.state[i] == WALK:
            self._journeys.note_passed(stage, i, arrived=False)
        self._give_up_place(stage, i)
        self.groups[i] = group
        stage.flags[layout.GROUP, i] = group.number

    def _part(self, stage: PeopleView, i: int) -> None:
        """The group of ``i`` is at its end; who was on the way walks on, the others decide."""
        group = self.groups[i]
        members = sorted(group.members) if group is not None else [i]
        for k in members:
            self.groups[k] = None
            self.until[k] = np.inf
            stage.flags[layout.GROUP, k] = -1
        for k in members:
            if self._on_the_way[k]:
                self.state[k] = WALK
                self._journeys.walk(stage, k)
            else:
                self._decide(stage, k, self._behaviour.after_talk.model_copy(update={"talk": 0.0}))

    def _meet(self, stage: PeopleView) -> None:
        """Pairs who come near each other near a node: some stop to talk."""
        free = np.flatnonzero(self._may_meet())
        if self._behaviour.meet == 0 or len(free) < 2:
            return
        places = stage.agents[layout.PX : layout.PY + 1, free].T.astype(np.float64)
        a, b = cKDTree(places).query_pairs(1.001 * MEET_M, output_type="ndarray").T
        within = squared_length(*(places[a] - places[b]).T) <= MEET_M * MEET_M
        near = set(zip(free[a[within]].tolist(), free[b[within]].tolist(), strict=True))
        for i, j in sorted(near - self._near):
            if self._rng.random() >= self._behaviour.meet:
                continue
            at_node = self._network.distance_to_node(stage.place(i)) < MEET_NODE_M
            if at_node and self.groups[i] is None and self.groups[j] is None:
                self._talk(stage, i, j)
        self._near = near

    def _may_meet(self) -> BoolArray:
        """Idle people, and those who walk and are not under the plan."""
        walking = self.state == WALK
        for i in np.flatnonzero(walking).tolist():
            walking[i] = not self._journeys.is_planned(i)
        available: BoolArray = walking | (self.state == IDLE)
        return available

    def _free_stuck(self, stage: PeopleView) -> None:
        """Send people who walk without progress back to their last node and to another goal."""
        places = stage.agents[layout.PX : layout.PY + 1].copy()
        if self._anchor is not None:
            still = squared_length(*(places - self._anchor)) < STUCK_M * STUCK_M
            for i in np.flatnonzero(still & (self.state == WALK)).tolist():
                self._journeys.note_passed(stage, i, arrived=False)
                self._walk(stage, i, self._journeys.last_node(i))
        self._anchor = places


def _has_arrived(stage: PeopleView) -> BoolArray:
    """(N,) who is at the last waypoint that they know."""
    slow = squared_length(stage.agents[layout.VX], stage.agents[layout.VY]) < SLOW_MPS * SLOW_MPS
    reach = np.where(slow, HELD_UP_M * HELD_UP_M, ARRIVED_M * ARRIVED_M)
    arrived: BoolArray = (stage.flags[layout.WAYPOINT] >= stage.route_length - 1) & (gap_square(stage) < reach)
    return arrived
