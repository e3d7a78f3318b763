"""The referee: judges the robots of a world after every step, for episodes and for learning environments alike.

It follows the scenario's rules, which ``simulation.referee`` compiles to the array ``rules (RULE_ROWS,)``, the ground
that must not be left, the roads and the waypoints that a failed robot is put on. What it remembers and what it says is
in two arrays for each robot, ``marks`` (int32) and ``notes`` (float64), with the rows named here; those of the rules of
the road are in ``kernels.road_rules``. Only ``+ - * /`` and ``sqrt`` are used, so verdicts have the same bits on every
machine.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from sidestep.kernels import layout as at
from sidestep.kernels.dynamics import ROBOT_HEADING, ROBOT_VX, ROBOT_VY, ROBOT_X, ROBOT_Y
from sidestep.kernels.jit import kernel
from sidestep.kernels.layout import FloatArray, Grounds, IntArray, RoadLines, WorldArrays, WorldBatch, float32, float64
from sidestep.kernels.road_rules import (
    EXITED_NEWS,
    INVASION_NEWS,
    IS_OVER,
    LANE_NEWS,
    ROAD_MARKS,
    ROAD_NOTES,
    ROAD_RULES,
    WRONG_EXIT_NEWS,
    begin_road,
    judge_road,
)
from sidestep.kernels.world import mirror_robot, world_of

# outcomes, in the order of ``types.Outcome``
(
    SUCCESS, PEDESTRIAN_COLLISION, ENVIRONMENT_COLLISION, VEHICLE_COLLISION, TIMEOUT, GROUP_INTRUSION, DISOBEYED,
    OFF_ROUTE, LANE_INVASION, FROZEN, POLICY_ERROR, WRONG_EXIT, OUTCOMES,
) = range(13)  # fmt: skip
ALWAYS_END = (1 << SUCCESS) | (1 << TIMEOUT) | (1 << POLICY_ERROR)  # nobody is put back on the route after these

# rules, float64, beyond those of ``kernels.world``
RULE_MAX_STEPS = at.RULE_TIME_LIMIT + 1
RULE_KINDS = RULE_MAX_STEPS + 1  # which of the rules below there are, bits
RULE_ENDS_ON = RULE_KINDS + 1  # outcomes that end the episode, bits
RULE_FROZEN_STEPS = RULE_ENDS_ON + 1
RULE_STOP_WITHIN = RULE_FROZEN_STEPS + 1  # m
RULE_STOP_FOR = RULE_STOP_WITHIN + 1  # s
RULE_COOLDOWN = RULE_STOP_FOR + 1  # s
RULE_ROAD = RULE_COOLDOWN + 1  # see ``kernels.road_rules``
RULE_PRECEDENCE = RULE_ROAD + ROAD_RULES  # the outcomes, the one that outranks all others first
RULE_ROWS = RULE_PRECEDENCE + OUTCOMES
HAS_GROUND, AVOIDS_GROUPS, MUST_STOP, RESETS, FREEZES, HAS_ROAD_RULES = 1, 2, 4, 8, 16, 32

# marks (R, MARKS + columns + 1 [+ people]) int32: the rows here; for every agent and last for walls a state of contact;
# where a rule is about groups, the numbers of those that were crossed
ENDING = 0  # 0 while the episode goes on, else 1 + its outcome
HAPPENED = 1  # outcomes that anything so far would give, bits
NEWS = 2  # what happened in the last step, bits below
STANDING = 3  # steps that the robot has been standing
IS_OFF = 4  # 1 while beside the ground
CROSSED = 5  # how many groups were crossed
STOPPED_FOR = 6  # column of the person that the robot stopped for
WAYPOINT = 7  # index of the waypoint that the robot was put on last; -1
CONTACTS = 8  # contacts that began, went on or ended in the last step
HANDS_UP = 9  # how many hands were raised after the last step
HAS_MOVED = 10  # 1 since the robot first moved
LONGEST_STAND = 11  # steps of its longest stand since then while no hand was raised
ROAD_MARK = 12  # the first of ``kernels.road_rules``
MARKS = ROAD_MARK + ROAD_MARKS
APART, BEGINS, GOES_ON, ENDS = 0, 1, 2, 3
RUNNING = 0
SUCCEEDED = 1 + SUCCESS

# bits of NEWS
CONTACT_NEWS, OFF_NEWS, GROUP_NEWS, GOAL_NEWS, STOPPED_NEWS, DISOBEYED_NEWS, FROZEN_NEWS, TIMEOUT_NEWS, RESET_NEWS = (
    1, 2, 4, 8, 16, 32, 64, 128, 256
)  # fmt: skip
BEGAN_NEWS = 512  # at least one of the contacts began
ROAD_NEWS = LANE_NEWS | INVASION_NEWS | EXITED_NEWS | WRONG_EXIT_NEWS
FAILURE_NEWS = OFF_NEWS | GROUP_NEWS | DISOBEYED_NEWS | FROZEN_NEWS | INVASION_NEWS | WRONG_EXIT_NEWS

# notes (R, NOTES [+ HAND_ROWS * people] [+ columns + 1]) float64: the rows here; where the task is to stop, what is
# known of every person's hand; where failures put the robot back, when each agent, and last a wall, was touched last
FROM_X, FROM_Y, CARRIED = 0, 1, 2  # where the last step began; m of route that the last reset carried the robot on
ROAD_NOTE = 3  # the first of ``kernels.road_rules``
NOTES = ROAD_NOTE + ROAD_NOTES
HAND, HAND_X, HAND_Y, HAND_UX, HAND_UY, HAND_STEPS, HAND_NEEDED, HAND_ROWS = 0, 1, 2, 3, 4, 5, 6, 7
HAND_UP, HAND_PASSED = 1.0, 2.0

# waypoints (R, W, 4) float64: first a row with the number of waypoints and the last one to be put on; then of each
# x, y, heading and metres of route
POINT_X, POINT_Y, POINT_HEADING, POINT_ALONG, POINT_ROWS = 0, 1, 2, 3, 4

STANDING_MPS = 0.05
LONGER_THAN_BEFORE = 2.0  # a stop for a hand is this many times as long as any stand before it
ROOM_M = 0.3  # nobody stands nearer than this to the surface of a robot that is put down
STOP_GESTURE = 5  # number of ``types.events.GESTURES``
TIME_TOLERANCE_S = 1e-9
MILLIMETRES = 1000.0


@kernel
def begin_judging(marks: IntArray, notes: FloatArray, robots: FloatArray) -> None:
    """A new episode of the robots of one world."""
    for r in range(marks.shape[0]):
        for k in range(marks.shape[1]):
            marks[r, k] = 0
        marks[r, WAYPOINT] = -1
        for k in range(NOTES, notes.shape[1]):
            notes[r, k] = -np.inf
        x, y, heading = robots[r, ROBOT_X], robots[r, ROBOT_Y], robots[r, ROBOT_HEADING]
        notes[r, FROM_X], notes[r, FROM_Y], notes[r, CARRIED] = x, y, 0.0
        begin_road(x, y, heading, marks[r, ROAD_MARK:], notes[r, ROAD_NOTE:])


@kernel(is_part=True, forceinline=True)
def judge_world(b: int, world: WorldArrays, batch: WorldBatch, judged: int) -> None:
    """Judge the first ``judged`` robots of ``world``, number ``b`` of the batch, after a step. Where the rules say so,
    a robot that failed stands on a waypoint afterwards."""
    people = world.routes.shape[0]
    for r in range(judged):
        if world.flags[at.ACTIVE, people + r] == 1:
            _judge_robot(batch.clock[b], world, people, r, batch.bank.grounds, batch.bank.roads)


@kernel(forceinline=True)
def _judge_robot(step: int, world: WorldArrays, people: int, r: int, grounds: Grounds, roads: RoadLines) -> None:
    rules, robot, status, mark, note = world.rules, world.robots[r], world.status[r], world.marks[r], world.notes[r]
    kinds = int(rules[RULE_KINDS])
    x, y = robot[ROBOT_X], robot[ROBOT_Y]
    news, happened, counted = 0, 0, 0
    if status[at.TOUCHED] == 1 or status[at.AT_WALL] == 1 or mark[CONTACTS] > 0:
        news, happened, counted = _note_contacts(
            (step - 1) * rules[at.RULE_DT], world.contact[r], people, status[at.AT_WALL],
            world.measures[r, at.WALL_FRACTION], rules, mark, note,
        )  # fmt: skip
    at_goal = status[at.AT_GOAL] == 1
    if kinds & (HAS_GROUND | AVOIDS_GROUPS | MUST_STOP | FREEZES):
        conduct = _note_conduct(kinds, at_goal, world, people, r, grounds)
        news |= conduct
        happened |= _outcomes_of(conduct)
        counted |= _outcomes_of(conduct)
    if at_goal:
        news |= GOAL_NEWS | DISOBEYED_NEWS if kinds & MUST_STOP else GOAL_NEWS
        happened |= 1 << (DISOBEYED if kinds & MUST_STOP else SUCCESS)
    failed = (counted & int(rules[RULE_ENDS_ON]) & ~ALWAYS_END) != 0
    over = (news & (GOAL_NEWS | STOPPED_NEWS)) != 0 or (failed and not kinds & RESETS)
    if not over and step >= rules[RULE_MAX_STEPS]:
        news |= TIMEOUT_NEWS
        happened |= 1 << TIMEOUT
        over = True
    if kinds & HAS_ROAD_RULES:
        conduct = judge_road(
            x, y, robot[ROBOT_HEADING], world.body[r], rules[at.RULE_DT], rules[RULE_ROAD:RULE_PRECEDENCE], roads,
            world.scene_index[3], mark[ROAD_MARK:], note[ROAD_NOTE:],
        )  # fmt: skip
        news |= conduct
        happened |= _outcomes_of(conduct)
        over = over or mark[ROAD_MARK + IS_OVER] == 1
    note[FROM_X], note[FROM_Y] = x, y
    if failed and not over:
        news |= RESET_NEWS
        put_down(
            world.agents, world.flags, people, people + r, robot, world.body[r, 0, 1], world.waypoints[r], mark, note
        )
    mark[NEWS] = news
    mark[HAPPENED] |= happened
    if over:
        mark[ENDING] = 1 + _outcome(mark[HAPPENED], rules)


@kernel(forceinline=True)
def _outcomes_of(news: int) -> int:
    """The outcomes that conduct gives."""
    outcomes = 0
    if news & OFF_NEWS:
        outcomes |= 1 << OFF_ROUTE
    if news & GROUP_NEWS:
        outcomes |= 1 << GROUP_INTRUSION
    if news & (STOPPED_NEWS | EXITED_NEWS):
        outcomes |= 1 << SUCCESS
    if news & FROZEN_NEWS:
        outcomes |= 1 << FROZEN
    if news & INVASION_NEWS:
        outcomes |= 1 << LANE_INVASION
    if news & WRONG_EXIT_NEWS:
        outcomes |= 1 << WRONG_EXIT
    return outcomes


@kernel
def _outcome(happened: int, rules: FloatArray) -> int:
    """The first in the order of precedence of all that happened."""
    for k in range(OUTCOMES):
        outcome = int(rules[RULE_PRECEDENCE + k])
        if happened & (1 << outcome):
            return outcome
    return TIMEOUT


@kernel
def _note_contacts(
    start: float, contact: FloatArray, people: int, at_wall: int, wall_fraction: float, rules: FloatArray,
    mark: IntArray, note: FloatArray,
) -> tuple[int, int, int]:  # fmt: skip
    """News of contacts that began or ended in the step that began at ``start`` (s); the outcomes of those that began;
    and of those of them that are not a contact which returns within the cool-down."""
    columns = contact.shape[0]
    touch = mark[MARKS : MARKS + columns + 1]
    remembers = int(rules[RULE_KINDS]) & RESETS
    last = note[note.shape[0] - (columns + 1) :] if remembers else note[:0]
    news, begun, counted, contacts = 0, 0, 0, 0
    for j in range(columns + 1):
        is_wall = j == columns
        now = at_wall == 1 if is_wall else contact[j] <= float32(1.0)
        before = touch[j] in (BEGINS, GOES_ON)
        if now and not before:
            touch[j] = BEGINS
            outcome = ENVIRONMENT_COLLISION if is_wall else (PEDESTRIAN_COLLISION if j < people else VEHICLE_COLLISION)
            begun |= 1 << outcome
            fraction = wall_fraction if is_wall else float64(contact[j])
            time = start + fraction * rules[at.RULE_DT]
            if not remembers or time - last[j] >= rules[RULE_COOLDOWN] - TIME_TOLERANCE_S:
                counted |= 1 << outcome
            if remembers:
                last[j] = time
            news |= CONTACT_NEWS | BEGAN_NEWS
        elif now:
            touch[j] = GOES_ON
        elif before:
            touch[j] = ENDS
            if remembers:
                last[j] = start
            news |= CONTACT_NEWS
        else:
            touch[j] = APART
        contacts += touch[j] != APART
    mark[CONTACTS] = contacts
    return news, begun, counted


@kernel(forceinline=True)
def _note_conduct(kinds: int, at_goal: bool, world: WorldArrays, people: int, r: int, grounds: Grounds) -> int:
    """News of the ground, of groups and, unless the robot is at its goal, of raised hands and of standing still."""
    agents, flags, rules = world.agents, world.flags, world.rules
    robot, mark, note = world.robots[r], world.marks[r], world.notes[r]
    x, y, news = robot[ROBOT_X], robot[ROBOT_Y], 0
    if kinds & HAS_GROUND:
        is_off = 0 if on_ground(grounds, world.scene_index[2], x, y) else 1
        if is_off and not mark[IS_OFF]:
            news |= OFF_NEWS
        mark[IS_OFF] = is_off
    if kinds & AVOIDS_GROUPS:
        known = mark[CROSSED]
        cross_groups(agents, flags, people, note[FROM_X], note[FROM_Y], x, y, mark)
        if mark[CROSSED] > known:
            news |= GROUP_NEWS
    if at_goal:
        return news
    stands = sqrt(robot[ROBOT_VX] * robot[ROBOT_VX] + robot[ROBOT_VY] * robot[ROBOT_VY]) < STANDING_MPS
    mark[STANDING] = mark[STANDING] + 1 if stands else 0
    if kinds & MUST_STOP:
        if not stands:
            mark[HAS_MOVED] = 1
        elif mark[HAS_MOVED] and mark[HANDS_UP] == 0:
            mark[LONGEST_STAND] = max(mark[LONGEST_STAND], mark[STANDING])
        mark[STOPPED_FOR] = watch_hands(agents, flags, people, x, y, stands, rules, mark, note)
        if mark[STOPPED_FOR] >= 0:
            return news | STOPPED_NEWS
    if kinds & FREEZES and mark[STANDING] == int(rules[RULE_FROZEN_STEPS]):
        news |= FROZEN_NEWS
    return news


@kernel
def on_ground(grounds: Grounds, ground: int, x: float, y: float) -> bool:
    """Whether a point is inside or on the border of ground number ``ground``, by the even-odd rule."""
    edges, bands, frames = grounds.edges, grounds.bands, grounds.frames
    low, height, first, count = frames[ground, 0], frames[ground, 1], frames[ground, 2], frames[ground, 3]
    px, py = x * MILLIMETRES, y * MILLIMETRES
    if not (py >= low and py < low + height * count and abs(px) < np.inf):
        return False
    band = int(first) + int((py - low) / height)
    inside = False
    for k in range(bands[band], bands[band + 1]):
        ax, ay, bx, by = edges[k, 0], edges[k, 1], edges[k, 2], edges[k, 3]
        side = (bx - ax) * (py - ay) - (by - ay) * (px - ax)
        if side == 0.0 and min(ax, bx) <= px <= max(ax, bx) and min(ay, by) <= py <= max(ay, by):
            return True
        if (ay > py) != (by > py) and (side > 0.0) == (by > ay):
            inside = not inside
    return inside


@kernel(forceinline=True)
def _side(ox: float, oy: float, ex: float, ey: float, x: float, y: float) -> float:
    """Positive to the left of the line from o to e."""
    return (ex - ox) * (y - oy) - (ey - oy) * (x - ox)


@kernel
def cross_groups(
    agents: FloatArray, flags: IntArray, people: int, from_x: float, from_y: float, x: float, y: float, mark: IntArray
) -> None:
    """Note the groups between two of whose members the piece just driven leads. Touching its beginning does not count,
    so that a crossing counts once; nor does a group that was crossed before."""
    crossed = mark[mark.shape[0] - people :]
    reach = at.GROUP_GAP_M + abs(x - from_x) + abs(y - from_y) + 0.01
    for i in range(people):
        group = flags[at.GROUP, i]
        ax, ay = float64(agents[at.PX, i]), float64(agents[at.PY, i])
        if group < 0 or flags[at.ACTIVE, i] != 1 or abs(ax - x) > reach or abs(ay - y) > reach:
            continue
        for j in range(i + 1, people):
            if flags[at.GROUP, j] != group or flags[at.ACTIVE, j] != 1:
                continue
            bx, by = float64(agents[at.PX, j]), float64(agents[at.PY, j])
            if (ax - bx) * (ax - bx) + (ay - by) * (ay - by) > at.GROUP_GAP_M * at.GROUP_GAP_M:
                continue
            before, after = _side(ax, ay, bx, by, from_x, from_y), _side(ax, ay, bx, by, x, y)
            if before == 0.0 or before * after > 0.0:
                continue
            if _side(from_x, from_y, x, y, ax, ay) * _side(from_x, from_y, x, y, bx, by) > 0.0:
                continue
            known = False
            for k in range(min(mark[CROSSED], people)):
                known |= crossed[k] == group
            if not known:
                crossed[mark[CROSSED] % people] = group
                mark[CROSSED] += 1


@kernel
def watch_hands(
    agents: FloatArray, flags: IntArray, people: int, x: float, y: float, stands: bool, rules: FloatArray,
    mark: IntArray, note: FloatArray,
) -> int:  # fmt: skip
    """Column of somebody with a raised hand for whom the robot at (x, y) has stood long enough; -1: nobody.

    When a hand rises, the place of the person and the direction from there to the robot are kept. The robot is in front
    as long as it has not passed that place, against that direction, since; the person may turn or walk meanwhile. It
    has to stand for ``stop_for_s``, and twice as long as it ever stood on its way before the hand rose: a robot that
    stops now and then anyway shows nothing by it. ``types.decide.in_front_of_hand`` and ``stop_needed_s`` say the same
    of a record.
    """
    found = -1
    mark[HANDS_UP] = 0
    within = rules[RULE_STOP_WITHIN]
    for j in range(people):
        hand = note[NOTES + HAND_ROWS * j : NOTES + HAND_ROWS * (j + 1)]
        if flags[at.GESTURE, j] != STOP_GESTURE or flags[at.ACTIVE, j] != 1:
            hand[HAND] = -np.inf
            continue
        mark[HANDS_UP] += 1
        px, py = float64(agents[at.PX, j]), float64(agents[at.PY, j])
        dx, dy = x - px, y - py
        square = dx * dx + dy * dy
        if hand[HAND] < HAND_UP:
            hand[HAND_NEEDED] = max(rules[RULE_STOP_FOR], LONGER_THAN_BEFORE * mark[LONGEST_STAND] * rules[at.RULE_DT])
            away = sqrt(square)
            hand[HAND], hand[HAND_X], hand[HAND_Y], hand[HAND_STEPS] = HAND_UP, px, py, -1.0
            hand[HAND_UX], hand[HAND_UY] = (dx / away, dy / away) if away > 0.0 else (0.0, 0.0)
        if not (x - hand[HAND_X]) * hand[HAND_UX] + (y - hand[HAND_Y]) * hand[HAND_UY] > 0.0:
            hand[HAND] = HAND_PASSED
        holds = hand[HAND] == HAND_UP and stands and square <= within * within
        # the state in which the hand rises begins the first step of standing, it does not end one
        hand[HAND_STEPS] = hand[HAND_STEPS] + 1.0 if holds or hand[HAND_STEPS] < 0.0 else 0.0
        if found < 0 and holds and hand[HAND_STEPS] * rules[at.RULE_DT] >= hand[HAND_NEEDED] - TIME_TOLERANCE_S:
            found = j
    return found


@kernel
def put_down(
    agents: FloatArray, flags: IntArray, people: int, own: int, robot: FloatArray, radius: float, waypoints: FloatArray,
    mark: IntArray, note: FloatArray,
) -> None:  # fmt: skip
    """Put a robot that failed on the nearest waypoint, looking to the next one. Not on one where it was put before, nor
    on one before that, nor on people or vehicles, and never within the goal's circle."""
    x, y = robot[ROBOT_X], robot[ROBOT_Y]
    last = int(waypoints[0, 1])
    nearest, least = 0, np.inf
    for k in range(last + 1):
        dx, dy = waypoints[1 + k, POINT_X] - x, waypoints[1 + k, POINT_Y] - y
        if dx * dx + dy * dy < least:
            nearest, least = k, dx * dx + dy * dy
    chosen = max(nearest, mark[WAYPOINT] + 1)
    while chosen < last and not _is_free(waypoints[1 + chosen], agents, flags, people, radius):
        chosen += 1
    chosen = min(chosen, last)
    point = waypoints[1 + chosen]
    note[CARRIED] = max(0.0, point[POINT_ALONG] - along_route(waypoints, max(mark[WAYPOINT], 0), x, y))
    mark[WAYPOINT], mark[STANDING], mark[IS_OFF] = chosen, 0, 0
    for k in range(robot.shape[0]):
        robot[k] = 0.0
    robot[ROBOT_X], robot[ROBOT_Y], robot[ROBOT_HEADING] = point[POINT_X], point[POINT_Y], point[POINT_HEADING]
    note[FROM_X], note[FROM_Y] = point[POINT_X], point[POINT_Y]
    mirror_robot(agents, own, robot)


