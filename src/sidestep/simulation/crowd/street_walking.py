"""People of a street in motion: they walk along, turn to the kerb, look, decide, cross, hesitate, turn back.

Gap acceptance: a person steps onto the road when every vehicle that comes leaves them, after they have left its lane,
the time that they want to have left; the longer they wait the less they want. A vehicle that stands, or that brakes so
that it will stop before them, yields and does not count; nor, for most at a zebra and for those who do not look, does
one that can stop. In the middle of the carriageway they decide again, with the same demands on an island and with
hardly any elsewhere.

The head turns to the traffic (``layout.HEAD_YAW``) from shortly before the kerb until people are on the road; the body
faces the road while they stand at the kerb. People walk round vehicles that stand, not round those that move.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sidestep._util import exact
from sidestep.kernels import layout
from sidestep.simulation.crowd.behaviour.stops import PeopleView, gap_square, pass_waypoints, squared_length
from sidestep.simulation.crowd.street_people import HESITATE, RUN, STAY, TURN_BACK, StreetPlans
from sidestep.types.base import BoolArray, FloatArray

REACHED_M = 0.6
"""Nearer than this to the kerb people decide."""
BLOCKED_M, BLOCKED_MPS = 1.5, 0.25
"""People this close to it and this slow count as arrived as well: somebody else stands there."""
GLANCE_M = 4.0
"""From here to the kerb people look at the traffic."""
LOOK_RAD, MOST_RAD = 1.1, 1.4
TURN_S = 0.6
HALF_LANE_M = 1.5
"""Half of the corridor of a vehicle."""
MOVING_MPS = 0.5
YIELDS_MPS2, STOPS_M = 0.8, 1.0
"""A vehicle that brakes by this and will stop this far before somebody yields."""
REACTION_S = 0.8
"""Reaction time that people give to drivers."""
IMPATIENCE = 0.1
"""s less that people want to have left for every second that they have waited."""
LEAST_GAP_S = 0.3
BLOCKS_M = 0.4
"""A vehicle nearer than this to somebody's way across is in it, even if it stands."""
NOTICED_M = 60.0
NEAR_M = 2.5
"""People walk round a vehicle that stands nearer than this, from the middle of one of its discs."""
STEP_M = 0.35
"""How far from the kerb those who hesitate stop."""
SCARED_S = 6.0
"""They do if a vehicle comes within this time."""
CROSSING_SHARE, SIDEWALK_SHARE = 1.0, 0.3
"""Weights in mutual avoidance: those who cross give way to people on the sidewalk, who are not pushed off it."""
TURN_RATE = 4.0
"""rad/s at which people who stand turn."""
SMOOTH = 0.2

WALKING, LOOKING, CROSSING, PAUSING, IN_MIDDLE, AWAY = range(6)
IS_STANDING = np.array([False, True, False, True, True, False])


class Coming(NamedTuple):
    """V vehicles as somebody sees them who wants to cross."""

    comes: BoolArray  # (V,) whether it comes and does not yield, or is in the way
    time: FloatArray  # (V,) until it is where the person crosses its lane, s
    needed: FloatArray  # (V,) until the person has left its lane, s
    to_stop: FloatArray  # (V,) deceleration with which its driver can stop before the person, m/s²