@kernel
def _is_free(point: FloatArray, agents: FloatArray, flags: IntArray, people: int, radius: float) -> bool:
    for j in range(agents.shape[1]):
        if flags[at.ACTIVE, j] == 1 and (j < people or flags[at.MODEL, j] == at.MODEL_VEHICLE):
            dx, dy = float64(agents[at.PX, j]) - point[POINT_X], float64(agents[at.PY, j]) - point[POINT_Y]
            if sqrt(dx * dx + dy * dy) < float64(agents[at.RADIUS, j]) + radius + ROOM_M:
                return False
    return True


@kernel
def along_route(waypoints: FloatArray, first: int, x: float, y: float) -> float:
    """Metres of route up to the point of it that is nearest to (x, y), searched from waypoint ``first`` on."""
    along: float = waypoints[1 + first, POINT_ALONG]
    least = np.inf
    for k in range(1 + first, int(waypoints[0, 0])):
        here, ahead = waypoints[k], waypoints[k + 1]
        dx, dy = ahead[POINT_X] - here[POINT_X], ahead[POINT_Y] - here[POINT_Y]
        square = dx * dx + dy * dy
        share = 0.0
        if square > 0.0:
            share = ((x - here[POINT_X]) * dx + (y - here[POINT_Y]) * dy) / square
            share = min(max(share, 0.0), 1.0)
        miss_x, miss_y = x - here[POINT_X] - share * dx, y - here[POINT_Y] - share * dy
        miss = miss_x * miss_x + miss_y * miss_y
        if miss < least:
            least = miss
            along = here[POINT_ALONG] + share * (ahead[POINT_ALONG] - here[POINT_ALONG])
    return along


@kernel
def judge_worlds(batch: WorldBatch, judged: int) -> None:
    """Judge the first ``judged`` robots of every running world after a step."""
    for b in range(batch.running.shape[0]):
        if batch.running[b] == 1:
            judge_world(b, world_of(batch.worlds, b), batch, judged)