class StreetWalkers:
    """The state of the people of one crowd part, in one episode."""

    def __init__(self, plans: StreetPlans, model: int) -> None:
        count = len(plans.intent)
        self._plans, self._model = plans, model
        self._state = np.where(plans.kerb >= 0, WALKING, AWAY)
        self._since = np.zeros(count)
        self._has_paused = np.zeros(count, bool)
        self._speed: FloatArray | None = None
        self._braking = np.zeros(0)

    def advance(self, view: PeopleView, step_s: float) -> None:
        """What everybody does in the coming step."""
        self._watch_vehicles(view, step_s)
        waypoint = view.flags[layout.WAYPOINT]
        active = view.flags[layout.ACTIVE] == 1
        along = (self._state == AWAY) | ((self._state == WALKING) & (waypoint < self._plans.kerb))
        pass_waypoints(view, active & along)
        gap = gap_square(view)
        for i in np.flatnonzero(active & (self._state != AWAY)).tolist():
            self._advance_one(view, i, float(gap[i]))
        self._stand(view, step_s)
        self._look(view, gap)
        view.agents[layout.SHARE] = np.where(self._state == CROSSING, CROSSING_SHARE, SIDEWALK_SHARE)
        view.flags[layout.SEES_ROBOT] = self._near_standing_vehicle(view)

    def _watch_vehicles(self, view: PeopleView, step_s: float) -> None:
        """How strongly each vehicle brakes, smoothed, m/s²."""
        vehicles = view.world_agents[:, view.people :].astype(np.float64)
        speed = exact.hypot(vehicles[layout.VX], vehicles[layout.VY])
        if self._speed is None or len(self._speed) != len(speed):
            self._speed, self._braking = speed, np.zeros(len(speed))
        self._braking = (1.0 - SMOOTH) * self._braking + SMOOTH * (self._speed - speed) / step_s
        self._speed = speed
        self._active = view.world_flags[layout.ACTIVE, view.people :] == 1
        self._vehicles = vehicles

    def _advance_one(self, view: PeopleView, i: int, gap: float) -> None:
        plans, state = self._plans, int(self._state[i])
        waited = view.now - float(self._since[i])
        if state == WALKING:
            if view.flags[layout.WAYPOINT, i] == plans.kerb[i] and self._has_reached(view, i, gap):
                self._enter(i, LOOKING, view.now)
                self._decide_at_kerb(view, i, 0.0)
        elif state == LOOKING:
            self._decide_at_kerb(view, i, waited)
        elif state == CROSSING:
            self._cross(view, i, gap)
        elif state == PAUSING:
            if waited >= plans.pause_s[i]:
                self._after_pause(view, i, waited)
        elif state == IN_MIDDLE and self._is_clear(view, i, self._wanted(i, waited, in_middle=True)):
            self._pass_middle(view, i)

    def _has_reached(self, view: PeopleView, i: int, gap: float) -> bool:
        if gap < REACHED_M * REACHED_M:
            return True
        vx, vy = float(view.agents[layout.VX, i]), float(view.agents[layout.VY, i])
        return gap < BLOCKED_M * BLOCKED_M and vx * vx + vy * vy < BLOCKED_MPS * BLOCKED_MPS

    def _enter(self, i: int, state: int, now: float) -> None:
        self._state[i], self._since[i] = state, now

    def _wanted(self, i: int, waited: float, *, in_middle: bool = False) -> float:
        if in_middle and not self._plans.waits_in_middle[i]:
            return 0.0
        wanted = float(self._plans.gap_s[i])
        return wanted if wanted < LEAST_GAP_S else max(wanted - IMPATIENCE * waited, LEAST_GAP_S)

    def _decide_at_kerb(self, view: PeopleView, i: int, waited: float) -> None:
        """Step onto the road, turn back, or stay."""
        plans = self._plans
        if waited < (plans.stays_s[i] if plans.intent[i] == STAY else plans.looks_s[i]):
            return
        if plans.intent[i] in (TURN_BACK, STAY):
            self._turn_back(view, i)
        elif self._is_clear(view, i, self._wanted(i, waited)):
            self._enter(i, CROSSING, view.now)
            view.agents[layout.PREF_SPEED, i] = plans.run_mps[i]
            view.agents[layout.MAX_SPEED, i] = 1.3 * plans.run_mps[i]
            self._head_for(view, i, int(plans.middle[i]))

    def _turn_back(self, view: PeopleView, i: int) -> None:
        view.send(i, [(float(x), float(y)) for x, y in self._plans.back[i]])
        self._enter(i, AWAY, view.now)

    def _head_for(self, view: PeopleView, i: int, waypoint: int) -> None:
        view.flags[layout.WAYPOINT, i] = waypoint
        view.agents[layout.GOAL_X, i], view.agents[layout.GOAL_Y, i] = view.routes[i, waypoint]

    def _cross(self, view: PeopleView, i: int, gap: float) -> None:
        plans = self._plans
        if plans.intent[i] == HESITATE and not self._has_paused[i]:
            kerb_y = float(view.routes[i, plans.kerb[i], 1])
            stepped = abs(float(view.agents[layout.PY, i]) - kerb_y)
            if stepped >= STEP_M + 0.5 and self._comes_within(view, i, SCARED_S):
                self._has_paused[i] = True
                self._enter(i, PAUSING, view.now)
                return
        if view.flags[layout.WAYPOINT, i] == plans.middle[i]:
            if gap < REACHED_M * REACHED_M:
                if self._is_clear(view, i, self._wanted(i, 0.0, in_middle=True)):
                    self._pass_middle(view, i)
                else:
                    self._enter(i, IN_MIDDLE, view.now)
        elif view.flags[layout.WAYPOINT, i] > plans.middle[i] + 1:
            self._enter(i, AWAY, view.now)
            if plans.intent[i] == RUN:
                view.agents[layout.PREF_SPEED, i] = min(float(plans.run_mps[i]), 1.4)

    def _pass_middle(self, view: PeopleView, i: int) -> None:
        self._head_for(view, i, int(self._plans.middle[i]) + 1)
        self._enter(i, CROSSING, view.now)

    def _after_pause(self, view: PeopleView, i: int, waited: float) -> None:
        """Back to the sidewalk, or on as soon as that is possible."""
        if self._plans.gives_up[i]:
            self._turn_back(view, i)
        elif self._is_clear(view, i, self._wanted(i, waited)):
            self._enter(i, CROSSING, view.now)

    def _coming(self, view: PeopleView, i: int) -> Coming:
        vehicles = self._vehicles
        x, y = float(view.agents[layout.PX, i]), float(view.agents[layout.PY, i])
        waypoint = int(view.flags[layout.WAYPOINT, i])
        last = int(self._plans.middle[i]) + 1
        end_x, end_y = (float(value) for value in view.routes[i, last if waypoint <= last else waypoint])
        across = max(abs(end_y - y), 0.1)
        up = 1.0 if end_y > y else -1.0
        until = np.clip((vehicles[layout.PY] - y) * up, 0.0, across)
        dx = vehicles[layout.PX] - (x + (end_x - x) * until / across)
        closing = -vehicles[layout.VX] * np.where(dx >= 0.0, 1.0, -1.0)
        gap = np.maximum(np.abs(dx) - vehicles[layout.RADIUS], 0.0)
        comes = self._active & (closing > MOVING_MPS)
        braking = np.maximum(self._braking, 1e-3)
        stops = (self._braking > YIELDS_MPS2) & (closing * closing < 2.0 * braking * (gap - STOPS_M))
        ahead = (vehicles[layout.PY] - y) * up + HALF_LANE_M
        stretch = float(exact.hypot(end_x - x, end_y - y)) / across
        speed = max(float(self._plans.run_mps[i]), 0.3)
        in_the_way = self._active & (gap < BLOCKS_M) & (until > 0.0)
        comes = (comes & ~stops & (ahead > 0.0)) | in_the_way
        to_stop = closing * closing / (2.0 * np.maximum(gap - REACTION_S * closing, 1e-3))
        to_stop = np.where(in_the_way, np.inf, to_stop)
        return Coming(comes, gap / np.maximum(closing, MOVING_MPS), ahead * stretch / speed, to_stop)

    def _is_clear(self, view: PeopleView, i: int, wanted_s: float) -> bool:
        comes, time, needed, to_stop = self._coming(view, i)
        if self._plans.waits_in_middle[i] and self._state[i] in (LOOKING, PAUSING):  # the island ends the first part
            comes = comes & (self._vehicles[layout.PY] * float(view.agents[layout.PY, i]) > 0.0)
        return not bool((comes & (time < needed + wanted_s) & ~(to_stop < self._plans.claims_mps2[i])).any())

    def _comes_within(self, view: PeopleView, i: int, seconds: float) -> bool:
        found = self._coming(view, i)
        return bool((found.comes & (found.time < seconds)).any())

    def _stand(self, view: PeopleView, step_s: float) -> None:
        """Keep people who stand in place, and turn those at the kerb to the road."""
        agents = view.agents
        stands = IS_STANDING[self._state]
        new = agents[[layout.NEW_VX, layout.NEW_VY]]
        agents[[layout.NEW_VX, layout.NEW_VY]] = np.where(stands, np.float32(0.0), new)
        view.flags[layout.MODEL] = np.where(stands, layout.MODEL_SCRIPT, self._model)
        turns = np.flatnonzero(stands)
        if len(turns):
            heading = agents[layout.HEADING, turns].astype(np.float64)
            side = view.routes[turns, self._plans.kerb[turns], 1]
            wish = np.where(side > 0.0, -np.pi / 2, np.pi / 2)
            turn = exact.wrap_angle(wish - heading)
            most = TURN_RATE * step_s
            agents[layout.HEADING, turns] = exact.wrap_angle(heading + np.clip(turn, -most, most))

    def _look(self, view: PeopleView, gap: FloatArray) -> None:
        """Heads of those who look at the traffic."""
        agents, plans = view.agents, self._plans
        near_kerb = (self._state == WALKING) & (view.flags[layout.WAYPOINT] == plans.kerb) & (gap < GLANCE_M * GLANCE_M)
        on_road = (self._state == CROSSING) & (view.now - self._since < 1.0)
        looks = plans.glances & (near_kerb | on_road | IS_STANDING[self._state])
        looks |= plans.glances & (plans.kerb < 0) & (np.floor((view.now + np.arange(len(looks))) / 1.5) % 3 == 0)
        agents[layout.HEAD_YAW] = np.nan
        who = np.flatnonzero(looks & (view.flags[layout.ACTIVE] == 1))
        if not len(who):
            return
        phase = np.floor((view.now - self._since[who]) / TURN_S) % 3
        yaw = np.where(phase == 0, LOOK_RAD, -LOOK_RAD)
        comes = self._active & (self._speed_of() > MOVING_MPS)
        if comes.any():
            dx = self._vehicles[layout.PX, comes] - agents[layout.PX, who, None].astype(np.float64)
            dy = self._vehicles[layout.PY, comes] - agents[layout.PY, who, None].astype(np.float64)
            square = squared_length(dx, dy)
            nearest = np.argmin(square, axis=1)
            rows = np.arange(len(who))
            angle = exact.arctan2(dy[rows, nearest], dx[rows, nearest])
            to_vehicle = exact.wrap_angle(angle - agents[layout.HEADING, who].astype(np.float64))
            seen = (square[rows, nearest] < NOTICED_M * NOTICED_M) & (phase < 2)
            yaw = np.where(seen, np.clip(to_vehicle, -MOST_RAD, MOST_RAD), yaw)
        agents[layout.HEAD_YAW, who] = yaw

    def _speed_of(self) -> FloatArray:
        assert self._speed is not None
        return self._speed

    def _near_standing_vehicle(self, view: PeopleView) -> BoolArray:
        """(N,) whether a vehicle that hardly moves is so near to each person that they walk round it."""
        stands = self._active & (self._speed_of() <= MOVING_MPS)
        if not stands.any():
            return np.zeros(view.agents.shape[1], bool)
        dx = view.agents[layout.PX][:, None] - self._vehicles[layout.PX, stands]
        dy = view.agents[layout.PY][:, None] - self._vehicles[layout.PY, stands]
        return np.asarray(squared_length(dx, dy).min(axis=1) < NEAR_M * NEAR_M)
